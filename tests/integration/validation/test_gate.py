"""The stop, in a real run and with statistics of really different data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow_data_validation as tfdv
from records import edit_record, make_dataset, read_all, set_feature
from tfx.components import ExampleValidator
from tfx.types import artifact_utils, standard_artifacts
from tfx_runs import create_data_path, output, run, states

from yt8m.components.example_gen.component import ExampleGen
from yt8m.components.example_gen.config import DataConfig, Verify
from yt8m.components.records.decode import decode_record
from yt8m.components.validation.component import (
    StatisticsGen,
    ValidationGate,
    create_schema_gen,
)
from yt8m.components.validation.config import OnDrift, ValidationConfig
from yt8m.components.validation.errors import StoppedError
from yt8m.components.validation.executor import ValidationGateExecutor
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.load import load_schema

FEATURES = FeatureConfig(num_classes=1000)
STATISTICS = "FeatureStats.pb"


def test_anomalies_stop_the_run_before_what_comes_after_and_are_listed(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data")
    far_out = np.full(1024, 3.5, np.float32)  # finite, of the right size, and impossible
    edit_record(data / "train0000.tfrecord", 3, set_feature("mean_rgb", far_out))
    config = DataConfig(root=str(data), verify=Verify.FULL)
    with pytest.raises(Exception, match=r"(?s)validation stops the run.*train: mean_rgb: "):
        run(create_data_path(config, FEATURES), tmp_path)
    assert states(tmp_path, "ExampleValidator") == ["COMPLETE"]
    assert states(tmp_path, "ValidationGate") == ["FAILED"]
    assert states(tmp_path, "Transform") == []


class _Gate:
    """The executor on artifacts made by hand, with statistics that TFDV computes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.schema = load_schema(Level.VIDEO, FEATURES)

    def statistics(self, name: str, **shards: Path) -> Path:
        for split, pattern in shards.items():
            found = tfdv.generate_statistics_from_tfrecord(
                str(pattern), stats_options=tfdv.StatsOptions(schema=self.schema)
            )
            target = self.root / name / f"Split-{split}" / STATISTICS
            target.parent.mkdir(parents=True)
            target.write_bytes(found.SerializeToString())
        return self.root / name

    def run(
        self, statistics: Path, baseline: Path | None, config: ValidationConfig
    ) -> standard_artifacts.ExampleAnomalies:
        inputs = {
            "statistics": [_artifact(standard_artifacts.ExampleStatistics, statistics)],
            "schema": [_artifact(standard_artifacts.Schema, self._schema_file())],
            "anomalies": [self._anomalies()],
        }
        if baseline is not None:
            inputs["baseline"] = [_artifact(standard_artifacts.Model, baseline)]
        out = _artifact(standard_artifacts.ExampleAnomalies, self.root / "validation")
        parameters = {"config": json.dumps(to_dict(config))}
        ValidationGateExecutor().Do(inputs, {"validation": [out]}, parameters)
        return out

    def _schema_file(self) -> Path:
        tfdv.write_schema_text(self.schema, str(self._made("schema") / "schema.pbtxt"))
        return self.root / "schema"

    def _anomalies(self) -> standard_artifacts.ExampleAnomalies:
        artifact = _artifact(standard_artifacts.ExampleAnomalies, self._made("anomalies"))
        artifact.split_names = artifact_utils.encode_split_names([])
        return artifact

    def _made(self, name: str) -> Path:
        (self.root / name).mkdir(exist_ok=True)
        return self.root / name


def _artifact(kind: type, uri: Path) -> standard_artifacts.ExampleAnomalies:
    artifact = kind()
    artifact.uri = str(uri)
    return artifact


def _baseline(root: Path, statistics: Path) -> Path:
    """A Model artifact as Baseline hands it on, as far as the gate looks at it."""
    target = root / "baseline" / "Format-Serving" / "assets.extra" / "statistics"
    target.parent.mkdir(parents=True)
    target.symlink_to(statistics)
    return root / "baseline"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("generated") / "a", train=400, eval=200)


@pytest.fixture(scope="module")
def relabelled(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same videos, nearly all of one class."""
    other = make_dataset(tmp_path_factory.mktemp("generated") / "b", train=400, eval=200)
    for shard in other.glob("train*"):
        for at, record in enumerate(read_all(shard)):
            if at % 4 and list(decode_record(record).features["labels"]) != [7]:
                edit_record(shard, at, set_feature("labels", [7]))
    return other


def test_data_of_one_kind_pass_against_their_own_past(data: Path, tmp_path: Path) -> None:
    gate = _Gate(tmp_path)
    now = gate.statistics("now", train=data / "train*", eval=data / "validate*")
    past = gate.statistics("past", train=data / "validate*")
    out = gate.run(now, _baseline(tmp_path, past), ValidationConfig())
    assert out.get_int_custom_property("anomalies") == 0
    assert 0 < out.get_float_custom_property("drift") < 0.2
    assert (tmp_path / "validation" / "anomalies.txt").read_text() == "no anomalies\n"


@pytest.mark.parametrize("content", [b"", b"\x0a\xff\xff"])
def test_damaged_statistics_are_named(data: Path, tmp_path: Path, content: bytes) -> None:
    gate = _Gate(tmp_path)
    now = gate.statistics("now", train=data / "train*", eval=data / "validate*")
    past = gate.statistics("past", train=data / "validate*")
    (past / "Split-train" / STATISTICS).write_bytes(content)
    with pytest.raises(DataError, match=rf"Split-train/{STATISTICS} is damaged \("):
        gate.run(now, _baseline(tmp_path, past), ValidationConfig())


def test_samples_of_one_distribution_are_near_whatever_their_extremes(tmp_path: Path) -> None:
    """Train and eval of generated data reach unlike minima, so no two histograms' bins agree."""
    data = make_dataset(tmp_path / "data", train=1000, eval=250)
    example_gen = ExampleGen(config=DataConfig(root=str(data)), features=FEATURES)
    schema_gen = create_schema_gen(Level.VIDEO, FEATURES)
    sample, schema = example_gen.outputs["sample"], schema_gen.outputs["schema"]
    statistics_gen = StatisticsGen(examples=sample, schema=schema)
    validator = ExampleValidator(statistics=statistics_gen.outputs["statistics"], schema=schema)
    config = ValidationConfig()
    gate = ValidationGate(
        config=config,
        statistics=statistics_gen.outputs["statistics"],
        schema=schema,
        anomalies=validator.outputs["anomalies"],
    )
    run([example_gen, schema_gen, statistics_gen, validator, gate], tmp_path)
    validation = Path(output(tmp_path, "ValidationGate", "validation")["uri"])
    skew = json.loads((validation / "comparisons.json").read_text())["skew"]
    vectors = [one for one in skew if one["feature"] in ("mean_rgb", "mean_audio")]
    assert len(vectors) == 6  # by three measures each
    assert all(one["distance"] < one["threshold"] / 2 for one in vectors)
    shapes = [one["distance"] for one in vectors if one["measure"] == "divergence"]
    assert max(shapes) < config.feature_skew / 5


def test_labels_that_drifted_stop_the_run(data: Path, relabelled: Path, tmp_path: Path) -> None:
    gate = _Gate(tmp_path)
    now = gate.statistics("now", train=relabelled / "train*")
    past = gate.statistics("past", train=data / "train*")
    with pytest.raises(DataError, match=r"train against the baseline's: labels: .*Jensen-Shannon"):
        gate.run(now, _baseline(tmp_path, past), ValidationConfig())


def test_drift_is_a_warning_when_the_configuration_says_so(
    data: Path, relabelled: Path, tmp_path: Path
) -> None:
    gate = _Gate(tmp_path)
    now = gate.statistics("now", train=relabelled / "train*")
    past = gate.statistics("past", train=data / "train*")
    config = ValidationConfig(on_drift=OnDrift.WARN)
    out = gate.run(now, _baseline(tmp_path, past), config)
    assert out.get_int_custom_property("anomalies") == 2  # divergence, and share of one class
    assert "labels" in (tmp_path / "validation" / "anomalies.txt").read_text()


def test_skew_between_train_and_eval_stops_and_a_null_threshold_does_not(
    data: Path, relabelled: Path, tmp_path: Path
) -> None:
    gate = _Gate(tmp_path)
    now = gate.statistics("now", train=relabelled / "train*", eval=data / "validate*")
    with pytest.raises(StoppedError, match="train against eval: labels: skew: Jensen") as stop:
        gate.run(now, None, ValidationConfig())
    said = "(validation.label_skew = 0.1, or what chance does to samples of this size)"
    assert said in str(stop.value)
    assert "validation.on_drift=warn" in str(stop.value)
    stop.value.keep(str(tmp_path / "kept"))
    measured = json.loads((tmp_path / "kept" / "comparisons.json").read_text())["skew"]
    labels = [one for one in measured if one["feature"] == "labels"]
    assert {one["measure"] for one in labels} == {"divergence", "share"}
    assert all(one["distance"] > one["threshold"] for one in labels)
    out = gate.run(now, None, ValidationConfig(label_skew=None, share_skew=None))
    assert out.get_int_custom_property("anomalies") == 0
