"""Every notebook runs from top to bottom, shows its figures, and is stored without outputs."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
FIGURES = {"01_coupling": 1, "02_break_even": 1, "03_reading_a_sweep": 1, "04_published_record": 1}

WITH_SLIDERS = {"02_break_even"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "results").symlink_to(path.parents[1] / "results")
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path / "notebooks")}}).execute()
    outputs = [output for cell in code for output in cell.outputs]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == FIGURES[path.stem]
    pages = [str(output.get("data", {}).get("text/html")) for output in outputs]
    assert any("iframe srcdoc" in page and "&quot;range&quot;" in page for page in pages) == (path.stem in WITH_SLIDERS)


def test_all_notebooks_are_there():
    assert [path.stem for path in NOTEBOOKS] == list(FIGURES)
