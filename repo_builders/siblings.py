"""Sites that the tree itself gives away, known before anything is run.

The gate `reachable` has the last word, on the sandbox as the agent sees it; this is the same rule on the
pristine tree alone, so that no mutant is measured that can never pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from scienceide.envs.defects import broken_files, reader, to_text
from scienceide.envs.formats import Defect
from scienceide.repo_builders.gates.reachable import SHORTEST, is_leak
from scienceide.repo_builders.gates.search import Hit, bare, needle
from scienceide.repo_builders.mutate import Candidate

LARGEST = 4 * 2**20
"""Larger files are data."""


class Siblings:
    """The text of a tree without its white space, searched for lines that repeat."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree

    def give_away(self, candidate: Candidate) -> bool:
        """Whether the pristine line of a candidate can be read off elsewhere in the tree, or is too short."""
        edit = candidate.edit
        read = reader(self._tree)
        site = needle("site", edit, to_text(read(edit.file)))
        if len(site.text) < SHORTEST:
            return True
        broken = broken_files(Defect(edits=(edit,)), read)
        lengths = {site.id: len(site.text)}
        for file, text in {**self._texts, edit.file: bare(to_text(broken[edit.file]))}.items():
            if site.text in text:
                beside = bool(site.before and site.before + site.text in text)
                beside = beside or bool(site.after and site.text + site.after in text)
                if is_leak(Hit("text", site.id, file, 1, beside), lengths):
                    return True
        return False

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        files = (p for p in self._tree.rglob("*") if p.is_file() and not p.is_symlink() and p.stat().st_size <= LARGEST)
        return {p.relative_to(self._tree).as_posix(): bare(to_text(p.read_bytes())) for p in sorted(files)}
