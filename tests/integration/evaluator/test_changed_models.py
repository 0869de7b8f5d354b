"""A model whose files change while it is scored is judged by nobody, whichever model it is."""

import pytest
from evaluator_run import create_world, run_evaluator

from yt8m.components.evaluator import executor
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
