"""Whatever takes long on an engine says how far it is."""

import re
import time

import apache_beam as beam
import pytest
from evaluator_run import create_world, run_evaluator
from records import make_dataset

from yt8m.components.console.progress import progress_heard_by
from yt8m.components.evaluator.beam_scoring import ScoreRange
from yt8m.components.example_gen.beam_verification import verify_on_beam
from yt8m.components.example_gen.config import DataConfig
from yt8m.components.example_gen.rewrite import rewrite_records
from yt8m.components.example_gen.sources import resolve_sources
from yt8m.components.example_gen.verify import verify_shards
from yt8m.pipeline.beam import IN_PROCESS_RUNNER
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.features import FeatureConfig

FEATURES = FeatureConfig(num_classes=1000)
LINE = re.compile(r"^[-\d]+ [:\d]+ ([^:\n]+): (\S+) (\D+) in ", re.MULTILINE)  # of a log


def pipeline():
    return beam.Pipeline(runner=IN_PROCESS_RUNNER)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("data") / "video", train=60, shards=3)


@pytest.fixture
def said(capsys):
    """Last line of progress of each task, when asked."""

    def read():
        lines = LINE.findall(capsys.readouterr().err)
        return {task: f"{done} {unit}" for task, done, unit in lines}

    return read


def test_evaluator_counts_the_records_of_finished_ranges(tmp_path, said, monkeypatch):
    world = create_world(tmp_path / "world", videos=90)
    given = {"model": world.model("good"), "gate": {"gap_threshold": 0.7}}
    given["config"] = {"batch_size": 16, "intervals": {"enabled": False}}
    two_workers = (f"--runner={IN_PROCESS_RUNNER}", "--direct_num_workers=2")
    heard = []
    monkeypatch.setattr("yt8m.components.console.progress._HEARD_EVERY_S", 0.0)
    monkeypatch.setattr("yt8m.components.engines.finished_tasks._LOOK_EVERY_S", 0.001)
    monkeypatch.setattr(ScoreRange, "process", slower(ScoreRange.process))
    with progress_heard_by(heard.append):
        run_evaluator(world, tmp_path / "run", **given, beam=two_workers)
    assert said() == {"evaluate": "90/90 records"}
    assert len(heard) > 2  # not at the end alone


def slower(process):
    def slow(self, element):
        yield from process(self, element)
        time.sleep(0.1)

    return slow


def test_verification_on_an_engine_counts_shards(data, tmp_path, said):
    config = from_dict(DataConfig, {"root": str(data), "verify": "full"})
    shards = resolve_sources(config).shards
    verify_on_beam(shards, config, FEATURES, scratch=str(tmp_path / "s"), make_pipeline=pipeline)
    count = len(shards)
    assert said() == {"verify (full)": f"{count}/{count} shards"}


@pytest.mark.parametrize("make_pipeline", [None, pipeline])
def test_a_rewrite_counts_what_is_read_and_what_is_written(data, tmp_path, said, make_pipeline):
    config = from_dict(DataConfig, {"root": str(data), "ingest": "rewrite"})
    reports = verify_shards(resolve_sources(config).shards, config, FEATURES)
    said()
    root, scratch = str(tmp_path / "new"), str(tmp_path / "scratch")
    done = rewrite_records(reports, config, root=root, scratch=scratch, make_pipeline=make_pipeline)
    count = len(reports) + len(done.shards)
    assert said() == {"rewrite": f"{count}/{count} shards read or written"}
