"""Which runs a patch can reach: what is left out provably cannot change, and everything else is run."""

import pytest

from scienceide.envs.patch import Patch
from scienceide.envs.reach import changed_functions, reached
from scienceide.envs.workshop import Workshop

OLD = b"""
import math
LIMIT = 3

def area(r):
    def helper(x):
        return x * x
    return math.pi * helper(r)

class Pipe:
    width = 2

    def flow(self, v):
        return v * self.width

    @property
    def half(self):
        return self.width / 2

    @cached
    def table(self):
        return [1]
"""


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        (b"math.pi * helper(r)", b"math.pi + helper(r)", {"area"}),
        (b"x * x", b"x + x", {"area"}),
        (b"v * self.width", b"v / self.width", {"Pipe.flow"}),
        (b"self.width / 2", b"self.width / 3", {"Pipe.half"}),
        (b"def area(r):\n", b"def area(r):\n    # a comment alone\n", set()),
        (b"LIMIT = 3", b"LIMIT = 4", None),
        (b"import math", b"import cmath as math", None),
        (b"def area(r)", b"def area(r, s=1)", None),
        (b"width = 2", b"width = 3", None),
        (b"[1]", b"[2]", None),
        (b"    @property\n", b"", None),
        (b"class Pipe:", b"class Pipe(Base):", None),
        (b"def flow", b"def flown", None),
        (b"return [1]\n", b"return [1]\nprint(1)\n", None),
        (b"return [1]", b"return [1", None),
    ],
)
def test_changed_functions(old, new, changed):
    assert old in OLD
    assert changed_functions(OLD, OLD.replace(old, new, 1)) == changed


REACH = {"a": frozenset({("m.py", "f")}), "b": frozenset({("m.py", "g"), ("n.py", "f")}), "c": None}
SOURCE = b"def f():\n    return 1\n\ndef g():\n    return 2\n"


@pytest.mark.parametrize(
    ("path", "new", "runs"),
    [
        ("m.py", SOURCE.replace(b"1", b"3"), {"a", "c"}),
        ("m.py", SOURCE.replace(b"2", b"3"), {"b", "c"}),
        ("n.py", SOURCE.replace(b"1", b"3"), {"b", "c"}),
        ("k.py", SOURCE.replace(b"1", b"3"), {"c"}),
        ("m.c", b"int x;", {"a", "b", "c"}),
        ("m.py", None, {"a", "b", "c"}),
        ("m.py", b"\xff\xfe", {"a", "b", "c"}),
        ("m.py", b"(" * 5000, {"a", "b", "c"}),
    ],
)
def test_reached_runs(path, new, runs):
    assert reached(REACH, {path: SOURCE}, {path: new}) == runs


def test_a_new_file_reaches_everything():
    assert reached(REACH, {"m.py": None}, {"m.py": SOURCE}) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"return -stiffness * position", b"return -stiffness * position * 1.001"),
        (b"2.0 * math.pi", b"2.001 * math.pi"),
        (b"0.5 * velocity**2", b"0.49 * velocity**2"),
        (b"return 2.0 *", b"import sys\n    sys.exit(3)\n    return 2.0 *"),
        (b"import math\n", b"import math\n\nmath.pi = 3.0\n"),
    ],
)
def test_verdicts_are_those_of_running_everything(shop, old, new):
    task = shop.task("oscillator/kick-sign")
    source = task.fixed["oscillator.py"]
    assert old in source
    patch = Patch({"oscillator.py": source.replace(old, new, 1)})
    with Workshop(shop.provider, thrifty=False) as thorough:
        full = thorough.verify(task.task, patch)
    assert full.score < 1.0
    assert shop.verify(task.task, patch).cases == full.cases


def test_runs_out_of_reach_are_not_run(shop, monkeypatch):
    import scienceide.envs.grading as grading

    ran = []
    run_case = grading.run_case
    monkeypatch.setattr(grading, "run_case", lambda s, e, spec: ran.append(spec.id) or run_case(s, e, spec))
    task = shop.task("oscillator/kick-sign")
    source = task.fixed["oscillator.py"]
    verdict = shop.verify(task.task, Patch({"oscillator.py": source.replace(b"2.0 * math.pi", b"2.1 * math.pi")}))
    assert ran == ["period", "period#1"]
    assert {c.name: c.score for c in verdict.cases if c.name.startswith("energy")} == {"energy": 1.0, "energy#1": 1.0}
