"""TFX's real runners, watched: what starts, ends, fails, is cached."""

from __future__ import annotations

from pathlib import Path

import pytest
from apache_beam.options.pipeline_options import StandardOptions
from tiny_pipeline import FAIL, INTERRUPT, SHOW_BEAM, create_tiny_pipeline

from yt8m.pipeline.metadata import MlmdLineage
from yt8m.pipeline.run.engine import run_pipeline
from yt8m.pipeline.run.signals import Interrupted, signals_as_errors


class Heard:
    """An observer that takes notes."""

    def __init__(self):
        self.events = []
        self.error = None

    def started(self, node):
        self.events.append((node, "started"))

    def finished(self, node, *, execution_id, cached):
        self.events.append((node, "cached" if cached else "done"))

    def failed(self, node, error):
        self.events.append((node, "failed"))
        self.error = error


def run(root, engine, run_id, **options):
    heard = Heard()
    pipeline = create_tiny_pipeline(root, **options)
    try:
        run_pipeline(pipeline, run_id=run_id, engine=engine, observer=heard)
    except Exception as error:
        return heard, error
    return heard, None


def lineage(root):
    from ml_metadata import MetadataStore

    return MlmdLineage(MetadataStore(create_tiny_pipeline(root).metadata_connection_config))


@pytest.fixture(params=["beam", "local"])
def engine(request):
    return request.param


def test_every_component_is_heard_of_and_the_second_time_cached(tmp_path, engine):
    first, error = run(tmp_path, engine, "one")
    assert error is None
    expected = [
        ("Numbers", "started"),
        ("Numbers", "done"),
        ("Total", "started"),
        ("Total", "done"),
    ]
    assert first.events == expected
    again, _ = run(tmp_path, engine, "two")
    assert again.events == [(node, event.replace("done", "cached")) for node, event in expected]


def test_the_error_of_a_component_arrives_as_it_was_raised(tmp_path, engine):
    heard, error = run(tmp_path, engine, "one", mode=FAIL)
    assert heard.events[-1] == ("Total", "failed")
    assert type(heard.error) is ValueError
    assert str(heard.error) == "no total today"
    assert error is not None
    assert [e.state for e in lineage(tmp_path).executions("one")] == ["COMPLETE", "FAILED"]


def test_ctrl_c_in_a_component_fails_its_execution_and_leaves_none_running(tmp_path, engine):
    with signals_as_errors() as signals:
        heard, _ = run(tmp_path, engine, "one", mode=INTERRUPT)
    assert isinstance(signals.received, Interrupted)
    assert heard.events[-1] == ("Total", "failed")
    assert [e.state for e in lineage(tmp_path).executions("one")] == ["COMPLETE", "FAILED"]


def test_our_command_line_is_hidden_from_beam(tmp_path, engine, monkeypatch, capfd):
    # `--data` is the beginning of several of Beam's options, over which it would end the process.
    monkeypatch.setattr("sys.argv", ["yt8m", "run", "--data", "/data", "--root", "/r"])
    _, error = run(tmp_path, engine, "one", mode=SHOW_BEAM)
    assert error is None
    assert "/data" not in capfd.readouterr().out.partition("arguments:")[2]


def test_beam_works_in_this_process_also_where_nobody_told_it_so(tmp_path, engine, capfd):
    before = StandardOptions.DEFAULT_RUNNER
    _, error = run(tmp_path, engine, "one", mode=SHOW_BEAM)
    assert error is None
    assert "engine: FnApiRunner" in capfd.readouterr().out
    assert before == StandardOptions.DEFAULT_RUNNER


def test_lineage_tells_what_a_run_made_and_keeps_notes(tmp_path):
    run(tmp_path, "local", "one", count=4)
    known = lineage(tmp_path)
    numbers, total = known.executions("one")
    assert (numbers.node, total.node) == ("Numbers", "Total")
    assert numbers.outputs[0].key == "numbers"
    assert numbers.outputs[0].properties["records"] == 4
    assert tmp_path / "artifacts" in Path(total.outputs[0].uri).parents
    assert known.inputs([numbers.execution_id]) == ()
    assert known.inputs([total.execution_id]) == numbers.outputs
    known.note("one", {"verdict": "pushed", "version": 3, "gap": 0.5, "baseline": None})
    assert list(known.notes()) == [("one", {"verdict": "pushed", "version": 3, "gap": 0.5})]


def test_what_a_dead_run_left_running_is_marked_failed_and_nothing_else(tmp_path):
    run(tmp_path, "local", "dead")
    run(tmp_path, "local", "alive")
    known = lineage(tmp_path)
    store = known._store
    context = store.get_context_by_type_and_name("pipeline_run", "dead")
    execution = store.get_executions_by_context(context.id)[0]
    execution.last_known_state = execution.RUNNING
    store.put_executions([execution])
    assert known.mark_ended("dead") == 1
    assert sorted(e.state for e in known.executions("dead")) == ["COMPLETE", "FAILED"]
    assert {e.state for e in known.executions("alive")} == {"CACHED"}
    assert known.mark_ended("dead") == 0


def test_a_deleted_artifact_is_not_taken_from_the_cache(tmp_path):
    run(tmp_path, "local", "one")
    known = lineage(tmp_path)
    known.mark_deleted([known.executions("one")[1].outputs[0].artifact_id])
    heard, _ = run(tmp_path, "local", "two")
    assert ("Numbers", "cached") in heard.events
    assert ("Total", "done") in heard.events
