"""The Tuner in the graph: what it is connected with, and what changes where it is off."""

import json

from yt8m.pipeline.cache_keys import ExternalInputs
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.graph import create_pipeline
from yt8m.schemas.config_tree import from_dict

ON = {"space": {"trainer.batch_size": {"choice": [8, 16]}}}


def components(**values):
    config = from_dict(PipelineConfig, {"root": "/root", **values})
    return {c.id: c for c in create_pipeline(config, ExternalInputs()).components}


def test_it_is_in_the_graph_when_asked_for_and_else_not():
    without = components()
    assert "Tuner" not in without
    assert "hyperparameters" not in without["Trainer"].inputs
    assert "tuner_results" not in without["Report"].inputs
    found = components(tuner=ON)
    assert list(found).index("Transform") < list(found).index("Tuner")
    channel = found["Trainer"].inputs["hyperparameters"]
    assert (channel.producer_component_id, channel.output_key) == ("Tuner", "best_hyperparameters")
    assert found["Report"].inputs["tuner_results"].producer_component_id == "Tuner"


def test_it_searches_what_the_trainer_trains():
    found = components(tuner=ON, trainer={"seed": 5})
    texts = [found[name].exec_properties["custom_config"] for name in ("Tuner", "Trainer")]
    searched, trained = map(json.loads, texts)
    assert {*searched.pop("code")} > {*trained.pop("code")}  # it has a function of its own
    del searched["code_version"], trained["code_version"]
    assert {**searched, **trained} == searched
    assert trained["config"]["seed"] == 5
    assert searched["tuner"]["space"]["trainer.batch_size"]["choice"] == [8, 16]
    assert "tuner" not in trained  # of the best values alone depends what is trained
    for name in ("examples", "transform_graph", "schema", "base_model"):
        assert found["Tuner"].inputs[name] is found["Trainer"].inputs[name]


def test_the_configuration_of_a_search_is_on_record_and_else_none():
    def on_record(**values):
        return json.loads(components(**values)["Pusher"].exec_properties["configuration"])

    assert "tuner" not in on_record()
    assert on_record(tuner=ON)["tuner"]["objective"] == "gap"
