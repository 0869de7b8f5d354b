"""Where InfraCheck stands in the graph, whom its limits concern; how all records are counted."""

import json
import re

from docs_blocks import ROOT

from yt8m.pipeline.cache_keys import ExternalInputs
from yt8m.pipeline.graph import create_pipeline
from yt8m.pipeline.presets import load_config


def _components(*settings):
    config = load_config("smoke", ["root=/nowhere", "pusher.push_dir=/models", *settings])
    return {one.id: one for one in create_pipeline(config, ExternalInputs()).components}


def _node(component, name):
    return json.loads(component.exec_properties[name])


def test_the_steps_are_those_of_the_architecture_page():
    text = (ROOT / "docs" / "architecture.md").read_text()
    ids, optional = re.search(r"Node ids: `([^`]+)`, and `(\w+)`", text).groups()
    tuner = 'tuner={"space": {"trainer.batch_size": {"choice": [8, 16]}}}'
    every = _components("infra_check.enabled=true", "bulk_inferrer={}", tuner)
    assert {*every} == {*ids.split(), optional, "Tuner"}
    assert set(_components()) == {*ids.split()} - {"InfraCheck"}


def test_what_decides_about_the_model_is_on_record():
    pusher = _components("retrain.window=2", "notify.timeout_s=5", "pusher.keep_versions=3")[
        "Pusher"
    ]
    assert set(_node(pusher, "configuration")) == {
        "baseline",
        "data",
        "evaluator",
        "features",
        "gate",
        "infra_check",
        "trainer",
        "transform",
        "validation",
    }


def test_a_limit_on_serving_is_infra_checks_alone():
    """So that a changed one finds the Evaluator's result in the cache."""
    limited = _components("infra_check.enabled=true", "gate.max_latency_ms=7")
    free = _components("infra_check.enabled=true")
    assert _node(limited["InfraCheck"], "limits") == {"max_latency_ms": 7, "max_memory_mb": None}
    assert limited["Evaluator"].exec_properties == free["Evaluator"].exec_properties


def test_pusher_and_report_wait_for_infra_check_and_do_without_where_it_is_left_out():
    on, off = _components("infra_check.enabled=true"), _components()
    assert "InfraCheck" not in off
    for name in ("Pusher", "Report"):
        channel = on[name].inputs["infra_blessing"]
        assert channel.producer_component_id == "InfraCheck"
        assert "infra_blessing" not in off[name].inputs
    assert _node(on["Pusher"], "configuration")["infra_check"]["enabled"] is True
    assert on["InfraCheck"].exec_properties["split"] == "eval"
