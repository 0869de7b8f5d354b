"""The pages are right because they are run: each ```bash block, page by page."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from docs_blocks import PAGES, blocks

# What the other pages show, tests beside this one show too: endurance.
SHORT = ("README.md",)
RUN = [page for page in PAGES if any(b.kind == "bash" for b in blocks(page))]


@pytest.mark.e2e
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=() if page.name in SHORT else pytest.mark.slow)
        for page in RUN
    ],
)
def test_the_commands_of_a_page_run_one_after_the_other(page: Path, tmp_path: Path) -> None:
    # `make` is checked elsewhere: here it would run the tests inside the tests.
    script = "\n".join(
        block.text
        for block in blocks(page)
        if block.kind == "bash" and not block.text.startswith("make ")
    )
    bin_dir = Path(sys.executable).parent
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{bin_dir}{os.pathsep}{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{page.name}\n{done.stdout[-4000:]}\n{done.stderr[-6000:]}"
