"""`yt8m train`: from records to a model, and what it refuses before it starts."""

import json
import logging
import re
from importlib.metadata import version

import pytest
from records import make_dataset

from yt8m.cli.main import run
from yt8m.components.trainer.backends.local import free_ports
from yt8m.pipeline.workspace import run_lock

SMALL = [
    "--set",
    "features.num_classes=20",
    "--set",
    "trainer.max_steps=4",
    "--set",
    "trainer.batch_size=8",
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("data"), classes=20)


def test_records_become_a_model_and_the_same_command_has_nothing_left_to_do(tmp_path, data, capsys):
    command = ["train", "smoke", "--data", f"{data}/train*", "--out", str(tmp_path), *SMALL]
    assert run([*command, "--json"]) == 0
    printed = capsys.readouterr()
    told = json.loads(printed.out)
    assert told.pop("export") == str(tmp_path / "export")
    assert told.pop("logs") == str(tmp_path / "logs")
    assert (told["step"], told["exports"]) == (4, {})
    assert (tmp_path / "export/saved_model.pb").exists()
    curve = (tmp_path / "logs/training.jsonl").read_text()
    assert run(command) == 0
    again = (tmp_path / "logs/training.jsonl").read_text()
    assert [json.loads(line)["step"] for line in again.splitlines() if '"train"' in line] == [
        json.loads(line)["step"] for line in curve.splitlines() if '"train"' in line
    ]


def test_what_is_there_by_its_name_is_no_pattern(tmp_path, capsys):
    """Signs of a pattern in the name of a directory, or of a file, mean themselves."""
    records = make_dataset(tmp_path / "data [1]", shards=1)
    shards = [records / "train [0].tfrecord", records / "validate[0].tfrecord"]
    for shard, name in zip(shards, ("train0000", "validate0000"), strict=True):
        (records / f"{name}.tfrecord").rename(shard)
    metrics = []
    for words in ([records], [shards[0]], [shards[0], "--validation", shards[1]]):
        out = tmp_path / f"out{len(metrics)}"
        command = ["train", "smoke", "--data", *map(str, words), "--out", str(out), *SMALL]
        assert run([*command, "--json"]) == 0
        metrics.append(json.loads(capsys.readouterr().out)["metrics"])
    assert metrics == [metrics[0]] * 3


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--processes", "wrker=1"], "wrker=1"),
        (["--processes", "ps=1,worker=1"], "with a chief"),
        (["--set", "trainer.batchsize=3"], "did you mean batch_size"),
        (["--set", "trainer.optimizer.name=adma"], "adam"),
        (["--set", "trainer.heads=[{name: verticals}]"], "evaluator.vocabulary = ''"),
        (
            ["--set", "data.ingest=rewrite", "--set", "data.rewrite.parse=json.loads"],
            "yt8m train reads all records as they are",
        ),
        (
            ["--set", "data.ingest=rewrite", "--set", "data.rewrite.keep=json.loads"],
            "yt8m train reads all records as they are",
        ),
    ],
)
def test_a_mistake_ends_with_exit_code_2_before_anything_is_written(
    tmp_path, data, capsys, arguments, named
):
    out = tmp_path / "out"
    assert run(["train", "smoke", "--data", str(data), "--out", str(out), *arguments]) == 2
    assert named in capsys.readouterr().err
    assert not out.exists()


def test_a_wrong_tf_config_is_told_before_records_are_read(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TF_CONFIG", '{"task": {"type": "ps", "index": 0}}')
    out = tmp_path / "out"
    assert run(["train", "smoke", "--data", str(tmp_path), "--out", str(out)]) == 2
    assert "TF_CONFIG" in capsys.readouterr().err


def test_a_worker_that_has_met_nobody_has_written_nothing_where_its_chief_writes(
    tmp_path, data, monkeypatch, capsys
):
    addresses = [f"127.0.0.1:{port}" for port in free_ports("worker=2")]
    config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": 1}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    out = tmp_path / "out"
    soon = ["--set", "trainer.distribution.peer_timeout_s=1"]
    assert run(["train", "smoke", "--data", str(data), "--out", str(out), *SMALL, *soon]) == 1
    assert "worker 0" in capsys.readouterr().err
    assert not list(out.rglob("*"))


def test_another_export_directory_is_named_before_records_are_read(tmp_path, data, capsys):
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "photo").write_text("precious")
    assert run(["train", "smoke", "--data", str(data), "--out", str(tmp_path), *SMALL]) == 2
    assert "export: holds other files (photo)" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["export"]


def test_a_second_training_in_the_same_directory_is_refused_while_the_first_one_runs(
    tmp_path, data, capsys
):
    words = ["train", "smoke", "--data", str(data), "--out", str(tmp_path), *SMALL]
    with run_lock(tmp_path / "train.lock"):
        assert run(words) == 1
    assert f"{tmp_path} is in use: process" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["train.lock"]


def test_missing_records_are_a_users_mistake(tmp_path, capsys):
    out = tmp_path / "out"
    assert run(["train", "smoke", "--data", str(tmp_path / "absent"), "--out", str(out)]) == 2
    assert "absent" in capsys.readouterr().err


def test_metrics_and_exports_are_those_of_the_model_that_remains(tmp_path, data, capsys, caplog):
    """Early stopping exports the best of the evaluated steps."""
    evaluation = "{start_delay_s: 0, throttle_s: 0, steps: null, exporters: [{name: latest}]}"
    words = [
        "--set",
        f"trainer.evaluation={evaluation}",
        "--set",
        "trainer.checkpoint.every_steps=2",
    ]
    words += ["--set", "trainer.early_stopping={name: not_better, metric: map}", "--json"]
    caplog.set_level("INFO")
    assert run(["train", "smoke", "--data", str(data), "--out", str(tmp_path), *SMALL, *words]) == 0
    told = json.loads(capsys.readouterr().out)
    rows = [
        json.loads(line) for line in (tmp_path / "logs/evaluation.jsonl").read_text().splitlines()
    ]
    best = max((row for row in rows if row["kind"] == "evaluation"), key=lambda row: row["map"])
    assert told["exports"] == {"latest": [2, 4]}
    assert told["step"] == best["step"]
    assert told["metrics"] == {
        name: best[name] for name in ("gap", "hit_at_1", "perr", "map", "loss")
    }
    assert f"tensorflow {version('tensorflow')}, tf_keras {version('tf_keras')}" in caplog.text


def test_a_checkpoint_that_comes_too_early_for_an_evaluation_is_logged(tmp_path, data, caplog):
    evaluation = "{start_delay_s: 0, throttle_s: 3600, exporters: [{name: latest}]}"
    words = [
        "--set",
        f"trainer.evaluation={evaluation}",
        "--set",
        "trainer.checkpoint.every_steps=1",
    ]
    caplog.set_level("INFO")
    assert run(["train", "smoke", "--data", str(data), "--out", str(tmp_path), *SMALL, *words]) == 0
    skipped = re.findall(
        r"the checkpoint of step (\d) is not evaluated now: .* in 3\d\d\d s", caplog.text
    )
    assert skipped == ["2", "3", "4"]  # at its end, when it is known to be the last, 4 is


@pytest.mark.parametrize("quiet", [False, True])
def test_what_is_logged_is_shown_unless_nobody_wants_it(tmp_path, monkeypatch, quiet):
    shown = []
    monkeypatch.setattr(logging, "basicConfig", lambda **values: shown.append(values["level"]))
    command = ["train", "smoke", "--data", f"{tmp_path}/none*", "--out", str(tmp_path / "out")]
    assert run([*command, *(["--quiet"] if quiet else [])]) == 2
    assert shown == ([] if quiet else [logging.INFO])
