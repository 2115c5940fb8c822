"""Loading environments and tasks: what is right loads, what is wrong is said with file, line and field."""

import shutil

import pytest

from scienceide.base.errors import UserError
from scienceide.envs.catalog import environment_names, load_environment, load_task, task_ids
from tests.conftest import FIXTURES


@pytest.fixture
def copy(tmp_path):
    """A private copy of the test environment, to break."""
    return shutil.copytree(FIXTURES / "oscillator", tmp_path / "oscillator")


def test_names_come_from_every_folder_of_the_catalog():
    assert {"fluids", "spglib", "oscillator"} <= set(environment_names())
    assert {"oscillator/kick-sign", "oscillator/drift-factor"} <= set(task_ids())


def test_by_path_and_by_name_are_the_same(copy):
    assert load_environment("oscillator").environment == load_environment(str(copy)).environment
    assert load_task("oscillator/kick-sign").task == load_task(str(copy / "tasks" / "kick-sign")).task


def test_splits_and_environments_select():
    assert task_ids(split="train", environment="oscillator") == ["oscillator/kick-sign"]
    assert task_ids(split="heldout", environment="oscillator") == ["oscillator/drift-factor"]


def test_a_case_runs_without_the_file_that_holds_its_secrets():
    assert set(load_environment("oscillator").case_files("energy")) == {"driver.py"}


@pytest.mark.parametrize(
    ("name", "offered"),
    [("oscilator/kick-sign", "oscillator/kick-sign"), ("oscillator/kick-sgn", "oscillator/kick-sign")],
)
def test_an_unknown_task_offers_the_nearest(name, offered):
    with pytest.raises(UserError, match=f"did you mean .*{offered}"):
        load_task(name)


@pytest.mark.parametrize("name", ["../../etc", "oscillator/../oscillator/kick-sign", "", "/", "no/such/thing"])
def test_odd_names_are_refused(name):
    with pytest.raises(UserError):
        load_task(name)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "Leapfrog', 'titel = "Leapfrog', r"environment.toml:\d+: unknown key 'titel'; did you mean 'title'"),
        ('science = "physics"', 'science = "alchemy"', r"environment.toml:4: 'science'.*'alchemy'"),
        ('memory = "256 MiB"', 'memory = "256 MiBs"', r"environment.toml:\d+: 'limits.memory'.*2 GiB"),
        ('name = "oscillator"\ntitle', 'name = "other"\ntitle', "'name' is 'other' but its folder"),
        ("[editable]", "[editable", "not valid TOML.*line"),
        ('include = ["*.py"]', "", "'editable.include' is missing"),
    ],
)
def test_a_broken_environment_says_where(copy, old, new, said):
    file = copy / "environment.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(UserError, match=said):
        load_environment(str(copy))


def test_a_broken_case_says_where(copy):
    file = copy / "cases" / "energy" / "case.toml"
    file.write_text(file.read_text().replace('norm = "linf"', 'norm = "l7"'))
    with pytest.raises(UserError, match=r"case.toml:\d+: .*l7"):
        _ = load_environment(str(copy)).cases


def test_a_missing_defect_says_so(copy):
    (copy / "tasks" / "kick-sign" / "defect.json").unlink()
    with pytest.raises(UserError, match=r"defect.json: there is no such file"):
        load_task(str(copy / "tasks" / "kick-sign"))


def test_not_utf8_says_where(copy):
    (copy / "environment.toml").write_bytes(b'schema = 1\nname = "\xff"\n')
    with pytest.raises(UserError, match="not UTF-8 at byte 19"):
        load_environment(str(copy))
