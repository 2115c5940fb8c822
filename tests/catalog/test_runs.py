"""The shipped environments run for real: built in a sandbox, right on pristine code, and alert to slips in it."""

import pytest

from scienceide.envs.catalog import load_environment
from scienceide.envs.defects import apply_edits, to_bytes, to_text
from scienceide.envs.grading import Judge, is_compiled
from scienceide.repo_builders.mutate import candidates, language_of

pytestmark = pytest.mark.slow

SLIPS = {
    "fluids": [
        ("fluids/drag.py", "v_terminal", "sign"),
        ("fluids/atmosphere.py", "gravity", "operator"),
        ("fluids/open_flow.py", "V_Manning", "operator"),
    ],
    "spglib": [
        ("src/mathfunc.c", "mat_multiply_matrix_di3", "dropped-term"),
        ("src/kgrid.c", "get_grid_point_double_mesh", "operator"),
        ("src/pointgroup.c", "get_orthogonal_axis", "off-by-one"),
    ],
}
"""Where a person could slip, and how: file, routine and kind of mistake."""


@pytest.fixture(scope="module", params=["fluids", "spglib"])
def ready(request, shop):
    return shop.environment(load_environment(request.param))


def verdict_of(shop, ready, contents):
    return Judge(ready.references).verdict(ready.specs, shop.measure(ready, contents))


def slipped(ready, path, function, operator):
    """A file with the first such slip in that routine."""
    text = to_text((ready.pristine.source / path).read_bytes())
    found = [
        candidate.edit
        for candidate in candidates(text, language_of(path), path)
        if candidate.function == function and candidate.edit.operator == operator
    ]
    assert found, (path, function, operator)
    return to_bytes(apply_edits(found[:1], text))


def test_pristine_code_is_right_and_twice_the_same(shop, ready):
    path = next(iter(SLIPS[ready.pristine.environment.name]))[0]
    touched = (ready.pristine.source / path).read_bytes() + b"\n"
    verdict = verdict_of(shop, ready, {path: touched})
    assert verdict.score == 1.0, verdict.render()


def test_every_run_is_quick(ready):
    for spec in ready.specs:
        assert spec.case.cpu is None or spec.case.cpu < 2.0, spec.id


def test_slips_are_noticed_on_both_sides(shop, ready):
    environment = ready.pristine.environment
    for path, function, operator in SLIPS[environment.name]:
        verdict = verdict_of(shop, ready, {path: slipped(ready, path, function, operator)})
        wrong = [case for case in verdict.cases if case.score < 1.0]
        assert any(case.visible for case in wrong), path
        assert any(not environment.cases[case.name.partition("#")[0]].visible for case in wrong), path
        assert verdict.score <= 0.9, (path, verdict.score)


def test_a_change_of_compiled_code_alone_needs_a_build(ready):
    environment = ready.pristine.environment
    for path, _, _ in SLIPS[environment.name]:
        assert is_compiled(environment, path) == path.endswith(".c")
