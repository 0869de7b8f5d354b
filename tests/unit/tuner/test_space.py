"""What may be searched, and what each mistake is told."""

import pytest

from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.tuner.config import RangeConfig, TunerConfig
from yt8m.components.tuner.space import check_space, is_whole, trial_config
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.presets import load_config
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import ConfigError

RATE = "trainer.optimizer.learning_rate"


def tuner(space, **values):
    return from_dict(TunerConfig, {"space": space, **values}, path="tuner")


def problems(space, trainer=None, **values):
    with pytest.raises(ConfigError) as error:
        check_space(tuner(space, **values), trainer or TrainerConfig())
    return list(error.value.problems)


def test_every_kind_of_range_is_understood():
    space = {
        RATE: {"log": [1e-4, 1e-2]},
        "trainer.batch_size": {"choice": [256, 512]},
        "trainer.model.l2": {"linear": [0, 1e-6], "step": 1e-7},
        "trainer.optimizer.name": {"choice": ["adam", "sgd"]},
        "trainer.normalize_gradients": {"choice": [True, False]},
    }
    config = from_dict(PipelineConfig, {"root": "/root", "tuner": {"space": space}})
    assert config.tuner.space[RATE] == RangeConfig(log=(1e-4, 1e-2))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({}, "the range = None: must be one of linear, log, choice"),
        (
            {"log": [1, 2], "choice": [1]},
            "the range = ['log', 'choice']: must be one of linear, log, choice",
        ),
        (
            {"linear": [2, 1]},
            "linear = [2.0, 1.0]: must be the lowest and the highest value, e.g. [0.1, 0.5]",
        ),
        ({"log": [1, 2, 3]}, "log = [1.0, 2.0, 3.0]: must be the lowest and the highest value"),
        ({"log": [0, 1]}, "log = [0.0, 1.0]: must be above 0"),
        ({"log": [1, 8], "step": 1}, "step = 1.0: must be above 1 with log"),
        ({"choice": []}, "choice = []: must be a list of one or more values of one type"),
        (
            {"choice": ["a", 1]},
            "choice = ['a', 1]: must be a list of one or more values of one type",
        ),
        ({"choice": [1, 2], "step": 1}, "step = 1.0: must be omitted with choice"),
    ],
)
def test_a_range_that_is_none_is_refused(values, says):
    with pytest.raises(ConfigError) as error:
        tuner({RATE: values})
    (problem,) = error.value.problems
    assert problem.startswith(f"tuner.space.{RATE}.{says}")


def test_a_search_of_nothing_is_refused():
    with pytest.raises(ConfigError, match=r"tuner\.space = \{\}: must be a range for one value"):
        tuner({})


@pytest.mark.parametrize(
    ("path", "values", "says"),
    [
        (RATE, {"linear": [-1, 1]}, f"tuner.space: {RATE} = -1.0: must be above 0"),
        (
            "trainer.batch_size",
            {"linear": [8.5, 16]},
            "tuner.space: trainer.batch_size = 8.5: must be a whole number",
        ),
        (
            "trainer.batch_size",
            {"linear": [8, 16], "step": 0.5},
            "tuner.space: trainer.batch_size: step = 0.5: must be a whole number",
        ),
        (
            "trainer.model.names",
            {"choice": ["mlp"]},
            "tuner.space: trainer.model.names: unknown key; did you mean name?",
        ),
        ("features.num_classes", {"choice": [5]}, "tuner.space: features.num_classes: must be a "),
        (
            "trainer.retrieval.weight",
            {"linear": [0, 1]},
            "tuner.space: trainer.retrieval.weight cannot be tuned: validation during",
        ),
        (
            "trainer.checkpoint.keep",
            {"choice": [1, 2]},
            "tuner.space: trainer.checkpoint.keep cannot be tuned: the validation score ignores it",
        ),
        (
            "trainer.distribution.peer_timeout_s",
            {"choice": [60.0, 90.0]},
            "tuner.space: trainer.distribution.peer_timeout_s cannot be tuned: the validation",
        ),
        (
            "trainer.evaluation.steps",
            {"choice": [1, 2]},
            "tuner.space: trainer.evaluation.steps cannot be tuned: it defines the score",
        ),
    ],
)
def test_a_value_that_the_trainer_could_not_have_is_refused(path, values, says):
    found = problems({path: values})
    assert found[0].startswith(says)
    assert len(found) == 1


def test_every_problem_of_a_space_is_listed_before_anything_runs():
    space = {RATE: {"linear": [-1, 1]}, "trainer.batch_size": {"choice": [0, -1, 8]}}
    with pytest.raises(ConfigError) as error:
        from_dict(PipelineConfig, {"root": "/root", "tuner": {"space": space}})
    assert len(error.value.problems) == 3


def test_the_command_line_tells_what_a_wrong_path_was_to_be():
    with pytest.raises(ConfigError) as error:
        load_config("smoke", ["tuner={space: {trainer.optimizer.lerning_rate: {log: [1, 2]}}}"])
    assert str(error.value) == (
        "--set tuner.space: trainer.optimizer.lerning_rate: unknown key; "
        "did you mean learning_rate?"
    )


def test_values_of_trials_are_checked_too():
    space = {RATE: {"log": [1e-4, 1e-2]}}
    (found,) = problems(space, trial={"trainer.num_epochs": -1})
    assert found == "tuner.trial: trainer.num_epochs = -1.0: must be above 0, or null"


def test_numbers_are_whole_where_the_configuration_wants_them_so():
    trainer = TrainerConfig()
    assert is_whole("trainer.batch_size", trainer)
    assert is_whole("trainer.max_steps", trainer)  # which may be null
    assert not is_whole(RATE, trainer)
    assert not is_whole("trainer.num_epochs", trainer)


def test_a_trial_is_one_process_that_scores_the_whole_split():
    config = tuner({RATE: {"log": [1e-4, 1e-2]}}, trial={"trainer.num_epochs": 2})
    own = {"retrieval": {}, "backend": {"name": "local"}, "start_new_model": True}
    trial = trial_config(config, from_dict(TrainerConfig, own))
    assert (trial.num_epochs, trial.retrieval, trial.backend.name) == (2, None, "in_process")
    assert trial.evaluation.enabled
    assert trial.evaluation.steps is None
    assert not trial.start_new_model
