"""Searching a sandbox, as the agent sees it, for anything that gives an answer away.

What is looked for: the pristine text of each site, white space aside; compiled Python of the unbroken
module; and files that only the unbroken code builds to. Archives are opened. The system below the tree is
the same for all tasks of an environment and is swept once for all of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from scienceide.base.errors import SandboxError
from scienceide.base.paths import cache_dir, content_hash, write_atomically
from scienceide.envs.defects import content_of, to_text
from scienceide.envs.episode import show_cases
from scienceide.envs.formats import Edit
from scienceide.envs.sandbox.protocol import TREE, Sandbox, SandboxSpec
from scienceide.repo_builders.draft import Bench, Draft
from scienceide.repo_builders.inside import program

_KERNEL = ("/proc", "/sys", "/dev")
_VERSION = 2
"""Counts up when the search changes, so that kept sweeps no longer hold."""
_OWN = (TREE, "/tmp")
"""What differs from task to task."""


@dataclass(frozen=True)
class Needle:
    """The pristine line of one site, and its neighbours, white space removed."""

    id: str
    text: str
    spaced: str
    before: str
    after: str


@dataclass(frozen=True)
class Hit:
    """Something found. `context`: a neighbouring line stands beside it, so it is a copy of the site."""

    kind: Literal["text", "bytecode", "product"]
    id: str
    path: str
    count: int
    context: bool


@dataclass(frozen=True)
class Report:
    """All hits for one task, and how much was searched."""

    needles: tuple[Needle, ...]
    hits: tuple[Hit, ...]
    files: int
    bytes: int


@dataclass(frozen=True)
class Sweep:
    """Hits in the system that all tasks share, by needle."""

    hits: Mapping[str, tuple[Hit, ...]]
    needles: frozenset[str]
    files: int
    bytes: int


@dataclass(frozen=True)
class _Job:
    """What the program inside is asked for."""

    roots: Sequence[str]
    skip: Sequence[str]
    needles: Sequence[Needle]
    modules: Sequence[Mapping[str, str]] = ()
    digests: Sequence[tuple[int, str]] = field(default_factory=list)


def needles_of(draft: Draft, read: Callable[[str], bytes]) -> tuple[Needle, ...]:
    """What the sites of a draft look like in the pristine code; `read` gives a file's pristine bytes."""
    return tuple(
        needle(f"{draft.name}/{number}", edit, to_text(read(edit.file)))
        for number, edit in enumerate(draft.defect.edits)
    )


def needle(name: str, edit: Edit, pristine: str) -> Needle:
    """One site in the pristine text of its file."""
    lines = [content_of(line) for line in pristine.split("\n")]
    here = edit.line - 1
    before = next((bare(line) for line in reversed(lines[:here]) if line.strip()), "")
    after = next((bare(line) for line in lines[edit.line :] if line.strip()), "")
    return Needle(name, bare(lines[here]), lines[here].strip(), before, after)


def bare(line: str) -> str:
    """Text without any white space."""
    return "".join(line.split())


def sweep_system(drafts: Iterable[Draft], bench: Bench) -> Sweep:
    """Search everything outside the tree for the sites of all drafts at once.

    Raises:
        SandboxError: the sandbox failed.
    """
    needles = [n for draft in drafts for n in needles_of(draft, bench.pristine_bytes)]
    key = content_hash(_VERSION, bench.ready.pristine.root.identity, [vars(n) for n in needles])
    path = cache_dir("sweeps") / f"{key}.json"
    if not path.is_file():
        sandbox = bench.shop.provider.acquire(_roomy(bench.ready.pristine.spec()))
        try:
            found = _search(sandbox, _Job(["/"], [*_KERNEL, *_OWN], needles))
        finally:
            sandbox.close()
        write_atomically(path, json.dumps([[vars(hit) for hit in found[0]], *found[1:]]))
    stored, files, size = json.loads(path.read_text())
    hits = [Hit(**hit) for hit in stored]
    by_needle: dict[str, tuple[Hit, ...]] = {}
    for hit in hits:
        by_needle[hit.id] = (*by_needle.get(hit.id, ()), hit)
    return Sweep(by_needle, frozenset(n.id for n in needles), files, size)


def search_agent_view(draft: Draft, bench: Bench, layer: Path, sweep: Sweep | None = None) -> Report:
    """Search the sandbox of one task; the shared system only where no `sweep` has covered it.

    Raises:
        SandboxError: the sandbox failed.
    """
    needles = needles_of(draft, bench.pristine_bytes)
    covered = sweep is not None and all(n.id in sweep.needles for n in needles)
    initial = bench.initial(draft)
    modules = [
        {"id": f"{draft.name}/module", "file": file, "source": to_text(data)}
        for file, data in initial.items()
        if file.endswith(".py")
    ]
    job = _Job(
        roots=_OWN if covered else ["/"],
        skip=_KERNEL,
        needles=needles,
        modules=modules,
        digests=unbroken_products(layer, bench.ready.pristine.layer, initial),
    )
    sandbox = bench.shop.provider.acquire(_roomy(bench.ready.pristine.spec((layer,))))
    try:
        show_cases(sandbox, bench.ready.pristine.environment)
        hits, files, size = _search(sandbox, job)
    finally:
        sandbox.close()
    if covered and sweep is not None:
        hits += [hit for n in needles for hit in sweep.hits.get(n.id, ())]
        files, size = files + sweep.files, size + sweep.bytes
    return Report(needles, tuple(hits), files, size)


def unbroken_products(layer: Path, pristine: Path, initial: Mapping[str, bytes]) -> list[tuple[int, str]]:
    """Size and SHA-256 of what the pristine code builds to in the places where the defect's build differs."""
    digests = []
    for path in sorted(p for p in layer.rglob("*") if p.is_file() and not p.is_symlink()):
        before = pristine / path.relative_to(layer)
        if path.relative_to(layer).as_posix() in initial or not before.is_file():
            continue
        data = before.read_bytes()
        if len(data) >= 64 and data != path.read_bytes():
            digests.append((len(data), hashlib.sha256(data).hexdigest()))
    return digests


def _roomy(spec: SandboxSpec) -> SandboxSpec:
    """The same view with room for a search: reading a whole system takes more than an agent may use."""
    limits = replace(spec.limits, memory=4 * 2**30, cpu_s=1800.0, wall_s=3600.0, output=64 * 2**20)
    return replace(spec, limits=limits, purpose="build")


def _search(sandbox: Sandbox, job: _Job) -> tuple[list[Hit], int, int]:
    """Run the program inside and read what it found."""
    request = {**vars(job), "needles": [vars(n) for n in job.needles]}
    result = sandbox.run(["python", "-I", "-c", program("scan")], cwd="/", stdin=json.dumps(request).encode())
    if result.exit_code != 0:
        how = f"stopped by its {result.killed_by} limit" if result.killed_by else result.text[-300:]
        raise SandboxError(f"The search of the sandbox failed: {how}")
    found = json.loads(result.text)
    return [Hit(**hit) for hit in found["hits"]], found["files"], found["bytes"]
