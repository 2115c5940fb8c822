"""Every example notebook runs from top to bottom, and shows what it is there to show."""

from pathlib import Path

import nbformat
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def kernel_environment(monkeypatch, tmp_path):
    """A notebook sees the catalog that users have, and a run store of its own."""
    monkeypatch.setenv("SCIENCEIDE_CATALOG", "")
    monkeypatch.setenv("SCIENCEIDE_HOME", str(tmp_path / "home"))


def executed(name, folder):
    from nbclient import NotebookClient

    notebook = nbformat.read(EXAMPLES / name, as_version=4)
    NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    return notebook


def test_notebooks_are_committed_without_outputs():
    for path in EXAMPLES.glob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            assert not cell.get("outputs"), path


def test_the_quickstart_runs(kernel_environment, tmp_path):
    notebook = executed("quickstart.ipynb", tmp_path)
    outputs = [o for cell in notebook.cells for o in cell.get("outputs", [])]
    html = " ".join(o.get("data", {}).get("text/html", "") for o in outputs)
    assert "fluids" in html
    assert "reward 1" in html, "the oracle's verdict"
    assert "done" in html, "the run's card after it ended"
    assert sum("image/png" in o.get("data", {}) for o in outputs) == 2, "the case and the run are plotted"
    assert any("(0.0, 'submitted', 'graded')" in o.get("data", {}).get("text/plain", "") for o in outputs)
