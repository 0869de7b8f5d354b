"""BulkInferrer writes what `yt8m predict` writes, for blessed models alone."""

import json

import numpy as np
import pytest
from evaluator_run import CLASSES, IN_PROCESS, write_examples
from exported_models import SIZES, fitted_weights, write_model
from records import make_dataset
from tfx.dsl.components.base import base_beam_executor
from tfx.types import standard_artifacts

from yt8m.cli.main import run as yt8m
from yt8m.components.bulk_inferrer.config import BulkInferrerConfig
from yt8m.components.bulk_inferrer.executor import Executor, _plan
from yt8m.components.console.progress import progress_heard_by
from yt8m.pipeline.cache_keys import ExternalInputs
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.graph import create_pipeline
from yt8m.schemas.config_tree import from_dict, to_parameter
from yt8m.schemas.errors import ConfigError, DataError, UserError
from yt8m.schemas.features import Level


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    place = tmp_path_factory.mktemp("world")
    data = make_dataset(place / "data", train=100, eval=40, classes=CLASSES, shards=2, sizes=SIZES)
    weights = fitted_weights(sorted(data.glob("train*")), CLASSES)
    write_model(place / "model" / "Format-Serving", weights)
    return place


def artifact(kind, uri):
    made = kind()
    made.uri = str(uri)
    return made


def infer(world, place, *, blessed=True, with_shards=True, **config):
    shards = sorted((world / "data").glob("validate*")) if with_shards else []
    blessing = artifact(standard_artifacts.ModelBlessing, place / "blessing")
    blessing.set_int_custom_property("blessed", int(blessed))  # as the Evaluator leaves it
    result = artifact(standard_artifacts.InferenceResult, place / "result")
    (place / "result").mkdir()
    context = base_beam_executor.BaseBeamExecutor.Context(
        beam_pipeline_args=list(IN_PROCESS), tmp_dir=str(place / "tmp"), unique_id="1"
    )
    Executor(context).Do(
        {
            "examples": [write_examples(place / "examples", shards, Level.VIDEO)],
            "model": [artifact(standard_artifacts.Model, world / "model")],
            "model_blessing": [blessing],
        },
        {"inference_result": [result]},
        {"config": to_parameter(BulkInferrerConfig(split="eval", **config)), "code_version": "1"},
    )
    return result


def test_its_file_is_the_one_that_predict_writes(world, tmp_path, monkeypatch):
    heard = []
    monkeypatch.setattr("yt8m.components.console.progress._HEARD_EVERY_S", 0.0)
    form = from_dict(BulkInferrerConfig, {"format": "jsonl"}).format
    with progress_heard_by(heard.append):
        result = infer(world, tmp_path, format=form, top_k=3)
    shards = len(list((world / "data").glob("validate*")))
    assert heard[-1].startswith(f"{shards}/{shards} shards")
    assert result.get_int_custom_property("predicted") == 1
    assert result.get_string_custom_property("split") == "eval"
    assert [path.name for path in (tmp_path / "result").iterdir()] == ["predictions.jsonl"]
    out = tmp_path / "own.jsonl"
    words = ["predict", "--model", str(world / "model" / "Format-Serving"), "--format", "jsonl"]
    words += ["--data", str(world / "data" / "validate*"), "--top-k", "3", "--quiet"]
    assert yt8m([*words, "--out", str(out)]) == 0
    written = (tmp_path / "result" / "predictions.jsonl").read_bytes()
    assert written == out.read_bytes()
    assert len(json.loads(written.splitlines()[0])["class_ids"]) == 3


def test_a_model_that_is_not_blessed_predicts_nothing(world, tmp_path):
    result = infer(world, tmp_path, blessed=False)
    assert result.get_int_custom_property("predicted") == 0
    assert not list((tmp_path / "result").iterdir())


def test_a_split_that_is_not_there_is_refused(world, tmp_path):
    with pytest.raises(DataError, match=r"bulk_inferrer\.split = eval.*known: none"):
        infer(world, tmp_path, with_shards=False)
    with pytest.raises(ConfigError, match=r"bulk_inferrer\.split"):
        from_dict(PipelineConfig, {"bulk_inferrer": {"split": "nowhere"}})


def test_a_format_that_the_model_cannot_fill_is_refused_before_anything_is_scored(world, tmp_path):
    form = from_dict(BulkInferrerConfig, {"format": "segment"}).format
    with pytest.raises(UserError, match="of level video, and this format is for segments"):
        infer(world, tmp_path, format=form)
    assert not list((tmp_path / "result").iterdir())


def test_a_context_may_be_a_push_directory_whose_version_in_service_is_taken(world, tmp_path):
    frames = make_dataset(tmp_path / "data", level="frame", classes=CLASSES, sizes=SIZES)
    weights = np.zeros((sum(SIZES.values()) + 1, CLASSES), np.float32)
    served = write_model(tmp_path / "push" / "1", weights, frames=True)
    examples = write_examples(tmp_path / "e", sorted(frames.glob("validate*")), Level.FRAME)
    values = {"split": "eval", "segments": "product", "context": str(tmp_path / "push")}
    config = from_dict(BulkInferrerConfig, values)
    assert _plan(config, examples.uri, str(served))[1].context == str(served)


def test_it_is_in_the_graph_when_asked_for_and_else_not():
    def nodes(**values):
        config = from_dict(PipelineConfig, {"root": "/root", **values})
        return [c.id for c in create_pipeline(config, ExternalInputs()).components]

    assert "BulkInferrer" not in nodes()
    found = nodes(bulk_inferrer={"split": "eval"})
    assert found.index("BulkInferrer") > found.index("Evaluator")
