"""KerasTuner's loop with a function in place of trainings: which values each search tries."""

import json
import math

import pytest

from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.tuner.config import TunerConfig
from yt8m.components.tuner.oracles import create_oracle
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.json_file import DamagedFileError

RATE, L2, STEPS = "trainer.optimizer.learning_rate", "trainer.model.l2", "trainer.batch_size"
SPACE = {RATE: {"log": [1e-5, 1.0]}, L2: {"linear": [0, 1]}, STEPS: {"linear": [8, 512]}}


def oracle(place, name="bayesian", *, space=SPACE, seed=1, objective="gap", max_trials=25):
    search = {"name": name, "max_trials": max_trials}
    values = {"space": space, "search": search, "seed": seed, "objective": objective}
    made = create_oracle(from_dict(TunerConfig, values, path="tuner"), TrainerConfig())
    made._set_project_dir(str(place), "search")
    made.verbose = 0
    made.continue_search()
    return made


def height(values):
    """At most 1, at a rate of 0.01, an l2 of 0.3 and batches of 100."""
    rate, l2 = math.log10(values[RATE]) + 2, values[L2] - 0.3
    return 1 - (rate / 3) ** 2 - l2**2 - ((values[STEPS] - 100) / 400) ** 2


def end(made, trial, score):
    made.update_trial(trial.trial_id, {made.objective.name: score})
    trial.status = "COMPLETED"
    made.end_trial(trial)


def tried(made, count=99, score=height):
    """The values of the next trials, one after the other, to the last."""
    found = []
    while len(found) < count:
        trial = made.create_trial("tuner0")
        if trial.status == "STOPPED":
            break
        found.append(trial.hyperparameters.values)
        end(made, trial, score(trial.hyperparameters.values))
    return found


def test_trials_that_know_of_earlier_ones_come_nearer_to_the_best(tmp_path):
    def least(name, seed):
        made = tried(oracle(tmp_path / f"{name}-{seed}", name, seed=seed))
        assert len(made) == 25
        return 1 - max(map(height, made))

    seeds = (1, 2)
    bayesian, by_chance = ([least(n, s) for s in seeds] for n in ("bayesian", "random_search"))
    assert max(bayesian) < min(by_chance)
    assert sum(bayesian) < sum(by_chance) / 5


def test_a_metric_that_is_to_be_small_is_made_small(tmp_path):
    made = oracle(tmp_path, objective="loss")
    found = tried(made, score=lambda values: 5 - height(values))
    assert max(map(height, found[6:])) > 0.99


def test_a_search_that_goes_on_after_a_kill_tries_what_it_would_have_tried(tmp_path):
    whole = tried(oracle(tmp_path / "whole", max_trials=12))
    first = oracle(tmp_path / "killed", max_trials=12)
    before = tried(first, 8)
    under_way = first.create_trial("tuner0").hyperparameters.values
    assert [*before, under_way] == whole[:9]
    assert tried(oracle(tmp_path / "killed", max_trials=12)) == whole[8:]


def test_trials_at_the_same_time_differ(tmp_path):
    made = oracle(tmp_path)
    tried(made, 8)
    (first, second) = (made.create_trial(f"tuner{number}") for number in range(2))
    points = [made._point(trial.hyperparameters.values) for trial in (first, second)]
    assert abs(points[0] - points[1]).max() > 0.02


@pytest.mark.parametrize("name", ["bayesian", "random_search"])
def test_a_space_of_few_values_ends_the_search(tmp_path, name):
    space = {
        "trainer.optimizer.name": {"choice": ["adam", "sgd", "adagrad"]},
        "trainer.normalize_gradients": {"choice": [True, False]},
        STEPS: {"choice": [64, 128]},
    }
    found = tried(oracle(tmp_path, name, space=space), score=lambda values: values[STEPS])
    assert len(found) == len({tuple(values.items()) for values in found}) == 12


def test_names_lie_equally_far_apart(tmp_path):
    space = {"trainer.optimizer.name": {"choice": ["adam", "sgd", "adagrad"]}}
    made = oracle(tmp_path, space=space)
    a, b, c = (made._point({"trainer.optimizer.name": name}) for name in ("adam", "sgd", "adagrad"))
    distances = [math.dist(a, b), math.dist(a, c), math.dist(b, c)]
    assert distances == pytest.approx([1, 1, 1])


def test_a_score_that_is_not_finite_is_left_out(tmp_path):
    made = oracle(tmp_path, max_trials=12)
    scores = iter([-math.inf, *[0.1] * 11])
    assert len(tried(made, score=lambda values: next(scores))) == 12


def without(*keys):
    """The JSON text without what is at `keys`."""

    def changed(text):
        state = json.loads(text)
        place = state
        for key in keys[:-1]:
            place = place[key]
        del place[keys[-1]]
        return json.dumps(state)

    return changed


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("oracle.json", lambda text: text[:20]),
        ("oracle.json", lambda text: "[]"),
        ("oracle.json", without("start_order")),
        ("oracle.json", without("display")),
        ("oracle.json", lambda text: text.replace('"space"', '"ranges"')),
        ("oracle.json", lambda text: text.replace('"Float"', '"RealInterval"')),
        ("trial_*/trial.json", lambda text: text[:20]),
        ("trial_*/trial.json", lambda text: "null"),
        ("trial_*/trial.json", without("best_step")),
        ("trial_*/trial.json", without("hyperparameters", "values")),
        ("trial_*/trial.json", without("hyperparameters", "values", RATE)),
        ("trial_*/trial.json", lambda text: text.replace("RUNNING", "COMPLETED")),
        ("trial_*/trial.json", None),
    ],
)
def test_a_search_whose_state_cannot_be_read_is_named_with_what_to_do(tmp_path, name, change):
    made = oracle(tmp_path)
    made.create_trial("tuner0")
    (file,) = (tmp_path / "search").glob(name)
    if change is None:
        file.unlink()
    else:
        file.write_text(change(file.read_text()))
    says = r"search: KerasTuner \d.* cannot read .*\); it is damaged, .*remove this directory, and"
    with pytest.raises(DamagedFileError, match=says) as error:
        oracle(tmp_path)
    assert "\n" not in str(error.value)
