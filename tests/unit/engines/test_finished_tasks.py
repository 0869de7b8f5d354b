"""Tasks are counted as their files appear, and what cannot be listed stops no work."""

import threading

import pytest

from yt8m.components.engines import finished_tasks as counting
from yt8m.components.engines.finished_tasks import finished_tasks

UNITS = {"00000.npz": 3, "00001.error": 4, "00002.npz": 5}


@pytest.fixture
def told(monkeypatch):
    """What `advance` was told; `.event` is set each time."""
    monkeypatch.setattr(counting, "_LOOK_EVERY_S", 0.01)
    return Told()


class Told(list):
    def __init__(self):
        super().__init__()
        self.event = threading.Event()

    def advance(self, count):
        self.append(count)
        self.event.set()

    def wait(self):
        assert self.event.wait(20)
        self.event.clear()


def test_files_are_counted_while_the_block_runs(tmp_path, told):
    (tmp_path / "00000.npz").touch()
    with finished_tasks(str(tmp_path), told.advance, units_of=UNITS.get):
        told.wait()
        assert told == [3]
        (tmp_path / ".00002.npz.4f1c").touch()  # is being written
        (tmp_path / "00001.error").touch()
        told.wait()
        assert told == [3, 4]
    assert told == [3, 4]


def test_what_appears_last_is_counted_at_the_end(tmp_path, told, monkeypatch):
    monkeypatch.setattr(counting, "_LOOK_EVERY_S", 60.0)
    with finished_tasks(str(tmp_path), told.advance, units_of=UNITS.get):
        for name in UNITS:
            (tmp_path / name).touch()
    assert told == [12]


def test_a_directory_that_comes_later_or_never_is_no_failure(tmp_path, told):
    with finished_tasks(str(tmp_path / "never"), told.advance, units_of=UNITS.get):
        pass
    with finished_tasks(str(tmp_path / "later"), told.advance, units_of=UNITS.get):
        (tmp_path / "later").mkdir()
        (tmp_path / "later" / "00002.npz").touch()
        told.wait()
    assert told == [5]


def test_the_works_own_failure_is_the_one_that_is_heard(tmp_path, told):
    with (
        pytest.raises(RuntimeError, match="of the work"),
        finished_tasks(str(tmp_path), told.advance, units_of=UNITS.get),
    ):
        raise RuntimeError("of the work")
    assert "finished-tasks" not in [thread.name for thread in threading.enumerate()]
