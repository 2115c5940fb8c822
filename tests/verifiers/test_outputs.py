import os
import socket

import numpy as np
import pytest

from scienceide.base.errors import VerifierError
from scienceide.verifiers import FAILURES, Failure, Outputs, outputs, read_outputs
from scienceide.verifiers import files as files_module
from scienceide.verifiers.failures import DETAIL, shown
from tests.verifiers.helpers import EXACT, as_json, npy, npz, observable

SPECS = [
    observable("position", shape=("time", 3)),
    observable("energy", shape=("time",)),
    observable("group", file="o.json", key="group", criterion=EXACT),
]
FILES = {
    "o.npz": npz(position=np.ones((4, 3)), energy=np.arange(4.0), surprise=np.ones(2)),
    "o.json": as_json({"group": "Fm-3m"}),
    "run.log": b"hello",
}


def test_observables_of_several_files():
    result = read_outputs(FILES, SPECS)
    assert {name: array.shape for name, array in result.arrays.items()} == {
        "position": (4, 3),
        "energy": (4,),
        "group": (),
    }
    assert result.failures == {}
    assert result.notes == ("unused arrays in o.npz: 'surprise'", "unused files: 'run.log'")


def test_the_folder_gives_what_the_bytes_give(tmp_path):
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    result, expected = read_outputs(tmp_path, SPECS), read_outputs(FILES, SPECS)
    assert result.notes == expected.notes
    assert list(result.arrays) == list(expected.arrays)
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(result.arrays[name], array)


def test_arrays_cannot_be_changed():
    array = read_outputs(FILES, SPECS).arrays["energy"]
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


@pytest.mark.parametrize(
    ("shape", "array", "ok"),
    [
        ((3,), np.ones(3), True),
        ((3,), np.ones(4), False),
        (("t",), np.ones(0), True),
        (("t",), np.ones((1, 1)), False),
        ((), np.array(1.0), True),
        ((), np.ones(1), False),
        (("n", "n"), np.ones((2, 2)), True),
        (("n", "n"), np.ones((2, 3)), False),
        (("n", 3, "m"), np.ones((2, 3, 5)), True),
        (None, np.ones((2, 3)), True),
    ],
)
def test_shapes(shape, array, ok):
    result = read_outputs({"o.npz": npz(x=array)}, [observable(shape=shape)])
    assert [f.name for f in result.failures.values()] == ([] if ok else ["wrong shape"])


def test_the_detail_of_a_wrong_shape_names_both():
    failure = read_outputs({"o.npz": npz(x=np.ones(4))}, [observable(shape=("time", 3))]).failures["x"]
    assert str(failure) == "wrong shape: expected (time, 3), got (4)"
    assert str(Failure("no output")) == "no output"


def test_one_bad_observable_leaves_the_others():
    data = npz(position=np.full((2, 3), np.nan), energy=np.ones(2))
    result = read_outputs({"o.npz": data}, SPECS)
    assert list(result.arrays) == ["energy"]
    assert {name: f.name for name, f in result.failures.items()} == {"position": "non-finite", "group": "missing file"}


def test_all_of_a_case_has_a_limit(monkeypatch):
    monkeypatch.setattr(outputs, "TOTAL_BYTES", 100)
    result = read_outputs({"o.npz": npz(a=np.ones(8), b=np.ones(8))}, [observable("a"), observable("b")])
    assert list(result.arrays) == ["a"]
    assert result.failures["b"].name == "too large"


def test_a_large_file_is_not_read(monkeypatch, tmp_path):
    monkeypatch.setattr(outputs, "FILE_BYTES", 1000)
    data = npy(np.ones(1000))
    assert read_outputs({"x.npy": data}, [observable(file="x.npy")]).failures["x"].name == "too large"
    (tmp_path / "big.npy").write_bytes(b"")
    os.truncate(tmp_path / "big.npy", files_module.FILE_BYTES + 1)
    assert read_outputs(tmp_path, [observable(file="big.npy")]).failures["x"].name == "too large"


def _symlink(path):
    (path.parent / "real.npy").write_bytes(npy(np.ones(3)))
    path.symlink_to("real.npy")


def _socket(path):
    with socket.socket(socket.AF_UNIX) as unix:
        here = os.getcwd()
        os.chdir(path.parent)  # the path of a socket must be short
        try:
            unix.bind(path.name)
        finally:
            os.chdir(here)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda path: None, "missing file"),
        (_symlink, "unreadable"),
        (lambda path: path.symlink_to("/etc/hostname"), "unreadable"),
        (lambda path: path.symlink_to(path.name), "unreadable"),
        (lambda path: path.mkdir(), "unreadable"),
        (os.mkfifo, "unreadable"),
        (_socket, "unreadable"),
    ],
    ids=["nothing", "link", "link outside", "link to itself", "folder", "pipe", "socket"],
)
def test_only_plain_files_are_read(tmp_path, make, name):
    make(tmp_path / "x.npy")
    assert read_outputs(tmp_path, [observable(file="x.npy")]).failures["x"].name == name


def test_a_linked_folder_is_not_followed(tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    (real / "x.npy").write_bytes(npy(np.ones(3)))
    case = tmp_path / "case"
    case.mkdir()
    (case / "out").symlink_to(real)
    spec = observable(file="out/x.npy")
    assert read_outputs(case, [spec]).failures["x"].name == "unreadable"
    assert read_outputs(tmp_path, [observable(file="real/x.npy")]).arrays["x"].tolist() == [1, 1, 1]


def test_a_folder_that_is_not_there():
    result = read_outputs(files_module.Path("/nonexistent-folder"), [observable()])
    assert result.failures["x"].name == "missing file"
    assert result.notes == ()


def test_reading_leaves_no_file_open(tmp_path):
    (tmp_path / "x.npy").write_bytes(npy(np.ones(3)))
    (tmp_path / "d.npy").mkdir()
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for name in ("x.npy", "d.npy", "none.npy", "x.npy/deeper.npy"):
        read_outputs(tmp_path, [observable(file=name)])
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before


def test_notes_are_few_and_printable():
    files = {f"extra-{n:03d}": b"" for n in range(500)} | {"\x1b[31mred\n": b""}
    (note,) = read_outputs(files, []).notes
    assert "and 491 more" in note
    assert note.isprintable()
    (note,) = read_outputs({f"{n}": b"" for n in range(10)}, []).notes
    assert note.endswith("'9'")


def test_details_are_short_and_printable():
    assert shown("a\x1b[0m\nb") == "a?[0m?b"
    assert len(shown("x" * 10_000)) == DETAIL


def test_saved_outputs_come_back(tmp_path):
    original = Outputs(
        {
            "a/b": np.arange(6.0).reshape(2, 3),
            "file": np.array(["Fm-3m", "å"]),
            "z": np.array(1 + 2j),
            "n": np.array([2**62]),
            "empty": np.zeros((0, 3)),
            "flags": np.array([True]),
        },
        {"lost": Failure("missing file", "o.npz")},
        ("a note",),
    )
    original.save(tmp_path / "one.npz")
    back = Outputs.load(tmp_path / "one.npz")
    assert (back.failures, back.notes, list(back.arrays)) == (original.failures, original.notes, list(original.arrays))
    for name, array in original.arrays.items():
        assert back.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(back.arrays[name], array)
    back.save(tmp_path / "two.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


@pytest.mark.parametrize("data", [b"", b"junk", npz(x=np.ones(2))])
def test_a_broken_cache_says_so(tmp_path, data):
    (tmp_path / "r.npz").write_bytes(data)
    with pytest.raises(VerifierError, match=r"r\.npz: these are not saved outputs; delete the file\."):
        Outputs.load(tmp_path / "r.npz")


def test_a_missing_cache_says_so(tmp_path):
    with pytest.raises(VerifierError, match=r"r\.npz: No such file"):
        Outputs.load(tmp_path / "r.npz")


def test_a_half_cache_says_so(tmp_path):
    outputs_ = Outputs({"x": np.ones(3)})
    outputs_.save(tmp_path / "r.npz")
    data = (tmp_path / "r.npz").read_bytes()
    (tmp_path / "r.npz").write_bytes(data.replace(b"0.npy", b"9.npy"))
    with pytest.raises(VerifierError, match="not saved outputs"):
        Outputs.load(tmp_path / "r.npz")


def test_every_name_of_a_failure_is_documented():
    assert len(set(FAILURES)) == len(FAILURES) == 9
