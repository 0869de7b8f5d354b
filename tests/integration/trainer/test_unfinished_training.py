"""A training that is under way is evaluated by its newest checkpoint."""

import json
import shutil
from pathlib import Path

import pytest
from records import make_dataset
from training import CLASSES, make_job

from yt8m.cli.main import run as yt8m
from yt8m.components.trainer.backends.in_process import run_job
from yt8m.components.trainer.state.warm_start import read_weights
from yt8m.schemas.errors import UserError


@pytest.mark.parametrize("ema", [None, 0.9])
def test_its_newest_checkpoint_scores_as_the_export_of_these_weights(tmp_path, capsys, ema):
    data = make_dataset(tmp_path / "data", classes=CLASSES)
    job = make_job(tmp_path, data=data, ema_momentum=ema, max_steps=5)
    run_job(job, {})
    words = ["--data", str(data / "validate*"), "--json", "--quiet", "--no-intervals"]
    found = []
    for model in (job.export_dir, str(tmp_path), job.checkpoint_dir):
        if model != job.export_dir:
            shutil.rmtree(job.export_dir, ignore_errors=True)
        assert yt8m(["evaluate", "--model", model, *words]) == 0
        printed = capsys.readouterr()
        found.append(json.loads(printed.out))
    assert found[0] == found[1] == found[2]
    assert "using its newest checkpoint, of step 5" in printed.err


def test_a_checkpoint_that_cannot_be_read_is_named_with_what_to_do(tmp_path, capsys):
    data = make_dataset(tmp_path / "data", classes=CLASSES)
    job = make_job(tmp_path, data=data, max_steps=1)
    run_job(job, {})
    words = ["evaluate", "--model", job.checkpoint_dir, "--data", str(data / "validate*")]
    checkpoints = Path(job.checkpoint_dir)
    content = checkpoints / "ckpt-1.data-00000-of-00001"
    content.write_bytes(content.read_bytes()[:100])
    assert yt8m(words) == 2
    assert "ckpt-1 cannot be read (" in capsys.readouterr().err
    (checkpoints / "model.json").write_text("")
    assert yt8m(words) == 2
    assert "model.json is damaged (" in capsys.readouterr().err


def test_a_training_without_a_checkpoint_is_a_user_error(tmp_path, capsys):
    data = make_dataset(tmp_path / "data", classes=CLASSES)
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "model.json").write_text("{}")
    words = ["--model", str(tmp_path), "--data", str(data / "validate*")]
    assert yt8m(["evaluate", *words]) == 2
    assert "no checkpoint was saved yet" in capsys.readouterr().err


def test_a_training_where_tensorflow_finds_no_weights_is_not_called_unfinished(tmp_path, capsys):
    data = make_dataset(tmp_path / "data", classes=CLASSES)
    training = tmp_path / "training [1]"
    (training / "checkpoints").mkdir(parents=True)
    (training / "checkpoints" / "model.json").write_text("{}")
    assert yt8m(["evaluate", "--model", str(training), "--data", str(data / "validate*")]) == 2
    assert "in which [ has another meaning; move the training" in capsys.readouterr().err
    with pytest.raises(UserError, match=r"warm start from .*\[ has another meaning; move it"):
        read_weights(str(training / "checkpoints"))
