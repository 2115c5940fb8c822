"""From a source to an environment folder with gated tasks, stage by stage.

Every stage keeps its products in the cache under what they depend on, so that a run that was killed goes on
where it was. The output folder appears whole, or not at all.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from scienceide.base.errors import UserError
from scienceide.base.paths import building, cache_dir, content_hash, write_atomically
from scienceide.base.progress import Progress, Silent, track
from scienceide.envs.catalog import LoadedEnvironment, load_environment
from scienceide.envs.defects import to_text
from scienceide.envs.formats import to_toml
from scienceide.envs.patch import is_editable
from scienceide.envs.pristine import prepare, references
from scienceide.envs.running import with_cpu
from scienceide.envs.sandbox.protocol import Provider
from scienceide.envs.sources import fetch, resolve
from scienceide.envs.workshop import ReadyEnvironment, Workshop
from scienceide.repo_builders import calibrate as calibration
from scienceide.repo_builders import harvest as harvesting
from scienceide.repo_builders import recipe, tasks
from scienceide.repo_builders.casefile import annotated
from scienceide.repo_builders.coverage import record
from scienceide.repo_builders.draft import Bench, Draft
from scienceide.repo_builders.gates import GateResult, Trial, run_gates
from scienceide.repo_builders.gates.search import sweep_system
from scienceide.repo_builders.mutants import MutantRunner
from scienceide.repo_builders.mutate import Candidate, candidates, language_of
from scienceide.repo_builders.report import BuildReport, Rejected
from scienceide.repo_builders.select import Quota, shortlist, split_files
from scienceide.repo_builders.siblings import Siblings

GATE_VERSION = 1
"""Counts up when gates change, so that earlier words no longer hold."""


@dataclass(frozen=True)
class Options:
    """How much is made, and how."""

    tasks: int = 24
    heldout_share: float = 0.4
    signal_mutants: int = 40
    """Mutants measured for the signal that tolerances are placed by."""
    calibrate: bool = True
    screened_per_task: int = 12
    """Candidates tried at most, for each task wanted."""
    seed: int = 0


@dataclass
class _Build:
    """What one run carries from stage to stage."""

    options: Options
    progress: Progress
    shop: Workshop
    report: BuildReport
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage."""
        started = time.perf_counter()
        yield
        self.report.seconds[name] = round(time.perf_counter() - started, 2)


def build_environment(
    source: str | Path,
    output: Path,
    provider: Provider,
    options: Options | None = None,
    progress: Progress | None = None,
) -> BuildReport:
    """Make an environment folder with gated tasks.

    Args:
        source: a recipe (a folder with `environment.toml` and `cases/`), or a source to make one for:
            `pypi:NAME==VERSION` or a local folder with a Python package.
        output: the folder to make; it must not exist, and its name becomes the environment's.
        provider: makes the sandboxes.
        options: how much to make.
        progress: told about each stage.

    Returns:
        The report, which also lies in the folder as `build-report.json`, beside `graveyard.json`.

    Raises:
        UserError: the source or recipe is no good, or `output` exists.
        TaskError: the pristine code fails its cases.
        SandboxError: no sandbox could be had.
    """
    if output.exists():
        raise UserError(f"{output} exists already; name a folder that does not.")
    options = options or Options()
    with building(output.absolute()) as scratch:
        if scratch is None:
            raise UserError(f"{output} was made by someone else meanwhile.")
        # The environment's folder must bear its name, and the scratch folder's name is temporary.
        folder = scratch / output.name
        # Gates run everything: what they prove must not rest on what grading later saves.
        shop = Workshop(provider, thrifty=False, progress=progress or Silent())
        build = _Build(options, progress or Silent(), shop, BuildReport(environment=output.name))
        with build.stage("recipe"):
            _write_recipe(source, folder, build)
        _fill(folder, build)
        for path in folder.iterdir():
            path.rename(scratch / path.name)
        folder.rmdir()
    return build.report


def _write_recipe(source: str | Path, folder: Path, build: _Build) -> None:
    """Copy the recipe, or make one with cases from the source's own tests."""
    if (Path(source) / "environment.toml").is_file():
        _copy_recipe(load_environment(str(source)), folder)
        return
    pinned = resolve(str(source), build.progress)
    made = recipe.generate(pinned, fetch(pinned, None, build.progress)).model_copy(update={"name": folder.name})
    write_atomically(folder / "environment.toml", to_toml(made))
    pristine = prepare(load_environment(str(folder)), build.shop.provider, build.progress)
    harvesting.write_cases(harvesting.harvest(pristine, build.progress), folder / "cases")


def _copy_recipe(given: LoadedEnvironment, folder: Path) -> None:
    """The recipe's files under a new name; a source folder that lies in the recipe comes along."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(given.folder / "cases", folder / "cases", ignore=ignored)
    values = {"name": folder.name}
    source = given.environment.source
    if source.kind == "folder" and source.path is not None and not Path(source.path).is_absolute():
        code = (given.folder / source.path).resolve()
        if code.is_relative_to(given.folder):
            shutil.copytree(code, folder / source.path, ignore=ignored)
        else:
            values["path"] = str(code)
    text = (given.folder / "environment.toml").read_text(encoding="utf-8")
    write_atomically(folder / "environment.toml", _with_values(text, values))


def _with_values(text: str, values: Mapping[str, str]) -> str:
    """TOML text in which the first setting of each key has a new value; comments stay."""
    for key, value in values.items():
        text = re.sub(rf"(?m)^{key}\s*=.*$", lambda _, k=key, v=value: f"{k} = {json.dumps(v)}", text, count=1)  # type: ignore[misc]
    return text


def _fill(folder: Path, build: _Build) -> None:
    """Everything after the recipe: references, calibration, screening, gates, tasks, report."""
    with build.stage("pristine build and references"):
        ready = build.shop.environment(load_environment(str(folder)))
    with build.stage("coverage"):
        coverage = record(ready.pristine, ready.specs, build.progress)
        found = _all_candidates(ready)
        order = shortlist(found, coverage, build.options.seed)
        build.report.count_candidates(found, order)
    with MutantRunner(ready, coverage) as runner:
        if build.options.calibrate:
            with build.stage("calibration"):
                ready = _calibrated(folder, ready, order, runner, build)
        with build.stage("screening"):
            assessments = _screen(ready, order, runner, build)
        with build.stage("gates"):
            passed = _gate(Bench(build.shop, ready, runner), assessments, build)
    _publish(folder, passed, build)
    build.report.describe_cases(load_environment(str(folder)))
    write_atomically(folder / "graveyard.json", build.report.graveyard_json())
    write_atomically(folder / "build-report.json", build.report.to_json())


def _all_candidates(ready: ReadyEnvironment) -> list[Candidate]:
    """The candidates of all editable source files."""
    pristine = ready.pristine
    editable = pristine.environment.environment.editable
    found: list[Candidate] = []
    for path in sorted(p for p in pristine.source.rglob("*") if p.is_file()):
        file = path.relative_to(pristine.source).as_posix()
        language = language_of(file)
        if language is not None and is_editable(file, editable):
            found += candidates(to_text(path.read_bytes()), language, file)
    return found


def _calibrated(
    folder: Path, ready: ReadyEnvironment, order: Sequence[Candidate], runner: MutantRunner, build: _Build
) -> ReadyEnvironment:
    """The environment with placed tolerances, written into its case files."""
    sample = order[: build.options.signal_mutants]
    runner.foresee(sample)
    mutants = [runner.measure(c) for c in track(build.progress, "signal mutants", sample, len(sample))]
    placed = calibration.calibrate(ready, mutants, build.progress)
    runs = references(ready.pristine, ready.specs)
    for name, case in placed.cases.items():
        seconds = [runs[s.id].result.cpu_s for s in ready.specs if s.case_name == name]
        path = folder / "cases" / name / "case.toml"
        measured = with_cpu(case, seconds)
        write_atomically(path, annotated(path.read_text(encoding="utf-8"), measured))
    build.report.flags = [vars(flag) for flag in placed.flags]
    # The workshop remembers environments by folder; the changed one is prepared by a workshop of its own.
    build.shop = Workshop(build.shop.provider, thrifty=False, progress=build.progress)
    return build.shop.environment(load_environment(str(folder)))


def _screen(
    ready: ReadyEnvironment, order: Sequence[Candidate], runner: MutantRunner, build: _Build
) -> list[tasks.Assessment]:
    """Mutants that could become tasks, some more than are wanted, since gates will refuse some."""
    wanted = build.options.tasks + max(4, build.options.tasks // 4)
    quota = Quota(wanted, len({c.edit.file for c in order}))
    siblings = Siblings(ready.pristine.source)
    kept: list[tasks.Assessment] = []
    tried = 0
    runner.foresee(c for c in order if quota.admits(c) and not siblings.give_away(c))
    with build.progress.phase("screen mutants", wanted) as bar:
        for candidate in order:
            if len(kept) >= wanted or tried >= wanted * build.options.screened_per_task:
                break
            if not quota.admits(candidate):
                continue
            if siblings.give_away(candidate):
                why = "the site stands elsewhere too, or is too short"
                build.report.reject(Rejected.of(candidate, "reachable", why))
                continue
            tried += 1
            assessment = tasks.assess(runner.measure(candidate), ready)
            rejected = assessment.rejected or ("" if not assessment.crashes or quota.admits_crash() else "crashes")
            if rejected:
                build.report.reject(Rejected.of(candidate, rejected, "screening"))
                continue
            quota.take(candidate, crashes=assessment.crashes)
            kept.append(assessment)
            bar.advance(1, candidate.edit.operator)
    build.report.screened = tried
    return kept


def _gate(
    bench: Bench, assessments: Sequence[tasks.Assessment], build: _Build
) -> list[tuple[Draft, list[GateResult], float]]:
    """Drafts that pass every gate, with what the gates said and the CPU seconds of a verification."""
    names = tasks.name_drafts(assessments)
    drafts = [tasks.draft(a, bench.ready, name) for a, name in zip(assessments, names, strict=True)]
    with build.progress.phase("search the system"):
        sweep = sweep_system(drafts, bench)
    passed: list[tuple[Draft, list[GateResult], float]] = []
    with (
        build.progress.phase("gates", build.options.tasks) as bar,
        ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="gates") as pool,
    ):
        trials = [pool.submit(_results, Trial(draft, bench, sweep)) for draft in drafts]
        for draft, trial in zip(drafts, trials, strict=True):
            if len(passed) >= build.options.tasks:
                pool.shutdown(cancel_futures=True)
                break
            results, cpu_s = trial.result()
            build.report.count_gates(results)
            if all(result.passed for result in results):
                passed.append((draft, results, cpu_s))
                bar.advance(1, draft.name)
            else:
                build.report.reject(Rejected.of(draft.candidate, results[-1].gate, results[-1].reason))
    return passed


def _results(trial: Trial) -> tuple[list[GateResult], float]:
    """The gates' words, from the cache where the same draft was tried on the same code before."""
    draft, pristine = trial.draft, trial.bench.ready.pristine
    cases = {name: case.model_dump(mode="json") for name, case in pristine.environment.cases.items()}
    task = draft.task.model_dump(mode="json")
    defect = draft.defect.model_dump(mode="json")
    key = content_hash(GATE_VERSION, pristine.key, cases, draft.name, task, defect, draft.instruction)
    path = cache_dir("gates") / f"{key}.json"
    if path.is_file():
        stored = json.loads(path.read_text())
        return [GateResult(**result) for result in stored["results"]], stored["cpu_s"]
    results = run_gates(trial)
    cpu_s = trial.untouched[0].cpu_s if results[-1].passed else 0.0
    stored = {"results": [result.to_json() for result in results], "cpu_s": cpu_s}
    write_atomically(path, json.dumps(stored))
    return results, cpu_s


def _publish(folder: Path, passed: Sequence[tuple[Draft, list[GateResult], float]], build: _Build) -> None:
    """Write the tasks, split by source file."""
    counts: dict[str, int] = {}
    for draft, _, _ in passed:
        file = draft.candidate.edit.file
        counts[file] = counts.get(file, 0) + 1
    split = split_files(counts, build.options.heldout_share)
    for draft, results, cpu_s in passed:
        done = tasks.finished(draft, split[draft.candidate.edit.file], cpu_s)
        tasks.write(done, results, folder / "tasks" / draft.name)
        build.report.accept(done)
