"""The notebooks and docs/python.md are right because their code is run, cell by cell."""

import json
import os
import re
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
_WRITES = re.compile(r"%%writefile (\S+)\n(.*)", re.DOTALL)
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
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_run(notebook, tmp_path):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for written in filter(None, map(_WRITES.match, sources)):
        (tmp_path / written[1]).write_text(written[2])
    done = run_code([one for one in sources if not _WRITES.match(one)], tmp_path)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"


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
def test_a_notebook_is_kept_without_outputs(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert [cell for cell in cells if cell.get("outputs")] == []


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
