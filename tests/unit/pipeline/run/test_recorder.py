"""What the record of a run says when a signal comes at the worst moment."""

import io
import os
import signal

import pytest

from yt8m.pipeline.lineage import Lineage
from yt8m.pipeline.run.capture import Capture
from yt8m.pipeline.run.progress import Table
from yt8m.pipeline.run.record import NodeRecord, RunRecord, State, read_record
from yt8m.pipeline.run.recorder import Recorder
from yt8m.pipeline.run.signals import signals_as_errors
from yt8m.pipeline.run.workspace import Layout

RUN = RunRecord(run_id="one", started=1.0, nodes=(NodeRecord(name="Trainer"),))


class CtrlCWhenToldOf(io.StringIO):
    """A terminal whose user interrupts as soon as a line says that a component runs."""

    def write(self, text):
        if "running" in text:
            os.kill(os.getpid(), signal.SIGINT)
        return super().write(text)


def test_interrupted_while_its_start_is_told_a_component_is_stopped(tmp_path):
    layout = Layout(tmp_path)
    with (
        signals_as_errors() as signals,
        Capture(layout.log("one", "runner")) as capture,
        Table(CtrlCWhenToldOf()) as table,
    ):
        nothing = Lineage(store=None)  # of no use before a component ends
        recorder = Recorder(
            RUN, layout=layout, capture=capture, table=table, lineage=nothing, signals=signals
        )
        with pytest.raises(KeyboardInterrupt) as caught:
            recorder.started("Trainer")
        assert read_record(layout, "one").node("Trainer").state is State.RUNNING
        recorder.ended_early(caught.value)
    assert read_record(layout, "one").node("Trainer").state is State.STOPPED
