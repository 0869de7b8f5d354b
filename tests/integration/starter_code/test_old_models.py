"""A model of the starter code in the registry: scored, gated against, a member of an ensemble."""

import json
import shutil

import pytest
from evaluator_run import CLASSES, create_world, run_evaluator
from exported_models import SIZES
from records import read_all
from starter_models import logistic, moe, write_starter_model

from yt8m.cli.main import run as yt8m
from yt8m.components.export.load import load_export
from yt8m.components.extras.starter_code.checkpoint import find_checkpoint


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return create_world(tmp_path_factory.mktemp("world"))


def write(world, place, name, network):
    records = read_all(world.data / "validate0000.tfrecord")
    return write_starter_model(place, network, records, name=name, sizes=SIZES, classes=CLASSES)


def test_it_is_a_baseline_of_the_gate_and_a_member_of_an_ensemble(world, tmp_path, capsys):
    moe_model = write(world, tmp_path / "moe", "MoeModel", moe)
    words = ["--push", str(tmp_path / "push"), "--data", str(world.data / "validate*"), "--yes"]
    versions = []
    old = write(world, tmp_path / "logistic", "LogisticModel", logistic)
    for source in (old.export, moe_model.train_dir / "model.ckpt-17"):
        assert yt8m(["models", "import", str(source), *words, "--quiet", "--json"]) == 0
        versions.append(json.loads(capsys.readouterr().out))
    assert [version["served"] for version in versions] == [True, True]
    baseline = tmp_path / "baseline"
    shutil.copytree(versions[1]["path"], baseline / "Format-Serving")
    good = world.model("good", noise=0.3)
    judged = run_evaluator(
        world, tmp_path / "run", model=good, baseline=baseline, gate={"gap_threshold": 0.1}
    )
    assert judged.decision.blessed
    scored = judged.evaluation.overall.baseline["gap"].value
    assert scored == pytest.approx(versions[1]["metrics"]["gap"], abs=1e-6)
    members, out = [version["path"] for version in versions], tmp_path / "both"
    assert yt8m(["ensemble", "--quiet", "--models", *members, "--out", str(out)]) == 0
    assert load_export(str(out)).num_classes == CLASSES


def test_of_a_directory_the_newest_checkpoint_is_taken(tmp_path):
    assert find_checkpoint(str(tmp_path)) is None
    for step in (9, 17, 3):
        (tmp_path / f"model.ckpt-{step}.index").write_bytes(b"")
    assert find_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-17")
    assert find_checkpoint(str(tmp_path / "model.ckpt-3")) == str(tmp_path / "model.ckpt-3")


def test_what_is_no_known_model_ends_the_command_with_2(tmp_path, capsys):
    (tmp_path / "model.ckpt-3.index").write_bytes(b"torn")
    push = tmp_path / "push"
    assert yt8m(["models", "import", str(tmp_path), "--push", str(push), "--quiet"]) == 2
    assert "model.ckpt-3 is damaged" in capsys.readouterr().err
    assert not push.exists()
