"""Running mutants: side by side, remembered, and the same whatever was foreseen."""

import math

import pytest

from scienceide.envs.catalog import load_environment
from scienceide.repo_builders.coverage import record
from scienceide.repo_builders.mutants import MutantRunner
from scienceide.repo_builders.mutate import candidates
from tests.builders.conftest import CODE


@pytest.fixture(scope="module")
def ready(shop, pendulum):
    return shop.environment(load_environment(str(pendulum)))


@pytest.fixture(scope="module")
def coverage(ready):
    return record(ready.pristine, ready.specs)


@pytest.fixture
def forgetful(tmp_path, monkeypatch):
    """Nothing measured before is remembered."""
    monkeypatch.setattr(MutantRunner, "_path", lambda self, c: tmp_path / f"{c.edit.line}-{c.edit.operator}.json")


def measured(ready, coverage, order, foreseen, workers):
    with MutantRunner(ready, coverage, workers) as runner:
        runner.foresee(foreseen)
        return [
            (m.died, sorted(m.measured.failures), {run: repr(o) for run, o in m.measured.outputs.items()})
            for m in (runner.measure(candidate) for candidate in order)
        ]


def test_what_is_foreseen_changes_no_result(ready, coverage, tmp_path, monkeypatch):
    order = candidates(CODE, "python", "oscillator.py")[:6]
    found = []
    for number, (foreseen, workers) in enumerate([((), 1), (order, 3), (order[::-1], 2)]):
        monkeypatch.setattr(
            MutantRunner, "_path", lambda self, c, n=number: tmp_path / str(n) / f"{order.index(c)}.json"
        )
        found.append(measured(ready, coverage, order, foreseen, workers))
    assert found[0] == found[1] == found[2]


def test_only_as_much_is_foreseen_as_there_is_room_for(ready, coverage, forgetful):
    order = candidates(CODE, "python", "oscillator.py")
    looked_at = []
    with MutantRunner(ready, coverage, workers=1) as runner:
        runner.foresee(looked_at.append(c) or c for c in order)
        runner.measure(order[0])
        assert 1 <= len(looked_at) <= 4


def test_every_run_is_limited_by_what_the_pristine_code_costs_though_the_recipe_does_not_say(
    ready, coverage, forgetful
):
    with MutantRunner(ready, coverage) as runner:
        limits = {spec.case.cpu for spec in runner._specs.values()}
    assert None not in limits
    assert all(math.isfinite(cpu) for cpu in limits)
