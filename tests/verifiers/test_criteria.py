import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from scienceide.verifiers import Bounds, Conserved, Exact, Norm, error, tolerance
from scienceide.verifiers.criteria import norm


def norm_of(kind, scale):
    return Norm(norm=kind, scale=scale, tolerance=1e-9)


C, R = [1.0, 2.0, 6.0], [1.0, 4.0, 3.0]  # |c − r| = 0, 2, 3;  / |r| = 0, 0.5, 1


@pytest.mark.parametrize(
    ("kind", "scale", "expected"),
    [
        ("linf", "absolute", 3.0),
        ("l1", "absolute", 5 / 3),
        ("l2", "absolute", math.sqrt(13 / 3)),
        ("linf", "relative", 1.0),
        ("l1", "relative", 0.5),
        ("l2", "relative", math.sqrt(1.25 / 3)),
        ("linf", "field", 3 / 4),
        ("l1", "field", 5 / 8),
        ("l2", "field", math.sqrt(13 / 26)),
    ],
)
def test_norms_by_hand(kind, scale, expected):
    assert error(norm_of(kind, scale), np.array(C), np.array(R)) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("scale", "candidate", "reference", "expected"),
    [
        ("absolute", [0.5], [0.0], 0.5),
        ("field", [0.5, 0.0], [0.0, 0.0], 0.5),
        ("field", [0.0, 0.0], [0.0, 0.0], 0.0),
        ("relative", [0.0, 1.0], [0.0, 1.0], 0.0),
        ("relative", [0.1, 1.0], [0.0, 1.0], math.inf),
        ("relative", [], [], 0.0),
        ("field", [], [], 0.0),
        ("absolute", [1e308], [-1e308], math.inf),
        ("field", [1e300, 0.0], [1e-300, 0.0], math.inf),
    ],
)
@pytest.mark.parametrize("kind", ["linf", "l1", "l2"])
def test_zero_empty_and_overflow(kind, scale, candidate, reference, expected):
    got = error(norm_of(kind, scale), np.array(candidate, float), np.array(reference, float))
    if len(candidate) == 2 and 0 < expected < math.inf:
        expected = {"linf": 0.5, "l1": 0.25, "l2": 0.5 / math.sqrt(2)}[kind]
    assert got == pytest.approx(expected)


@pytest.mark.parametrize("value", [1e-200, 1e200])
def test_l2_neither_overflows_nor_underflows(value):
    assert norm(np.full(7, value), "l2") == pytest.approx(value, rel=1e-14)


def test_complex_numbers_use_the_modulus():
    c, r = np.array([3 + 4j, 1.0]), np.array([0j, 1.0])
    assert error(norm_of("linf", "absolute"), c, r) == 5.0
    assert error(norm_of("linf", "field"), c, r) == 5.0
    assert error(Bounds(max_abs=2), c, r) == 3.0
    assert error(Bounds(low=0), c, r) == math.inf
    assert error(Exact(), c, r) == 0.5


@pytest.mark.parametrize(
    ("candidate", "reference", "expected"),
    [
        (np.array([2**53 + 1]), np.array([2**53]), 1.0),
        (np.array([-(2**63)]), np.array([2**63 - 1]), float(2**64)),
        (np.array([100], np.int8), np.array([-100], np.int8), 200.0),
        (np.array([3], np.uint8), np.array([5], np.uint8), 2.0),
        (np.array([2**64 - 1], np.uint64), np.array([2**64 - 3], np.uint64), 2.0),
        (np.array([-1], np.int64), np.array([1], np.uint64), 2.0),
        (np.array([True, False]), np.array([True, True]), 1.0),
    ],
)
def test_integers_do_not_overflow(candidate, reference, expected):
    assert error(norm_of("linf", "absolute"), candidate, reference) == expected


CRITERIA = [
    *(norm_of(kind, scale) for kind in ("linf", "l1", "l2") for scale in ("absolute", "relative", "field")),
    Exact(),
    Conserved(tolerance=1e-9),
    Bounds(max_abs=10),
    Bounds(low=-5, high=5),
]


@pytest.mark.parametrize(
    "criterion", CRITERIA, ids=lambda c: f"{c.kind}-{getattr(c, 'norm', '')}-{c.model_dump().get('scale')}"
)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_non_finite_never_passes(criterion, bad):
    reference = np.array([1.0, 1.0, 1.0])
    assert error(criterion, reference, reference) == 0.0
    candidate = np.array([1.0, bad, 1.0])
    assert error(criterion, candidate, reference) == math.inf
    assert error(criterion, candidate, candidate) == math.inf
    assert error(criterion, candidate.astype(complex), reference) == math.inf


@pytest.mark.parametrize("criterion", CRITERIA)
def test_another_shape_never_passes(criterion):
    reference = np.ones((3, 2))
    for shape in [(2, 3), (6,), (3,), (1, 2), (0, 2), (3, 2, 1), ()]:
        assert error(criterion, np.ones(shape), reference) == math.inf


@pytest.mark.parametrize("criterion", [c for c in CRITERIA if c.kind != "exact"])
def test_text_is_no_number(criterion):
    words = np.array(["1.0", "2.0"])
    assert error(criterion, words, words) == math.inf
    assert error(criterion, np.ones(2), words) == math.inf
    assert error(criterion, words, np.ones(2)) == math.inf


@pytest.mark.parametrize(
    ("candidate", "reference", "expected"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 5], 0.25),
        ([1.0, 2.0], [1, 2], 0.0),
        ([True, False], [True, True], 0.5),
        (["Fm-3m", "P1"], ["Fm-3m", "P-1"], 0.5),
        (["1", "2"], [1, 2], 1.0),
        ([], [], 0.0),
        ([[1, 2], [3, 4]], [[4, 3], [2, 1]], 1.0),
    ],
)
def test_exact_is_the_share_of_wrong_elements(candidate, reference, expected):
    assert error(Exact(), np.array(candidate), np.array(reference)) == expected


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        ([2.0, 2.0, 2.0], 0.0),
        ([2.0, 3.0], 0.5),
        ([2.0, 3.0, 1.5], 0.5),
        ([-2.0, -3.0, -2.0], 0.5),
        ([0.0, 0.25, -0.5], 0.5),
        ([[1.0, 4.0], [1.0, 5.0], [1.5, 4.0]], 0.5),
        ([4, 5, 3], 0.25),
        ([2j, 2.0, -2j], 2.0),
        ([1.0], math.inf),
        (1.0, math.inf),
    ],
)
def test_conserved_is_the_largest_drift(series, expected):
    array = np.array(series)
    assert error(Conserved(tolerance=1e-9), array, array) == pytest.approx(expected)


def test_what_has_vanished_is_not_conserved():
    reference = np.full(5, -0.005)
    assert error(Conserved(tolerance=1e-9), np.zeros(5), reference) == 1.0
    assert error(Conserved(tolerance=1e-9), np.zeros(5), np.zeros(5)) == 0.0


@pytest.mark.parametrize(
    ("bounds", "values", "expected"),
    [
        ({"low": 0, "high": 1}, [0.0, 0.5, 1.0], 0.0),
        ({"low": 0, "high": 1}, [-0.25, 1.5], 0.5),
        ({"low": 0}, [-0.25, 1e9], 0.25),
        ({"high": 1}, [-1e9, 3.0], 2.0),
        ({"max_abs": 1e-3}, [1e-4, -3e-3], 2e-3),
        ({"max_abs": 1e-3, "scale": 1e-3}, [1e-4, -3e-3], 2.0),
        ({"max_abs": 2, "low": 0}, [-1.0, 2.0], 1.0),
        ({"max_abs": 1}, [np.iinfo(np.int64).min], 2.0**63 - 1),
        ({"max_abs": 1}, [], 0.0),
        ({"max_abs": 0.5}, [True, False], 0.5),
    ],
)
def test_bounds_by_hand(bounds, values, expected):
    assert error(Bounds.model_validate(bounds), np.array(values), np.array(values)) == pytest.approx(expected)


def test_tolerances():
    assert [tolerance(c) for c in (Norm(tolerance=0.5), Conserved(tolerance=0.25), Exact(), Bounds(low=0))] == [
        0.5,
        0.25,
        0.0,
        0.0,
    ]


finite = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6)
vectors = hnp.arrays(np.float64, 6, elements=finite)
norms = st.builds(norm_of, st.sampled_from(["linf", "l1", "l2"]), st.sampled_from(["absolute", "relative", "field"]))


@given(norms, vectors)
def test_a_perfect_output_has_no_error(criterion, reference):
    assert error(criterion, reference, reference) == 0.0


@given(norms, vectors, vectors)
def test_errors_are_never_negative_nor_nan(criterion, candidate, reference):
    assert error(criterion, candidate, reference) >= 0.0


@given(norms, vectors, vectors, st.permutations(range(6)))
def test_the_order_of_elements_does_not_matter(criterion, candidate, reference, order):
    before = error(criterion, candidate, reference)
    assert error(criterion, candidate[order], reference[order]) == pytest.approx(before, rel=1e-12)


@given(
    st.sampled_from(["linf", "l1", "l2"]),
    st.sampled_from(["relative", "field"]),
    vectors,
    vectors,
    st.integers(-40, 40),
)
def test_scaled_errors_have_no_units(kind, scale, candidate, reference, exponent):
    factor = 2.0**exponent
    before = error(norm_of(kind, scale), candidate, reference)
    if scale == "field" and not reference.any():
        before *= factor  # absolute there
    assert error(norm_of(kind, scale), factor * candidate, factor * reference) == pytest.approx(before, rel=1e-12)


@given(norms, vectors, vectors, st.floats(0, 1), st.floats(0, 1))
def test_the_error_falls_on_the_way_to_the_reference(criterion, broken, reference, a, b):
    near, far = sorted((a, b))
    errors = [error(criterion, reference + share * (broken - reference), reference) for share in (near, far)]
    assert errors[0] <= errors[1] * (1 + 1e-6) + 1e-9


@given(vectors, vectors)
def test_the_norms_are_ordered(candidate, reference):
    l1, l2, linf = (error(norm_of(kind, "absolute"), candidate, reference) for kind in ("l1", "l2", "linf"))
    assert l1 <= l2 * (1 + 1e-12)
    assert l2 <= linf * (1 + 1e-12)
