"""When a process that serves parameters, or works beside them, ends by itself."""

from pathlib import Path
from types import SimpleNamespace

from yt8m.components import storage
from yt8m.components.trainer.loop import parameter_server
from yt8m.components.trainer.state.done_marker import Done, mark_done, read_done

ENDED = Done(step=8, stopping_criteria="8 steps")


class Looks:
    """Nobody ends the process; what happens before it looks for the nth time is told."""

    def __init__(self, **events):
        self.count, self._events = 0, events

    @property
    def requested(self):
        self.count += 1
        assert self.count < 100, "it does not end"
        self._events.get(f"before_{self.count}", lambda: None)()
        return False


def test_it_ends_with_the_training_and_not_by_the_marker_of_one_before(tmp_path, monkeypatch):
    monkeypatch.setattr(parameter_server, "_POLL_S", 0)
    here = str(tmp_path)
    mark_done(here, ENDED, log_dir=here)
    stale = read_done(here)
    looks = Looks(
        before_4=(tmp_path / "DONE").unlink,  # as the chief does before it trains
        before_7=lambda: mark_done(here, ENDED, log_dir=here),  # alike but for its id
    )
    job, cluster = SimpleNamespace(checkpoint_dir=here), SimpleNamespace(chief_address="")
    parameter_server._wait(job, cluster, looks, 1.0, stale)
    assert looks.count == 7


def test_a_marker_that_the_chief_removes_as_a_server_reads_it_is_none(tmp_path, monkeypatch):
    here = str(tmp_path)
    mark_done(here, ENDED, log_dir=here)
    exists = storage.exists

    def exists_for_the_last_time(path):
        found = exists(path)
        Path(path).unlink()
        return found

    monkeypatch.setattr(storage, "exists", exists_for_the_last_time)
    assert read_done(here) is None
