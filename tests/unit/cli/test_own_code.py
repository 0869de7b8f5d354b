"""A fault in the user's own code is told with its line, wherever yt8m itself lies."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from yt8m.cli import main
from yt8m.schemas.errors import EXIT_FAILED


@pytest.mark.parametrize("own", ["mine.py", "networks/mine.py"])
def test_the_line_is_told_also_where_yt8m_lies_below_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], own: str
) -> None:
    place = tmp_path / own
    place.parent.mkdir(exist_ok=True)
    place.write_text("def build():\n    return {}['width']\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(main, "__file__", str(tmp_path / "src" / "yt8m" / "cli" / "main.py"))
    spec = importlib.util.spec_from_file_location("mine", place)
    assert spec is not None
    assert spec.loader is not None
    mine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mine)
    monkeypatch.setattr(main, "_run", lambda argv: mine.build())
    assert main.run(["version"]) == EXIT_FAILED
    said = capsys.readouterr().err
    assert "error: KeyError: 'width'" in said
    assert f"It happened in {place}, line 2; --debug shows" in said
