"""The choice is varied, repeatable, and never has twins on both sides of a split."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scienceide.envs.formats import Edit
from scienceide.repo_builders.coverage import Coverage
from scienceide.repo_builders.mutate import Candidate
from scienceide.repo_builders.select import PER_LINEAGE, Quota, shortlist, split_files


def candidate(file="a.py", line=1, operator="sign", function="f", derivable=True, new="-"):
    edit = Edit(file=file, line=line, span=(0, 1), line_sha256="0" * 64, operator=operator, new=new)
    return Candidate(edit, function, derivable, statement=line)


COVERED = Coverage({"run": {"a.py": frozenset({1, 2, 3}), "b.py": frozenset({1, 2, 3})}})


def test_only_reached_and_derivable_candidates_are_tried():
    chosen = shortlist([candidate(line=1), candidate(line=9), candidate(line=2, derivable=False)], COVERED)
    assert [c.edit.line for c in chosen] == [1]


def test_a_statement_over_several_lines_is_reached_by_its_first():
    spread = Candidate(candidate(line=7).edit, "f", True, statement=3)
    assert shortlist([spread], COVERED) == [spread]


def test_files_nothing_is_known_of_count_as_reached():
    coverage = Coverage({"run": {}}, unknown=(".c",))
    assert coverage.reaching("x.c", 1, 1) == ["run"]
    assert coverage.reaching("x.py", 1, 1) == []


def test_files_and_operators_take_turns():
    many = [
        candidate(file, line, operator, new=str(n))
        for file in ("a.py", "b.py")
        for line in (1, 2, 3)
        for operator in ("sign", "operator", "coefficient")
        for n in range(5)
    ]
    first = shortlist(many, COVERED)[:6]
    assert Counter(c.edit.file for c in first) == {"a.py": 3, "b.py": 3}
    assert {c.edit.operator for c in first} == {"sign", "operator", "coefficient"}
    assert shortlist(many, COVERED) == shortlist(list(reversed(many)), COVERED)
    assert shortlist(many, COVERED, seed=1) != shortlist(many, COVERED, seed=2)


def test_quota_keeps_twins_out():
    quota = Quota(total=20, files=2)
    for line in range(1, 1 + PER_LINEAGE):
        assert quota.admits(candidate(line=line))
        quota.take(candidate(line=line))
    assert not quota.admits(candidate(line=9))
    assert not quota.admits(candidate(line=1, function="g"))
    assert quota.admits(candidate(line=9, function="g"))


def test_quota_keeps_operators_apart():
    quota = Quota(total=5, files=1)
    for line in range(2):
        quota.take(candidate(file=f"{line}.py", line=line + 1, function=str(line)))
    assert not quota.admits(candidate(file="c.py", line=8, function="x"))
    assert quota.admits(candidate(file="c.py", line=8, function="x", operator="comparison"))


def test_quota_keeps_crashes_few():
    quota = Quota(total=12, files=3)
    for line in range(2):
        assert quota.admits_crash()
        quota.take(candidate(line=line + 1), crashes=True)
    assert not quota.admits_crash()


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.integers(1, 9), min_size=2, max_size=12))
def test_split_has_both_sides_and_depends_on_nothing_else(counts):
    split = split_files(counts)
    assert set(split) == set(counts)
    assert set(split.values()) == {"train", "heldout"}
    assert split == split_files(dict(reversed(list(counts.items()))))


@pytest.mark.parametrize("share", [0.2, 0.4, 0.6])
def test_split_keeps_to_its_share(share):
    counts = {f"{n}.py": 2 for n in range(10)}
    held = sum(counts[f] for f, side in split_files(counts, share).items() if side == "heldout")
    assert held == pytest.approx(share * 20, abs=2)
