"""The gate on real models and real records: who is blessed, who is not, and why.

One process, the executor called with artifacts; test_gate_runner.py goes through runners.
"""

import json
import shutil

import numpy as np
import pytest
import tensorflow_model_analysis as tfma
from evaluator_run import create_world, run_evaluator, write_examples
from exported_models import SIZES, read_matrix, write_model
from records import make_dataset, read_all, truncate, write_all
from tfx.components.util.model_utils import is_model_blessed

from yt8m.components.artifacts.decision import GateMode, decision_text
from yt8m.components.registry.digests import model_digest
from yt8m.pipeline.presets import list_presets, load_config
from yt8m.schemas.errors import ConfigError, DataError, UserError, Yt8mError
from yt8m.schemas.features import Level

pytestmark = pytest.mark.e2e

BY_LABELS = {"slices": [{"by": "num_labels", "edges": [2, 4]}]}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return create_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def good(world):
    return world.model("good")


@pytest.fixture(scope="module")
def worse(world):
    return world.model("worse", noise=2.0)


def failed(outcome):
    return [(c.metric, c.slice) for c in outcome.decision.checks if c.applied and not c.passed]


def test_a_model_that_clears_every_threshold_is_blessed(world, good, worse, tmp_path):
    gate = {"gap_threshold": 0.7, "gap_change_threshold": 0.05, "min_examples": 300}
    outcome = run_evaluator(world, tmp_path, model=good, baseline=worse, gate=gate)
    assert outcome.blessed
    assert is_model_blessed(outcome.blessing)
    assert (outcome.blessing_dir / "BLESSED").exists()
    assert not (outcome.blessing_dir / "NOT_BLESSED").exists()
    assert failed(outcome) == []
    gap, theirs = outcome.decision.metrics["gap"], outcome.decision.baseline_metrics["gap"]
    assert gap.value > 0.8 > 0.7 > theirs.value
    assert gap.lower < gap.value < gap.upper
    difference = outcome.decision.differences["gap"]
    assert difference.value == pytest.approx(gap.value - theirs.value)
    assert outcome.blessing.get_float_custom_property("gap") == pytest.approx(gap.value)
    assert outcome.blessing.get_float_custom_property("gap_baseline") == pytest.approx(theirs.value)
    assert outcome.blessing.get_string_custom_property("reason") == outcome.decision.reason
    digest = model_digest(str(good / "Format-Serving"))
    assert outcome.decision.model_digest == digest
    assert outcome.blessing.get_string_custom_property("model_digest") == digest


def test_refused_by_value(world, worse, tmp_path):
    outcome = run_evaluator(world, tmp_path, model=worse, gate={"gap_threshold": 0.7})
    assert not outcome.blessed
    assert (outcome.blessing_dir / "NOT_BLESSED").exists()
    assert not (outcome.blessing_dir / "BLESSED").exists()
    assert failed(outcome) == [("gap", "")]
    assert "gap >= 0.7 is needed, it is 0.4" in outcome.decision.reason
    assert outcome.decision.reason in decision_text(outcome.decision)


@pytest.mark.parametrize(
    "gate",
    [{"gap_change_threshold": 0.0}, {"gap_relative_change_threshold": 0.0}],
    ids=["absolute", "relative"],
)
def test_refused_by_change(world, good, worse, tmp_path, gate):
    outcome = run_evaluator(
        world, tmp_path, model=worse, baseline=good, gate={"gap_threshold": 0.1, **gate}
    )
    assert not outcome.blessed
    assert len(failed(outcome)) == 1
    assert "against the baseline >= 0 is needed, it is -0" in outcome.decision.reason


def test_the_same_model_again_is_not_worse_than_itself(world, good, tmp_path):
    gate = {"gap_threshold": 0.1, "gap_change_threshold": 0.0, "confident": True}
    outcome = run_evaluator(world, tmp_path, model=good, baseline=good, gate=gate)
    assert outcome.blessed
    difference = outcome.decision.differences["gap"]
    assert (difference.lower, difference.value, difference.upper) == (0.0, 0.0, 0.0)


def test_refused_by_a_slice_though_the_whole_is_good(world, good, tmp_path):
    threshold = {"metric": "gap", "slice": "num_labels=4+", "minimum": 0.86}
    gate = {"gap_threshold": 0.86, "thresholds": [threshold]}
    outcome = run_evaluator(world, tmp_path, model=good, gate=gate, config=BY_LABELS)
    assert not outcome.blessed
    assert failed(outcome) == [("gap", "num_labels=4+")]
    assert outcome.decision.metrics["gap"].value > 0.86


def test_a_threshold_on_all_data_is_not_asked_of_every_slice(world, good, tmp_path):
    outcome = run_evaluator(
        world, tmp_path, model=good, gate={"gap_threshold": 0.86}, config=BY_LABELS
    )
    worst = min(part.candidate["gap"].value for part in outcome.evaluation.slices)
    assert worst < 0.86
    assert outcome.blessed


def test_a_slice_without_examples_is_not_blessed(world, good, tmp_path):
    threshold = {"metric": "gap", "slice": "num_labels=99+", "minimum": 0.1}
    outcome = run_evaluator(
        world,
        tmp_path,
        model=good,
        gate={"gap_threshold": 0.1, "thresholds": [threshold]},
        config={"slices": [{"by": "num_labels", "edges": [99]}]},
    )
    assert not outcome.blessed
    assert "no evaluated example is in this slice" in outcome.decision.reason


def test_refused_by_confidence_though_the_point_clears(world, good, tmp_path):
    plain = run_evaluator(world, tmp_path / "a", model=good, gate={"gap_threshold": 0.8})
    gap = plain.decision.metrics["gap"]
    between = (gap.lower + gap.value) / 2
    gate = {"gap_threshold": between}
    assert run_evaluator(world, tmp_path / "b", model=good, gate=gate).blessed
    sure = run_evaluator(world, tmp_path / "c", model=good, gate={**gate, "confident": True})
    assert not sure.blessed
    assert sure.decision.metrics["gap"].value >= between
    assert "lower bound of gap" in sure.decision.reason


@pytest.mark.parametrize("empty_artifact", [True, False], ids=["empty artifact", "no input"])
def test_no_baseline_is_said_and_values_alone_decide(world, good, worse, tmp_path, empty_artifact):
    gate = {"gap_threshold": 0.7, "gap_change_threshold": 0.05}
    none = tmp_path / "none" if empty_artifact else None
    first = run_evaluator(world, tmp_path / "a", model=good, baseline=none, gate=gate)
    assert first.blessed
    assert first.decision.baseline is None
    assert "no baseline yet: only the limits on values apply" in first.decision.reason
    assert [c.applied for c in first.decision.checks] == [True, True, False, False]
    second = run_evaluator(world, tmp_path / "b", model=worse, baseline=none, gate=gate)
    assert not second.blessed


def test_a_model_that_learned_nothing_but_frequencies_passes_no_presets_gate(world, tmp_path):
    blind = np.zeros_like(world.weights)
    blind[-1] = read_matrix(sorted(world.data.glob("train*.tfrecord")), 20)[1].mean(axis=0)
    write_model(tmp_path / "blind" / "Format-Serving", blind)
    open_ = {"gap_threshold": 0.001}
    outcome = run_evaluator(world, tmp_path, model=tmp_path / "blind", gate=open_)
    guessed = outcome.decision.metrics["gap"].value
    for preset in list_presets():
        # These 20 classes are guessed far more easily than thousands.
        assert load_config(preset.name).gate.gap_threshold > guessed + 0.05


def test_a_model_that_predicts_nan_is_not_blessed_and_names_a_video(world, tmp_path):
    broken = world.model("broken", broken_from=0.9)
    outcome = run_evaluator(world, tmp_path, model=broken, gate={"gap_threshold": 0.001})
    assert not outcome.blessed
    assert "predicts nan" in outcome.decision.reason
    assert "video " in outcome.decision.reason
    assert outcome.decision.metrics["gap"].value is None
    verdict = tfma.load_validation_result(str(outcome.evaluation_dir))
    assert not verdict.validation_ok


def test_a_model_that_predicts_nan_is_not_blessed_even_without_a_gate(world, tmp_path):
    broken = world.model("broken", broken_from=0.9)
    outcome = run_evaluator(world, tmp_path, model=broken, gate={"mode": "none"})
    assert not outcome.blessed


def nearly_sound(world, *, rows):
    """The good model, but NaN for the `rows` records that it is surest of; and their positions."""
    matrix, _ = read_matrix(sorted(world.data.glob("validate*.tfrecord")), 20)
    logits = matrix @ world.weights[:-1] + world.weights[-1]
    surest = (1 / (1 + np.exp(-8.0 * (logits - 0.3)))).max(axis=1)
    order = np.argsort(-surest)
    limit = float(surest[order[rows - 1 : rows + 1]].mean())
    return world.model(f"nan-for-{rows}", broken_from=limit), order[:rows]


def test_a_baseline_that_fails_on_few_rows_is_still_what_the_candidate_is_compared_with(
    world, good, worse, tmp_path
):
    gate = {"gap_threshold": 0.1, "gap_change_threshold": -0.01}
    baseline, lost = nearly_sound(world, rows=2)
    outcome = run_evaluator(
        world, tmp_path / "a", model=worse, baseline=baseline, gate=gate, config=BY_LABELS
    )
    assert not outcome.blessed
    assert failed(outcome) == [("gap", "")]
    assert outcome.decision.examples == 298
    [note] = [note for note in outcome.decision.notes if "no finite numbers" in note]
    assert "for 2 of 300 examples" in note
    # As if these two records had never been among the data.
    records = [r for s in sorted(world.data.glob("validate*.tfrecord")) for r in read_all(s)]
    write_all(tmp_path / "rest", [r for i, r in enumerate(records) if i not in lost])
    rest = write_examples(tmp_path / "examples", [tmp_path / "rest"], Level.VIDEO)
    expected = run_evaluator(
        world,
        tmp_path / "b",
        model=worse,
        baseline=good,
        gate=gate,
        examples=rest,
        config=BY_LABELS,
    )
    assert outcome.decision.metrics == expected.decision.metrics
    assert outcome.decision.differences == expected.decision.differences
    assert outcome.evaluation.slices == expected.evaluation.slices


@pytest.mark.parametrize("rows", [4, 300])
def test_a_baseline_that_fails_on_more_than_one_percent_stops_the_run_and_names_its_remedy(
    world, worse, tmp_path, rows
):
    baseline = nearly_sound(world, rows=4)[0] if rows == 4 else world.model("nan", broken_from=0)
    with pytest.raises(Yt8mError, match=rf"for {rows} of 300 examples, .* at most 1%") as error:
        run_evaluator(world, tmp_path, model=worse, baseline=baseline, gate={"gap_threshold": 0.1})
    assert error.value.exit_code == 1
    for remedy in ("yt8m models rollback", "baseline.version=none"):
        assert remedy in str(error.value)
    assert not (tmp_path / "blessing" / "BLESSED").exists()


def test_a_candidate_that_fails_on_a_row_is_not_blessed_though_the_baseline_fails_there_too(
    world, tmp_path
):
    model, _ = nearly_sound(world, rows=2)
    outcome = run_evaluator(
        world, tmp_path, model=model, baseline=model, gate={"gap_threshold": 0.1}
    )
    assert not outcome.blessed
    assert outcome.decision.reason.startswith("the model cannot be evaluated: video ")


def test_an_empty_eval_set_blesses_nothing(world, good, tmp_path):
    empty = write_examples(tmp_path / "empty", [], Level.VIDEO)
    outcome = run_evaluator(
        world, tmp_path, model=good, gate={"gap_threshold": 0.001}, examples=empty
    )
    assert not outcome.blessed
    assert outcome.decision.reason == "no example was evaluated"


def test_fewer_examples_than_the_minimum_bless_nothing(world, good, tmp_path):
    gate = {"gap_threshold": 0.1, "min_examples": 301}
    outcome = run_evaluator(world, tmp_path, model=good, gate=gate)
    assert not outcome.blessed
    assert outcome.decision.reason == "300 examples were evaluated, gate.min_examples is 301"


def test_of_a_window_the_newest_span_alone_decides(world, good, tmp_path):
    old = sorted(world.data.glob("validate*.tfrecord"))
    # The newest videos are labelled by another world's rules: what was learned is wrong for them.
    other = make_dataset(tmp_path / "other", eval=150, classes=20, sizes=SIZES, seed=99)
    new = sorted(other.glob("validate*.tfrecord"))
    shards, spans = [*old, *new], [1] * len(old) + [2] * len(new)
    gate = {"gap_threshold": 0.5}

    def judged(name, shards, **config):
        examples = write_examples(
            tmp_path / f"examples-{name}", shards, Level.VIDEO, spans=spans[-len(shards) :]
        )
        out = tmp_path / name
        return run_evaluator(world, out, model=good, gate=gate, examples=examples, config=config)

    window = judged("window", shards)
    assert not window.blessed
    assert (window.decision.videos, window.decision.spans) == (150, (2,))
    assert "span 2, the newest, only" in decision_text(window.decision)
    assert "150 videos of span 2;" in decision_text(window.decision)
    alone = judged("alone", new)
    assert window.decision.metrics == alone.decision.metrics
    both = judged("both", shards, spans="all")
    assert both.blessed
    assert (both.decision.examples, both.decision.spans) == (450, (1, 2))


def test_no_gate_has_to_be_written_out(world, worse, tmp_path):
    with pytest.raises(ConfigError, match="gate needs a minimum"):
        run_evaluator(world, tmp_path / "a", model=worse, gate={"gap_change_threshold": 0.0})
    outcome = run_evaluator(world, tmp_path / "b", model=worse, gate={"mode": "none"})
    assert outcome.blessed
    assert outcome.decision.mode is GateMode.NONE
    assert "gate.mode is none" in outcome.decision.reason


def test_thresholds_given_for_the_run_win(world, good, tmp_path):
    outcome = run_evaluator(
        world, tmp_path, model=good, gate={"gap_threshold": 0.1}, gap_threshold="0.99"
    )
    assert not outcome.blessed
    assert "gap >= 0.99 is needed" in outcome.decision.reason


def test_thresholds_on_other_metrics(world, good, worse, tmp_path):
    thresholds = [
        {"metric": "map", "minimum": 0.99},
        {"metric": "loss", "maximum": 100.0, "max_change": -1.0},
        {"metric": "hit_at_1", "min_change": 0.9},
    ]
    outcome = run_evaluator(
        world,
        tmp_path,
        model=good,
        baseline=worse,
        gate={"gap_threshold": 0.1, "thresholds": thresholds},
    )
    assert failed(outcome) == [("map", ""), ("hit_at_1", "")]
    assert not outcome.blessed


def test_tfma_reads_what_was_written(world, good, worse, tmp_path):
    outcome = run_evaluator(
        world, tmp_path, model=good, baseline=worse, gate={"gap_threshold": 0.7}, config=BY_LABELS
    )
    place = str(outcome.evaluation_dir)
    assert tfma.load_validation_result(place).validation_ok
    result = tfma.load_eval_result(place, model_name=tfma.CANDIDATE_KEY)
    slices = result.get_metrics_for_all_slices()
    assert set(slices) == {(), *((("num_labels", v),) for v in ("<2", "2-3", "4+"))}
    overall = slices[()]
    gap = outcome.decision.metrics["gap"]
    assert overall["gap"]["boundedValue"]["value"] == gap.value
    assert overall["gap"]["boundedValue"]["lowerBound"] == gap.lower
    assert overall["gap"]["boundedValue"]["upperBound"] == gap.upper
    assert overall["example_count"]["doubleValue"] == 300
    baseline = tfma.load_eval_result(place, model_name=tfma.BASELINE_KEY)
    theirs = baseline.get_metrics_for_slice(())["gap"]["boundedValue"]["value"]
    assert overall["gap_diff"]["boundedValue"]["value"] == pytest.approx(gap.value - theirs)
    assert tfma.view.render_slicing_metrics.__module__.startswith("tensorflow_model_analysis")


def test_slices_add_up_and_equal_their_own_evaluation(world, good, tmp_path):
    outcome = run_evaluator(
        world, tmp_path, model=good, gate={"gap_threshold": 0.1}, config=BY_LABELS
    )
    parts = outcome.evaluation.slices
    assert sum(part.examples for part in parts) == 300
    weighted = sum(p.candidate["hit_at_1"].value * p.examples for p in parts) / 300
    assert weighted == pytest.approx(outcome.evaluation.overall.candidate["hit_at_1"].value)


def test_the_decision_is_json_without_nan(world, good, tmp_path):
    empty = write_examples(tmp_path / "empty", [], Level.VIDEO)
    outcome = run_evaluator(
        world, tmp_path, model=good, gate={"gap_threshold": 0.1}, examples=empty
    )
    for path in (
        outcome.blessing_dir / "decision.json",
        outcome.evaluation_dir / "metrics.json",
    ):
        json.loads(path.read_text(), parse_constant=pytest.fail)


def test_frame_level_models_are_scored_and_sliced_by_frames(tmp_path):
    world = create_world(tmp_path / "world", Level.FRAME, videos=60)
    outcome = run_evaluator(
        world,
        tmp_path / "run",
        model=world.model("good"),
        gate={"gap_threshold": 0.3},
        config={"slices": [{"by": "num_frames", "edges": [10, 12]}]},
    )
    assert outcome.blessed, outcome.decision.reason
    parts = outcome.evaluation.slices
    assert {part.value for part in parts} == {"<10", "10-11", "12+"}
    assert sum(part.examples for part in parts) == 60


def test_a_baseline_with_other_classes_is_compared_and_it_is_said(world, good, tmp_path):
    fewer = tmp_path / "fewer" / "Format-Serving"
    write_model(fewer, world.weights[:, :15])
    outcome = run_evaluator(
        world,
        tmp_path / "run",
        model=good,
        baseline=fewer.parent,
        gate={"gap_threshold": 0.7, "gap_change_threshold": 0.01},
    )
    assert outcome.blessed
    assert any("15 classes, the candidate 20" in note for note in outcome.decision.notes)


def test_a_model_with_other_classes_than_configured_is_refused(world, tmp_path):
    write_model(tmp_path / "m" / "Format-Serving", np.zeros((25, 30), np.float32))
    with pytest.raises(UserError, match=r"scores 30 classes, and features\.num_classes is 20"):
        run_evaluator(world, tmp_path / "r", model=tmp_path / "m", gate={"gap_threshold": 0.1})


@pytest.mark.parametrize("keep", [0.505, -10, "whole records"])
def test_a_shard_that_lost_records_is_an_error(world, good, tmp_path, keep):
    shard = tmp_path / "cut.tfrecord"
    shutil.copy(sorted(world.data.glob("validate*.tfrecord"))[0], shard)
    examples = write_examples(tmp_path / "examples", [shard], Level.VIDEO)
    if keep == "whole records":  # nothing in the file itself tells of it
        write_all(shard, read_all(shard)[:-1])
    else:
        truncate(shard, keep if keep < 0 else int(shard.stat().st_size * keep))
    with pytest.raises(DataError, match=r"cut\.tfrecord|of the 100 records"):
        run_evaluator(
            world, tmp_path / "run", model=good, gate={"gap_threshold": 0.1}, examples=examples
        )


STOCK = """
metrics_specs {
  metrics { class_name: "ExampleCount" config: '"name": "rows"' }
  metrics {
    class_name: "MeanLabel"
    threshold { value_threshold { upper_bound { value: LIMIT } } }
  }
  binarize { class_ids { values: [0, 1] } }
}
"""


@pytest.mark.parametrize(("limit", "blessed"), [("1.0", True), ("0.0001", False)])
def test_tfmas_own_metrics_stand_beside_ours_and_can_refuse(
    world, good, worse, tmp_path, limit, blessed
):
    outcome = run_evaluator(
        world,
        tmp_path,
        model=good,
        baseline=worse,
        gate={"gap_threshold": 0.1},
        config={**BY_LABELS, "eval_config": STOCK.replace("LIMIT", limit)},
    )
    result = tfma.load_eval_result(str(outcome.evaluation_dir), model_name="candidate")
    by_class = result.slicing_metrics[0][1][""]
    share = read_matrix(sorted(world.data.glob("validate*.tfrecord")), 20)[1].mean(axis=0)
    for c in (0, 1):
        found = by_class[f"classId:{c}"]["mean_label"]["doubleValue"]
        assert found == pytest.approx(share[c])
    assert by_class[""]["gap"]["boundedValue"]["value"] == outcome.decision.metrics["gap"].value
    assert len(result.slicing_metrics) == 4
    assert outcome.blessed is blessed
    assert blessed or "mean_label" in outcome.decision.reason


@pytest.mark.parametrize(("minimum", "blessed"), [(10, True), (10_000, False)])
def test_a_threshold_of_the_gate_may_name_a_metric_of_the_users_own(
    world, good, worse, tmp_path, minimum, blessed
):
    rows = """metrics_specs { metrics { class_name: "ExampleCount" config: '"name": "rows"' } }"""
    outcome = run_evaluator(
        world,
        tmp_path,
        model=good,
        baseline=worse,
        gate={
            "gap_threshold": 0.1,
            "thresholds": [
                {"metric": "rows", "minimum": minimum},
                {"metric": "rows", "min_change": -1.0},
            ],
        },
        config={**BY_LABELS, "eval_config": rows},
    )
    value, change = outcome.decision.checks[-2:]
    assert value.observed == outcome.decision.examples
    assert outcome.evaluation.overall.candidate["rows"].value == outcome.decision.examples
    assert [p.candidate["rows"].value for p in outcome.evaluation.slices] == [
        p.examples for p in outcome.evaluation.slices
    ]
    assert (value.passed, change.passed, outcome.blessed) == (blessed, True, blessed)
    assert blessed or "rows >= 10000 is needed, it is " in outcome.decision.reason


def test_a_threshold_of_the_users_own_on_a_slice_without_examples_refuses(world, good, tmp_path):
    rows = """metrics_specs { metrics { class_name: "ExampleCount" config: '"name": "rows"'
      per_slice_thresholds {
        slicing_specs { feature_values { key: "num_labels" value: "99+" } }
        threshold { value_threshold { lower_bound { value: 1 } } } } } }"""
    outcome = run_evaluator(
        world, tmp_path, model=good, gate={"gap_threshold": 0.1}, config={"eval_config": rows}
    )
    assert not outcome.blessed
    assert "on num_labels=99+: no evaluated example is in this slice" in outcome.decision.reason
    verdict = tfma.load_validation_result(str(outcome.evaluation_dir))
    assert not verdict.validation_ok
    assert verdict.missing_slices[0].feature_values["num_labels"] == "99+"


def test_a_wrong_eval_config_is_the_users_mistake(world, good, tmp_path):
    with pytest.raises(ConfigError, match=r"evaluator\.eval_config: not a tfma\.EvalConfig"):
        run_evaluator(
            world,
            tmp_path,
            model=good,
            gate={"gap_threshold": 0.1},
            config={"eval_config": "metrics { nonsense"},
        )
