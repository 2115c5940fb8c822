"""Measured values go into a person's file without disturbing it."""

import tomllib

import pytest

from scienceide.envs.catalog import CATALOG
from scienceide.envs.formats import Case
from scienceide.repo_builders.casefile import annotated
from scienceide.verifiers import Evidence

TEXT = """\
schema = 1
title = "Spheres"  # falling
cpu = 9.9
variants = [
    { n = 1 },
]

# The drag itself.
[[observable]]
name = "drag"
from = { file = "o.npz", key = "drag" }
criterion = { kind = "norm", scale = "relative", tolerance = 1e-9 }
evidence = { noise = 1.0, how = "old" }

[[observable]]
name = "n"  # a count
from = { file = "o.npz", key = "n" }
criterion = { kind = "exact" }
"""


def measured(text, cpu=0.31):
    case = Case.model_validate(tomllib.loads(text))
    first, *rest = case.observables
    first = first.model_copy(
        update={
            "criterion": first.criterion.model_copy(update={"tolerance": 2e-7}),
            "evidence": Evidence(noise=1.5e-15, signal=0.25, how="3 repeats; “40” mutants"),
        }
    )
    return case.model_copy(update={"cpu": cpu, "observables": (first, *rest)})


def test_only_what_was_measured_changes():
    text = annotated(TEXT, measured(TEXT))
    assert Case.model_validate(tomllib.loads(text)) == measured(TEXT)
    assert "# The drag itself." in text
    assert 'name = "n"  # a count' in text
    assert 'evidence = { noise = 1.5e-15, signal = 0.25, how = "3 repeats; “40” mutants" }' in text
    assert "old" not in text
    assert text.count("cpu = ") == 1


def test_writing_again_changes_nothing():
    text = annotated(TEXT, measured(TEXT))
    assert annotated(text, measured(TEXT)) == text


def test_another_layout_is_written_anew():
    criterion = '{ kind = "norm", scale = "relative", tolerance = 1e-9 }'
    drag = f'{{ name = "drag", from = {{ file = "o.npz", key = "drag" }}, criterion = {criterion} }}'
    odd = f'schema = 1\ntitle = "Spheres"\nobservable = [{drag}]\n'
    case = measured(odd)
    assert Case.model_validate(tomllib.loads(annotated(odd, case))) == case


@pytest.mark.parametrize("path", sorted(CATALOG.glob("*/cases/*/case.toml")), ids=lambda p: p.parent.name)
def test_catalog_cases_can_be_annotated(path):
    text = path.read_text()
    case = measured(text) if "tolerance" in text.partition("[[observable]]")[2].partition("[[observable]]")[0] else None
    if case is not None:
        assert Case.model_validate(tomllib.loads(annotated(text, case))) == case
