"""What the record of a run says when a signal comes at the worst moment."""

import contextlib
import io
import os
import signal
import sys
from pathlib import Path

import pytest

from yt8m.components.artifacts.run_record import NodeRecord, RunRecord, State, Verdict
from yt8m.components.trainer.cluster.stop_signal import StopSignal
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.metadata import MlmdLineage
from yt8m.pipeline.run.capture import Capture
from yt8m.pipeline.run.openlineage import events_of
from yt8m.pipeline.run.progress import ProgressTable
from yt8m.pipeline.run.recorder import Recorder
from yt8m.pipeline.run.signals import signals_as_errors
from yt8m.pipeline.run_record import read_record
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.errors import Terminated, UserError

RUN = RunRecord(run_id="one", started=1.0, nodes=(NodeRecord(name="Trainer"),))


@contextlib.contextmanager
def recorder_of(layout, terminal):
    with (
        signals_as_errors() as signals,
        Capture(Path(layout.log("one", "runner"))) as capture,
        ProgressTable(terminal) as table,
    ):
        nothing = MlmdLineage(store=None)  # of no use before a component ends
        yield Recorder(
            RUN,
            layout=layout,
            logs=Path(layout.logs("one")),
            capture=capture,
            table=table,
            lineage=nothing,
            events=events_of(PipelineConfig(), "one"),
            signals=signals,
        )


class CtrlCWhenToldOf(io.StringIO):
    """A terminal whose user interrupts as soon as a line says that a component runs."""

    def write(self, text):
        if "running" in text:
            os.kill(os.getpid(), signal.SIGINT)
        return super().write(text)


def test_interrupted_while_its_start_is_told_a_component_is_stopped(tmp_path):
    layout = Layout(tmp_path)
    with recorder_of(layout, CtrlCWhenToldOf()) as recorder:
        with pytest.raises(KeyboardInterrupt) as caught:
            recorder.started("Trainer")
        assert read_record(layout, "one").node("Trainer").state is State.RUNNING
        recorder.ended_early(caught.value)
    assert read_record(layout, "one").node("Trainer").state is State.STOPPED


@pytest.mark.parametrize(
    ("error", "state", "traced"),
    [
        (UserError("data.root: nothing there"), State.FAILED, False),
        (Terminated("a signal"), State.STOPPED, False),
        (KeyError("a mistake of ours"), State.FAILED, True),
    ],
)
def test_only_a_mistake_of_the_code_leaves_a_traceback_in_the_components_log(
    tmp_path, caplog, error, state, traced
):
    layout = Layout(tmp_path)
    with recorder_of(layout, io.StringIO()) as recorder:
        recorder.started("Trainer")
        recorder.failed("Trainer", error)
    assert read_record(layout, "one").node("Trainer").state is state
    assert ("Trainer failed" in caplog.text) is traced


def test_after_a_signal_that_a_component_kept_to_itself_no_further_one_starts(tmp_path):
    """As when it came while the Trainer exported: the run went on, and pushed."""
    layout = Layout(tmp_path)
    with recorder_of(layout, io.StringIO()) as recorder:
        with StopSignal():
            os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Terminated):
            recorder.started("Trainer")
        assert recorder.record.node("Trainer").state is State.WAITING


def test_the_last_words_of_a_process_that_is_ended_name_the_component(tmp_path):
    layout = Layout(tmp_path)
    with recorder_of(layout, io.StringIO()) as recorder:
        recorder.started("Trainer")
        recorder.abandon(Terminated("ended by SIGTERM; the same command continues"))
    record = read_record(layout, "one")
    assert record.verdict is Verdict.TERMINATED
    assert record.reason.endswith("(Trainer could not be interrupted)")
    assert record.node("Trainer").state is State.STOPPED


def test_a_clock_that_is_set_back_changes_no_duration(tmp_path, monkeypatch):
    with recorder_of(Layout(tmp_path), io.StringIO()) as recorder:
        recorder.started("Trainer")
        monkeypatch.setattr("time.time", lambda: 0.0)
        recorder.failed("Trainer", RuntimeError("it broke"))
        assert 0 <= recorder.record.node("Trainer").seconds < 60
        assert 0 <= recorder.seconds < 60


def test_the_traceback_of_a_component_is_in_its_own_log_which_the_message_names(
    tmp_path, monkeypatch
):
    layout = Layout(tmp_path)
    with open(2, "w", buffering=1, closefd=False) as standard_error:  # pytest's is no descriptor
        monkeypatch.setattr(sys, "stderr", standard_error)
        _fail(layout)
    said = Path(layout.log("one", "Trainer")).read_text()
    assert __file__ in said
    assert "RuntimeError: it broke" in said


def _fail(layout):
    with recorder_of(layout, io.StringIO()) as recorder:
        recorder.started("Trainer")
        with pytest.raises(RuntimeError) as caught:
            raise RuntimeError("it broke")
        recorder.failed("Trainer", caught.value)
        assert layout.log("one", "Trainer") in recorder.why(caught.value)


def test_how_far_a_component_is_is_recorded_no_more_often_than_people_look(tmp_path, monkeypatch):
    layout, now = Layout(tmp_path), [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    told = []
    with recorder_of(layout, io.StringIO()) as recorder:
        recorder.started("Trainer")
        for now[0] in (110.0, 110.5, 111.9, 112.5):
            recorder.progressed(f"at {now[0]}")
            told.append(read_record(layout, "one").node("Trainer").figure)
    assert told == ["at 110.0"] * 3 + ["at 112.5"]


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_a_component_begins_without_the_memory_that_the_one_before_has_freed(tmp_path):
    with recorder_of(Layout(tmp_path), io.StringIO()) as recorder:
        blocks = [bytearray(b"x" * 60_000) for _ in range(3000)]
        kept = blocks[::50]  # between the others, so that glibc keeps those when they are freed
        blocks.clear()
        before = resident_mib()
        recorder.started("Trainer")
        assert before - resident_mib() > 100
        del kept


def resident_mib():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20


def test_after_a_signal_progress_changes_the_record_no_more(tmp_path):
    layout = Layout(tmp_path)
    with recorder_of(layout, io.StringIO()) as recorder:
        recorder.started("Trainer")
        recorder.progressed("3/9 steps")
        with StopSignal():
            os.kill(os.getpid(), signal.SIGTERM)
        recorder._told = 0.0  # as if seconds had passed
        recorder.progressed("4/9 steps")
        assert recorder.record.node("Trainer").figure == "3/9 steps"
