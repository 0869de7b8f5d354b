"""A disk that fills up during a run: a message, nothing half-made, and the run continues later."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from yt8m_runs import Place, generate

pytestmark = [pytest.mark.e2e, pytest.mark.needs("tmpfs mounts")]
_DISK_MB = 420  # the preflight check asks for 300


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own; making one needs root."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_MB}m", "tmpfs", str(place)]
    subprocess.run(command, check=True)
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.slow
def test_a_full_disk_fails_the_run_with_its_reason_and_room_lets_it_continue(tmp_path, small_disk):
    place = Place(
        data=generate(tmp_path / "data"), root=small_disk / "root", push=tmp_path / "push"
    )
    run = place.start()
    run.until("ValidationGate done")
    filler = small_disk / "filler"
    free = shutil.disk_usage(small_disk).free
    with filler.open("wb") as file:
        try:
            while True:
                file.write(b"\0" * min(free, 1 << 20))
        except OSError:
            pass
    assert run.end() == 1, run.said
    assert place.versions() == []

    filler.unlink()
    again = place.run()
    assert again.returncode == 0, again.stderr
    assert place.versions() == [1]
    assert place.states()["ExampleGen"] == "cached"


def test_too_small_a_disk_is_refused_before_anything_starts(tmp_path, small_disk):
    with (small_disk / "filler").open("wb") as file:
        file.write(b"\0" * (200 << 20))
    place = Place(
        data=generate(tmp_path / "data"), root=small_disk / "root", push=tmp_path / "push"
    )
    done = place.run()
    assert done.returncode == 2
    assert "GB free, and the run may need" in done.stderr
