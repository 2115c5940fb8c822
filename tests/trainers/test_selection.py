import pytest

from scienceide.base.errors import UserError
from scienceide.envs import LoadedTask, load_task
from scienceide.trainers.selection import choose, refuse_leakage


def test_all_of_a_split_or_the_named(catalog):
    assert [t.id for t in choose(None, "train")] == ["oscillator/drift-factor", "oscillator/kick-sign"]
    assert [t.id for t in choose(["spring/kick-sign"], "train")] == ["spring/kick-sign"]
    assert [t.id for t in choose(None, "heldout", ["spring"])] == ["spring/drift-factor", "spring/kick-sign"]


def test_nothing_to_run_on(catalog):
    with pytest.raises(UserError, match="no train tasks in spring"):
        choose(None, "train", ["spring"])
    with pytest.raises(UserError, match="did you mean oscillator/kick-sign"):
        choose(["oscillator/kick-sgin"], "train")


def test_clean_training_tasks_pass(catalog):
    refuse_leakage(choose(None, "train"))


def test_a_held_out_task_is_refused(catalog):
    with pytest.raises(UserError, match="spring/kick-sign is held out"):
        refuse_leakage([load_task("spring/kick-sign")])


def held_out(task, file, lineage):
    """A held-out task like `task`, in another file or of another lineage."""
    edits = (task.defect.edits[0].model_copy(update={"file": file}),)
    return LoadedTask(
        task.environment,
        task.folder,
        task.task.model_copy(update={"split": "heldout", "lineage": lineage}),
        task.defect.model_copy(update={"edits": edits}),
        task.instruction,
    )


def test_a_task_in_a_held_out_source_file_is_refused(catalog):
    other = held_out(load_task("oscillator/drift-factor"), "oscillator.py", "its own")
    with pytest.raises(UserError, match=r"kick-sign lies in oscillator\.py, as the held-out oscillator/drift-factor"):
        refuse_leakage([load_task("oscillator/kick-sign")], [other])


def test_a_twin_of_a_held_out_task_is_refused(catalog):
    sign = load_task("oscillator/kick-sign")
    other = held_out(load_task("oscillator/drift-factor"), "elsewhere.py", sign.task.lineage)
    with pytest.raises(UserError, match="kick-sign is a twin of the held-out oscillator/drift-factor"):
        refuse_leakage([sign], [other])


def test_neither_file_nor_lineage_in_common_is_fine(catalog):
    other = held_out(load_task("oscillator/drift-factor"), "elsewhere.py", "its own")
    refuse_leakage([load_task("oscillator/kick-sign")], [other])


def test_the_same_file_name_in_another_environment_is_no_leak(catalog):
    refuse_leakage([load_task("oscillator/kick-sign")], [load_task("spring/kick-sign")])
