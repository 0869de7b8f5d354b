"""What the user sees of a run: figures, lines, the record, the hook."""

import dataclasses
import io
import json
import os
import select
import subprocess
import sys

import pytest

from yt8m.pipeline.figures import key_metric
from yt8m.pipeline.lineage import ArtifactFacts
from yt8m.pipeline.notify import NotifyConfig, notify
from yt8m.pipeline.run.progress import Table
from yt8m.pipeline.run.record import (
    NodeRecord,
    RunRecord,
    State,
    Verdict,
    begin_record,
    read_record,
    read_records,
    write_record,
)
from yt8m.pipeline.run.workspace import Layout

RECORD = RunRecord(
    run_id="20260301-1",
    started=1.0,
    nodes=(NodeRecord(name="ExampleGen"), NodeRecord(name="Trainer")),
)


def artifact(key="out", uri="/nowhere", **properties):
    return ArtifactFacts(artifact_id=1, key=key, type_name="T", uri=uri, properties=properties)


@pytest.mark.parametrize(
    ("properties", "figure"),
    [
        ({"records": 12345}, "12,345 records"),
        ({"anomalies": 2}, "2 anomalies"),
        ({"gap": 0.5}, "GAP 0.5000"),
        ({"gap": 0.5, "gap_baseline": 0.25}, "GAP 0.5000, baseline 0.2500"),
        ({"pushed": 1, "pushed_version": "7"}, "version 7"),
        ({"pushed": 0}, "not pushed"),
        ({"version": 0}, "none"),
        ({"unknown": 1}, ""),
        ({}, ""),
    ],
)
def test_the_figure_of_a_component_comes_from_its_properties(properties, figure):
    assert key_metric([artifact(**properties)]) == figure


def test_the_trainers_figure_is_the_last_loss_of_its_log(tmp_path):
    rows = [{"kind": "train", "loss": 3.0}, {"kind": "train", "loss": 1.5}, {"kind": "checkpoint"}]
    (tmp_path / "training.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert key_metric([artifact("model_run", str(tmp_path))]) == "loss 1.5000"


def test_in_a_log_each_event_is_one_line_once():
    terminal = io.StringIO()
    with Table(terminal) as table:
        running = RECORD.with_node(NodeRecord(name="ExampleGen", state=State.RUNNING))
        table.show(running)
        table.show(running)
        done = NodeRecord(name="ExampleGen", state=State.DONE, seconds=2.5, figure="9 records")
        table.show(running.with_node(done))
    lines = terminal.getvalue().splitlines()
    assert [" ".join(line.split()[2:]) for line in lines] == [
        "ExampleGen running",
        "ExampleGen done 2.5 s 9 records",
    ]


def test_hidden_means_silent():
    terminal = io.StringIO()
    with Table(terminal, hidden=True) as table:
        table.show(RECORD.with_node(NodeRecord(name="Trainer", state=State.FAILED)))
    assert terminal.getvalue() == ""


def test_on_a_terminal_it_is_a_table_with_every_component():
    import pty

    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as terminal:
        with Table(terminal) as table:
            node = NodeRecord(name="ExampleGen", state=State.DONE, seconds=2.5, figure="9 records")
            table.show(RECORD.with_node(node))
        terminal.flush()
        shown = ""
        while select.select([master], [], [], 0.5)[0]:  # all that has arrived, however parted
            shown += os.read(master, 100_000).decode()
    os.close(master)
    for text in ("component", "ExampleGen", "9 records", "2.5 s", "Trainer", "waiting"):
        assert text in shown


def test_a_record_comes_back_as_it_was_written(tmp_path):
    record = dataclasses.replace(
        RECORD, verdict=Verdict.PUSHED, version=3, gap=0.5, spans=(1, 2), config={"a": {"b": 1}}
    )
    write_record(Layout(tmp_path), record)
    assert read_record(Layout(tmp_path), RECORD.run_id) == record


def test_records_come_newest_first_and_broken_ones_are_passed_over(tmp_path):
    layout = Layout(tmp_path)
    for name in ("20260301-1", "20260302-1", "20260303-1"):
        begin_record(layout, dataclasses.replace(RECORD, run_id=name))
    (layout.run("20260303-1") / "run.json").write_text('{"run_id": ')
    assert [record.run_id for record in read_records(layout)] == ["20260302-1", "20260301-1"]
    assert layout.newest.resolve().name == "20260303-1"


def test_the_link_to_the_newest_run_holds_where_the_root_is_moved(tmp_path):
    begin_record(Layout(tmp_path / "here"), RECORD)
    (tmp_path / "here").rename(tmp_path / "there")
    assert (Layout(tmp_path / "there").newest / "run.json").is_file()


def test_the_hook_gets_the_outcome_as_json(tmp_path):
    told = tmp_path / "told"
    code = f"import sys, json; open({str(told)!r}, 'w').write(json.load(sys.stdin)['verdict'])"
    assert notify(NotifyConfig(command=(sys.executable, "-c", code)), {"verdict": "pushed"}) == ""
    assert told.read_text() == "pushed"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("/no/such/program",), "No such file"),
        ((sys.executable, "-c", "import sys; sys.exit('no mail')"), "ended with 1: no mail"),
        ((sys.executable, "-c", "import time; time.sleep(60)"), "did not end within 1 s"),
    ],
)
def test_a_broken_hook_is_a_warning_and_no_more(command, said):
    assert said in notify(NotifyConfig(command=command, timeout_s=1.0), {})


CAPTURED = """
import os, sys, logging
from pathlib import Path
from yt8m.pipeline.run.capture import Capture
folder = Path(sys.argv[1])
print("before")
with Capture(folder / "a.log") as capture:
    print("printed")
    os.write(2, b"from C\\n")
    capture.to(folder / "b.log")
    logging.getLogger("x").info("logged")
    print("shown", file=capture.terminal)
print("after")
"""


def test_all_that_a_run_prints_goes_to_the_log_of_its_component(tmp_path):
    command = [sys.executable, "-c", CAPTURED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "before\nafter\n"
    assert done.stderr == "shown\n"
    assert sorted((tmp_path / "a.log").read_text().splitlines()) == ["from C", "printed"]
    assert "INFO x: logged" in (tmp_path / "b.log").read_text()
