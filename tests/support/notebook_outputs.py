"""Runs notebooks in Jupyter, from top to bottom, and keeps what their cells show.

    .venv/jupyter/bin/python tests/support/notebook_outputs.py docs/notebooks/*.ipynb

Where they lay, where they ran, when, and what was logged is left out, so that a second run changes
only what was measured.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

TIMEOUT_S = 600


def executed(notebook: Path, folder: Path) -> Any:  # nbformat.NotebookNode
    """The notebook with the outputs of its cells, run in `folder`."""
    content = nbformat.read(notebook, as_version=4)
    where = {"metadata": {"path": str(folder)}}
    NotebookClient(content, timeout=TIMEOUT_S, kernel_name="python3", resources=where).execute()
    for cell in content.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    text = nbformat.writes(content).replace(f"{folder}/", "")
    return nbformat.reads(text, as_version=4)


def main(notebooks: list[str]) -> None:
    for notebook in map(Path, notebooks):
        with tempfile.TemporaryDirectory() as folder:
            content = executed(notebook, Path(folder).resolve())
        content.metadata.kernelspec = {
            "display_name": "yt8m",
            "language": "python",
            "name": "python3",
        }
        content.metadata.language_info = {"name": "python"}
        nbformat.write(content, notebook)


if __name__ == "__main__":
    main(sys.argv[1:])
