"""The main job end to end, small enough for two cores: environments, tasks, episodes, SFT, RL, held-out reward.

Each phase leaves its result in the run's folder, so that a demo that was killed goes on where it was. What
training itself was doing goes on from its last checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scienceide.base.errors import UserError
from scienceide.base.paths import write_atomically
from scienceide.base.progress import Progress
from scienceide.envs.agents import Nop, Oracle
from scienceide.envs.catalog import LoadedTask, load_environment, tasks
from scienceide.envs.workshop import Workshop
from scienceide.store import Run
from scienceide.trainers.collect import Job, collect
from scienceide.trainers.config import EvalConfig, RLConfig, SFTConfig
from scienceide.trainers.evaluate import evaluate
from scienceide.trainers.rl import train_rl
from scienceide.trainers.sft import train_sft

if TYPE_CHECKING:
    from rich.table import Table

ENVIRONMENTS = ("fluids", "spglib")
MODEL = "smollm2-135m"
BATCH = 8
"""Episodes at a time while a model is measured: it answers them in one batch."""


@dataclass(frozen=True)
class DemoSize:
    """How much of everything the demo does."""

    anchors: int = 3
    """Tasks per environment that the oracle and the nop agent play."""
    heldout: int = 16
    """Held-out tasks that the three models are measured on."""
    sft_epochs: float = 4.0
    rl_steps: int = 8
    rl_groups: int = 1
    rl_generations: int = 8


@dataclass(frozen=True)
class DemoResult:
    """What the table shows."""

    environments: tuple[dict[str, Any], ...]
    models: tuple[dict[str, Any], ...]
    folder: Path

    def as_json(self) -> dict[str, Any]:
        """For the run store and `--json`."""
        return {"environments": list(self.environments), "models": list(self.models), "folder": str(self.folder)}


def run_demo(
    run: Run,
    sandbox: str,
    progress: Progress,
    *,
    size: DemoSize | None = None,
    model: str = MODEL,
    environments: Sequence[str] = ENVIRONMENTS,
) -> DemoResult:
    """Do the whole job, or what of it is not yet done in `run`.

    Raises:
        Fault: whatever a phase says; the phases before it are kept.
    """
    size = size or DemoSize()
    phases = _Phases(run.folder)
    environments = [name for name in environments if load_environment(name).task_names]
    heldout = pick([t for t in tasks(split="heldout") if t.environment.name in environments], size.heldout)
    with Workshop(sandbox, progress=progress) as shop:
        rows = [phases.do(name, partial(_anchors, name, size, shop, run, progress)) for name in environments]

        def measure(name: str, of: str) -> dict[str, Any]:
            config = EvalConfig(model=of, tasks=tuple(heldout), hints=(1, "none"), confidence=0.9, concurrency=BATCH)
            found = evaluate(config, run.folder / f"eval-{name}", shop=shop, recorder=run, progress=progress)
            return found.as_json()

        results = {model: phases.do("base", lambda: measure("base", model))}
        tuned = phases.do("sft", lambda: _sft(run, size, model, environments, shop, progress))
        results["… after SFT"] = phases.do("eval-sft", lambda: measure("sft", tuned["model"]))
        better = phases.do("rl", lambda: _rl(run, size, tuned["model"], environments, shop, progress))
        results["… after SFT and RL"] = phases.do("eval-rl", lambda: measure("rl", better["model"]))
    models = tuple({**found, "model": name} for name, found in results.items())
    return DemoResult(tuple(rows), models, run.folder)


def pick(found: Sequence[LoadedTask], count: int) -> list[str]:
    """`count` of the tasks, spread evenly over the list, which is sorted by environment."""
    if not found:
        raise UserError("The demo's environments have no such tasks; is the catalog whole?")
    count = min(count, len(found))
    return [found[i * len(found) // count].id for i in range(count)]


class _Phases:
    """Results of finished phases, one JSON file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "phases"

    def do(self, name: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        path = self._folder / f"{name}.json"
        if path.is_file():
            found: dict[str, Any] = json.loads(path.read_text())
            return found
        result = work()
        write_atomically(path, json.dumps(result))
        return result


def _anchors(name: str, size: DemoSize, shop: Workshop, run: Run, progress: Progress) -> dict[str, Any]:
    """Build an environment and let the oracle and the nop agent bracket what can be earned."""
    environment = load_environment(name)
    found = list(tasks(environment=name))
    shop.environment(environment)
    rewards = {}
    for agent in (Oracle(), Nop()):
        jobs = [Job(task) for task in pick(found, size.anchors)]
        rewards[agent.name] = collect(agent, shop, jobs, recorder=run, progress=progress).rewards
    gates = [json.loads((task.folder / task.task.provenance.gates).read_text()) for task in found]
    return {
        "environment": name,
        "cases": len(environment.cases),
        "train": sum(t.task.split == "train" for t in found),
        "heldout": sum(t.task.split == "heldout" for t in found),
        "gates": gate_summary(gates),
        "oracle": rewards["oracle"],
        "nop": rewards["nop"],
    }


def gate_summary(reports: Sequence[Any]) -> str:
    """`252/252`: how many gates were passed, over all tasks."""
    results = [gate for report in reports for gate in report]
    return f"{sum(bool(gate['passed']) for gate in results)}/{len(results)}"


def _sft(
    run: Run, size: DemoSize, model: str, environments: Sequence[str], shop: Workshop, progress: Progress
) -> dict[str, Any]:
    train = [t.id for t in tasks(split="train") if t.environment.name in environments]
    config = SFTConfig(model=model, tasks=tuple(train), epochs=size.sft_epochs)
    return train_sft(config, run.folder / "sft", shop=shop, recorder=run, progress=progress).as_json()


def _rl(
    run: Run, size: DemoSize, model: str, environments: Sequence[str], shop: Workshop, progress: Progress
) -> dict[str, Any]:
    config = RLConfig(
        model=model,
        environments=tuple(environments),
        steps=size.rl_steps,
        groups=size.rl_groups,
        generations=size.rl_generations,
        batch=size.rl_groups * size.rl_generations,
        save_steps=1,
    )
    return train_rl(config, run.folder / "rl", shop=shop, recorder=run, progress=progress).as_json()


def table(result: DemoResult) -> list[Table]:
    """The demo's two tables, for a terminal."""
    from rich.table import Table

    first = Table(title="Environments", title_justify="left", title_style="bold", header_style="bold")
    for column in ("environment", "cases", "train", "held-out", "gates", "oracle", "nop"):
        first.add_column(column, justify="left" if column == "environment" else "right", no_wrap=True)
    for row in result.environments:
        numbers = [str(row[k]) for k in ("cases", "train", "heldout", "gates")]
        first.add_row(row["environment"], *numbers, _mean(row["oracle"]), _mean(row["nop"]))
    second = Table(title="Held-out repair reward (90 % intervals)", title_justify="left", title_style="bold")
    for column in ("model", "tasks", "hinted", "solved", "without hint", "solved"):
        second.add_column(column, justify="left" if column == "model" else "right", no_wrap=True)
    for row in result.models:
        hinted, unhinted = model_row(row, 1), model_row(row, None)
        second.add_row(row["model"], str(hinted["tasks"]), *_cells(hinted), *_cells(unhinted))
    return [first, second]


def model_row(evaluation: dict[str, Any], hint: int | None) -> dict[str, Any]:
    """The row of the measured model at a hint level, from an evaluation's JSON."""
    rows: list[dict[str, Any]] = evaluation["rows"]
    return next(r for r in rows if r["agent"] not in ("oracle", "nop") and r["kind"] == "all" and r["hint"] == hint)


def _cells(row: dict[str, Any]) -> tuple[str, str]:
    reward, solved = row["reward"], row["pass_at"]
    if reward is None:
        return "ungraded", "–"
    share = next(iter(solved.values()))["mean"]
    return f"{reward['mean']:.2f} [{reward['low']:.2f}, {reward['high']:.2f}]", f"{share:.0%}"


def _mean(rewards: Sequence[float]) -> str:
    return f"{sum(rewards) / len(rewards):.2f} (n={len(rewards)})" if rewards else "–"
