"""A version in service that no longer passes its gate makes room for one that does."""

import json
import shutil
import sys
import time

import numpy as np
import pytest
from exported_models import SIZES, fitted_weights, write_model
from key_pairs import KeyPair
from records import make_dataset

from yt8m.cli.main import run as yt8m
from yt8m.components.artifacts.version_record import Origin, VersionRecord
from yt8m.components.registry.push import push
from yt8m.components.registry.verify import verify_version
from yt8m.components.registry.versions import list_versions, load_record
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.retraining.service_check import check_service
from yt8m.pipeline.workspace import Layout, run_lock
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import ConfigError, UserError

CLASSES = 20
SPLITS = {"train": ["span-{SPAN}/train*"], "eval": ["span-{SPAN}/validate*"], "test": []}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    place = tmp_path_factory.mktemp("data")
    return make_dataset(place, train=200, eval=120, classes=CLASSES, spans=2, sizes=SIZES)


@pytest.fixture(scope="module")
def weights(data):
    return fitted_weights(sorted(data.glob("span-*/train*")), CLASSES)


def registry(place, weights, noises):
    """One version for each of `noises`, which make a model worse."""
    for number, noise in enumerate(noises):
        model = write_model(place / f"model{number}", weights, noise=noise)
        push(str(model), str(place / "push"), VersionRecord(blessed=True))
    return place / "push"


def values(data, push_dir, **more):
    return {
        "root": str(push_dir.parent / "root"),
        "data": {"root": str(data), "splits": SPLITS},
        "features": {"sizes": list(SIZES.values()), "num_classes": CLASSES},
        "gate": {"gap_threshold": 0.5, "min_examples": 50},
        "pusher": {"push_dir": str(push_dir)},
        "retrain": {"rollback": True},
        **more,
    }


def config(data, push_dir, **more):
    return from_dict(PipelineConfig, values(data, push_dir, **more))


def test_a_regression_in_service_is_rolled_back_with_a_record_why(
    tmp_path, data, weights, record_property
):
    push_dir = registry(tmp_path, weights, (0.0, 0.5, 9.0, 20.0))
    began = time.perf_counter()
    found = check_service(config(data, push_dir))
    seconds = time.perf_counter() - began
    record_property("seconds_to_rollback", seconds)
    print(f"rolled back {seconds:.2f} s after the check began")
    assert (found.version, found.rolled_back_to, found.new_version) == (4, 2, 5)
    record = load_record(str(push_dir), 5)
    assert (record.origin, record.origin_version) == (Origin.ROLLBACK, 2)
    assert record.reason.startswith("version 2 again, by `yt8m retrain`: version 4 fell below")
    assert "span 2" in record.reason
    assert "gap >= 0.5 is needed" in record.reason
    again = check_service(config(data, push_dir))
    assert not again.is_below
    assert list_versions(str(push_dir)) == (1, 2, 3, 4, 5)


@pytest.mark.needs("model_signing")
def test_where_signatures_are_demanded_it_goes_back_past_an_unsigned_version(
    tmp_path, data, weights, caplog
):
    push_dir, keys = tmp_path / "push", KeyPair(tmp_path, "ours")
    for name, noise, signer in (("a", 0.0, keys.signer), ("b", 0.5, None), ("c", 20.0, None)):
        model = write_model(tmp_path / name, weights, noise=noise)
        push(str(model), str(push_dir), VersionRecord(blessed=True), signer=signer)
    signed = {
        "signing_key": str(keys.secret),
        "trusted_key": str(keys.public),
        "require_signature": True,
    }
    found = check_service(config(data, push_dir, registry=signed))
    assert (found.version, found.rolled_back_to, found.new_version) == (3, 1, 4)
    assert "version 2 at" in caplog.text
    assert verify_version(str(push_dir), 4, keys.trust).signed


def test_what_passes_or_cannot_be_told_stays(tmp_path, data, weights):
    push_dir = registry(tmp_path, weights, (0.0, 0.5))
    assert "passes its gate on span 2" in check_service(config(data, push_dir)).text
    few = config(data, push_dir, gate={"gap_threshold": 0.99, "min_examples": 5000})
    assert "was not judged: span 2 has 120 examples" in check_service(few).text
    strict = check_service(
        config(data, push_dir, gate={"gap_threshold": 0.999, "min_examples": 50})
    )
    assert strict.is_below
    assert "no older version passes on span 2, so it stays" in strict.text
    assert list_versions(str(push_dir)) == (1, 2)
    assert check_service(config(data, tmp_path / "empty")).version == 0


@pytest.mark.parametrize("ingest", ["link", "rewrite"])
def test_records_that_a_hash_divides_are_judged_by_as_the_evaluator_would(
    tmp_path, data, weights, ingest
):
    push_dir = registry(tmp_path, weights, (0.0, 9.0))
    divided = {
        "root": str(data),
        "divide": {"patterns": ["span-{SPAN}/*.tfrecord"], "buckets": {"train": 1, "eval": 1}},
        "ingest": ingest,
    }
    nodes = {**values(data, push_dir), "data": divided}
    found = check_service(from_dict(PipelineConfig, nodes))
    assert (found.version, found.rolled_back_to) == (2, 1)
    assert "on span 2" in found.text


def test_records_that_the_filter_leaves_out_do_not_judge(tmp_path, data, weights, monkeypatch):
    """Of 120 there are 60 left, which are too few here."""
    (tmp_path / "my_filter.py").write_text(
        "import itertools\nturns = itertools.cycle([True, False])\n"
        "def keep(record):\n    return next(turns)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    push_dir = registry(tmp_path, weights, (0.0,))
    kept = {"ingest": "rewrite", "rewrite": {"keep": "my_filter.keep"}}
    gate = {"gap_threshold": 0.5, "min_examples": 100}
    nodes = values(data, push_dir, gate=gate)
    nodes["data"] |= kept
    found = check_service(from_dict(PipelineConfig, nodes))
    assert "was not judged: span 2 has 60 examples" in found.text


def test_a_model_that_gives_nan_is_below_every_gate(tmp_path, data, weights):
    push_dir = registry(tmp_path, weights, (0.0,))
    model = write_model(tmp_path / "broken", weights, broken_from=0.2)
    push(str(model), str(push_dir), VersionRecord(blessed=True))
    found = check_service(config(data, push_dir))
    assert found.rolled_back_to == 1


def test_retrain_goes_back_when_asked_and_tells(tmp_path, data, weights, capsys):
    push_dir = registry(tmp_path, weights, (0.0, 9.0))
    told = tmp_path / "told.json"
    hook = [sys.executable, "-c", f"import sys; open({str(told)!r}, 'w').write(sys.stdin.read())"]
    # The registry has seen both spans, so that there is nothing to train on.
    record = VersionRecord(blessed=True, data=seen(2))
    push(str(write_model(tmp_path / "bad", weights, noise=20.0)), str(push_dir), record)
    file = tmp_path / "nightly.yaml"
    file.write_text(json.dumps(values(data, push_dir, notify={"command": hook})))
    words = ["retrain", str(file), "--quiet", "--json"]
    assert yt8m([*words, "--set", "retrain.rollback=false"]) == 4
    assert list_versions(str(push_dir)) == (1, 2, 3)
    capsys.readouterr()
    assert yt8m(words) == 4
    result = json.loads(capsys.readouterr().out)
    assert result["service"]["version"] == 4
    assert json.loads(told.read_text())["verdict"] == "rolled back"
    assert load_record(str(push_dir), 4).origin_version == 1


def seen(span):
    from yt8m.components.artifacts.version_record import DataRecord

    return DataRecord(level="video", spans=(span,))


def test_what_it_needs_is_asked_for(tmp_path, data, weights):
    with pytest.raises(ConfigError, match=r"retrain\.rollback.*gate\.mode is none"):
        config(data, tmp_path / "push", gate={"mode": "none"})
    push_dir = registry(tmp_path, weights, (0.0,))
    splits = {"train": ["span-{SPAN}/train*"], "eval": [], "test": ["span-{SPAN}/validate*"]}
    nodes = {**values(data, push_dir), "data": {"root": str(data), "splits": splits}}
    with pytest.raises(UserError):
        check_service(from_dict(PipelineConfig, nodes))


def test_a_damaged_version_makes_room_and_one_that_cannot_be_judged_is_left_out(
    tmp_path, data, weights, caplog
):
    push_dir = registry(tmp_path, weights, (0.0,))
    wider = np.pad(weights, [(0, 0), (0, 5)])
    for name, model in (("wide", wider), ("good", weights)):
        push(str(write_model(tmp_path / name, model)), str(push_dir), VersionRecord(blessed=True))
    file = push_dir / "3" / "saved_model.pb"
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    found = check_service(config(data, push_dir))
    assert (found.version, found.rolled_back_to) == (3, 1)
    assert "saved_model.pb is not what was pushed" in found.text
    assert "version 2 cannot be judged, and is left out: the model" in caplog.text


def test_records_that_the_quarantine_leaves_out_do_not_judge(tmp_path, data, weights):
    place = shutil.copytree(data, tmp_path / "data")
    for shard in sorted(place.glob("span-2/validate*")):
        content = bytearray(shard.read_bytes())
        content[-1] ^= 1  # of the last record's checksum
        shard.write_bytes(content)
    push_dir = registry(tmp_path, weights, (0.0, 9.0))
    nodes = values(place, push_dir)
    nodes["data"] |= {"bad_input": "quarantine", "max_quarantined": 0.5}
    assert check_service(from_dict(PipelineConfig, nodes)).rolled_back_to == 1


def test_a_check_that_cannot_be_made_is_told_and_the_retraining_goes_on(
    tmp_path, data, weights, capsys
):
    push_dir, told = tmp_path / "push", tmp_path / "told.json"
    record = VersionRecord(blessed=True, data=seen(2))
    wider = write_model(tmp_path / "wide", np.pad(weights, [(0, 0), (0, 5)]))
    push(str(wider), str(push_dir), record)
    hook = [sys.executable, "-c", f"import sys; open({str(told)!r}, 'w').write(sys.stdin.read())"]
    file = tmp_path / "nightly.yaml"
    file.write_text(json.dumps(values(data, push_dir, notify={"command": hook})))
    words = ["retrain", str(file), "--quiet", "--json"]
    assert yt8m([*words, "--no-notify"]) == 4  # nothing new: that far it came
    assert not told.exists()
    result = json.loads(capsys.readouterr().out)
    assert "was not checked: the model" in result["service"]["reason"]
    (tmp_path / "root").mkdir(exist_ok=True)
    with run_lock(Layout(tmp_path / "root").schedule_lock):  # a run of a schedule, which tells
        assert yt8m([*words, "--no-notify"]) == 4  # of runs alone
    assert json.loads(told.read_text())["verdict"] == "alarm"
