"""Which paths a patch may touch, and what is taken from a hostile tree."""

from dataclasses import dataclass

import pytest

from scienceide.envs.formats import Editable
from scienceide.envs.patch import FILE_BYTES, Patch, collect, is_editable
from scienceide.envs.sandbox.protocol import Change

EDITABLE = Editable(include=("src/**/*.c", "pkg/*.py", "top.f90"), exclude=("**/tests/**", "pkg/_*.py"))


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("src/a.c", True),
        ("src/deep/er/a.c", True),
        ("src/a.h", False),
        ("src/tests/a.c", False),
        ("pkg/m.py", True),
        ("pkg/sub/m.py", False),
        ("pkg/_m.py", False),
        ("top.f90", True),
        ("atop.f90", False),
        ("/work/top.f90", False),
        ("src/../top.f90", False),
        ("../src/a.c", False),
        ("src/a.c\x00", False),
        ("src/a.c\n", False),
        ("SRC/a.c", False),
    ],
)
def test_editable_globs(path, allowed):
    assert is_editable(path, EDITABLE) is allowed


@dataclass
class Tree:
    """The part of a sandbox that `collect` uses."""

    files: dict[str, bytes]
    others: tuple[Change, ...] = ()

    def changes(self):
        return [*(Change(p, "file", len(d)) for p, d in self.files.items()), *self.others]

    def read(self, path, limit):
        if len(self.files[path]) > limit:
            raise OSError("too large")
        return self.files[path]


def test_only_regular_editable_files_are_taken():
    tree = Tree(
        {"src/a.c": b"int x;", "Makefile": b"all:", "src/__pycache__/a.pyc": b"", "src/a.o": b""},
        (Change("src/gone.c", "deleted"), Change("src/link.c", "symlink"), Change("src/pipe.c", "other")),
    )
    patch, findings = collect(tree, EDITABLE)
    assert patch.files == {"src/a.c": b"int x;", "src/gone.c": None}
    assert [(f.rule, f.evidence) for f in findings] == [
        ("not a regular file", "src/link.c"),
        ("not a regular file", "src/pipe.c"),
        ("edit outside editable paths, ignored", "Makefile"),
    ]


def test_giant_files_are_refused_and_named():
    patch, findings = collect(Tree({"src/a.c": b"x" * (FILE_BYTES + 1)}), EDITABLE)
    assert patch.files == {}
    assert [f.rule for f in findings] == ["too large a patch"]


def test_many_files_together_are_refused_too():
    tree = Tree({f"src/{n}.c": b"x" * FILE_BYTES for n in range(6)})
    patch, findings = collect(tree, EDITABLE)
    assert len(patch.files) == 4
    assert [f.rule for f in findings] == ["too large a patch"] * 2


def test_a_thousand_strays_are_named_in_a_few_lines():
    _, findings = collect(Tree({f"stray{n}": b"" for n in range(1000)}), EDITABLE)
    assert len(findings) < 12
    assert "992 more" in findings[-1].evidence


def test_diff_shows_binary_and_missing_newlines():
    patch = Patch({"a.py": b"x = 1\ny = \xff", "b.py": None})
    text = patch.diff({"a.py": b"x = 2\n", "b.py": b"gone\n"})
    assert "-x = 2\n+x = 1\n" in text
    assert "No newline" in text
    assert "-gone" in text
