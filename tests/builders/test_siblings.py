"""Sites that the tree gives away are not even tried."""

import pytest

from scienceide.repo_builders.mutate import candidates
from scienceide.repo_builders.siblings import Siblings

SOURCE = """\
def kick(v, dt, a):
    v = v + dt * a
    return v


def drift(x, v, dt):
    x = x + dt * v
    return x


def again(v, dt, a):
    v = v + dt*a
    return v


def tiny(a):
    b = a+1
    return b


def kinetic_energy(mass, velocity):
    kinetic = 0.5 * mass * velocity**2
    return kinetic
"""


@pytest.fixture
def given_away(tmp_path):
    (tmp_path / "code.py").write_text(SOURCE)
    (tmp_path / "notes.rst").write_text("The energy::\n\n    kinetic = 0.5*mass*velocity**2\n")
    (tmp_path / "blob.bin").write_bytes(bytes(range(256)))

    def of(line):
        number = SOURCE.split("\n").index(line) + 1
        found = [c for c in candidates(SOURCE, "python", "code.py") if c.edit.line == number]
        assert found
        return {Siblings(tmp_path).give_away(c) for c in found}

    return of


def test_a_line_of_its_own_is_fit(given_away):
    assert given_away("    x = x + dt * v") == {False}


def test_a_twin_with_the_same_neighbour_is_not(given_away):
    assert given_away("    v = v + dt * a") == {True}


def test_a_long_line_that_stands_in_the_documentation_is_not(given_away):
    assert given_away("    kinetic = 0.5 * mass * velocity**2") == {True}


def test_a_line_too_short_to_be_searched_for_is_not(given_away):
    assert given_away("    b = a+1") == {True}
