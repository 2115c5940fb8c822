"""Cases from a package's own tests: what its assertions look at becomes observables.

The tests stay where they are, in the pinned source; a case names them by their pytest ids and runs them with
our recorder. Kept are tests that pass, check numbers, are fast, and say exactly the same twice.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from scienceide.base.errors import UserError
from scienceide.base.paths import content_hash, write_atomically
from scienceide.base.progress import Progress, Silent, track
from scienceide.envs.catalog import LoadedEnvironment
from scienceide.envs.formats import Case, to_toml
from scienceide.envs.pristine import Pristine
from scienceide.envs.running import build_environment
from scienceide.envs.sandbox.protocol import Sandbox
from scienceide.repo_builders.inside import program
from scienceide.verifiers import Location, Norm, ObservableSpec

SLOWEST = 2.0
"""Seconds that one test may take."""
CASES = 12
TESTS = 16
"""At most so many cases, and so many tests in one."""
MODULE_WALL = 120.0
HIDDEN = 3
"""One case in so many is hidden."""
_FOLDER = "/tmp/harvest"


@dataclass(frozen=True)
class Harvested:
    """One test function, as it ran twice."""

    test: str
    values: np.ndarray
    seconds: float

    @property
    def name(self) -> str:
        """A name for its observable."""
        return re.sub(r"\W+", "-", self.test.rpartition("::")[2]).strip("-")


def test_modules(tree: Path) -> list[str]:
    """Test modules of a source tree, relative to it, as pytest would find them."""
    found = {p for pattern in ("test_*.py", "*_test.py") for p in tree.rglob(pattern)}
    return sorted(p.relative_to(tree).as_posix() for p in found)


def harvest(pristine: Pristine, progress: Progress | None = None) -> dict[str, list[Harvested]]:
    """The usable tests of each test module.

    Raises:
        UserError: there is none.
        SandboxError: no sandbox could be had.
    """
    modules = test_modules(pristine.layer)
    found: dict[str, list[Harvested]] = {}
    sandbox = pristine.provider.acquire(pristine.spec(purpose="build"))
    try:
        for module in track(progress or Silent(), "harvest tests", modules, len(modules)):
            first, second = _record(sandbox, pristine.environment, module), None
            if first:
                sandbox.reset()
                second = _record(sandbox, pristine.environment, module)
            sandbox.reset()
            if first and second and (kept := usable(first, second)):
                found[module] = kept
    finally:
        sandbox.close()
    if not found:
        name = pristine.environment.name
        raise UserError(
            f"{name}: none of its {len(modules)} test modules passes here and checks numbers; write cases for it."
        )
    return found


def usable(first: Mapping[str, Harvested], second: Mapping[str, Harvested]) -> list[Harvested]:
    """Tests with the very same numbers in two runs, all finite, and fast; fastest first."""
    kept = [
        test
        for name, test in first.items()
        if name in second
        and test.values.shape == second[name].values.shape
        and np.array_equal(test.values, second[name].values)
        and np.all(np.isfinite(test.values))
        and max(test.seconds, second[name].seconds) <= SLOWEST
    ]
    return sorted(kept, key=lambda t: (t.seconds > SLOWEST / 4, t.test))


def write_cases(found: Mapping[str, Sequence[Harvested]], folder: Path) -> list[str]:
    """Write a case for each of the richest modules into `folder`; the names of the cases."""
    richest = sorted(found, key=lambda m: (-len(found[m]), m))[:CASES]
    order = sorted(richest, key=content_hash)
    names = []
    for number, module in enumerate(order):
        tests = list(found[module])[:TESTS]
        parts = _halves(tests) if len(order) == 1 else [(tests, number % HIDDEN != HIDDEN - 1)]
        for part, visible in parts:
            name = _case_name(module) + ("" if len(parts) == 1 or visible else "-more")
            case = as_case(module, part, visible=visible)
            write_atomically(folder / name / "case.toml", to_toml(case))
            write_atomically(folder / name / "driver.py", program("recorder"))
            names.append(name)
    return names


def as_case(module: str, tests: Sequence[Harvested], *, visible: bool) -> Case:
    """A case that runs `tests` of one module, one observable for each."""
    observables = tuple(
        ObservableSpec(
            name=test.name,
            source=Location(file="observables.npz", key=test.test),
            shape=(len(test.values),),
            criterion=Norm(norm="linf", scale="field", tolerance=1e-9),
        )
        for test in tests
    )
    return Case(
        title=f"Numbers that {module} checks",
        science="The authors' own tests; what they compare is what matters to them.",
        visible=visible,
        inputs={"tests": [test.test for test in tests]},
        observables=observables,
    )


def _halves(tests: Sequence[Harvested]) -> list[tuple[Sequence[Harvested], bool]]:
    """The tests of an only module as a visible and a hidden case, if they are two or more."""
    hidden = tests[1::2]
    return [(tests[::2], True), (hidden, False)] if hidden else [(tests, True)]


def _case_name(module: str) -> str:
    stem = re.sub(r"^test_|_test$", "", Path(module).stem)
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "tests"


def _record(sandbox: Sandbox, environment: LoadedEnvironment, module: str) -> dict[str, Harvested]:
    """What the tests of one module check; empty where the module does not run."""
    sandbox.write(f"{_FOLDER}/driver.py", program("recorder").encode())
    sandbox.write(f"{_FOLDER}/case-input.json", json.dumps({"tests": [module]}).encode())
    result = sandbox.run(
        "python driver.py",
        cwd=_FOLDER,
        environment={**build_environment(environment.environment), "CASE_INPUT": "case-input.json"},
        limits=replace(sandbox.spec.limits, wall_s=MODULE_WALL, cpu_s=MODULE_WALL),
    )
    if result.exit_code != 0:
        return {}
    try:
        durations = json.loads(sandbox.read(f"{_FOLDER}/durations.json"))
        with np.load(io.BytesIO(sandbox.read(f"{_FOLDER}/observables.npz")), allow_pickle=False) as arrays:
            values = {name: arrays[name] for name in arrays.files}
    except OSError:
        return {}
    failed = set(durations["failed"])
    return {
        name: Harvested(name, array, durations["seconds"][name]) for name, array in values.items() if name not in failed
    }
