import pytest
from pydantic import ValidationError

from scienceide.verifiers import Bounds, Evidence, Location, Norm, ObservableSpec
from scienceide.verifiers.spec import nests_repeats


@pytest.mark.parametrize(
    ("location", "what"),
    [
        ({"file": "/etc/passwd"}, "inside the case's folder"),
        ({"file": "../x.npy"}, "inside the case's folder"),
        ({"file": "a/../../x.npy"}, "inside the case's folder"),
        ({"file": ""}, "inside the case's folder"),
        ({"file": "a\0.npy"}, "inside the case's folder"),
        ({"file": "x.npz"}, "needs key"),
        ({"file": "x.npz", "column": 1}, "column does not apply"),
        ({"file": "x.npy", "key": "a"}, "key does not apply"),
        ({"file": "x.json", "pattern": "(a)"}, "pattern does not apply"),
        ({"file": "x.csv", "key": "a"}, "key does not apply"),
        ({"file": "x.csv", "column": 1, "pattern": "(a)"}, "exclude each other"),
        ({"file": "x.csv", "column": -1}, "counts from zero"),
        ({"file": "x.log", "pattern": "E = "}, "needs a group"),
        ({"file": "x.log", "pattern": "E = ("}, "not a regular expression"),
        ({"file": "x.log", "pattern": r"E = ((\d+\s*)+)$"}, "without the nesting"),
        ({"file": "x.npy", "colour": "red"}, "Extra inputs"),
    ],
)
def test_location_refuses(location, what):
    with pytest.raises(ValidationError, match=what):
        Location.model_validate(location)


@pytest.mark.parametrize(
    "location",
    [
        {"file": "deep/x.npz", "key": "a.b"},
        {"file": "X.NPY"},
        {"file": "x.json"},
        {"file": "x.json", "key": "a.0"},
        {"file": "x.csv", "column": "t"},
        {"file": "x.dat", "column": 0},
        {"file": "x.dat"},
        {"file": "run.log", "pattern": r"E =\s+(\S+)"},
    ],
)
def test_location_accepts(location):
    assert Location.model_validate(location).file == location["file"]


@pytest.mark.parametrize(
    ("pattern", "nested"),
    [
        (r"(a+)+", True),
        (r"((a*)b)*", True),
        (r"(?:x|(\d+))+", True),
        (r"(a{2,}b){3}", True),
        (r"(a+)b+", False),
        (r"(?:ab)+(c)", False),
        (r"\((\d+)\)*", False),
        (r"([()+*]+)", False),
        (r"(a[)+]b)+", False),
        (r"(-?\d+\.\d+(?:e[+-]\d+)?)", False),
    ],
)
def test_nested_repeats_are_found(pattern, nested):
    assert nests_repeats(pattern) is nested


@pytest.mark.parametrize(
    "bad", [{}, {"low": 2, "high": 1}, {"max_abs": 0}, {"low": float("nan")}, {"low": 0, "scale": 0}]
)
def test_bounds_refuse(bad):
    with pytest.raises(ValidationError):
        Bounds.model_validate(bad)


@pytest.mark.parametrize("tolerance", [0, -1, float("nan"), float("inf")])
def test_a_tolerance_is_a_positive_number(tolerance):
    with pytest.raises(ValidationError):
        Norm(tolerance=tolerance)


def test_noise_may_be_infinite_but_signal_may_not():
    assert Evidence(noise=float("inf")).signal is None
    with pytest.raises(ValidationError):
        Evidence(noise=0, signal=float("inf"))


@pytest.mark.parametrize(
    "bad", [{"name": ""}, {"shape": [-1]}, {"criterion": {"kind": "norm"}}, {"criterion": {"kind": "close"}}]
)
def test_observable_refuses(bad):
    good = {"name": "x", "from": {"file": "x.npy"}, "criterion": {"kind": "exact"}}
    assert ObservableSpec.model_validate(good).unit == "1"
    with pytest.raises(ValidationError):
        ObservableSpec.model_validate({**good, **bad})
