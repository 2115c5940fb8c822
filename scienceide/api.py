"""The public Python interface, as notebooks use it: `import scienceide as si`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from scienceide.base.errors import UserError
from scienceide.envs.catalog import LoadedEnvironment, environment_names, load_environment, task_ids
from scienceide.store import RunInfo, Store

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from scienceide.envs.gym_env import ScienceEnv
    from scienceide.envs.record import EpisodeRecord

POLL_S = 0.5


def environments() -> list[LoadedEnvironment]:
    """All environments that can be named, sorted by name."""
    return [load_environment(name) for name in environment_names()]


def tasks(*, split: str | None = None, environment: str | None = None, science: str | None = None) -> list[str]:
    """Ids of tasks: of a split (`train` or `heldout`), an environment, a science.

    Raises:
        UserError: there is no such environment.
    """
    ids = task_ids(split=split, environment=environment)
    if science is None:
        return ids
    fields = {e.name: e.environment.science for e in environments()}
    return [t for t in ids if fields[t.partition("/")[0]] == science]


def make(task: str, *, sandbox: str = "auto", **settings: Any) -> ScienceEnv:
    """A Gymnasium environment of one task; `settings` as `ScienceEnv` takes them.

    Raises:
        UserError: there is no such task; the nearest are offered.
        SandboxError: no sandbox can be had here; what to install is said.
    """
    from scienceide.envs.gym_env import ScienceEnv

    return ScienceEnv(task, sandbox, **settings)


def play(task: str, agent: str = "oracle", *, sandbox: str = "auto", hint: int | None = None) -> EpisodeRecord:
    """Let the oracle or the nop agent attempt a task, and return the record with its verdict.

    Raises:
        UserError: there is no such task or agent.
    """
    from scienceide.envs.agents import make_agent, run
    from scienceide.envs.workshop import Workshop

    with Workshop(sandbox) as shop:
        return run(make_agent(agent), shop, task, hint=hint)


def plot(env: Any, case: str, observable: str | None = None) -> Figure:
    """What a visible case of an environment now gives, drawn against what it should give.

    Args:
        env: what `make` or `gymnasium.make` returned, after `reset`.
        case: a visible case.
        observable: one of its observables; the first few when left out.

    Raises:
        UserError: there is no such case or observable.
    """
    from scienceide.plots import plot_case

    return plot_case(env.unwrapped.episode, case, observable)


def train(
    model: str = "smollm2-135m",
    *,
    algorithm: Literal["sft", "grpo"] = "grpo",
    tasks: Sequence[str] | None = None,
    **settings: Any,
) -> RunHandle:
    """Start training in a process of its own and return at once.

    The run goes on when the kernel dies, and `si.runs()` finds it again.

    Args:
        model: a name of the model registry, or a path of a trained adapter or model.
        algorithm: `sft` on oracle trajectories, or `grpo` on episodes.
        tasks: task ids to train on; all train tasks when left out.
        **settings: fields of `SFTConfig` or `RLConfig`.

    Raises:
        UserError: a setting does not exist or is out of range.
    """
    from scienceide.trainers.config import RLConfig, SFTConfig, make_config

    if algorithm not in ("sft", "grpo"):
        raise UserError(f"algorithm is 'sft' or 'grpo', not {algorithm!r}.")
    kind = "sft" if algorithm == "sft" else "rl"
    chosen = {} if tasks is None else {"tasks": tuple(tasks)}
    config = make_config(SFTConfig if kind == "sft" else RLConfig, {"model": model, **chosen, **settings})
    return _launch(kind, config.model_dump(mode="json", exclude_none=True))


def evaluate(model: str = "smollm2-135m", *, tasks: Sequence[str] | None = None, **settings: Any) -> RunHandle:
    """Start measuring a model on tasks (all held-out ones when left out); returns at once, as `train` does."""
    from scienceide.trainers.config import EvalConfig, make_config

    chosen = {} if tasks is None else {"tasks": tuple(tasks)}
    config = make_config(EvalConfig, {"model": model, **chosen, **settings})
    return _launch("eval", config.model_dump(mode="json", exclude_none=True))


def runs() -> list[RunHandle]:
    """All runs of the store, the newest first."""
    return [RunHandle(info.id) for info in Store().runs()]


class RunHandle:
    """A run, wherever it was started; everything is read from the run store."""

    def __init__(self, run: str) -> None:
        self.id = run

    @property
    def info(self) -> RunInfo:
        """State, configuration, result and folder, as they now stand."""
        return Store().run(self.id)

    @property
    def state(self) -> str:
        """running, done, failed, stopped or interrupted."""
        return str(self.info.as_json()["state"])

    @property
    def metrics(self) -> pd.DataFrame:
        """One row per step, one column per metric."""
        import pandas as pd

        rows: dict[int, dict[str, float]] = {}
        for _, step, name, value in Store().metrics(self.id):
            rows.setdefault(step, {})[name] = value
        frame = pd.DataFrame.from_dict(rows, orient="index").sort_index()
        frame.index.name = "step"
        return frame

    @property
    def episodes(self) -> list[dict[str, Any]]:
        """A line for each episode."""
        return Store().episodes(self.id)

    def wait(self, timeout: float | None = None) -> RunHandle:
        """Block until it has ended.

        Raises:
            TimeoutError: it has not, after `timeout` seconds.
            UserError: it failed; its own sentence is repeated.
        """
        deadline = time.monotonic() + timeout if timeout is not None else None
        while self.state == "running":
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"Run {self.id} is still running after {timeout} s.")
            time.sleep(POLL_S)
        if self.state in ("failed", "interrupted"):
            raise UserError(f"Run {self.id} {self.state}: {self.info.fault or 'its process was killed'}")
        return self

    def watch(self) -> RunHandle:
        """Show it in the notebook cell until it has ended; interrupting stops the watching, not the run."""
        from IPython.display import display

        shown = display(self, display_id=True)
        try:
            while self.state == "running":
                time.sleep(POLL_S)
                shown.update(self)
        except KeyboardInterrupt:
            pass
        shown.update(self)
        return self

    def stop(self) -> None:
        """Ask it to stop; what is finished is kept and it can be resumed."""
        info = self.info
        if info.state == "running" and not info.interrupted:
            os.kill(info.pid, signal.SIGINT)

    def plot(self, *names: str) -> Figure:
        """Metrics over steps; the reward (RL) or loss (SFT) when none is named.

        Raises:
            UserError: the run has no such metric.
        """
        from scienceide.figures import ShownFigure

        frame = self.metrics
        chosen = names or tuple(n for n in ("reward", "loss") if n in frame)
        missing = [n for n in chosen if n not in frame]
        if missing or not chosen:
            raise UserError(f"Run {self.id} has no metric {', '.join(missing) or 'yet'}; it has {', '.join(frame)}.")
        figure = ShownFigure(figsize=(6.0, 1.0 + 2.0 * len(chosen)), layout="constrained")
        axes = figure.subplots(len(chosen), 1, sharex=True, squeeze=False)[:, 0]
        for axis, name in zip(axes, chosen, strict=True):
            series = frame[name].dropna()
            axis.plot(series.index, series.values, marker="o", markersize=3)
            axis.set_ylabel(name)
            axis.grid(alpha=0.3)
        axes[-1].set_xlabel("step")
        return figure

    def _repr_html_(self) -> str:
        info = self.info
        latest: dict[str, float] = {}
        steps = 0
        for _, step, name, value in Store().metrics(self.id):
            latest[name] = value
            steps = max(steps, step)
        return _card(info, self.state, steps, latest)

    def __repr__(self) -> str:
        info = self.info
        return f"<run {info.id}: {info.title}, {self.state}>"


def _launch(kind: str, config: Mapping[str, Any]) -> RunHandle:
    """Start `scienceide <kind>` detached, with its configuration and log in the run's folder."""
    import tomli_w

    from scienceide.base.paths import write_atomically

    store = Store()
    title = f"{kind} {config['model']}"
    run = store.start(kind, title, config)  # type: ignore[arg-type]
    path = run.folder / "config.toml"
    write_atomically(path, tomli_w.dumps(dict(config)))
    command = [sys.executable, "-m", "scienceide", kind, "--config", str(path), "--run", run.id]
    with open(run.folder / "output.log", "ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    store.hand_over(run.id, process.pid)
    return RunHandle(run.id)


_TILE = (
    "<div style='padding:.4em .8em;border:1px solid var(--jp-border-color2,#ccc);border-radius:4px'>"
    "<div style='font-size:80%;opacity:.7'>{name}</div><div>{value:.4g}</div></div>"
)
_SHOWN = ("reward", "loss", "entropy", "kl", "completions/mean_length", "ungraded", "learning_rate")


def _card(info: RunInfo, state: str, steps: int, latest: Mapping[str, float]) -> str:
    tiles = "".join(_TILE.format(name=escape(n), value=latest[n]) for n in _SHOWN if n in latest)
    total = info.config.get("steps")
    bar = f"<progress value='{steps}' max='{total}'></progress> step {steps} of {total}" if total else f"step {steps}"
    seconds = (time.time() if state == "running" else info.updated) - info.created
    fault = f"<div style='color:var(--jp-error-color1,#c00)'>{escape(info.fault)}</div>" if info.fault else ""
    return (
        f"<div><b>{escape(info.title)}</b> <code>{escape(info.id)}</code> {escape(state)}, {seconds:.0f} s</div>"
        f"<div>{bar}</div><div style='display:flex;flex-wrap:wrap;gap:.5em;margin:.4em 0'>{tiles}</div>{fault}"
    )
