import dataclasses

import pytest

from yt8m.components.models.config import FrameLogisticConfig, LogisticConfig, MoeConfig
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.trainer.job import TrainingJob, parse_job
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.roles import SourcePath, replaced


def test_sizes_are_those_of_the_starter_code_where_it_has_the_model():
    dbof, rnn = (from_dict(TrainerConfig, {"model": {"name": n}}).model for n in ("dbof", "rnn"))
    assert (dbof.clusters, dbof.hidden, dbof.frames) == (8192, 1024, 30)
    assert (dbof.sampling.value, dbof.pooling.value, dbof.batch_norm) == (
        "random_frames",
        "max",
        True,
    )
    assert (rnn.cell.value, rnn.cells, rnn.layers) == ("lstm", 1024, 2)
    for classifier in (MoeConfig(), dbof.classifier, rnn.classifier):
        assert (classifier.name, classifier.num_mixtures, classifier.l2) == ("moe", 2, 1e-8)
    assert LogisticConfig().l2 == FrameLogisticConfig().l2 == 1e-8


def job(**trainer):
    return TrainingJob(
        manifest="m",
        checkpoint_dir="c",
        log_dir="l",
        export_dir="e",
        trainer=from_dict(TrainerConfig, trainer),
    )


def test_defaults_are_those_of_the_starter_code_and_of_estimator():
    config = TrainerConfig()
    assert (config.optimizer.name, config.optimizer.learning_rate) == ("adam", 0.01)
    assert (config.schedule.decay, config.schedule.decay_examples) == (0.95, 4_000_000)
    assert (config.clip_gradient_norm, config.clip.value) == (1.0, "variable")
    assert (config.regularisation_penalty, config.log.every_steps) == (1.0, 10)
    assert config.checkpoint.every_s == 15 * 60
    assert (config.evaluation.start_delay_s, config.evaluation.throttle_s) == (120, 600)
    assert config.evaluation.steps == 100
    staggers = [config.distribution.stagger_s(worker) for worker in (0, 1, 10, 11, 500)]
    assert staggers == [5, 10, 55, 60, 60]


def test_a_job_survives_its_text_form():
    wanted = job(
        model={"name": "moe", "num_mixtures": 4},
        optimizer={"name": "sgd", "momentum": 0.9},
        schedule={"name": "cosine"},
        evaluation={"exporters": [{"name": "latest", "keep": 2}, {"name": "best"}]},
        backend={"name": "local", "processes": "chief=1,worker=2,evaluator=1"},
    )
    assert parse_job(wanted.to_json()) == wanted


EXPORTING = {"exporters": [{"name": "best"}]}
STOPPING = {"name": "reached", "value": 0.5}
WITH_EVALUATIONS = [
    {"backend": {"name": "local", "processes": "chief=1,worker=1,evaluator=1"}},
    {"backend": {"name": "local", "processes": "master=1,worker=1"}},
    {"backend": {"name": "tfjob", "roles": {"chief": {}, "worker": {}, "evaluator": {}}}},
    {"backend": {"name": "tfjob", "roles": {"chief": {}}}},
    {},
]


@pytest.mark.parametrize("values", WITH_EVALUATIONS)
def test_who_waits_for_evaluations_needs_one_who_makes_them(values):
    settings = {**values, "evaluation": EXPORTING, "early_stopping": STOPPING}
    config = from_dict(TrainerConfig, settings, path="trainer")
    assert config.waits_for_evaluations == "trainer.evaluation.exporters and trainer.early_stopping"


BAD = [
    ({"batch_size": 0}, "batch_size = 0: must be 1 or more"),
    ({"num_epochs": None}, "max_steps = None"),
    ({"num_epochs": 0}, "num_epochs = 0"),
    ({"accumulate": 0}, "accumulate = 0"),
    ({"clip_gradient_norm": -1}, "clip_gradient_norm"),
    ({"clip": "norm"}, "variable, global, value"),
    ({"optimizer": {"name": "adma"}}, "did you mean adam"),
    ({"optimizer": {"name": "adam", "learning_rate": 0}}, "learning_rate"),
    ({"schedule": {"name": "staircase", "decay": 1.5}}, "decay = 1.5"),
    ({"evaluation": {"steps": 0}}, "steps = 0"),
    ({"evaluation": {"throttle_s": -1}}, "throttle_s = -1"),
    ({"evaluation": {"start_delay_s": -1}}, "start_delay_s = -1"),
    ({"evaluation": {"exporters": [{"name": "best"}, {"name": "best"}]}}, "distinct directories"),
    ({"evaluation": {"exporters": [{"name": "best", "directory": "a/b"}]}}, "plain directory"),
    ({"validation": {"every_steps": 0}}, "every_steps = 0"),
    (
        {"evaluation": {"idle_limit_s": 900}},
        "trainer.evaluation.idle_limit_s = 900.0: must be above checkpoint.every_s = 900.0",
    ),
    (
        {"early_stopping": STOPPING, "evaluation": {"enabled": False}},
        "trainer.evaluation.enabled = False: must be true with trainer.early_stopping",
    ),
    (
        {"backend": {"name": "tfjob"}, "evaluation": EXPORTING, "early_stopping": STOPPING},
        "trainer.backend.roles = ['chief', 'worker']: must be with an evaluator for "
        "trainer.evaluation.exporters and trainer.early_stopping",
    ),
    (
        {"backend": {"name": "jobset", "roles": {"chief": {}}}, "evaluation": EXPORTING},
        "trainer.backend.roles = ['chief']: must be with an evaluator",
    ),
    (
        {"backend": {"name": "local", "processes": "chief=1,worker=1"}, "evaluation": EXPORTING},
        "there is no evaluator, and trainer.evaluation.exporters needs one",
    ),
    (
        {"backend": {"name": "local", "processes": "master,worker,ps"}, "evaluation": EXPORTING},
        "there is no evaluator",
    ),
    (
        {"backend": {"name": "local", "processes": "wrker=1"}},
        "trainer.backend.processes = 'wrker=1': must be as in chief=1,worker=2 (processes",
    ),
    (
        {"backend": {"name": "local", "processes": "ps=1,worker=1"}},
        "trainer.backend.processes = 'ps=1,worker=1': must be",
    ),
    ({"checkpoint": {"keep": 0}}, "keep = 0"),
    ({"network": "Mine"}, "trainer.network = 'Mine': must be a dotted path"),
    (
        {"heads": [{"name": "entities", "loss": {"name": "own"}}]},
        "trainer.network = '': must be given with loss.name: own",
    ),
    ({"batchsize": 3}, "did you mean batch_size"),
    (
        {"inputs": {"bucket_batches": 4, "bucket_multiple": 8}, "accumulate": 9},
        "inputs.bucket_multiple = 8: must be 9 or more: accumulate = 9",
    ),
    (
        {"inputs": {"bucket_batches": 4}, "model": {"name": "dbof"}},
        "inputs.bucket_batches = 4: must be 1 with model.name = dbof",
    ),
    (
        {"cache": "means", "model": {"name": "dbof"}},
        "trainer.cache = 'means': must be frames or off with model.name = dbof",
    ),
    (
        {"cache": "means", "inputs": {"bucket_batches": 4}},
        "trainer.cache = 'means': must be frames or off with inputs.bucket_batches",
    ),
    (
        {"cache": "means", "input": "my.input"},
        "trainer.cache = 'means': must be frames or off with input",
    ),
    (
        {"cache": "means", "mixture": [{"split": "other", "share": 0.5}]},
        "trainer.cache = 'means': must be frames or off with mixture",
    ),
    (
        {"cache": "means", "teacher": {"saved_model": "m"}},
        "trainer.cache = 'means': must be frames or off with teacher",
    ),
]


@pytest.mark.parametrize(("values", "message"), BAD)
def test_a_wrong_value_is_refused_with_its_path(values, message):
    with pytest.raises(ConfigError, match="trainer") as error:
        from_dict(TrainerConfig, values, path="trainer")
    assert message in str(error.value)


def key(trainer=None, **changed):
    content = {"the records": "d", "the code": "1"} | changed.pop("content", {})
    return dataclasses.replace(job(**(trainer or {})), content=content, **changed).key


def test_the_key_changes_with_all_that_decides_the_weights_and_with_nothing_else():
    assert key() == key()
    others = [
        key({"batch_size": 7}),
        key(content={"the records": "e"}),
        key(content={"the baseline": "b"}),
        key(content={"the code": "2"}),
        key(content={"evaluator.vocabulary": "v"}),
        key(transform="my.function"),
        key(level=Level.FRAME),
        key(features=FeatureConfig(num_classes=5)),
    ]
    assert len({key(), *others}) == 9
    elsewhere = {"backend": {"name": "local"}, "log": {"every_steps": 3}}
    assert key(elsewhere) == key(manifest="n", checkpoint_dir="d") == key()


def test_what_must_not_change_under_a_checkpoint_is_the_model_not_its_training():
    assert job(max_steps=5, optimizer={"name": "adam", "learning_rate": 0.1}).model == job().model
    assert job(model={"name": "moe"}).model != job().model
    apart = job(model={"name": "mlp", "modality_norm": True})
    assert apart.model != job(model={"name": "mlp"}).model
    assert to_dict(FeatureConfig()) == job().model["features"]


def test_the_paths_of_a_job_are_replaced_and_it_is_a_job_still():
    moved = replaced(job(), SourcePath, lambda path: path and f"/mnt/{path}")
    assert (moved.manifest, moved.trainer) == ("/mnt/m", job().trainer)
    assert parse_job(moved.to_json()) == moved
