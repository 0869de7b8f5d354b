"""The notebooks and docs/python.md are right because their code is run, cell by cell."""

import html
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from docs_blocks import ROOT, blocks

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
# As a notebook does: the last expression of a cell is shown, by its HTML where it has one.
_SHOW = """
import ast
def cell(source):
    tree = ast.parse(source)
    *body, last = tree.body
    shows = isinstance(last, ast.Expr)
    exec(compile(ast.Module(body if shows else tree.body, []), "cell", "exec"), globals())
    if shows:
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), globals())
        print(value)
        if hasattr(value, "_repr_html_"):
            assert len(value._repr_html_()) > 100
"""


def run_code(sources: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    calls = "".join(f"cell({source!r})\n" for source in sources)
    bin_dir = Path(sys.executable).parent
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"{_SHOW}\n{calls}"],
        cwd=folder,
        env={**os.environ, "PATH": f"{bin_dir}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.e2e
def test_the_code_of_the_page_on_python_runs_from_top_to_bottom(tmp_path):
    page = blocks(ROOT / "docs" / "python.md")
    (shell,) = (block for block in page if block.kind == "bash")
    bin_dir = Path(sys.executable).parent
    subprocess.run(
        ["bash", "-euc", shell.text],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{bin_dir}{os.pathsep}{os.environ['PATH']}"},
        check=True,
    )
    done = run_code([block.text for block in page if block.kind == "python"], tmp_path)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_with_its_outputs(notebook):
    """Of `make notebook-outputs`, and so of no machine: no path, no log, no fault."""
    text = notebook.read_text(encoding="utf-8")
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {"execute_result", "stream"}
    assert any(
        "<svg" in html.unescape("".join(o["data"].get("text/html", "")))
        for o in outputs
        if "data" in o
    )
    assert "/tmp/" not in text
    assert str(ROOT) not in text


@pytest.mark.slow
@pytest.mark.e2e
@pytest.mark.needs("jupyter")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_jupyter_opens_a_notebook_and_runs_its_cells(notebook, tmp_path):
    """As `make notebook` does, in its environment and with its kernel."""
    copy = tmp_path / notebook.name
    shutil.copy(notebook, copy)
    outputs = ROOT / "tests" / "support" / "notebook_outputs.py"
    jupyter = ROOT / ".venv" / "jupyter" / "bin" / "python"
    subprocess.run([jupyter, outputs, copy], check=True)
    cells = json.loads(copy.read_text(encoding="utf-8"))["cells"]
    assert all(cell["execution_count"] for cell in cells if cell["cell_type"] == "code")


@pytest.mark.needs("jupyter")
def test_make_notebook_serves_both_notebooks_with_the_environments_python(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = f"--no-browser --port={port} --IdentityProvider.token=t"
    command = ["make", "notebook", f"NOTEBOOKS={tmp_path}", f"JUPYTER_ARGS={arguments}"]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(
            command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True
        ) as server,
    ):
        try:
            (folder, kernels, page) = (
                _fetched(f"http://127.0.0.1:{port}/{path}?token=t", server)
                for path in ("api/contents", "api/kernelspecs", "lab/tree/first_run.ipynb")
            )
        finally:
            os.killpg(server.pid, signal.SIGTERM)
    names = {entry["name"] for entry in json.loads(folder)["content"]}
    assert {notebook.name for notebook in NOTEBOOKS} <= names
    (kernel,) = json.loads(kernels)["kernelspecs"].values()
    assert Path(kernel["spec"]["argv"][0]).parent.parent == ROOT / ".venv"
    assert b"jupyter" in page.lower()


def _fetched(url: str, server: subprocess.Popen[bytes]) -> bytes:
    """The answer, as soon as there is one."""
    while True:
        try:
            with urllib.request.urlopen(url) as answer:
                return answer.read()
        except urllib.error.HTTPError:
            raise
        except urllib.error.URLError:  # it has not begun to listen
            assert server.poll() is None
            time.sleep(0.2)
