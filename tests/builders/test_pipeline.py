"""The whole walk from a source to gated tasks, on small codes of our own."""

import json
import shutil
import uuid
from collections import Counter

import pytest

from scienceide.base.errors import UserError
from scienceide.envs.catalog import load_environment, load_task
from scienceide.envs.defects import fixed_files, reader
from scienceide.envs.patch import Patch
from scienceide.repo_builders import pipeline
from scienceide.repo_builders.gates import GATES
from scienceide.repo_builders.gates.search import Sweep, needles_of
from scienceide.repo_builders.mutants import MutantRunner
from scienceide.repo_builders.pipeline import Options, build_environment

OPTIONS = Options(tasks=3, signal_mutants=12)


@pytest.fixture(autouse=True)
def _system_is_clean(monkeypatch):
    """The system is the same for all environments and is searched by a test of its own."""

    def nothing(drafts, bench):
        ids = frozenset(n.id for d in drafts for n in needles_of(d, bench.pristine_bytes))
        return Sweep({}, ids, 0, 0)

    monkeypatch.setattr(pipeline, "sweep_system", nothing)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("output")


@pytest.fixture
def built(folder, shop, pendulum):
    output = folder / "swing"
    if not output.exists():
        build_environment(pendulum, output, shop.provider, OPTIONS)
    return output


def test_recipe_becomes_an_environment_with_gated_tasks(built):
    environment = load_environment(str(built))
    assert environment.name == "swing"
    assert "# A comment that stays." in (built / "environment.toml").read_text()
    report = json.loads((built / "build-report.json").read_text())
    assert len(environment.task_names) == len(report["tasks"]) == 3
    for name in environment.task_names:
        gates = json.loads((built / "tasks" / name / "gates.json").read_text())
        assert [g["gate"] for g in gates] == list(GATES)
        assert all(g["passed"] for g in gates)
    assert set(report["seconds"]) >= {"coverage", "calibration", "screening", "gates"}


def test_tasks_verify_as_promised(built, shop):
    for name in load_environment(str(built)).task_names:
        task = load_task(str(built / "tasks" / name))
        ready = shop.task(task)
        assert shop.verify(task, Patch({})).reward == 0.0
        assert shop.verify(task, Patch(ready.fixed)).reward == 1.0
        assert ready.fixed == fixed_files(task.defect, reader(ready.environment.pristine.layer))


def test_tolerances_carry_their_evidence(built):
    for case in load_environment(str(built)).cases.values():
        assert case.cpu is not None
        for observable in case.observables:
            assert observable.evidence is not None
            assert "3 repeats" in observable.evidence.how
            if observable.evidence.signal is not None:
                assert 10 * observable.evidence.noise <= observable.criterion.tolerance
                assert observable.criterion.tolerance <= observable.evidence.signal / 10


def test_nothing_written_quotes_the_source(built):
    lines = {"".join(line.split()) for line in (built / "code" / "oscillator.py").read_text().splitlines()}
    long_lines = {line for line in lines if len(line) >= 12}
    for path in [*built.glob("tasks/*/*"), built / "graveyard.json", built / "build-report.json"]:
        text = "".join(path.read_text().split())
        assert not [line for line in long_lines if line in text], path


def test_graveyard_says_why(built):
    graveyard = json.loads((built / "graveyard.json").read_text())
    assert graveyard
    counts = Counter(entry["gate"] for entry in graveyard)
    assert counts == json.loads((built / "build-report.json").read_text())["rejected"]
    assert all(entry["reason"] for entry in graveyard)


def test_report_prints(built, folder, shop, pendulum, capsys):
    from rich.console import Console

    report = build_environment(pendulum, folder / "printed", shop.provider, OPTIONS)
    Console(width=120).print(report.table())
    printed = capsys.readouterr().out
    assert "3 tasks" in printed
    assert "position" in printed


def test_the_same_input_gives_the_same_tasks(built, folder, shop, pendulum):
    again = folder / "again" / "swing"
    build_environment(pendulum, again, shop.provider, OPTIONS)
    for path in built.glob("tasks/*/defect.json"):
        assert (again / path.relative_to(built)).read_text() == path.read_text()


def test_output_that_exists_is_left_alone(tmp_path, shop, pendulum):
    (tmp_path / "mine").mkdir()
    with pytest.raises(UserError, match="exists already"):
        build_environment(pendulum, tmp_path / "mine", shop.provider, OPTIONS)
    assert list((tmp_path / "mine").iterdir()) == []


def test_output_appears_whole_or_not_at_all_and_stages_resume(tmp_path, shop, pendulum, monkeypatch):
    """Whatever ends a run, what it measured is not measured again."""
    recipe = tmp_path / "recipe" / "pendulum"
    shutil.copytree(pendulum, recipe)
    driver = recipe / "cases" / "period" / "driver.py"
    driver.write_text(driver.read_text() + f"# {uuid.uuid4()}: another content, so another key\n")
    ran = []
    original = MutantRunner._run

    def killed(self, candidate, runs):
        ran.append(candidate.edit)
        if len(ran) == 5:
            raise KeyboardInterrupt
        return original(self, candidate, runs)

    monkeypatch.setattr(MutantRunner, "_run", killed)
    with pytest.raises(KeyboardInterrupt):
        build_environment(recipe, tmp_path / "out" / "swing", shop.provider, OPTIONS)
    assert [p for p in (tmp_path / "out").iterdir() if p.is_dir()] == []
    before = ran[:4]
    build_environment(recipe, tmp_path / "out" / "swing", shop.provider, OPTIONS)
    # What was measured before the interruption comes up again only where gates ask for fresh runs.
    assert ran[5] not in before
    assert (tmp_path / "out" / "swing" / "tasks").is_dir()


PACKAGE = {
    "pyproject.toml": '[project]\nname = "freefall"\nversion = "1.0"\nlicense = "MIT"\ndependencies = []\n',
    "freefall/__init__.py": (
        '"""Falling."""\n\n\ndef height(h, v, t, g=9.81):\n    """h + v t - g t**2 / 2."""\n'
        "    return h + v * t - g * t**2 / 2.0\n\n\ndef speed(v, t, g=9.81):\n    return v - g * t\n"
        "\n\ndef energy(h, v, m, g=9.81):\n    kinetic = m * v**2 / 2.0\n    return kinetic + m * g * h\n"
    ),
    "tests/test_fall.py": (
        "import math\nimport random\nimport numpy as np\nimport pytest\nfrom numpy.testing import assert_allclose\n"
        "from freefall import energy, height, speed\n\n\n"
        "def test_height():\n    assert_allclose(height(10.0, 1.0, np.arange(4.0)), [10, 6.095, -7.62, -31.145])\n\n\n"
        "def test_speed():\n    assert speed(5.0, 2.0) == pytest.approx(-14.62)\n\n\n"
        "def test_energy():\n    assert math.isclose(energy(10.0, 0.0, 2.0), 196.2)\n\n\n"
        "def test_equal():\n    assert energy(0.0, 2.0, 2.0) == 4.0\n\n\n"
        "@pytest.mark.parametrize('t', [0.5, 1.5])\ndef test_many(t):\n"
        "    assert_allclose(height(0.0, 0.0, t), -9.81 * t**2 / 2)\n\n\n"
        "def test_chance():\n    x = random.random()\n    assert x == pytest.approx(x)\n\n\n"
        "def test_fails():\n    assert speed(5.0, 2.0) == 3.0\n\n\n"
        "def test_no_numbers():\n    assert 'a' == 'a'\n"
    ),
}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    root = tmp_path_factory.mktemp("package") / "freefall"
    for name, text in PACKAGE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_package_without_recipe_gets_cases_from_its_own_tests(package, tmp_path, shop):
    report = build_environment(str(package), tmp_path / "falling", shop.provider, Options(tasks=2, signal_mutants=8))
    environment = load_environment(str(tmp_path / "falling"))
    assert environment.environment.source.licence == "MIT"
    assert [case.visible for case in environment.cases.values()] == [True, False]
    observed = {o.name: o.shape for case in environment.cases.values() for o in case.observables}
    assert observed == {
        "test_height": (4,),
        "test_speed": (1,),
        "test_energy": (1,),
        "test_equal": (1,),
        "test_many": (2,),
    }
    assert len(report.tasks) == 2


def test_a_package_without_usable_tests_is_said(tmp_path, shop):
    (tmp_path / "bare" / "bare").mkdir(parents=True)
    (tmp_path / "bare" / "bare" / "__init__.py").write_text("x = 1\n")
    with pytest.raises(UserError, match="write cases for it"):
        build_environment(str(tmp_path / "bare"), tmp_path / "out", shop.provider, OPTIONS)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("files", "why"), [({"README": ""}, "no Python package"), ({"a/__init__.py": "", "a/b.c": ""}, "compiled parts")]
)
def test_a_source_no_recipe_can_be_made_for_is_said(tmp_path, shop, files, why):
    for name, text in files.items():
        (tmp_path / "odd" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "odd" / name).write_text(text)
    with pytest.raises(UserError, match=why):
        build_environment(str(tmp_path / "odd"), tmp_path / "out", shop.provider, OPTIONS)
