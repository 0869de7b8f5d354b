"""What the user sees of a run: key metrics, lines, the table."""

import io
import json
import os
import select
import sys

import pytest
from rich.console import Console

from yt8m.components.artifacts.run_record import NodeRecord, RunRecord, State
from yt8m.pipeline.metadata import ArtifactFacts
from yt8m.pipeline.run.progress import ProgressTable, key_metric, timings

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
        ({"records": 12345, "quarantined": 0}, "12,345 records"),
        ({"records": 12345, "quarantined": 1}, "12,345 records, 1 left out"),
        ({"anomalies": 2}, "2 anomalies"),
        ({"gap": 0.5}, "GAP 0.5000"),
        ({"gap": 0.5, "gap_baseline": 0.25}, "GAP 0.5000, baseline 0.2500"),
        ({"pushed": 1, "pushed_version": "7"}, "version 7"),
        ({"pushed": 0}, "not pushed"),
        ({"blessed": 1, "latency_ms": 3.26}, "p99 3.3 ms"),
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
    assert key_metric([artifact("model_run", str(tmp_path))]) == "loss 1.5000 (last batch)"


def test_at_sixty_columns_only_the_key_metric_is_wrapped():
    nodes = [
        NodeRecord(name=name, state=State.DONE, seconds=1234.5, peak_mib=20480.0, figure=figure)
        for name, figure in [
            ("ExampleValidator", "no anomalies"),
            ("Evaluator", "GAP 0.7012, baseline 0.6990"),
        ]
    ]
    terminal = io.StringIO()
    table = ProgressTable(terminal, hidden=True)
    table.show(RunRecord(run_id="1", started=1.0, nodes=tuple(nodes)))
    Console(file=terminal, width=60).print(table._render())
    lines = terminal.getvalue().splitlines()
    drawn = [line for line in lines if "1234.5 s" in line]
    assert [line.split()[0] for line in drawn] == ["ExampleValidator", "Evaluator"]
    assert all("done" in line and "20.0 GB" in line for line in drawn)
    assert max(map(len, lines[-5:])) <= 60


def test_in_a_log_each_event_is_one_line_once():
    terminal = io.StringIO()
    with ProgressTable(terminal) as table:
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
    with ProgressTable(terminal, hidden=True) as table:
        table.show(RECORD.with_node(NodeRecord(name="Trainer", state=State.FAILED)))
    assert terminal.getvalue() == ""


def test_on_a_terminal_it_is_a_table_with_every_component():
    import pty

    master, slave = pty.openpty()
    streams = sys.stdout, sys.stderr
    with os.fdopen(slave, "w") as terminal:
        with ProgressTable(terminal) as table:
            assert (sys.stdout, sys.stderr) == streams  # which are others' to redirect
            node = NodeRecord(name="ExampleGen", state=State.DONE, seconds=2.5, figure="9 records")
            table.show(RECORD.with_node(node))
        terminal.flush()
        shown = ""
        while select.select([master], [], [], 0.5)[0]:  # all that has arrived, however parted
            shown += os.read(master, 100_000).decode()
    os.close(master)
    for text in ("component", "ExampleGen", "9 records", "2.5 s", "Trainer", "waiting"):
        assert text in shown


def test_in_a_log_a_component_under_way_says_now_and_then_how_far_it_is():
    terminal, now = io.StringIO(), 0.0
    with ProgressTable(terminal, clock=lambda: now) as table:
        for now in (0.0, 4.0, 11.0, 12.0, 30.0):
            figure = f"{now:.0f}/40 steps" if now else ""
            node = NodeRecord(name="Trainer", state=State.RUNNING, figure=figure)
            table.show(RECORD.with_node(node))
    lines = [" ".join(line.split()[2:]) for line in terminal.getvalue().splitlines()]
    assert lines == [
        "Trainer running",
        "Trainer running 11/40 steps",
        "Trainer running 30/40 steps",
    ]


def test_the_timings_add_up_to_the_whole_run():
    nodes = (
        # The graph's order is no order of time.
        NodeRecord(name="B", started=10.5, seconds=4.0, cpu_seconds=4.0, peak_mib=900.0),
        NodeRecord(name="A", started=8.0, seconds=2.0, cpu_seconds=3.5, peak_mib=1234.4),
        NodeRecord(name="C"),  # did not run
    )
    rows = timings(RunRecord(run_id="1", started=1.0, seconds=14.5, nodes=nodes))
    assert rows == [
        ("loading TensorFlow and TFX", "7.0", "", ""),
        ("A", "2.0", "3.5", "1,234 MiB"),
        ("B", "4.0", "4.0", "900 MiB"),
        ("between them, and the end", "1.5", "", ""),
        ("all", "14.5", "", ""),
    ]
    assert sum(float(row[1]) for row in rows[:-1]) == 14.5


def test_a_run_that_began_no_component_has_no_timings():
    assert timings(RECORD) == []
