"""Whole trainings in this process: what is written, kept, refused, taken over."""

import copy
import dataclasses
import importlib
import json
import math
import re
import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from checkpoint_values import assert_bitwise_equal, read_values
from cluster import newest_step
from training import CLASSES, make_job, rows, train, trainer_config

from yt8m.components.artifacts.training_curve import EVALUATION, TRAINING, read_curve
from yt8m.components.console.progress import Progress
from yt8m.components.export.load import load_export
from yt8m.components.trainer.backends.in_process import run_job
from yt8m.components.trainer.state import checkpoints
from yt8m.components.trainer.state.checkpoints import MODEL_FILE, check_model
from yt8m.components.trainer.state.warm_start import read_weights, weights_digest
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import ConfigError, UserError


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    from records import make_dataset

    return make_dataset(tmp_path_factory.mktemp("data"), classes=CLASSES)


def test_a_training_exports_a_model_and_tells_its_curve(tmp_path, data):
    job = train(tmp_path, data, max_steps=5, log={"every_steps": 2, "tensorboard": True})
    model = load_export(job.export_dir)
    assert model.info.features.num_classes == CLASSES
    curve = rows(job, "train")
    assert [row["step"] for row in curve] == [2, 4, 5]  # the last step is told in any case
    assert [row["examples"] for row in curve] == [16, 32, 40]
    names = {"loss", "examples_per_s", "learning_rate", "hit_at_1", "perr", "gap", "gradient_norm"}
    assert names <= set(curve[0])
    assert curve[0]["examples_per_s"] * curve[0]["seconds"] == pytest.approx(16)
    assert list((tmp_path / "logs/train").glob("events*"))


def test_on_a_terminal_steps_move_a_bar(tmp_path, data, monkeypatch):
    opened = []
    monkeypatch.setattr(Progress, "_open_bar", lambda bar: opened.append(bar._task))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    train(tmp_path, data, max_steps=2)
    assert opened == ["train"]


def test_the_final_weights_are_saved_whatever_the_cadence(tmp_path, data):
    job = train(tmp_path, data, max_steps=7, checkpoint={"every_steps": 4})
    assert newest_step(tmp_path / "checkpoints") == 7
    exported, saved = read_weights(job.export_dir), read_weights(job.checkpoint_dir)
    for name in set(saved) & set(exported):
        np.testing.assert_array_equal(saved[name], exported[name])
    assert any("kernel" in name for name in set(saved) & set(exported))


def test_steps_in_one_call_change_nothing(tmp_path, data):
    one = train(tmp_path / "one", data, max_steps=9, steps_per_loop=1)
    many = train(tmp_path / "many", data, max_steps=9, steps_per_loop=2)
    assert_bitwise_equal(one.checkpoint_dir, many.checkpoint_dir)


def damage_index(path):
    path.with_name(path.name + ".index").write_bytes(b"torn")


def damage_data(path):
    data = path.with_name(path.name + ".data-00000-of-00001")
    data.write_bytes(bytes(byte ^ 1 for byte in data.read_bytes()))


def cut_data(path):
    data = path.with_name(path.name + ".data-00000-of-00001")
    data.write_bytes(data.read_bytes()[:-100])


def remove_index(path):
    path.with_name(path.name + ".index").unlink()


@pytest.mark.parametrize(
    "damage",
    [
        damage_index,
        pytest.param(cut_data, marks=pytest.mark.slow),
        pytest.param(damage_data, marks=pytest.mark.slow),
        pytest.param(remove_index, marks=pytest.mark.slow),
    ],
)
def test_a_torn_checkpoint_is_passed_over_for_the_one_before_it(tmp_path, data, damage, caplog):
    settings = {"checkpoint": {"every_steps": 2}}
    train(tmp_path / "torn", data, max_steps=4, **settings)
    damage(tmp_path / "torn/checkpoints/ckpt-4")
    with caplog.at_level("INFO"):
        job = train(tmp_path / "torn", data, max_steps=6, **settings)
    assert re.search(r"ckpt-4 cannot be read \(\w", caplog.text)
    assert "step 2 of 6" in caplog.text
    whole = train(tmp_path / "whole", data, max_steps=6, **settings)
    assert_bitwise_equal(job.checkpoint_dir, whole.checkpoint_dir)


def test_a_split_of_one_video_is_validated_on(tmp_path):
    from records import make_dataset

    data = make_dataset(tmp_path / "data", classes=CLASSES, eval=1)
    job = train(tmp_path, data, max_steps=2, validation={"every_steps": 2, "keep_best": False})
    assert rows(job, "validation")[-1]["videos"] == 1


@pytest.mark.parametrize("content", [None, ""])
def test_without_tensorflows_list_of_checkpoints_training_continues(
    tmp_path, data, content, caplog
):
    train(tmp_path, data, max_steps=4)
    listed = tmp_path / "checkpoints/checkpoint"
    listed.unlink()
    if content is not None:
        listed.write_text(content)
    with caplog.at_level("INFO"):
        train(tmp_path, data, max_steps=6)
    assert "step 4 of 6" in caplog.text
    assert "missing or damaged" in caplog.text


def test_checkpoints_of_an_older_yt8m_are_continued_where_new_keys_are_at_their_defaults(
    tmp_path, data, caplog
):
    train(tmp_path, data, max_steps=2)
    file = tmp_path / "checkpoints" / MODEL_FILE
    known = json.loads(file.read_text())
    assert known["model"].pop("co_occurrence") == 0  # which it did not know
    file.write_text(json.dumps(known))
    with caplog.at_level("INFO"):
        train(tmp_path, data, max_steps=4)
    assert "step 2 of 4" in caplog.text
    file.write_text(json.dumps(known))
    model = {"name": "logistic", "co_occurrence": 4}
    with pytest.raises(ConfigError, match=r"checkpoints of another model(.|\n)*co_occurrence"):
        train(tmp_path, data, max_steps=6, model=model)


@pytest.mark.parametrize(
    "beside",
    [
        {"heads": [{"name": "entities", "loss": {"name": "own"}}], "network": "mine.Network"},
        {
            "heads": [{"name": "entities", "splits": ["extra"]}],
            "mixture": [{"split": "extra", "share": 0.5}],
        },
    ],
    ids=["own loss", "splits"],
)
def test_an_older_description_is_completed_though_its_heads_need_keys_that_it_has_not(beside):
    trainer = trainer_config(**beside)
    wanted = {"model": to_dict(trainer.model), "heads": to_dict(trainer.heads)}
    known = copy.deepcopy(wanted)
    del known["model"]["co_occurrence"]
    assert checkpoints._completed(known) == wanted


def test_where_no_checkpoint_can_be_read_training_does_not_silently_begin_anew(tmp_path, data):
    train(tmp_path, data, max_steps=2)
    damage_index(tmp_path / "checkpoints/ckpt-2")
    with pytest.raises(UserError, match=r"none of its checkpoints can be read \(.*ckpt-2"):
        train(tmp_path, data, max_steps=4)


def test_checkpoints_come_by_time_too_and_none_is_written_twice(tmp_path, data):
    job = train(tmp_path, data, max_steps=6, steps_per_loop=1, checkpoint={"every_s": 1e-9})
    assert [row["step"] for row in rows(job, "checkpoint")] == [1, 2, 3, 4, 5, 6]
    both = {"checkpoint": {"every_steps": 2}, "validation": {"every_steps": 2}}
    job = train(tmp_path / "both", data, max_steps=6, **both)
    assert [row["step"] for row in rows(job, "checkpoint")] == [0, 2, 4, 6]


@pytest.mark.parametrize(
    "network", ["", pytest.param("own_networks.Plain", marks=pytest.mark.slow)]
)
def test_the_same_seed_gives_the_same_weights_and_another_gives_others(tmp_path, data, network):
    jobs = [
        train(tmp_path / str(n), data, seed=seed, network=network)
        for n, seed in enumerate((3, 3, 4))
    ]
    assert_bitwise_equal(jobs[0].checkpoint_dir, jobs[1].checkpoint_dir)
    first, other = (read_values(jobs[n].checkpoint_dir) for n in (0, 2))
    assert any(not np.array_equal(first[key], other[key]) for key in first)


def test_scores_of_ones_own_that_are_no_dictionary_are_a_mistake_in_what_was_given(tmp_path, data):
    with pytest.raises(ConfigError, match=r"scores gives .*Tensor, but must return .*'entities'"):
        train(tmp_path, data, network="own_networks.Bare")


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("Misnamed", r"Misnamed.scores gives .'entitys': .*with as many classes, .'entities'"),
        ("TooFewClasses", "TooFewClasses.scores gives .'entities'"),
        ("NoTrunk", "NoTrunk.create_trunk gives NoneType"),
        ("Misspelt", r"cannot be created \(.*own_networks.py, line \d+: ValueError: .*rleu"),
        ("OtherKeras", r"the weight .*kernel.* would be neither trained nor exported; .*tf_keras"),
        ("Hidden", r"the weight .*hidden/kernel.* would be neither trained nor exported"),
    ],
)
def test_a_network_that_cannot_be_used_is_told_before_the_first_step(
    tmp_path, data, network, message
):
    with pytest.raises(ConfigError, match=message) as caught:
        train(tmp_path, data, network=f"own_networks.{network}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("network", ["Borrowing", "BorrowingMeanwhile"])
def test_a_model_that_a_network_of_ones_own_only_looked_at_is_no_part_of_it(
    tmp_path, data, network
):
    train(tmp_path, data, network=f"own_networks.{network}")
    assert (tmp_path / "export/saved_model.pb").exists()


def test_a_longer_limit_continues_a_finished_training(tmp_path, data):
    train(tmp_path, data, max_steps=4)
    job = train(tmp_path, data, max_steps=8)
    assert [row["step"] for row in rows(job, "train")] == [2, 4, 6, 8]
    whole = train(tmp_path / "whole", data, max_steps=8)
    assert_bitwise_equal(job.checkpoint_dir, whole.checkpoint_dir)


def test_another_model_in_an_old_directory_is_refused_with_both_configurations(tmp_path, data):
    train(tmp_path, data)
    with pytest.raises(ConfigError) as error:
        train(tmp_path, data, model={"name": "moe", "num_mixtures": 3})
    message = str(error.value)
    assert '"name": "logistic"' in message
    assert '"num_mixtures": 3' in message
    assert "start_new_model" in message


@pytest.mark.parametrize("text", ["", '{"model": {"na', "[]"])
def test_a_damaged_description_of_the_model_is_named_with_the_way_out(tmp_path, text):
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(UserError, match=r"model\.json is damaged .*remove this file"):
        check_model(str(tmp_path), {"level": "video"})


def test_other_data_in_an_old_directory_is_refused(tmp_path, data):
    from records import make_dataset

    train(tmp_path, data)
    other = make_dataset(tmp_path / "other", classes=CLASSES)
    (other / "train0000.tfrecord").rename(other / "train9999.tfrecord")
    with pytest.raises(ConfigError, match="or of other data") as error:
        train(tmp_path, other)
    assert re.search(r"\n  data +there: \w{16}  now: \w{16}\n", str(error.value))
    assert newest_step(tmp_path / "checkpoints") == 6


def test_a_vocabulary_with_other_verticals_is_refused_where_they_are_learned(tmp_path, data):
    header, *classes = (data / "vocabulary.csv").read_text().splitlines()
    regrouped = classes[0].replace(",Internet & Telecom,", ",Food & Drink,")
    assert regrouped != classes[0]
    other = tmp_path / "other.csv"
    other.write_text("\n".join([header, regrouped, *classes[1:]]) + "\n")
    heads = [{"name": "entities"}, {"name": "verticals"}]
    job = dataclasses.replace(
        make_job(tmp_path, data=data, heads=heads), vocabulary=str(data / "vocabulary.csv")
    )
    run_job(job, {})
    with pytest.raises(ConfigError, match=r"\n  vocabulary  there: \w{16}  now: \w{16}\n"):
        run_job(dataclasses.replace(job, vocabulary=str(other)), {})


def test_start_new_model_wipes_on_purpose(tmp_path, data):
    train(tmp_path, data, max_steps=6)
    job = train(tmp_path, data, model={"name": "moe"}, start_new_model=True, max_steps=2)
    assert newest_step(tmp_path / "checkpoints") == 2
    assert [row["step"] for row in rows(job, "train")] == [2]


def test_the_schedule_counts_examples_and_the_factor_multiplies(tmp_path, data):
    job = train(
        tmp_path,
        data,
        max_steps=6,
        schedule={"name": "staircase", "decay": 0.5, "decay_examples": 16},
        log={"every_steps": 1},
    )
    rates = [row["learning_rate"] for row in rows(job, "train")]
    assert rates == pytest.approx([0.01, 0.01, 0.005, 0.005, 0.0025, 0.0025])


def test_validation_halves_goes_back_and_stops(tmp_path, data):
    """A rate so high that nothing gets better after some steps."""
    job = train(
        tmp_path,
        data,
        max_steps=40,
        optimizer={"name": "sgd", "learning_rate": 3e4},
        clip_gradient_norm=0,
        validation={"every_steps": 2, "go_back": True, "num_tries": 3, "reset_tries": False},
    )
    found = rows(job, "validation")
    assert [row["step"] for row in found] == list(range(0, 2 * len(found), 2))
    losses = [row["loss"] if row["loss"] is not None else math.inf for row in found]
    best = losses.index(min(losses))
    worse = [n for n in range(1, len(losses)) if losses[n] >= min(losses[:n])]
    assert len(worse) == 3  # as many tries, then the end
    assert found[-1]["step"] < 40
    halved = {n: 0.5 ** len([w for w in worse if w < n]) for n in range(len(found))}
    assert [row["factor"] for row in found] == [halved[n] for n in range(len(found))]
    # What is exported is the best model, not the last.
    kept = tf.train.load_checkpoint(f"{job.checkpoint_dir}/best/ckpt-{found[best]['step']}")
    exported = read_weights(job.export_dir)
    for key in kept.get_variable_to_shape_map():
        if key.startswith("network") and key.endswith("kernel/.ATTRIBUTES/VARIABLE_VALUE"):
            value = kept.get_tensor(key)
            assert any(np.array_equal(value, other) for other in exported.values())


def test_a_network_of_the_users_own_trains_by_its_own_loss_and_is_exported(tmp_path, data):
    own = {
        "network": "own_losses.SquaresByLabel",
        "heads": [{"name": "entities", "loss": {"name": "own"}}],
    }
    job = train(tmp_path, data, max_steps=20, **own, validation={"every_steps": 10})
    losses = [row["loss"] for row in rows(job, "validation")]
    assert losses == sorted(losses, reverse=True)
    assert load_export(job.export_dir).info.features.num_classes == CLASSES
    with pytest.raises(ConfigError, match=r"network +there: own_losses.SquaresByLabel  now: \n"):
        train(tmp_path, data, max_steps=20)


def test_a_resumed_plateau_is_the_uninterrupted_one(tmp_path, data):
    settings = {
        "optimizer": {"name": "sgd", "learning_rate": 50.0},
        "validation": {"every_steps": 2, "go_back": True, "num_tries": 10},
    }
    whole = train(tmp_path / "whole", data, max_steps=12, **settings)
    train(tmp_path / "parts", data, max_steps=6, **settings)
    parts = train(tmp_path / "parts", data, max_steps=12, **settings)
    assert_bitwise_equal(whole.checkpoint_dir, parts.checkpoint_dir)
    whole_rows, part_rows = rows(whole, "validation"), rows(parts, "validation")
    assert [(r["step"], r["loss"], r["factor"]) for r in whole_rows] == [
        (r["step"], r["loss"], r["factor"]) for r in part_rows
    ]


def test_local_evaluation_scores_the_last_checkpoint_and_exporters_keep_their_own(tmp_path, data):
    exporters = [
        {"name": "latest", "keep": 2},
        {"name": "best", "metric": "loss", "keep": 9},
        {"name": "final"},
    ]
    evaluation = {"enabled": True, "start_delay_s": 0, "throttle_s": 0, "exporters": exporters}
    settings = {"checkpoint": {"every_steps": 2}, "evaluation": evaluation}
    train(tmp_path, data, max_steps=6, **settings)
    job = train(tmp_path, data, max_steps=10, **settings)
    found = rows(job, "evaluation", EVALUATION)
    assert [row["step"] for row in found] == [2, 4, 6, 8, 10]

    def exported(name):
        return sorted(int(p.name) for p in (tmp_path / "logs/export" / name).glob("[0-9]*"))

    assert exported("latest") == [8, 10]
    assert exported("final") == [6, 10]
    losses = {row["step"]: row["loss"] for row in found}
    better = [s for s in losses if all(losses[s] < losses[t] for t in losses if t < s)]
    assert exported("best") == better  # over the restart, too


EACH = {"enabled": True, "start_delay_s": 0, "throttle_s": 0}


def test_an_evaluation_tells_of_each_export_of_its_checkpoint(tmp_path, data):
    exporters = [{"name": "latest"}, {"name": "best"}, {"name": "final"}]
    job = train(
        tmp_path,
        data,
        max_steps=4,
        checkpoint={"every_steps": 2},
        evaluation={**EACH, "exporters": exporters},
    )
    first, last = rows(job, "evaluation", EVALUATION)
    assert first["exported"] == ["latest", "best"]
    assert {"latest", "final"} <= set(last["exported"])


def test_exports_of_a_model_that_is_wiped_go_with_it(tmp_path, data):
    evaluation = {**EACH, "exporters": [{"name": "final"}, {"name": "best"}, {"name": "latest"}]}
    train(tmp_path, data, max_steps=4, evaluation=evaluation)
    job = train(tmp_path, data, max_steps=2, evaluation=evaluation, start_new_model=True, seed=7)
    exports = tmp_path / "logs/export"
    assert {str(path.relative_to(exports)) for path in exports.glob("*/[0-9]*")} == {
        "final/2", "best/2", "latest/2",
    }  # fmt: skip
    for name, value in read_weights(f"{exports}/final/2").items():
        np.testing.assert_array_equal(value, read_weights(job.export_dir)[name])


def test_early_stopping_ends_training(tmp_path, data):
    job = train(
        tmp_path,
        data,
        max_steps=50,
        log={"every_steps": 2},
        checkpoint={"every_steps": 2},
        evaluation={"enabled": True, "start_delay_s": 0, "throttle_s": 0},
        early_stopping={"name": "reached", "metric": "gap", "value": 0.0},
    )
    assert rows(job, "train")[-1]["step"] == 2 or rows(job, "train")[-1]["step"] == 4
    assert (tmp_path / "export/saved_model.pb").exists()


def test_several_heads_learn_and_excluded_ones_do_not_count_in_validation(tmp_path, data):
    import dataclasses

    job = make_job(
        tmp_path,
        data=data,
        heads=[{"name": "entities"}, {"name": "verticals", "weight": 0.5}],
        validation={"every_steps": 3, "excluded_heads": ["verticals"]},
    )
    run_job(dataclasses.replace(job, vocabulary=str(data / "vocabulary.csv")), {})
    newest = rows(job, "train")[-1]
    total = newest["loss_entities"] + 0.5 * newest["loss_verticals"]
    assert newest["loss"] == pytest.approx(total, rel=1e-5)
    found = rows(job, "validation")[-1]
    assert "loss_verticals" not in found
    assert found["loss"] == found["loss_entities"]


def test_an_unknown_excluded_head_is_named(tmp_path, data):
    with pytest.raises(ConfigError, match="no head 'nothing'"):
        train(tmp_path, data, validation={"every_steps": 3, "excluded_heads": ["nothing"]})


@pytest.mark.parametrize("source", ["export", "checkpoints"])
def test_warm_start_takes_over_what_matches_and_says_so(tmp_path, data, source, caplog):
    first = train(tmp_path / "first", data, max_steps=6)
    with caplog.at_level("INFO"):
        second = train(
            tmp_path / "second",
            data,
            max_steps=1,
            optimizer={"name": "sgd", "learning_rate": 1e-12},
            warm_start=str(tmp_path / "first" / source),
        )
    assert "2 weights taken over" in caplog.text
    before, after = read_weights(first.checkpoint_dir), read_weights(second.checkpoint_dir)
    for name, value in before.items():
        if "kernel" in name:
            np.testing.assert_allclose(after[name], value, atol=1e-6)


@pytest.mark.parametrize("source", ["export", "checkpoints"])
def test_weights_are_named_by_their_content_wherever_they_lie(tmp_path, data, source):
    for name, seed in (("first", 1), ("second", 2)):
        train(tmp_path / name, data, max_steps=2, seed=seed)
    first = weights_digest(str(tmp_path / "first" / source))
    shutil.copytree(tmp_path / "first" / source, tmp_path / "elsewhere")
    assert weights_digest(str(tmp_path / "elsewhere")) == first
    assert weights_digest(str(tmp_path / "second" / source)) != first


@pytest.mark.slow
def test_warm_start_from_another_size_says_what_did_not_fit(tmp_path, data, caplog):
    train(tmp_path / "first", data, model={"name": "mlp", "width": 8})
    with caplog.at_level("INFO"):
        train(
            tmp_path / "second",
            data,
            model={"name": "mlp", "width": 8, "blocks": 2},
            warm_start=str(tmp_path / "first/export"),
        )
    assert "not there, newly initialised" in caplog.text
    with pytest.raises(UserError, match="neither an export"):
        train(tmp_path / "third", data, warm_start=str(tmp_path / "nothing"))
    with pytest.raises(UserError, match="neither an export"):
        weights_digest(str(tmp_path / "nothing"))
    (tmp_path / "damaged.index").write_bytes(b"no checkpoint")
    with pytest.raises(UserError, match="cannot be read as a checkpoint"):
        train(tmp_path / "fourth", data, warm_start=str(tmp_path / "damaged"))


def test_run_fn_trains_from_what_tfx_hands_over(tmp_path, data):
    from training import make_manifest, trainer_config

    from yt8m.components.trainer.backends.run import job_of, run_fn
    from yt8m.schemas.config_tree import to_dict
    from yt8m.schemas.features import FeatureConfig

    make_manifest(tmp_path / "examples", data, level="video")
    fn_args = SimpleNamespace(
        train_files=[str(tmp_path / "examples/Split-train/*")],
        eval_files=[],
        transform_output=None,
        base_model=str(tmp_path / "no-baseline-yet"),
        hyperparameters=None,
        serving_model_dir=str(tmp_path / "model/Format-Serving"),
        model_run_dir=str(tmp_path / "model_run"),
        custom_config={
            "config": to_dict(trainer_config(start_from_base=True)),
            "features": to_dict(FeatureConfig(num_classes=CLASSES)),
            "level": "video",
            "checkpoint_root": str(tmp_path / "checkpoints"),
        },
    )
    run_fn(fn_args)
    assert load_export(fn_args.serving_model_dir).info.config["max_steps"] == 6
    assert read_curve(f"{fn_args.model_run_dir}/{TRAINING}")
    first = job_of(fn_args)
    assert newest_step(tmp_path / "checkpoints" / first.checkpoint_dir.rpartition("/")[2]) == 6
    assert first.base_model == ""
    fn_args.base_model = fn_args.serving_model_dir  # as a baseline, from now on
    second = job_of(fn_args)
    assert second.base_model == fn_args.base_model
    assert second.content["the baseline"] == weights_digest(fn_args.base_model)
    assert second.checkpoint_dir != first.checkpoint_dir


def test_another_line_of_an_own_network_is_another_training(tmp_path, data, monkeypatch):
    """Whoever compiled the pipeline may have had another file of this name, or none."""
    from training import make_manifest

    from yt8m.components.trainer.backends.run import job_of
    from yt8m.components.trainer.config import TrainerConfig
    from yt8m.schemas.config_tree import to_dict

    make_manifest(tmp_path / "examples", data, level="video")
    monkeypatch.syspath_prepend(str(tmp_path))
    backend = {"name": "jobset", "image": "other:1"}

    def checkpoints(width: int, *, own_image: str = "", **trainer: object) -> str:
        (tmp_path / "mine.py").write_text(f"import beside\nWIDTH = {width % 10}\n")
        (tmp_path / "beside.py").write_text(f"WIDTH = {width // 10}\n")
        importlib.invalidate_caches()
        monkeypatch.setenv("YT8M_IMAGE", own_image)
        config = to_dict(from_dict(TrainerConfig, {"network": "mine.Net", **trainer}))
        fn_args = SimpleNamespace(
            train_files=[str(tmp_path / "examples/Split-train/*")],
            eval_files=[],
            transform_output=None,
            base_model=None,
            hyperparameters=None,
            serving_model_dir="model",
            model_run_dir="run",
            custom_config={
                "config": config,
                "features": {"num_classes": CLASSES},
                "level": "video",
                "checkpoint_root": "checkpoints",
                "code_version": "that of the machine that compiled it",
            },
        )
        return job_of(fn_args).checkpoint_dir

    assert checkpoints(11) == checkpoints(11)
    assert len({checkpoints(width) for width in (11, 12, 21)}) == 3
    # Pods of another image than this one have code that nobody looked at.
    same = checkpoints(11, own_image="other:1", backend=backend)
    assert same == checkpoints(11) != checkpoints(11, backend=backend)


def test_the_job_file_survives(tmp_path, data):
    from yt8m.components.trainer.job import parse_job

    job = make_job(tmp_path, data=data)
    assert parse_job(json.dumps(json.loads(job.to_json()))) == job
