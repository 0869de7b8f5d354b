"""Values by dotted path, laid over the trainer's configuration."""

import pytest

from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.trainer.hyperparameters import with_values
from yt8m.schemas.errors import ConfigError


def test_values_are_laid_over_and_the_rest_stays():
    before = TrainerConfig(seed=7)
    values = {"trainer.batch_size": 32, "trainer.optimizer.learning_rate": 0.5}
    found = with_values(before, values)
    assert (found.seed, found.batch_size, found.optimizer.learning_rate) == (7, 32, 0.5)
    assert with_values(before, {}) == before


def test_another_choice_by_name_begins_with_its_own_defaults():
    values = {"trainer.model.name": "moe", "trainer.model.num_mixtures": 3}
    model = with_values(TrainerConfig(), values).model
    assert (model.name, model.num_mixtures) == ("moe", 3)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("trainer.batch_size", 0, "trainer.batch_size = 0: must be 1 or more"),
        ("trainer.batch_sice", 8, "trainer.batch_sice: unknown key; did you mean batch_size?"),
        ("evaluator.split", "eval", "evaluator.split: must be a path of the trainer"),
        ("trainer", 1, "trainer: must be a path of the trainer"),
    ],
)
def test_what_may_not_be_is_named_by_its_path(path, value, says):
    with pytest.raises(ConfigError) as error:
        with_values(TrainerConfig(), {path: value})
    assert str(error.value).startswith(says)
