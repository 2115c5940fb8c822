"""The shipped environments as a reader finds them: recipes, cases, drivers, units, and who may see what."""

import ast
import json
import re
from collections import Counter

import pytest

from scienceide.envs.catalog import CATALOG, load_environment
from scienceide.envs.patch import is_editable

ENVIRONMENTS = sorted(p.parent.name for p in CATALOG.glob("*/environment.toml"))
PERMISSIVE = {"MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "ISC"}
ALLOWED_MODULES = {"datetime", "json", "math", "os", "numpy"}
"""What a driver may import besides the code it exercises."""
CASES = [(name, case) for name in ENVIRONMENTS for case in load_environment(name).cases]


def driver_of(name, case):
    return ast.parse((CATALOG / name / "cases" / case / "driver.py").read_text(encoding="utf-8"))


def written_names(tree):
    """The string constants and keywords of a driver: all names it can give an array."""
    names = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    return names | {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def test_there_is_one_interpreted_and_one_compiled_environment():
    assert {"fluids", "spglib"} <= set(ENVIRONMENTS)
    assert not load_environment("fluids").environment.build.commands
    assert load_environment("spglib").environment.build.products


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_source_is_pinned_licensed_and_cited(name):
    source = load_environment(name).environment.source
    assert source.licence in PERMISSIVE
    assert source.version
    assert len(source.citation) > 10


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_requirements_are_pinned(name):
    requirements = load_environment(name).environment.image.requirements
    assert requirements
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", requirement) for requirement in requirements)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_tests_and_recipe_are_out_of_reach(name):
    editable = load_environment(name).environment.editable
    for path in ("CMakeLists.txt", "pyproject.toml", "setup.py", "tests/test_drag.py", "test/functional/test.c"):
        assert not is_editable(path, editable)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_cases_are_many_balanced_and_distinct(name):
    cases = load_environment(name).cases
    assert len(cases) >= 10
    shown = sum(case.visible for case in cases.values())
    assert 0.4 <= shown / len(cases) <= 0.6
    assert max(Counter(case.title for case in cases.values()).values()) == 1


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_visible_cases_are_also_run_on_inputs_nobody_sees(name):
    for case, record in load_environment(name).cases.items():
        if record.visible:
            assert record.variants, case
            assert all(variant for variant in record.variants), case


@pytest.mark.parametrize(("name", "case"), CASES)
def test_observables_have_units_shapes_and_a_reason(name, case):
    record = load_environment(name).cases[case]
    assert len(record.science) > 40
    assert len(record.observables) >= 4
    for observable in record.observables:
        assert observable.unit not in ("", "SI"), observable.name
        assert observable.shape is not None, observable.name
        assert observable.source.key == observable.name


@pytest.mark.parametrize(("name", "case"), CASES)
def test_some_criterion_needs_no_reference(name, case):
    """Bounds on residuals, and drifts: physics that a wrong reference could not excuse."""
    kinds = {observable.criterion.kind for observable in load_environment(name).cases[case].observables}
    assert kinds & {"bounds", "conserved"}


@pytest.mark.parametrize(("name", "case"), CASES)
def test_driver_writes_what_the_case_asks_for(name, case):
    record = load_environment(name).cases[case]
    names = written_names(driver_of(name, case))
    assert {observable.source.key for observable in record.observables} <= names
    assert {observable.source.file for observable in record.observables} == {"observables.npz"} <= names


@pytest.mark.parametrize(("name", "case"), CASES)
def test_driver_imports_only_the_code_it_exercises(name, case):
    imported = set()
    for node in ast.walk(driver_of(name, case)):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module.partition(".")[0])
    assert name in imported
    assert imported <= ALLOWED_MODULES | {name}


@pytest.mark.parametrize(("name", "case"), CASES)
def test_driver_reads_only_its_inputs(name, case):
    """No references, no other files: only `$CASE_INPUT` and data files that lie beside the driver."""
    folder = CATALOG / name / "cases" / case
    for node in ast.walk(driver_of(name, case)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open":
            argument = node.args[0]
            known = isinstance(argument, ast.Name) and argument.id == "path"
            assert known or (folder / argument.value).suffix == ".json"
            assert known or json.loads((folder / argument.value).read_text(encoding="utf-8"))
        if isinstance(node, ast.Attribute):
            assert node.attr not in {"load", "loadtxt", "fromfile", "genfromtxt"} or ast.unparse(node.value) == "json"


@pytest.mark.parametrize(("name", "case"), CASES)
def test_variants_name_inputs_the_driver_has(name, case):
    record = load_environment(name).cases[case]
    defaults = next(
        ast.literal_eval(node.value)
        for node in driver_of(name, case).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DEFAULTS"
    )
    for variant in (record.inputs, *record.variants):
        assert set(variant) <= set(defaults)
        assert all(defaults[key] != value for key, value in variant.items())


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_folders_hold_only_cases_and_tasks(name):
    for folder in (CATALOG / name / "cases").iterdir():
        assert {p.suffix for p in folder.iterdir()} <= {".py", ".toml", ".json"}, folder
        assert (folder / "case.toml").is_file()
