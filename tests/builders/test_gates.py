"""Every gate fires on the fault it looks for, planted here, and lets a good task through."""

import dataclasses
import json
import marshal
import py_compile
import zipfile

import pytest

from scienceide.base.errors import TaskError
from scienceide.envs.catalog import load_environment
from scienceide.envs.defects import line_sha256
from scienceide.envs.formats import Defect, Edit
from scienceide.repo_builders import tasks
from scienceide.repo_builders.coverage import record
from scienceide.repo_builders.draft import Bench
from scienceide.repo_builders.gates import (
    GATES,
    Trial,
    builds,
    deterministic,
    disclosure,
    floor,
    nop,
    oracle,
    reachable,
    roundtrip,
    run_gates,
    symptom,
)
from scienceide.repo_builders.gates.search import Hit, Needle, Report, Sweep, needles_of, sweep_system
from scienceide.repo_builders.inside import scan
from scienceide.repo_builders.mutants import MutantRunner
from scienceide.repo_builders.mutate import candidates
from scienceide.verifiers import CaseVerdict, ObservableVerdict, Verdict


def case(name="a", score=0.0, error=1.0, visible=True):
    observed = ObservableVerdict(name="x", score=score, error=error, tolerance=1e-9, signal=1.0)
    return CaseVerdict(name=name, score=score, observables=(observed,), visible=visible)


def graded(*cases, floor=0.0):
    return Verdict.graded(cases=cases, floor=floor)


# Pure checks, each with its fault.


def test_roundtrip_fires():
    assert roundtrip.check({"a": b"1"}, {"a": b"2"}, {"a": b"1"}).passed
    assert "changes nothing" in roundtrip.check({"a": b"1"}, {"a": b"1"}, {"a": b"1"}).reason
    assert "does not restore" in roundtrip.check({"a": b"1"}, {"a": b"2"}, {"a": b"1\r"}).reason


def test_builds_fires(tmp_path):
    (tmp_path / "a.c").write_text("x")
    assert builds.check(tmp_path, needs_products=False).passed
    assert "nothing was compiled" in builds.check(tmp_path, needs_products=True).reason
    assert builds.check("The defective code does not build: error", False).reason.endswith("error")
    (tmp_path / "libx.so.2").write_text("x")
    assert builds.check(tmp_path, needs_products=True).passed


def test_deterministic_fires():
    same = graded(case(error=0.5))
    assert deterministic.check([same, same, same]).passed
    assert not deterministic.check([same, same]).passed
    wavering = deterministic.check([same, same, graded(case(error=0.5000001))])
    assert not wavering.passed
    assert wavering.evidence["cases"] == ["a"]
    assert not deterministic.check([same, same, Verdict.ungraded("no sandbox")]).passed
    ended = [case().model_copy(update={"note": f"exit code 1: 1 failed in {n} s"}) for n in range(3)]
    assert deterministic.check([graded(c) for c in ended]).passed
    killed = case().model_copy(update={"note": "stopped at its cpu limit"})
    assert not deterministic.check([graded(ended[0]), graded(ended[1]), graded(killed)]).passed


def test_oracle_fires():
    assert oracle.check(graded(case(score=1.0, error=0.0))).passed
    almost = oracle.check(graded(case(score=1.0, error=0.0), case("b", score=0.999999)))
    assert not almost.passed
    assert "(b)" in almost.reason


def test_nop_fires():
    right, wrong = case("r", 1.0, 0.0), case("w", 0.0)
    assert nop.check(graded(right, wrong, floor=0.5), 0.5).passed
    assert "earns" in nop.check(graded(right, wrong, floor=0.4), 0.4).reason
    assert "stated floor" in nop.check(graded(right, wrong, floor=0.6), 0.6).reason


def test_floor_fires():
    assert floor.check(0.9).passed
    assert not floor.check(0.9000001).passed


def test_symptom_fires():
    assert symptom.check([case()]).passed
    only_hidden = symptom.check([case(score=1.0), case("h", visible=False)])
    assert not only_hidden.passed
    assert "only hidden runs deviate (h)" in only_hidden.reason
    assert "no case deviates" in symptom.check([case(score=1.0)]).reason


SITE = "drag = 24.0 / Re"
EDIT = Edit(file="pkg/drag.py", line=2, span=(12, 13), line_sha256=line_sha256(SITE), operator="operator", new="*")
PRISTINE = {"pkg/drag.py": f"import math\n{SITE}\n"}


@pytest.mark.parametrize(
    ("instruction", "hint"),
    [
        ("Look into pkg/drag.py.", ""),
        ("Something is wrong in drag.py.", ""),
        ("It should read drag = 24.0/Re there.", ""),
        ("See line 2 of it.", ""),
        ("", "It used to say `drag=24.0 / Re`."),
        ("", "Lines 2 to 3."),
    ],
)
def test_disclosure_fires(instruction, hint):
    assert disclosure.check("The drag is off by 3 %.", ["The fault is in pkg/other.py."], [EDIT], PRISTINE).passed
    told = disclosure.check(instruction, [hint], [EDIT], PRISTINE)
    assert not told.passed
    assert told.evidence["found"]


def needle(text="drag=24.0/Re*(1+0.15*Re)", name="t/0"):
    return Needle(name, text, text, "before", "after")


def report(*hits, text="drag=24.0/Re*(1+0.15*Re)"):
    return Report((needle(text),), hits, 10, 1000)


@pytest.mark.parametrize(
    "hit",
    [
        Hit("text", "t/0", "/usr/lib/python3/site-packages/pkg/drag.py", 1, True),
        Hit("text", "t/0", "/work/docs/notes.rst", 1, False),
        Hit("bytecode", "t/module", "/work/pkg/__pycache__/drag.cpython-311.pyc", 1, True),
        Hit("product", "", "/work/build/old/libx.so", 1, True),
    ],
)
def test_reachable_fires(hit):
    assert reachable.check(report()).passed
    found = reachable.check(report(hit))
    assert not found.passed
    assert hit.path in found.reason


def test_reachable_lets_short_repeats_be_but_not_copies():
    short = "x=x+delta"
    alone = Hit("text", "t/0", "/usr/lib/a.py", 3, False)
    passed = reachable.check(report(alone, text=short))
    assert passed.passed
    assert passed.evidence["repeats"] == 3
    assert not reachable.check(report(dataclasses.replace(alone, context=True), text=short)).passed
    assert "only 3 characters" in reachable.check(report(text="a+b")).reason


# The search itself, on planted answers.


@pytest.fixture
def planted(tmp_path):
    """A folder to plant answers in, and a search of it."""

    def search(source="def f(Re):\n    return 24.0 * Re\n", digests=()):
        text = "return 24.0 / Re"
        job = {
            "roots": [str(tmp_path)],
            "skip": [],
            "needles": [
                {"id": "n", "text": "return24.0/Re", "spaced": text, "before": "deff(Re):", "after": "defg(Re):"}
            ],
            "modules": [{"id": "m", "file": "pkg/drag.py", "source": source}],
            "digests": list(digests),
        }
        anchors = {"n": scan.anchor(text)}
        wanted = {digest for _, digest in job["digests"]}
        _, close = scan.worth_reading(job, anchors)
        hits = []
        for path in sorted(close):
            with open(path, "rb") as stream:
                data = stream.read()
            hits += scan.hits_in(path, data, job, anchors, wanted)
        return hits

    return tmp_path, search


GOOD = "def f(Re):\n    return 24.0 / Re\n\n\ndef g(Re):\n    pass\n"


def test_search_finds_a_copy_however_it_is_spaced(planted):
    folder, search = planted
    (folder / "notes.txt").write_text("def f(Re):\n\n\treturn   24.0/Re\n")
    (hit,) = search()
    assert (hit["kind"], hit["context"], hit["path"]) == ("text", True, str(folder / "notes.txt"))


def test_search_opens_archives(planted):
    folder, search = planted
    with zipfile.ZipFile(folder / "pkg-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr("pkg/drag.py", GOOD)
    (hit,) = search()
    assert hit["path"].endswith(".whl!pkg/drag.py")


@pytest.mark.parametrize("module", ["gzip", "bz2", "lzma"])
def test_search_opens_compressed_files(planted, module):
    folder, search = planted
    packer = __import__(module)
    (folder / "http-cache-body").write_bytes(packer.compress(b"x" * 1000 + GOOD.encode()))
    assert [hit["context"] for hit in search()] == [True]


def test_search_finds_unbroken_bytecode_and_allows_the_broken_one(planted):
    folder, search = planted
    broken = "def f(Re):\n    return 24.0 * Re\n"
    for text, found in ((GOOD, ["bytecode"]), (broken, [])):
        source = folder / "source.txt"
        source.write_text(text)
        py_compile.compile(str(source), cfile=str(folder / "drag.pyc"), dfile="/work/pkg/drag.py", doraise=True)
        source.unlink()
        assert [hit["kind"] for hit in search(source=broken)] == found
    (folder / "drag.pyc").write_bytes(b"\0" * 16 + marshal.dumps("pkg/drag.py"))
    assert [hit["kind"] for hit in search(source=broken)] == ["bytecode"]


def test_search_finds_unbroken_products(planted):
    import hashlib

    folder, search = planted
    data = b"\x7fELF" + bytes(range(256))
    (folder / "hidden.bin").write_bytes(data)
    assert [h["kind"] for h in search(digests=[(len(data), hashlib.sha256(data).hexdigest())])] == ["product"]
    assert search(digests=[(len(data), "0" * 64)]) == []


@pytest.mark.parametrize(
    ("line", "piece"),
    [
        ("return viscosity * k", b"viscosity"),
        ("return a*b + c", b"a*b"),
        ("if x1 < 9.80665:", b"9.80665"),
        ("x = a*b+c*d", b"a*b+c*d"),
    ],
)
def test_search_looks_first_for_something_rare(line, piece):
    assert scan.anchor(line) == piece


def test_search_follows_no_links(planted):
    folder, search = planted
    (folder / "loop").symlink_to(folder)
    (folder / "away").symlink_to("/etc/passwd")
    assert search() == []


# On the bench: a real environment in a real sandbox.


@pytest.fixture(scope="module")
def bench(shop, pendulum):
    ready = shop.environment(load_environment(str(pendulum)))
    with MutantRunner(ready, record(ready.pristine, ready.specs)) as runner:
        yield Bench(shop, ready, runner)


DRIFT = "position = position + dt * velocity"
KICK = "velocity = velocity + 0.5 * dt * acceleration(position, stiffness)"


def drafted(bench, operator="operator", site=DRIFT, name="energy-01"):
    """A draft of the pendulum with one defect, and a trial that leaves the system unsearched."""
    source = bench.pristine_bytes("oscillator.py").decode()
    lines = source.split("\n")
    found = candidates(source, "python", "oscillator.py")
    candidate = next(c for c in found if c.edit.operator == operator and lines[c.edit.line - 1].strip() == site)
    draft = tasks.draft(tasks.assess(bench.runner.measure(candidate), bench.ready), bench.ready, name)
    return draft, trial_of(draft, bench)


def trial_of(draft, bench):
    needles = needles_of(draft, bench.pristine_bytes)
    return Trial(draft, bench, Sweep({}, frozenset(n.id for n in needles), 0, 0))


def test_a_good_task_passes_all_gates(bench):
    _, trial = drafted(bench)
    results = run_gates(trial)
    assert [(r.gate, r.passed, r.reason) for r in results] == [(gate, True, "") for gate in GATES]
    json.dumps([r.to_json() for r in results])


def test_gates_stop_at_the_first_that_fails(bench):
    draft, _ = drafted(bench)
    told = dataclasses.replace(draft, instruction=draft.instruction + "\nSee oscillator.py.")
    results = run_gates(trial_of(told, bench))
    assert [r.gate for r in results] == ["roundtrip", "disclosure"]
    assert not results[-1].passed


def test_a_twin_line_in_the_tree_is_found(bench):
    """The kick stands twice in the code, with the same neighbour: one gives the other away."""
    _, trial = drafted(bench, "sign", KICK)
    result = reachable.run(trial)
    assert not result.passed
    assert "/work/oscillator.py" in result.reason


def test_an_answer_in_a_visible_case_is_found(bench, monkeypatch):
    draft, _ = drafted(bench)
    environment = bench.ready.pristine.environment
    files = type(environment).case_files
    monkeypatch.setattr(
        type(environment),
        "case_files",
        lambda self, case: {**files(self, case), "hint.txt": DRIFT.encode()} if case == "energy" else files(self, case),
    )
    result = reachable.run(trial_of(draft, bench))
    assert not result.passed
    assert "/tmp/visible/energy/hint.txt" in result.reason


def test_a_wrong_floor_is_found(bench):
    draft, _ = drafted(bench)
    low = draft.task.model_copy(update={"floor": 0.5})
    assert not nop.run(trial_of(dataclasses.replace(draft, task=low), bench)).passed
    high = draft.task.model_copy(update={"floor": 0.95})
    assert not floor.run(trial_of(dataclasses.replace(draft, task=high), bench)).passed


def test_a_defect_that_does_not_apply_is_the_tasks_fault(bench):
    draft, _ = drafted(bench)
    stale = draft.defect.edits[0].model_copy(update={"line_sha256": "0" * 64})
    with pytest.raises(TaskError, match=r"oscillator\.py:\d+: the defect no longer applies"):
        roundtrip.run(trial_of(dataclasses.replace(draft, defect=Defect(edits=(stale,))), bench))


def test_an_unsound_fix_does_not_pass_the_oracle(bench, monkeypatch):
    draft, _ = drafted(bench)
    trial = trial_of(draft, bench)
    trial.__dict__["fixed"] = trial.initial
    assert not oracle.run(trial).passed


def test_a_task_that_wavers_is_found(bench):
    """A defect whose outcome depends on chance, planted as a whole new file."""
    draft, _ = drafted(bench)
    trial = trial_of(draft, bench)
    verdicts = list(trial.untouched)
    worse = verdicts[2].cases[0].model_copy(update={"score": 0.5})
    verdicts[2] = verdicts[2].model_copy(update={"cases": (worse, *verdicts[2].cases[1:])})
    trial.__dict__["untouched"] = tuple(verdicts)
    assert not deterministic.run(trial).passed


def test_a_symptom_that_only_hidden_cases_show_is_found(bench):
    _, trial = drafted(bench)
    cases = [c.model_copy(update={"score": 1.0}) if c.visible else c for c in trial.untouched[0].cases]
    assert not symptom.check(cases).passed


@pytest.mark.slow
def test_the_whole_system_is_swept_for_all_drafts_at_once(bench):
    """Minutes: everything below `/` that an agent could read, archives included."""
    draft, _ = drafted(bench)
    found = sweep_system([draft], bench)
    assert found.files > 1000
    assert found.needles == {"energy-01/0"}
    assert reachable.run(Trial(draft, bench, found)).passed
