"""An episode without a sandbox: a dictionary of files, the real action parser, a reward that a test sets."""

from types import SimpleNamespace

from scienceide.base.errors import SandboxError
from scienceide.envs.episode import EpisodeLimits, Observation, replace_line, replace_once
from scienceide.envs.record import EpisodeRecord
from scienceide.envs.tools import Malformed, parse_action
from scienceide.verifiers import CaseVerdict, Verdict

BROKEN = b"def f(x):\n    return +x\n"
FIXED = b"def f(x):\n    return -x\n"
HINT = "code.py, line 2: a sign is wrong."


class FakeEpisode:
    """Has the surface of `Episode` that agents use."""

    def __init__(self, max_turns=30, breaks_at=None):
        self.task_id = "fake/sign"
        self.task = SimpleNamespace(
            initial={"code.py": BROKEN}, fixed={"code.py": FIXED}, task=SimpleNamespace(task=SimpleNamespace(floor=0.2))
        )
        self.limits = EpisodeLimits(max_turns=max_turns)
        self.files = {"code.py": BROKEN.decode()}
        self.turns = 0
        self.time_left = 1000.0
        self.seconds = {"reset": 0.0, "environment": 0.0, "verifier": 0.0}
        self.breaks_at = breaks_at
        self.finished = None

    def start(self, seed=0, hint=None):
        return "# It is wrong\n\nThe sign of f." + (f"\n\nHint: {HINT}" if hint else "")

    def act(self, action):
        self.turns += 1
        if self.turns == self.breaks_at:
            raise SandboxError("The sandbox is gone.")
        parsed = parse_action(action)
        seen = Observation(parsed.reason, failed=True) if isinstance(parsed, Malformed) else self._do(parsed)
        if self.turns >= self.limits.max_turns and not seen.done:
            return Observation(seen.text, done=True)
        return seen

    def _do(self, action):
        a = action.arguments
        if action.tool == "submit":
            return Observation("Submitted.", done=True)
        if action.tool == "view":
            lines = self.files[a["path"]].split("\n")
            return Observation("\n".join(f"{i:5d}  {t}" for i, t in enumerate(lines, 1)))
        if action.tool == "edit" and a["path"] in self.files:
            text = self.files[a["path"]]
            new = replace_line(text, a["line"], a["new"]) if "line" in a else replace_once(text, a.get("old"), a["new"])
            if isinstance(new, Malformed):
                return Observation(new.reason, failed=True)
            self.files[a["path"]] = new
            return Observation(f"{a['path']} edited.")
        return Observation("No such file.", failed=True)

    def finish(self, termination):
        self.finished = termination
        if termination == "sandbox_error":
            return Verdict.ungraded("The sandbox failed before the episode ended.", floor=0.2)
        score = 1.0 if self.files["code.py"] == FIXED.decode() else 0.2
        return Verdict.graded(cases=[CaseVerdict(name="c", score=score)], floor=0.2)


def record(agent="test", hint=1):
    return EpisodeRecord(episode="e1", task="fake/sign", agent=agent, seed=0, hint=hint)
