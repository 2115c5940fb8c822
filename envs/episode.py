"""One attempt at one task in one sandbox: what the agent is told, what its actions do, how it ends.

Nothing has to be delivered: the tree as it stands when the episode ends is what is graded, however the
episode ends.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scienceide.base.errors import SandboxError, VerifierError, unknown
from scienceide.envs.catalog import LoadedEnvironment
from scienceide.envs.grading import Measured, describe_end, rebuild
from scienceide.envs.patch import Patch, collect, is_editable
from scienceide.envs.record import Termination
from scienceide.envs.running import RunSpec, build_environment, run_case, run_specs
from scienceide.envs.sandbox.protocol import TREE, CommandResult, Sandbox
from scienceide.envs.tools import TOOLS, Malformed, parse_action
from scienceide.envs.workshop import ReadyTask, Workshop
from scienceide.verifiers import CaseVerdict, Outputs, Verdict, read_outputs

VIEW_LINES = 200
VIEW_BYTES = 4 * 2**20


@dataclass(frozen=True)
class Observation:
    """What the agent sees after an action."""

    text: str
    exit_code: int | None = None
    """Of the command, where the action ran one; None where it did not, or a limit stopped it."""
    failed: bool = False
    """The action did nothing of what it asked: malformed, no such file, no unique match."""
    done: bool = False


@dataclass(frozen=True)
class EpisodeLimits:
    """What one episode may take."""

    max_turns: int = 30
    wall_s: float = 1800.0
    observation: int = 4096
    """Bytes of one command's output that the agent sees, head and tail."""


class Episode:
    """An attempt at a task. `start`, then `act` until an observation is `done`, then `finish`, then `close`."""

    def __init__(self, shop: Workshop, task: ReadyTask, limits: EpisodeLimits | None = None) -> None:
        self.task = task
        self.task_id = task.task.id
        self.limits = limits or EpisodeLimits(wall_s=task.task.environment.environment.limits.episode_wall)
        self.turns = 0
        self.seconds = {"reset": 0.0, "environment": 0.0, "verifier": 0.0}
        self._shop = shop
        self._sandbox: Sandbox | None = None
        self._deadline = float("inf")

    @property
    def instruction(self) -> str:
        """The task in Markdown: the symptom, what counts as fixed, and how to act."""
        return f"{self.task.task.instruction.strip()}\n\n{how_to_act(self.task)}"

    def start(self, seed: int = 0, hint: int | None = None) -> str:
        """Begin, or begin again, on the untouched tree, and return the first observation.

        Args:
            seed: kept for the record; the environment itself draws nothing at random.
            hint: a hint level to add, 1 the strongest.

        Raises:
            SandboxError: no sandbox could be had.
        """
        started = time.perf_counter()
        self.turns = 0
        self._deadline = time.monotonic() + self.limits.wall_s
        if self._sandbox is None:
            self._sandbox = self._shop.provider.acquire(self.task.sandbox_spec())
        else:
            self._sandbox.reset()
        show_cases(self._sandbox, self.task.task.environment)
        self.seconds["reset"] += time.perf_counter() - started
        hints = self.task.task.task.hints
        if hint is None or not hints:
            return self.instruction
        return f"{self.instruction}\n\nHint: {hints[min(hint, len(hints)) - 1]}"

    def act(self, action: str) -> Observation:
        """Do one action, given as JSON text; see `tools.TOOLS`.

        Raises:
            SandboxError: the sandbox failed.
        """
        started = time.perf_counter()
        self.turns += 1
        parsed = parse_action(action)
        if isinstance(parsed, Malformed):
            observation = Observation(parsed.reason, failed=True)
        else:
            observation = _ACTIONS[parsed.tool](self, **parsed.arguments)
        self.seconds["environment"] += time.perf_counter() - started
        if self.turns >= self.limits.max_turns and not observation.done:
            observation = replace(observation, done=True, text=f"{observation.text}\n[the last turn is used up]")
        return observation

    @property
    def time_left(self) -> float:
        """Seconds until the episode's wall limit."""
        return self._deadline - time.monotonic()

    def finish(self, termination: Termination) -> Verdict:
        """Grade the tree as it stands.

        Whatever keeps it from being graded makes the verdict ungraded; nothing is raised.
        """
        floor = self.task.task.task.floor
        if termination == "sandbox_error" or self._sandbox is None:
            return Verdict.ungraded("The sandbox failed before the episode ended.", floor=floor)
        started = time.perf_counter()
        try:
            patch, findings = collect(self._sandbox, self.task.task.environment.environment.editable)
            # Whatever the task's own tree changes is known; only what the agent changed is a patch.
            return self._shop.verify(self.task.task, patch, findings)
        except (SandboxError, VerifierError) as fault:
            return Verdict.ungraded(str(fault), floor=floor)
        finally:
            self.seconds["verifier"] += time.perf_counter() - started

    def compare(self, case: str) -> tuple[Outputs, Outputs]:
        """The outputs of a visible case as the tree now stands, and of the pristine code.

        Raises:
            UserError: there is no such visible case.
            SandboxError: the sandbox failed.
        """
        specs = {s.id: s for s in run_specs(self.task.task.environment, hidden=False)}
        if case not in specs:
            raise unknown("visible case", case, specs)
        measured = self._measure([specs[case]])
        return measured.outputs.get(case, Outputs()), self.task.environment.references[case]

    def patch(self) -> Patch:
        """What the agent has changed so far, within the editable paths."""
        return collect(self._need(), self.task.task.environment.environment.editable)[0]

    def close(self) -> None:
        """End the sandbox. Idempotent."""
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None

    def __enter__(self) -> Episode:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Tools: each returns an observation and raises only for a broken sandbox.

    def _bash(self, command: str) -> Observation:
        result = self._run(command)
        return Observation(_command_text(result), result.exit_code)

    def _view(self, path: str, start: int = 1, end: int | None = None) -> Observation:
        sandbox = self._need()
        listing = sandbox.run(["ls", "-1Ap", "--", path])
        if not path or (listing.exit_code == 0 and listing.text.strip() != path):
            return Observation(listing.text[: self.limits.observation] or "(empty)", listing.exit_code)
        try:
            text = sandbox.read(path, VIEW_BYTES).decode("utf-8", "replace")
        except OSError as error:
            return Observation(f"{path}: {error.strerror or error}", failed=True)
        return _numbered(path, text, start, end)

    def _edit(self, path: str, new: str, old: str | None = None, line: int | None = None) -> Observation:
        sandbox = self._need()
        try:
            before = sandbox.read(path, VIEW_BYTES).decode("utf-8", "surrogateescape")
        except OSError as error:
            return Observation(f"{path}: {error.strerror or error}", failed=True)
        after = replace_line(before, line, new) if line is not None else replace_once(before, old, new)
        if isinstance(after, Malformed):
            return Observation(f"{path}: {after.reason}", failed=True)
        return self._put(path, after.encode("utf-8", "surrogateescape"), "edited")

    def _write(self, path: str, content: str) -> Observation:
        return self._put(path, content.encode("utf-8", "surrogateescape"), "written")

    def _check(self, case: str | None = None) -> Observation:
        environment = self.task.task.environment
        specs = [s for s in run_specs(environment, hidden=False) if case in (None, s.id)]
        if not specs:
            names = ", ".join(s.id for s in run_specs(environment, hidden=False))
            return Observation(f"There is no visible case {str(case)[:60]!r}; visible cases: {names}.", failed=True)
        measured = self._measure(specs)
        if measured.build_log:
            return Observation(f"The build fails.\n{measured.build_log[-self.limits.observation :]}", exit_code=1)
        verdict = self.task.judge.verdict(specs, measured)
        passed = sum(c.score == 1.0 for c in verdict.cases)
        lines = [f"{passed} of {len(specs)} visible cases pass."]
        for judged in verdict.cases:
            lines += case_lines(judged)
        return Observation("\n".join(lines), exit_code=0 if passed == len(specs) else 1)

    def _measure(self, specs: Sequence[RunSpec]) -> Measured:
        """Build what changed and run cases in the agent's own sandbox."""
        sandbox, environment = self._need(), self.task.task.environment
        # The tree alone says what needs building; an up-to-date build is a matter of milliseconds.
        build = rebuild(sandbox, environment, [c.path for c in sandbox.changes()])
        if build is not None and build.exit_code != 0:
            return Measured({}, {}, build.cpu_s, build.wall_s, build_log=build.text)
        runs = [(s, run_case(sandbox, environment, s)) for s in specs]
        return Measured(
            outputs={s.id: read_outputs(r.files, s.case.observables) for s, r in runs},
            failures={s.id: describe_end(r.result) for s, r in runs if r.result.exit_code != 0},
            cpu_s=sum(r.result.cpu_s for _, r in runs),
            wall_s=sum(r.result.wall_s for _, r in runs),
        )

    def _submit(self) -> Observation:
        return Observation("Submitted.", done=True)

    def _run(self, command: str | Sequence[str]) -> CommandResult:
        sandbox = self._need()
        limits = replace(
            sandbox.spec.limits,
            output=self.limits.observation,
            wall_s=max(1.0, min(sandbox.spec.limits.wall_s, self.time_left)),
        )
        environment = build_environment(self.task.task.environment.environment)
        return sandbox.run(command, environment=environment, limits=limits)

    def _put(self, path: str, data: bytes, verb: str) -> Observation:
        try:
            self._need().write(path, data)
        except OSError as error:
            return Observation(f"{path}: {error.strerror or error}", failed=True)
        inside = path.removeprefix(f"{TREE}/")
        if not is_editable(inside, self.task.task.environment.environment.editable):
            return Observation(f"{path} {verb}; it is outside the editable paths, so it will not be graded.")
        return Observation(f"{path} {verb}.")

    def _need(self) -> Sandbox:
        if self._sandbox is None:
            raise SandboxError("The episode has not been started, or is closed.")
        return self._sandbox


_ACTIONS: Mapping[str, Any] = {name: getattr(Episode, f"_{name}") for name in TOOLS}


def show_cases(sandbox: Sandbox, environment: LoadedEnvironment) -> None:
    """Put the visible cases' files where the agent may read them; `check` uses copies of its own."""
    for name, case in environment.cases.items():
        if case.visible:
            for path, data in environment.case_files(name).items():
                sandbox.write(f"/tmp/visible/{name}/{path}", data)


def how_to_act(task: ReadyTask) -> str:
    """The part of every instruction that says what the agent may do."""
    environment = task.task.environment
    editable = environment.environment.editable
    visible = ", ".join(name for name, case in environment.cases.items() if case.visible)
    return (
        f"The code is in {TREE}. Only these paths are graded: {', '.join(editable.include)}"
        + (f" (not {', '.join(editable.exclude)})" if editable.exclude else "")
        + f". Visible cases (`check` runs them, their drivers are in /tmp/visible): {visible}. "
        "Hidden cases and other inputs are graded too. "
        "The tree as it stands when the episode ends is what is graded; `submit` ends it."
    )


def replace_line(text: str, line: int, new: str) -> str | Malformed:
    """`text` with its `line` (from 1) replaced; the line ending stays."""
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        return Malformed(f"there is no line {line}; the file has {len(lines)}.")
    ending = "\r" if lines[line - 1].endswith("\r") else ""
    lines[line - 1] = new.rstrip("\r\n") + ending
    return "\n".join(lines)


def replace_once(text: str, old: str | None, new: str) -> str | Malformed:
    """`text` with the one occurrence of `old` replaced by `new`."""
    if not old:
        return Malformed("edit needs 'old', the text to replace, or 'line', the number of the line.")
    count = text.count(old)
    if count != 1:
        return Malformed(f"'old' occurs {count} times; it must occur exactly once.")
    return text.replace(old, new)


def case_lines(case: CaseVerdict) -> list[str]:
    """A judged case as the agent sees it: each observable's error against its tolerance."""
    lines = [f"{'pass' if case.score == 1.0 else 'FAIL'}  {case.name}" + (f"  ({case.note})" if case.note else "")]
    for o in case.observables:
        if o.failure:
            lines.append(f"      {o.name}: {o.failure}")
        elif o.score < 1.0:
            lines.append(f"      {o.name}: error {o.error:.3e}, tolerance {o.tolerance:.1e}")
    return lines


def _numbered(path: str, text: str, start: int, end: int | None) -> Observation:
    lines = text.split("\n")
    first = max(1, start)
    last = min(len(lines), end if end is not None else first + VIEW_LINES - 1, first + VIEW_LINES - 1)
    if first > len(lines):
        return Observation(f"{path} has {len(lines)} lines.", failed=True)
    shown = "\n".join(f"{n:5d}  {lines[n - 1]}" for n in range(first, last + 1))
    more = f"\n[{path}: lines {first}-{last} of {len(lines)}]" if last < len(lines) or first > 1 else ""
    return Observation(shown + more)


def _command_text(result: CommandResult) -> str:
    if result.killed_by is not None:
        return f"{result.text}\n[stopped: {result.killed_by} limit]"
    return f"{result.text.rstrip()}\n[exit code {result.exit_code}]".lstrip("\n")
