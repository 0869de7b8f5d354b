"""A model is judged by nobody whose files, or whose records, change while it is scored."""

import pytest
from evaluator_run import create_world, run_evaluator

from yt8m.components.console.console import Console
from yt8m.components.evaluator import executor, model_evaluation
from yt8m.components.evaluator.model_evaluation import evaluate_files
from yt8m.schemas.errors import DataError


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return create_world(tmp_path_factory.mktemp("world"), videos=30)


@pytest.mark.parametrize("changed", ["candidate", "baseline"])
def test_no_model_may_change_while_it_is_scored(world, tmp_path, monkeypatch, changed):
    models = {name: world.model(f"{changed}-{name}") for name in ("candidate", "baseline")}
    file = models[changed] / "Format-Serving" / "fingerprint.pb"
    merge = executor.collect

    def change_and_merge(*args):
        file.write_bytes(file.read_bytes() + b"newer")
        return merge(*args)

    monkeypatch.setattr(executor, "collect", change_and_merge)
    with pytest.raises(DataError, match=f"{file.parent}: its files changed while it was scored"):
        run_evaluator(
            world,
            tmp_path,
            model=models["candidate"],
            baseline=models["baseline"],
            gate={"gap_threshold": 0.1},
        )


def test_no_records_may_change_while_they_are_scored(tmp_path, monkeypatch):
    world = create_world(tmp_path, videos=30)
    shards = sorted(world.data.glob("validate*.tfrecord"))
    merge = model_evaluation.merge_tables

    def change_and_merge(*args):
        shards[0].write_bytes(shards[0].read_bytes() * 2)
        return merge(*args)

    monkeypatch.setattr(model_evaluation, "merge_tables", change_and_merge)
    model = str(world.model("candidate") / "Format-Serving")
    with pytest.raises(DataError, match=f"^{shards[0]}: the file changed during the evaluation"):
        evaluate_files(model, [str(path) for path in shards], Console(quiet=True))
