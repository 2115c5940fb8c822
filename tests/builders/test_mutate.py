"""Every operator finds its sites, and nothing else is touched."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scienceide.base.errors import UserError
from scienceide.envs.defects import apply_edits, invert_edits
from scienceide.repo_builders.mutate import candidates, language_of
from scienceide.repo_builders.mutate.literals import perturbed

PYTHON = '''\
"""Module: a + b."""
import numpy as np
from a import b

LIMIT = 2 * 3


def drag(Re, rho, tol=1e-6 * 2):
    """Stokes: 24/Re + 0.407."""
    # a + b
    if Re < 0.1:
        return 24.0 / Re + 0.407
    assert Re - 1 > 0
    if 0:
        return Re * 3
    print(Re + 1)
    x = np.arange(10)
    for i in range(1, 9):
        x[i] = x[i + 1] - x[2]
    return hypot(Re, rho) * 0.123456 + "a" * -Re


def plot_drag(Re):
    return Re + 1


if __name__ == "__main__":
    print(drag(1 + 2, 3))
'''

C = """\
#include <math.h>
#define TWO (1 + 1)
static const double table[2] = {1.0 + 2.0, 3.0};
#if 0
int dead(int a) { return a + 1; }
#endif
/* a + b */
static double norm(const double v[3 + 1], double a, double b) {
    double work[2 * 3];
    int i;
    for (i = 0; i < 3; i++) {
        work[i + 1] = v[2] * a;
    }
    if (a < b) return -a * 2.5;
    printf("%f", a + b);
    void *p = malloc(3 * sizeof(double));
    return pow(a, b);
}
"""


def mutants(source, language, file="f"):
    """(operator, broken line) of every candidate."""
    return {
        (c.edit.operator, apply_edits([c.edit], source).split("\n")[c.edit.line - 1].strip())
        for c in candidates(source, language, file)
    }


@pytest.mark.parametrize(
    "expected",
    [
        ("comparison", "if Re <= 0.1:"),
        ("comparison", "if Re > 0.1:"),
        ("operator", "return 24.0 * Re + 0.407"),
        ("sign", "return 24.0 / Re - 0.407"),
        ("dropped-term", "return 24.0 / Re"),
        ("dropped-term", "return 0.407"),
        ("off-by-one", "for i in range(1, 9 - 1):"),
        ("off-by-one", "x[i] = x[i] - x[2]"),
        ("off-by-one", "x[i] = x[i + 1] - x[1]"),
        ("swapped-arguments", 'return hypot(rho, Re) * 0.123456 + "a" * -Re'),
        ("sign", 'return hypot(Re, rho) * 0.123456 + "a" * Re'),
    ],
)
def test_python_operators(expected):
    assert expected in mutants(PYTHON, "python")


@pytest.mark.parametrize(
    "expected",
    [
        ("off-by-one", "for (i = 1; i < 3; i++) {"),
        ("off-by-one", "for (i = 0; i < 3 - 1; i++) {"),
        ("off-by-one", "work[i] = v[2] * a;"),
        ("off-by-one", "work[i + 1] = v[1] * a;"),
        ("operator", "work[i + 1] = v[2] / a;"),
        ("comparison", "if (a <= b) return -a * 2.5;"),
        ("sign", "if (a < b) return a * 2.5;"),
        ("swapped-arguments", "return pow(b, a);"),
    ],
)
def test_c_operators(expected):
    assert expected in mutants(C, "c")


def lines_touched(source, language):
    return {c.edit.line for c in candidates(source, language, "f")}


def test_python_leaves_the_rest_alone():
    lines = PYTHON.split("\n")
    untouchable = [
        i
        for i, line in enumerate(lines, 1)
        if any(mark in line for mark in ('"""', "import", "LIMIT", "def ", "# a", "assert", "* 3", "print"))
    ]
    untouchable.append(lines.index("    return Re + 1") + 1)
    assert lines_touched(PYTHON, "python").isdisjoint(untouchable)


def test_c_leaves_the_rest_alone():
    lines = C.split("\n")
    marks = ("#", "table", "dead", "/*", "static double", "work[2 * 3]", "printf", "malloc")
    untouchable = [i for i, line in enumerate(lines, 1) if any(mark in line for mark in marks)]
    assert lines_touched(C, "c").isdisjoint(untouchable)


def test_c_indices_and_bounds_never_grow():
    """In a language that checks no bounds a larger index would read foreign memory."""
    for c in candidates(C, "c", "f.c"):
        if c.edit.operator == "off-by-one":
            assert c.edit.new in ("", " - 1", "1", "0")


def test_coefficient_that_only_recall_gives_is_marked():
    lines = PYTHON.split("\n")
    found = [c for c in candidates(PYTHON, "python", "f") if c.edit.operator == "coefficient"]
    derivable = {lines[c.edit.line - 1][slice(*c.edit.span)]: c.derivable for c in found}
    assert derivable == {"24.0": True, "0.407": True, "0.123456": False}


def test_every_python_mutant_parses_and_inverts():
    for c in candidates(PYTHON, "python", "f"):
        broken = apply_edits([c.edit], PYTHON)
        ast.parse(broken)
        assert broken != PYTHON
        assert apply_edits(invert_edits([c.edit], PYTHON), broken) == PYTHON


def test_function_and_lineage():
    (candidate, *_) = candidates("class A:\n    def f(self, x):\n        return x + 1\n", "python", "m.py")
    assert (candidate.function, candidate.lineage) == ("f", "m.py::f")


def test_unicode_before_the_site():
    source = "def f(ρ, b):\n    return 'µ' if ρ else ρ + b\n"
    assert ("sign", "return 'µ' if ρ else ρ - b") in mutants(source, "python")


@given(st.from_regex(r"(0|[1-9][0-9]{0,4})(\.[0-9]{0,6})?([eE][+-]?[0-2])?", fullmatch=True), st.integers(0, 2**32))
def test_perturbed_literal_is_another_number(literal, seed):
    new = perturbed(literal, seed)
    if new is not None:
        assert float(new) != float(literal)
        assert 0.1 < float(new) / float(literal) < 10


@pytest.mark.parametrize("literal", ["0", "0.0", "1e-9", "0x10", "1j"])
def test_tolerances_and_zeros_are_no_coefficients(literal):
    assert perturbed(literal, 3) is None


def test_languages():
    assert [language_of(f) for f in ("a/b.py", "x.c", "x.hpp", "x.f90")] == ["python", "c", "cpp", None]
    with pytest.raises(UserError, match="python"):
        candidates("", "fortran", "x.f90")
