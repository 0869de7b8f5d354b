"""What a pass leaves: merging, bytes, slices."""

import numpy as np
import pytest

from yt8m.components.evaluator import score_table as pieces
from yt8m.components.evaluator.config import EvaluatorConfig, SliceBy, SliceConfig
from yt8m.components.evaluator.evaluation import evaluate
from yt8m.components.evaluator.score_table import (
    BASELINE,
    CANDIDATE,
    ScoreTable,
    TextColumn,
    Unscorable,
    require_scorable,
    worst_rows,
)
from yt8m.components.evaluator.slices import MAX_VALUES, range_names, slices_of
from yt8m.components.metrics import Batch, MetricAccumulator, values_of
from yt8m.schemas.errors import Yt8mError
from yt8m.schemas.features import Level
from yt8m.schemas.vocabulary import VERTICALS, Vocabulary

LABELS = np.array([[0, -1, -1], [1, 2, -1], [0, 1, 2], [3, -1, -1], [-1, -1, -1]])


def piece(rows, *, texts=None, frames=None, broken=None):
    rng = np.random.default_rng(0)
    metrics = MetricAccumulator(4)
    scores = rng.random((len(LABELS), 4)).astype(np.float32)
    ids = [f"v{i}" for i in rows]
    metrics.update(Batch(predictions=scores[rows], labels=LABELS[rows], ids=ids))
    return ScoreTable(
        models={CANDIDATE: metrics},
        num_frames=None if frames is None else np.asarray(frames, np.uint16),
        values={} if texts is None else {"country": TextColumn.of(np.array(texts))},
        broken=broken or {},
    )


def names(scored, *configs, vocabulary=None):
    found = slices_of(scored, configs, vocabulary)
    return {part.name: np.flatnonzero(part.chosen).tolist() for part in found}


def test_pieces_merge_in_their_order_and_survive_bytes():
    parts = [
        piece([0, 1], texts=["de", "fr"], frames=[10, 300]),
        piece([2], texts=["at"], frames=[40]),
        piece([3, 4], texts=["fr", "de"], frames=[1, 2]),
    ]
    whole = pieces.merge_tables([pieces.from_bytes(pieces.to_bytes(part)) for part in parts])
    country = whole.values["country"]
    assert [country.table[c] for c in country.codes] == ["de", "fr", "at", "fr", "de"]
    assert whole.num_frames.tolist() == [10, 300, 40, 1, 2]
    expected = piece([0, 1, 2, 3, 4])
    assert values_of(whole.candidate) == values_of(expected.candidate)
    assert whole.videos == 5


@pytest.mark.parametrize(("lost", "allowed"), [(0, True), (1, True), (2, False)])
def test_one_percent_of_the_rows_may_be_beyond_the_baseline(lost, allowed):
    parts = [piece([i % 5]) for i in range(99 if lost == 1 else 100)]
    for part in parts[1 : lost + 1]:
        part.unscorable = Unscorable(1, "v1", BASELINE)
    whole = pieces.merge_tables([pieces.from_bytes(pieces.to_bytes(part)) for part in parts])
    assert whole.unscorable == (Unscorable(lost, "v1", BASELINE) if lost else Unscorable())
    if allowed:
        require_scorable(whole, {BASELINE: "version 7"})
        return
    with pytest.raises(Yt8mError, match="version 7 predicts no finite numbers for 2 of 102 exam"):
        require_scorable(whole, {BASELINE: "version 7"})


def test_the_rows_of_highest_loss_stay_whole_through_merging_and_bytes():
    parts = []
    for rows, losses in (([0, 1], [0.5, 9.0]), ([2], [3.0])):
        part = piece(rows)
        batch = Batch(
            predictions=np.eye(4)[rows], labels=LABELS[rows], loss=np.array(losses, float)
        )
        part.models[CANDIDATE] = MetricAccumulator(4)
        part.models[CANDIDATE].update(batch)
        part.worst = worst_rows(part.candidate, [f"v{i}" for i in rows])
        parts.append(pieces.from_bytes(pieces.to_bytes(part)))
    worst = pieces.merge_tables(parts).worst
    assert [(row.name, row.loss, row.labels) for row in worst] == [
        ("v1", 9.0, (1, 2)),
        ("v2", 3.0, (0, 1, 2)),
        ("v0", 0.5, (0,)),
    ]
    assert worst[0].classes[0] == 1
    assert worst[0].scores[0] == 1.0


def test_what_is_broken_stays_broken():
    whole = pieces.merge_tables([piece([0]), piece([1], broken={"candidate": "video v1: nan"})])
    again = pieces.from_bytes(pieces.to_bytes(whole))
    assert again.broken == {"candidate": "video v1: nan"}


def test_slices_by_number_of_labels():
    config = SliceConfig(by=SliceBy.NUM_LABELS, edges=(1, 2, 3))
    assert names(piece([0, 1, 2, 3, 4]), config) == {
        "num_labels=<1": [4],
        "num_labels=1": [0, 3],
        "num_labels=2": [1],
        "num_labels=3+": [2],
    }


def test_slices_by_number_of_frames_leave_out_empty_ones():
    scored = piece([0, 1, 2], frames=[10, 299, 300])
    config = SliceConfig(by=SliceBy.NUM_FRAMES, edges=(5, 100, 300))
    assert names(scored, config) == {
        "num_frames=5-99": [0],
        "num_frames=100-299": [1],
        "num_frames=300+": [2],
    }


def test_a_video_counts_in_every_vertical_of_its_labels():
    of_class = ((0,), (1,), (1, 2), (3,))
    vocabulary = Vocabulary(names=("a", "b", "c", "d"), verticals_of_class=of_class)
    found = names(piece([0, 1, 2, 3, 4]), SliceConfig(by=SliceBy.VERTICAL), vocabulary=vocabulary)
    assert found == {
        f"vertical={VERTICALS[0]}": [0, 2],
        f"vertical={VERTICALS[1]}": [1, 2],
        f"vertical={VERTICALS[2]}": [1, 2],
        f"vertical={VERTICALS[3]}": [3],
    }


def test_slices_by_a_feature():
    scored = piece([0, 1, 2], texts=["de", "fr", "de"])
    config = SliceConfig(by=SliceBy.FEATURE, feature="country")
    assert names(scored, config) == {"country=de": [0, 2], "country=fr": [1]}


@pytest.mark.parametrize("texts", [["none", "none"], ["none", "de"]])
def test_a_feature_that_no_record_has_is_noted(texts):
    config = EvaluatorConfig(slices=(SliceConfig(by=SliceBy.FEATURE, feature="country"),))
    notes = evaluate(piece([0, 1], texts=texts), config, level=Level.VIDEO).notes
    is_noted = any("no example has a value of the feature country" in note for note in notes)
    assert is_noted is ("de" not in texts)


def test_rare_values_of_a_feature_share_a_slice():
    count = MAX_VALUES + 10
    labels = np.zeros((count + 1, 1), np.int64)
    metrics = MetricAccumulator(4)
    metrics.update(Batch(predictions=np.ones((count + 1, 4)), labels=labels))
    texts = np.array([f"c{i:03d}" for i in range(count)] + ["c055"])
    scored = ScoreTable(models={CANDIDATE: metrics}, values={"c": TextColumn.of(texts)})
    found = names(scored, SliceConfig(by=SliceBy.FEATURE, feature="c"))
    assert len(found) == MAX_VALUES + 1
    assert found["c=c055"] == [55, count]
    assert len(found["c=(other)"]) == 10


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ((1,), ["<1", "1+"]),
        ((2, 5), ["<2", "2-4", "5+"]),
        ((1, 2, 3), ["<1", "1", "2", "3+"]),
    ],
)
def test_ranges_have_readable_names(edges, expected):
    assert range_names(edges) == expected
