"""Noise is measured in every legitimate way there is, and evidence is what was measured."""

import numpy as np
import pytest

from scienceide.base.progress import Silent
from scienceide.envs.catalog import load_environment
from scienceide.envs.formats import Case, load_toml, to_toml
from scienceide.envs.grading import Measured
from scienceide.envs.running import with_cpu
from scienceide.repo_builders.calibrate import errors_of, legitimate_runs, nudged, with_evidence
from scienceide.repo_builders.placement import Placement
from scienceide.verifiers import Exact, Location, Norm, ObservableSpec, Outputs


def observable(criterion):
    return ObservableSpec(name="x", source=Location(file="o.npz", key="x"), criterion=criterion)


def test_nudge_moves_floats_by_one_unit_and_nothing_else():
    moved = nudged({"a": 1.0, "b": [2.0, 3], "c": {"d": -1.5}, "n": 3, "s": "x", "t": True})
    assert moved["a"] == np.nextafter(1.0, 2.0)
    assert moved["b"] == [np.nextafter(2.0, 3.0), 3]
    assert moved["c"]["d"] == np.nextafter(-1.5, 0.0)
    assert (moved["n"], moved["s"], moved["t"]) == (3, "x", True)


def test_evidence_is_written_and_reads_back(tmp_path):
    placed = with_evidence(observable(Norm(tolerance=1e-3)), Placement(2e-7, 1e-15, 0.25), "3 repeats; 40 mutants")
    assert placed.criterion.tolerance == 2e-7
    path = tmp_path / "case.toml"
    case = with_cpu(Case(title="t", observables=(placed,)), [0.2, 0.612])
    path.write_text(to_toml(case))
    again = load_toml(path, Case)
    assert again == case
    assert again.cpu == 0.61
    assert again.observables[0].evidence.signal == 0.25


def test_criteria_without_tolerance_only_get_evidence():
    placed = with_evidence(observable(Exact()), Placement(None, 0.0, 1.0), "how")
    assert placed.criterion == Exact()
    assert placed.evidence.signal == 1.0


@pytest.fixture(scope="module")
def ready(shop, pendulum):
    return shop.environment(load_environment(str(pendulum)))


def test_legitimate_runs_say_how_they_were_had(ready):
    measured, ways = legitimate_runs(ready, Silent())
    assert ways[:2] == ["3 repeats", "1 and 2 threads"]
    assert len(measured) >= 4
    for one in measured:
        assert one.failures == {}
        for run, errors in errors_of(ready, one).items():
            if run.startswith("energy"):
                assert errors["position"] < 1e-12


def test_errors_are_in_the_criterions_units(ready):
    outputs = dict(ready.references)
    arrays = dict(outputs["energy"].arrays)
    arrays["position"] = arrays["position"] + 0.1 * np.max(np.abs(arrays["position"]))
    outputs["energy"] = Outputs(arrays)
    errors = errors_of(ready, Measured(outputs, {}, 0.0, 0.0))
    assert errors["energy"]["position"] == pytest.approx(0.1)
    assert errors["energy#1"]["position"] == 0.0
    outputs["energy"] = Outputs()
    assert errors_of(ready, Measured(outputs, {}, 0.0, 0.0))["energy"]["position"] is None
