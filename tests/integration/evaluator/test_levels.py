"""Exports of our own networks, scored at every level: against their scores and the slow oracle."""

import json
from pathlib import Path

import metric_oracle as oracle
import numpy as np
import pytest
import tensorflow as tf
from batches import MODELS, create_network
from exported_models import LinearModel, write_model
from records import edit_record, read_all, replace_record, set_feature, truncate
from registry_models import fake_model
from sources import FEATURES, make_source
from yt8m_runs import yt8m

from yt8m.components.artifacts.manifest import Shard
from yt8m.components.console.console import Console
from yt8m.components.evaluator.config import EvaluatorConfig
from yt8m.components.evaluator.model_evaluation import evaluate_files
from yt8m.components.evaluator.scoring import ScoringPlan, ShardScorer, create_plan
from yt8m.components.export.load import load_export
from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.inputs.shards import group_shards
from yt8m.components.metrics import values_of
from yt8m.components.models.heads import create_heads
from yt8m.components.records.decode import decode_record
from yt8m.pipeline.python.models import evaluate as evaluate_in_python
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import Level, SegmentScoring

CLASSES = FEATURES.num_classes
CASES = {Level.VIDEO: "moe", Level.FRAME: "frame_logistic", Level.SEGMENT: "frame_logistic"}


def exported(place, level, *, seed):
    heads = create_heads((), features=FEATURES, level=level)
    network = create_network(
        MODELS[CASES[level]], features=FEATURES, level=level, heads=heads, seed=seed
    )
    export_model(network, str(place), ExportSpec(level=level, features=FEATURES))
    return str(place)


def expected_rows(path, source, level):
    """Scores, labels and rated classes of every row, one record at a time."""
    model = load_export(path)
    scores, labels, rated = [], [], []
    for record in (r for shard in source.shards for r in read_all(Path(shard.uri))):
        found = model.score(examples=tf.constant([record]))
        features = decode_record(record).features
        scores += list(found["scores"].numpy())
        if level is not Level.SEGMENT:
            labels.append(set(np.asarray(features["labels"]).tolist()))
            rated.append(set(range(CLASSES)))
            continue
        starts = np.asarray(features["segment_start_times"])
        classes = np.asarray(features["segment_labels"])
        present = np.asarray(features["segment_scores"]) == 1
        for start in found["segment_start"].numpy():
            labels.append(set(classes[(starts == start) & present].tolist()))
            rated.append(set(classes[starts == start].tolist()))
    return scores, labels, rated


@pytest.mark.parametrize("level", list(CASES), ids=lambda level: level.value)
def test_every_level_is_scored_as_its_records_say(tmp_path, level):
    source = make_source(tmp_path / "data", level, train=17, shards=2)
    path = exported(tmp_path / "model", level, seed=3)
    # Exporting is slow: the second model is tried at one level.
    other = exported(tmp_path / "other", level, seed=4) if level is Level.VIDEO else None
    plan = ScoringPlan(
        model=path, baseline=other, level=level, features=FEATURES, top_k=5, batch_size=4
    )
    scored = ShardScorer(plan).score(source.shards)
    for metrics, model in ((scored.candidate, path), (scored.baseline, other)):
        if metrics is None:
            continue
        scores, labels, rated = expected_rows(model, source, level)
        masked = [
            [float(s) if c in known else 0.0 for c, s in enumerate(row)]
            for row, known in zip(scores, rated, strict=True)
        ]
        result = values_of(metrics)
        assert result["hit_at_1"] == pytest.approx(oracle.hit_at_1(masked, labels), abs=1e-9)
        assert result["perr"] == pytest.approx(oracle.perr(masked, labels), abs=1e-9)
        assert len(metrics.rows.labels) == sum(map(len, labels))
        hits = sum(
            len(set(oracle.best_classes(row, 5)) & known)
            for row, known in zip(masked, labels, strict=True)
        )
        assert int(metrics.rows.hits.sum()) == hits
        if level is not Level.SEGMENT:  # zeros of unrated classes tie in their thousands
            assert result["gap"] == pytest.approx(oracle.gap(masked, labels, 5), abs=1e-6)
        cross_entropy = [
            sum(
                -np.log(s + 1e-5) if c in known else -np.log(1 - s + 1e-5)
                for c, s in enumerate(row)
                if c in counted
            )
            for row, known, counted in zip(scores, labels, rated, strict=True)
        ]
        assert result["loss"] == pytest.approx(np.mean(cross_entropy), rel=1e-4)
    assert scored.videos <= len(scored)


def evaluate(*words):
    """`yt8m evaluate WORDS --json` as a process."""
    return yt8m("evaluate", *words, "--json")


def test_the_command_tells_the_level_and_prints_one_object(tmp_path):
    source = make_source(tmp_path / "data", Level.SEGMENT, train=6, shards=1)
    path = exported(tmp_path / "model", Level.SEGMENT, seed=3)
    done = evaluate("--model", path, "--data", source.shards[0].uri)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["level"] == "segment"
    assert "evaluate: 1/1 shards in " in done.stderr
    assert f", {result['examples']} examples" in done.stderr
    assert result["videos"] <= result["examples"]
    assert result["gap_lower"] <= result["gap"] <= result["gap_upper"]
    wrong = evaluate("--model", path, "--data", tmp_path / "none*.tfrecord")
    assert wrong.returncode == 2
    assert "no such file" in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_the_command_compares_with_a_baseline_in_the_same_pass(tmp_path):
    make_source(tmp_path / "data", Level.VIDEO, train=40, shards=2)
    one, two = (exported(tmp_path / name, Level.VIDEO, seed=n) for n, name in enumerate("ab"))
    data = ("--data", tmp_path / "data" / "train*.tfrecord")
    done = evaluate("--model", one, "--baseline", two, *data)
    assert done.returncode == 0, done.stderr
    both = json.loads(done.stdout)
    for path, found in ((one, both), (two, both["baseline"])):
        alone = json.loads(evaluate("--model", path, *data).stdout)
        for name in ("gap", "map", "perr", "hit_at_1", "loss"):
            assert found[name] == pytest.approx(alone[name], rel=1e-6), name
    difference = both["difference"]["gap"]
    assert difference["value"] == both["gap"] - both["baseline"]["gap"]
    assert difference["lower"] <= difference["value"] <= difference["upper"]
    missing = evaluate("--model", one, "--baseline", tmp_path / "nobody", *data)
    assert missing.returncode == 2
    assert f"--baseline {tmp_path / 'nobody'}: no such file" in missing.stderr


def test_of_shards_scored_together_the_damaged_one_is_named(tmp_path):
    source = make_source(tmp_path / "data", Level.VIDEO, train=30, shards=3)
    path = exported(tmp_path / "model", Level.VIDEO, seed=3)
    plan = ScoringPlan(model=path, baseline=None, level=Level.VIDEO, features=FEATURES)
    shard = Path(source.shards[1].uri)
    truncate(shard, shard.stat().st_size - 3)
    with pytest.raises(DataError, match=f"a damaged record in {shard}: "):
        ShardScorer(plan).score(source.shards)


def test_that_no_record_has_a_label_is_noted(tmp_path, capsys):
    make_source(tmp_path / "data", Level.VIDEO, train=8, test=8, shards=1)
    weights = np.zeros((sum(FEATURES.sizes) + 1, CLASSES), np.float32)
    path = str(write_model(tmp_path / "model", weights))
    found = {}
    for split in ("train", "test"):
        pattern = str(tmp_path / "data" / f"{split}*")
        found[split] = evaluate_files(path, [pattern], Console(quiet=True)).notes
    assert found["train"] == ()
    assert [note for note in found["test"] if "no label in all 8 examples" in note]
    capsys.readouterr()
    evaluate_in_python(path, tmp_path / "data" / "test*")
    assert "warning: no label in all 8 examples" in capsys.readouterr().err


def test_labels_that_the_model_does_not_know_and_records_that_are_none_are_named(tmp_path):
    source = make_source(tmp_path / "data", Level.VIDEO, train=8, shards=1)
    weights = np.zeros((sum(FEATURES.sizes) + 1, CLASSES), np.float32)
    path = str(write_model(tmp_path / "model", weights))
    plan = ScoringPlan(model=path, baseline=None, level=Level.VIDEO, features=FEATURES)
    scorer, shard = ShardScorer(plan), Path(source.shards[0].uri)
    edit_record(shard, 5, set_feature("labels", [1, CLASSES]))
    said = f"label {CLASSES} is not one of the {CLASSES} classes"
    with pytest.raises(DataError, match=f"^video .*: {said}"):
        scorer.score(source.shards)
    replace_record(shard, 5, b"\xff\xfe bytes")
    with pytest.raises(DataError, match=r"record 5 of the batch: not a tf\.Example"):
        scorer.score(source.shards)


class OfOtherRows(LinearModel):
    """Answers with `rows` of its answer alone."""

    def __init__(self, rows):
        super().__init__(np.zeros((sum(FEATURES.sizes) + 1, CLASSES), np.float32), frames=False)
        self._rows = rows

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def scores(self, examples):
        return {name: found[self._rows] for name, found in super().scores(examples).items()}


@pytest.mark.parametrize(
    ("rows", "count"),
    [(slice(None, None, -1), 30), (slice(1, None), 29)],
    ids=["turned", "one less"],
)
def test_scores_of_other_rows_than_the_records_are_refused(tmp_path, rows, count):
    source = make_source(tmp_path / "data", Level.VIDEO, train=30, shards=1)
    path, model = str(tmp_path / "model"), OfOtherRows(rows)
    tf.saved_model.save(model, path, signatures={"scores": model.scores})
    plan = ScoringPlan(model=path, baseline=None, level=Level.VIDEO, features=FEATURES)
    with pytest.raises(DataError, match=f"gives {count} rows for records that hold 30, or in an"):
        ShardScorer(plan).score(source.shards)


def test_a_plan_has_what_its_slices_and_its_segments_need():
    def plan(level, **config):
        settings = from_dict(EvaluatorConfig, config)
        return create_plan(settings, model="m", baseline=None, level=level, features=FEATURES)

    labels, frames = ({"by": by, "edges": [2]} for by in ("num_labels", "num_frames"))
    sliced = plan(Level.FRAME, slices=[labels, frames])
    assert sliced.num_frames
    assert not plan(Level.FRAME, slices=[labels]).num_frames
    assert (sliced.level, plan(Level.VIDEO).level) == (Level.FRAME, Level.VIDEO)
    assert plan(Level.FRAME, segments="product").level is Level.SEGMENT


def test_the_context_of_a_plan_is_the_version_in_service_where_a_push_directory_is_named(tmp_path):
    served = fake_model(tmp_path / "push" / "7")
    config = EvaluatorConfig(segments=SegmentScoring.PRODUCT, context=str(tmp_path / "push"))
    plan = create_plan(config, model="m", baseline=None, level=Level.FRAME, features=FEATURES)
    assert plan.context == served


def test_equal_shards_give_every_worker_as_many_groups():
    shards = [
        Shard(uri=str(n), split="eval", records=1, bytes=1 << 20, digest="") for n in range(16)
    ]
    groups = group_shards(shards, at_least=8)
    assert [len(group) for group in groups] == [2] * 8


@pytest.mark.parametrize("megabytes", [[1] * 130, [100, 1, 1, 200, 3], [400], []])
def test_small_shards_are_scored_together_and_each_once(megabytes):
    shards = [
        Shard(uri=str(n), split="eval", records=1, bytes=size << 20, digest=str(n))
        for n, size in enumerate(megabytes)
    ]
    groups = group_shards(shards)
    assert [shard for group in groups for shard in group] == shards
    for group in groups[:-1]:
        assert sum(s.bytes for s in group) >= 64 << 20
    assert all(sum(s.bytes for s in group[:-1]) < 64 << 20 for group in groups)
