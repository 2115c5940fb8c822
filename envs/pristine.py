"""The pristine code, built once: the tree that every sandbox of an environment is laid over.

A built tree lies in the cache under a key made of everything that decides it: the source, the system it
was built on and the recipe. It is there whole or not at all.
"""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from scienceide.base.errors import TaskError, UserError
from scienceide.base.paths import building, cache_dir, content_hash, write_atomically
from scienceide.base.progress import Progress, Silent, track
from scienceide.envs.catalog import LoadedEnvironment
from scienceide.envs.formats import Environment
from scienceide.envs.running import CaseRun, RunSpec, build_environment, limits_of, run_case
from scienceide.envs.sandbox.protocol import (
    CommandResult,
    Limits,
    Provider,
    Root,
    Sandbox,
    SandboxSpec,
)
from scienceide.envs.sources import fetch
from scienceide.verifiers import read_outputs

LOG_LINES = 15
"""So many last lines of a failed build are shown."""

_RECIPE = 2
"""Counts up when the way a tree is prepared changes, so that older ones are not used."""


@dataclass(frozen=True)
class Pristine:
    """A built environment, ready to be laid under sandboxes of `provider`."""

    environment: LoadedEnvironment
    provider: Provider
    root: Root
    layer: Path
    """The whole built tree, usable as the lowest layer of a sandbox."""
    source: Path
    """The unpacked source as it came."""
    key: str
    build_log: Path

    def spec(self, layers: tuple[Path, ...] = (), purpose: str = "episode") -> SandboxSpec:
        """What a sandbox over this tree, with `layers` on top of it, is made of."""
        return sandbox_spec(self.environment.environment, self.root, (*layers, self.layer), purpose)


def sandbox_spec(environment: Environment, root: Root, layers: tuple[Path, ...], purpose: str) -> SandboxSpec:
    """A sandbox as an environment asks for it: its variables and limits, no network."""
    return SandboxSpec(
        root=root,
        layers=layers,
        # Compiled Python speeds up every run but the first. It must not get into a layer, where it could show
        # an agent the unbroken code, and layers come from sandboxes that build.
        environment={
            **build_environment(environment),
            "PYTHONDONTWRITEBYTECODE": "1" if purpose == "build" else "",
        },
        limits=limits_of(environment),
        purpose=purpose,
    )


def prepare(
    environment: LoadedEnvironment,
    provider: Provider,
    progress: Progress | None = None,
    *,
    extra: Mapping[str, str] | None = None,
) -> Pristine:
    """Fetch, build and cache the unmodified code.

    Args:
        environment: what to build.
        provider: makes the sandbox that it is built in and later run in.
        progress: told about each phase.
        extra: more environment variables for the build, such as other compiler flags; another key.

    Raises:
        UserError: the source cannot be had, or the build fails (last lines of the log, and its path).
        SandboxError: no sandbox could be had.
    """
    progress = progress or Silent()
    record = environment.environment
    source = fetch(record.source, environment.folder, progress)
    image = record.image
    with progress.phase("prepare the system"):
        root = provider.prepare_root(
            base=image.base,
            system=image.system,
            requirements=image.requirements,
            index_cutoff=image.index_cutoff.isoformat() if image.index_cutoff else None,
        )
    build = record.build.model_dump(mode="json", exclude={"incremental", "compiled"})
    key = content_hash(_RECIPE, record.source.sha256, root.identity, build, dict(extra or {}))
    final = cache_dir("pristine") / key
    log = cache_dir("logs") / f"build-{record.name}-{key}.log"
    with building(final) as scratch:
        if scratch is not None:
            sandbox = provider.acquire(sandbox_spec(record, root, (source,), "build"))
            try:
                _build(sandbox, record, log, progress, extra or {})
                _export(sandbox, scratch / "tree")
            finally:
                sandbox.close()
            _require_products(scratch / "tree", record, log)
    return Pristine(environment, provider, root, final / "tree", source, key, log)


def references(pristine: Pristine, specs: Iterable[RunSpec], progress: Progress | None = None) -> Mapping[str, CaseRun]:
    """The outputs of the pristine code for each run, by run id; each is computed once and kept on disk.

    Raises:
        TaskError: a run fails on the pristine code.
        SandboxError: no sandbox could be had.
    """
    wanted = list(specs)
    found: dict[str, CaseRun] = {}
    missing: list[tuple[RunSpec, Path]] = []
    for spec in wanted:
        folder = cache_dir("references") / _reference_key(pristine, spec)
        if folder.is_dir():
            found[spec.id] = _load(folder, spec)
        else:
            missing.append((spec, folder))
    if missing:
        sandbox = pristine.provider.acquire(pristine.spec(purpose="verify"))
        try:
            for spec, folder in track(progress or Silent(), "reference runs", missing, len(missing)):
                found[spec.id] = _run_reference(sandbox, pristine, spec)
                _save(found[spec.id], folder)
                sandbox.reset()
        finally:
            sandbox.close()
    for spec in wanted:
        _require_readable(pristine, spec, found[spec.id])
    return found


def _build(sandbox: Sandbox, environment: Environment, log: Path, progress: Progress, extra: Mapping[str, str]) -> None:
    """Run the build commands, keeping a log of all of them."""
    commands = (*environment.build.commands, _CLEAN)
    text = ""
    for command in track(progress, "build", commands, len(commands)):
        result = sandbox.run(
            command,
            environment={**build_environment(environment), **extra},
            limits=_build_limits(sandbox.spec.limits),
        )
        text += f"$ {command}\n{result.text}\n"
        write_atomically(log, text)
        if result.exit_code != 0:
            raise UserError(_failure(environment, command, result, log))


_CLEAN = "find . -name __pycache__ -prune -exec rm -rf {} +"
"""Compiled Python would show an agent the unbroken code, and go stale besides."""


def _build_limits(limits: Limits) -> Limits:
    """Compiling takes more than running does."""
    return replace(
        limits,
        memory=max(limits.memory, 4 * 2**30),
        disk=max(limits.disk, 4 * 2**30),
        processes=max(limits.processes, 256),
        cpu_s=7200.0,
        wall_s=7200.0,
        output=4 * 2**20,
    )


def _failure(environment: Environment, command: str, result: CommandResult, log: Path) -> str:
    how = f"was stopped by its {result.killed_by} limit" if result.killed_by else f"ended with {result.exit_code}"
    last = "\n".join(f"  {line}" for line in result.text.rstrip().splitlines()[-LOG_LINES:])
    return f"{environment.name}: the build command {command!r} {how}; the whole log is {log}; it ends\n{last}"


def _export(sandbox: Sandbox, folder: Path) -> None:
    folder.mkdir()
    try:
        sandbox.export(folder)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UserError(f"The disk that holds the cache {cache_dir()} is full; nothing was kept.") from None
        raise


def _require_products(tree: Path, environment: Environment, log: Path) -> None:
    for pattern in environment.build.products:
        if not any(path.is_file() for path in tree.glob(pattern)):
            raise UserError(
                f"{environment.name}: the build ended well but made no {pattern!r} (build.products); "
                f"the whole log is {log}."
            )


def _reference_key(pristine: Pristine, spec: RunSpec) -> str:
    """Everything that decides what a run writes, and what of it is kept."""
    files = pristine.environment.case_files(spec.case_name)
    digests = {path: content_hash(data.hex()) for path, data in files.items()}
    kept = sorted({o.source.file for o in spec.case.observables})
    return content_hash(pristine.key, spec.case.command, dict(spec.inputs), digests, kept)


def _run_reference(sandbox: Sandbox, pristine: Pristine, spec: RunSpec) -> CaseRun:
    run = run_case(sandbox, pristine.environment, spec)
    wanted = {o.source.file for o in spec.case.observables}
    lost = sorted(wanted - run.files.keys())
    if run.result.exit_code == 0 and not lost:
        return run
    why = (
        f"was stopped by its {run.result.killed_by} limit"
        if run.result.killed_by
        else f"ended with {run.result.exit_code}"
        if run.result.exit_code
        else f"did not write {', '.join(lost)}"
    )
    last = " / ".join(run.result.text.strip().splitlines()[-3:])
    name = pristine.environment.name
    raise TaskError(f"{name}: case {spec.id} fails on the pristine code: it {why}. Its output ends: {last}")


def _require_readable(pristine: Pristine, spec: RunSpec, run: CaseRun) -> None:
    """Every observable that the case promises must be in the files as promised."""
    failures = read_outputs(run.files, spec.case.observables).failures
    for name, failure in failures.items():
        where = f"{pristine.environment.name}: case {spec.id}"
        raise TaskError(f"{where} fails on the pristine code: its observable {name}: {failure}.")


def _save(run: CaseRun, folder: Path) -> None:
    with building(folder) as scratch:
        if scratch is None:
            return
        result = {**asdict(run.result), "output": run.result.text}
        (scratch / "result.json").write_text(json.dumps(result))
        for name, data in run.files.items():
            path = scratch / "files" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def _load(folder: Path, spec: RunSpec) -> CaseRun:
    result = json.loads((folder / "result.json").read_text())
    result["output"] = result["output"].encode()
    root = folder / "files"
    files = {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}
    return CaseRun(spec.id, files, CommandResult(**result))


def forget(pristine: Pristine) -> None:
    """Remove a built tree from the cache, and its log."""
    shutil.rmtree(pristine.layer.parent, ignore_errors=True)
    pristine.build_log.unlink(missing_ok=True)
