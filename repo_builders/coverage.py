"""Which lines each run of a case executes, recorded once: the key to screening a mutant in milliseconds.

Python lines are recorded by a tracer of our own that the case's interpreter loads by itself; compiled
lines by a build of its own with `--coverage`, where the compiler offers gcov.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scienceide.base.errors import SandboxError, UserError
from scienceide.base.paths import cache_dir, content_hash, write_atomically
from scienceide.base.progress import Progress, Silent, track
from scienceide.envs.catalog import LoadedEnvironment
from scienceide.envs.grading import is_compiled
from scienceide.envs.pristine import Pristine, prepare
from scienceide.envs.running import RunSpec, build_environment, run_case
from scienceide.envs.sandbox.protocol import TREE, Limits, Sandbox
from scienceide.repo_builders.inside import program

Lines = Mapping[str, frozenset[int]]
"""Executed lines by file, relative to the tree."""

_TRACE = "/tmp/line-trace"
_OUTPUT = 64 * 2**20


@dataclass(frozen=True)
class Coverage:
    """Executed lines by run. Files that nothing is known about count as executed by every run."""

    runs: Mapping[str, Lines]
    unknown: tuple[str, ...] = ()
    """Suffixes of files that could not be recorded."""

    def reaching(self, file: str, first: int, last: int) -> list[str]:
        """The runs that execute any of the lines `first` to `last` of `file`."""
        if self.unknown and file.endswith(self.unknown):
            return list(self.runs)
        wanted = range(first, last + 1)
        return [run for run, lines in self.runs.items() if not lines.get(file, frozenset()).isdisjoint(wanted)]

    def files(self) -> list[str]:
        """All files with an executed line."""
        return sorted({file for lines in self.runs.values() for file in lines})


def record(pristine: Pristine, specs: Sequence[RunSpec], progress: Progress | None = None) -> Coverage:
    """The coverage of all runs, from the cache or recorded now.

    Raises:
        SandboxError: no sandbox could be had.
    """
    parts = [(s.id, s.case.command, dict(s.inputs), _digest(pristine.environment, s)) for s in specs]
    path = cache_dir("coverage") / f"{content_hash(2, pristine.key, parts)}.json"
    if path.is_file():
        return _from_json(path.read_text())
    runs = _trace_python(pristine, specs, progress or Silent())
    unknown: tuple[str, ...] = ()
    if pristine.environment.environment.build.compiled:
        compiled = _trace_compiled(pristine, specs, progress or Silent())
        unknown = () if compiled else (".c", ".h", ".cc", ".cpp", ".cxx", ".hpp")
        runs = {run: {**lines, **compiled.get(run, {})} for run, lines in runs.items()}
    coverage = Coverage(runs, unknown)
    write_atomically(path, _to_json(coverage))
    return coverage


def _trace_python(
    pristine: Pristine, specs: Sequence[RunSpec], progress: Progress
) -> dict[str, dict[str, frozenset[int]]]:
    environment = _with_tracer(pristine.environment)
    found = {}
    sandbox = pristine.provider.acquire(pristine.spec(purpose="build"))
    try:
        for spec in track(progress, "line coverage", specs, len(specs)):
            sandbox.write(f"{_TRACE}/sitecustomize.py", program("line_tracer").encode())
            run_case(sandbox, environment, _unhurried(spec))
            found[spec.id] = _merge(json.loads(part) for part in _outputs(sandbox, f"cat {_TRACE}/out/*.json"))
            sandbox.reset()
    finally:
        sandbox.close()
    return found


def _trace_compiled(
    pristine: Pristine, specs: Sequence[RunSpec], progress: Progress
) -> dict[str, dict[str, frozenset[int]]]:
    """Lines of compiled files by run; empty where the code does not build with `--coverage`."""
    flags = {"CFLAGS": "--coverage -O1", "CXXFLAGS": "--coverage -O1", "LDFLAGS": "--coverage"}
    try:
        traced = prepare(pristine.environment, pristine.provider, progress, extra=flags)
    except UserError:
        return {}
    found = {}
    sandbox = traced.provider.acquire(traced.spec(purpose="build"))
    try:
        for spec in track(progress, "line coverage, compiled", specs, len(specs)):
            run_case(sandbox, pristine.environment, _unhurried(spec))
            command = "find . -name '*.gcda' -exec gcov --json-format --stdout {} +"
            parts = [json.loads(part) for part in _outputs(sandbox, command)]
            found[spec.id] = _merge(_gcov_lines(part, pristine.environment) for part in parts)
            sandbox.reset()
    finally:
        sandbox.close()
    return found if any(found.values()) else {}


def _gcov_lines(report: dict[str, Any], environment: LoadedEnvironment) -> dict[str, list[int]]:
    """Executed lines of the environment's own files in one gcov report."""
    folder = str(report.get("current_working_directory", TREE))
    lines: dict[str, list[int]] = {}
    for entry in report["files"]:
        path = posixpath.relpath(posixpath.normpath(posixpath.join(folder, entry["file"])), TREE)
        if is_compiled(environment, path):
            lines[path] = [line["line_number"] for line in entry["lines"] if line["count"]]
    return lines


def _outputs(sandbox: Sandbox, command: str) -> list[str]:
    """The JSON documents a command prints, one a line."""
    limits = Limits(memory=sandbox.spec.limits.memory, output=_OUTPUT)
    result = sandbox.run(f"{command} 2>/dev/null", limits=limits)
    if result.bytes_cut:
        raise SandboxError("The coverage report is longer than what a sandbox gives out.")
    return [line for line in result.text.splitlines() if line.startswith("{")]


def _with_tracer(environment: LoadedEnvironment) -> LoadedEnvironment:
    """The environment with the tracer first on the module path."""
    record = environment.environment
    before = build_environment(record).get("PYTHONPATH", "")
    variables = {
        **record.build.environment,
        "PYTHONPATH": f"{_TRACE}:{before}".rstrip(":"),
        "TRACE_TREE": TREE,
        "TRACE_FOLDER": f"{_TRACE}/out",
    }
    build = record.build.model_copy(update={"environment": variables})
    return replace(environment, environment=record.model_copy(update={"build": build}))


def _unhurried(spec: RunSpec) -> RunSpec:
    """The run without its CPU cap: recording slows it down."""
    return replace(spec, case=spec.case.model_copy(update={"cpu": None}))


def _merge(parts: Iterable[Mapping[str, Iterable[int]]]) -> dict[str, frozenset[int]]:
    merged: dict[str, frozenset[int]] = {}
    for part in parts:
        for file, lines in part.items():
            merged[file] = merged.get(file, frozenset()) | frozenset(lines)
    return merged


def _digest(environment: LoadedEnvironment, spec: RunSpec) -> str:
    files = environment.case_files(spec.case_name)
    return content_hash({name: content_hash(data.hex()) for name, data in files.items()})


def _to_json(coverage: Coverage) -> str:
    runs = {run: {f: sorted(lines) for f, lines in files.items()} for run, files in coverage.runs.items()}
    return json.dumps({"unknown": coverage.unknown, "runs": runs})


def _from_json(text: str) -> Coverage:
    data = json.loads(text)
    runs = {run: {f: frozenset(lines) for f, lines in files.items()} for run, files in data["runs"].items()}
    return Coverage(runs, tuple(data["unknown"]))
