"""What an agent hands in: whole new contents of editable files, and nothing else.

The tree in an agent's sandbox is hostile ground. From it we take only regular files at paths that the
environment declares editable; everything else that changed is ignored, and named in the verdict.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from scienceide.envs.formats import Editable
from scienceide.envs.sandbox.protocol import Change, Sandbox
from scienceide.verifiers import Finding

FILE_BYTES = 4 * 2**20
"""No scientific source file that a person edits is larger."""
TOTAL_BYTES = 16 * 2**20
FINDINGS = 8
"""So many ignored paths are named one by one."""


@dataclass(frozen=True)
class Patch:
    """New contents by path relative to the tree (POSIX); None deletes the file."""

    files: Mapping[str, bytes | None]

    def diff(self, before: Mapping[str, bytes]) -> str:
        """A unified diff against the given earlier contents, for people to read."""
        parts: list[str] = []
        for path in sorted(self.files):
            old = before.get(path, b"").decode("utf-8", "replace").splitlines(keepends=True)
            new = (self.files[path] or b"").decode("utf-8", "replace").splitlines(keepends=True)
            for line in difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"):
                parts.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
        return "".join(parts)


def is_editable(path: str, editable: Editable) -> bool:
    """Whether a patch may touch `path`."""
    if path.startswith("/") or ".." in path.split("/") or "\x00" in path:
        return False
    return matches(path, editable.include) and not matches(path, editable.exclude)


def collect(sandbox: Sandbox, editable: Editable) -> tuple[Patch, list[Finding]]:
    """Read the patch out of an agent's sandbox.

    Returns:
        The patch, and one finding for each kind of thing in the tree that was not taken.

    Raises:
        SandboxError: the sandbox failed.
    """
    files: dict[str, bytes | None] = {}
    ignored: list[str] = []
    findings: list[Finding] = []
    total = 0
    for change in sandbox.changes():
        if not is_editable(change.path, editable):
            if not _is_litter(change.path):
                ignored.append(change.path)
            continue
        refused = _refusal(change, total)
        if refused:
            findings.append(Finding(rule=refused, evidence=change.path))
        elif change.kind == "deleted":
            files[change.path] = None
        else:
            try:
                files[change.path] = sandbox.read(change.path, FILE_BYTES)
            except OSError as error:
                findings.append(Finding(rule="unreadable file", evidence=f"{change.path}: {error}"))
                continue
            total += change.size
    return Patch(files), findings + _ignored_findings(ignored)


def _refusal(change: Change, total: int) -> str | None:
    if change.kind in ("symlink", "other"):
        return "not a regular file"
    if change.size > FILE_BYTES or total + change.size > TOTAL_BYTES:
        return "too large a patch"
    return None


def _ignored_findings(paths: list[str]) -> list[Finding]:
    findings = [Finding(rule="edit outside editable paths, ignored", evidence=p) for p in paths[:FINDINGS]]
    if len(paths) > FINDINGS:
        findings.append(
            Finding(rule="edit outside editable paths, ignored", evidence=f"and {len(paths) - FINDINGS} more")
        )
    return findings


def _is_litter(path: str) -> bool:
    """By-products of running code, which say nothing about what the agent meant."""
    return "__pycache__" in path.split("/") or path.endswith((".pyc", ".o", ".d", ".so", ".ninja_log", ".ninja_deps"))


@lru_cache(maxsize=512)
def _pattern(glob: str) -> re.Pattern[str]:
    """`*` stays within a folder, `**` crosses them, as in .gitignore."""
    out = ""
    for token in re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", glob):
        out += {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(token) or re.escape(token)
    return re.compile(out)


def matches(path: str, globs: Iterable[str]) -> bool:
    """Whether one of the globs matches the whole path; `*` stays within a folder, `**` crosses them."""
    return any(_pattern(glob).fullmatch(path) for glob in globs)
