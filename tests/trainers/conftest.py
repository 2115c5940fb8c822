"""A catalog with both sides of a split, and one thread for torch: its threads spin where cores are shared."""

import shutil
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent.parent / "fixtures" / "catalog"


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)


def make_catalog(root):
    """`oscillator` to train on and `spring`, the same code under another name, held out."""
    for name, split in (("oscillator", "train"), ("spring", "heldout")):
        shutil.copytree(FIXTURES / "oscillator", root / name)
        _replace(root / name / "environment.toml", 'name = "oscillator"', f'name = "{name}"', count=1)
        for path in root.glob(f"{name}/tasks/*/task.toml"):
            for other in ("train", "heldout"):
                _replace(path, f'split = "{other}"', f'split = "{split}"')
    return root


@pytest.fixture
def catalog(tmp_path, monkeypatch):
    """A catalog with both sides of a split, and nothing besides: the shipped one is out of sight."""
    root = make_catalog(tmp_path / "catalog")
    monkeypatch.setattr("scienceide.envs.catalog.CATALOG", root)
    monkeypatch.setenv("SCIENCEIDE_CATALOG", str(root))
    return root


def _replace(path, old, new, count=-1):
    path.write_text(path.read_text().replace(old, new, count))


@pytest.fixture(scope="session")
def tiny(_own_folders, _one_thread):
    """The tiny model, loaded once; tests that train it load their own."""
    from scienceide.trainers.models import load_model

    return load_model("tiny", device="cpu")
