"""The other lane's root: what is said where it cannot be made, and what is left behind."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import lane_b
import pytest


@pytest.fixture
def no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A debootstrap that reaches no mirror, after it has begun; where the cache is."""
    program = tmp_path / "bin" / "debootstrap"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\nfor place; do case "$place" in /*) mkdir -p "$place/usr";; esac; done\n'
        "echo 'E: Failed getting release file'\nexit 1\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.36"))
    return tmp_path / "cache"


@pytest.mark.needs("root", "tmpfs mounts")
@pytest.mark.parametrize(("required", "code", "word"), [("", 0, "skipped"), ("1", 1, "FAILED")])
def test_without_network_the_lane_is_skipped_by_name_or_required(
    no_network, monkeypatch, capsys, required, code, word
):
    monkeypatch.setenv("YT8M_REQUIRE_ALL", required)
    assert lane_b.main(["true"]) == code
    said = capsys.readouterr().err
    assert f"lane B: {word}: debootstrap could not make a Debian trixie root" in said
    assert "E: Failed getting release file" in said
    # Nothing that another call would take for a root.
    assert [path.name for path in (no_network / "yt8m" / "lane-b").iterdir()] == ["lock"]


def test_without_debootstrap_the_remedy_is_named(no_network, monkeypatch, capsys):
    monkeypatch.delenv("YT8M_REQUIRE_ALL", raising=False)
    monkeypatch.setattr(lane_b, "missing", lambda names: [n for n in names if n == "debootstrap"])
    assert lane_b.main(["true"]) == 0
    assert "skipped: needs debootstrap: apt-get install" in capsys.readouterr().err


def test_where_the_machine_has_the_lane_itself_no_root_is_made(no_network, monkeypatch, capsys):
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.41"))
    assert lane_b.main(["false"]) == 0
    assert "this machine's own lane" in capsys.readouterr().out
    assert not no_network.exists()
