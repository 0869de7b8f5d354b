"""No gate that a page shows ships a model far below its baseline."""

import dataclasses
import re

import pytest
import yaml
from docs_blocks import PAGES, SHELL, blocks

from yt8m.cli.main import find, parse
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.evaluation import Evaluation, SliceMetrics
from yt8m.components.evaluator.config import GateConfig
from yt8m.components.evaluator.gate import decide
from yt8m.components.evaluator.thresholds import limits_of
from yt8m.pipeline.presets import list_presets, load_config
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.features import Level

_HEREDOC = re.compile(r"<<\s*'?(\w+)'?\n(.*?)^\1$", re.MULTILINE | re.DOTALL)


def shown_files():
    """Every configuration that a page shows as a file, by page and line."""
    for page in PAGES:
        for block in blocks(page):
            files = [block.text] if block.kind == "yaml" else []
            if block.kind in SHELL:
                files = [match[2] for match in _HEREDOC.finditer(block.text)]
            for text in files:
                if re.search(r"^(gate|trainer|data):", text, re.MULTILINE):
                    yield pytest.param(text, id=f"{page.name}:{block.line}")


def shown_runs():
    """Every shown command that ships a model of a preset."""
    for page in PAGES:
        for block in (b for b in blocks(page) if b.kind in SHELL):
            for number, words in enumerate(block.commands()):
                if words[:2] in (["yt8m", "run"], ["yt8m", "retrain"]):
                    place = f"{page.name}:{block.line}-{number}"
                    yield pytest.param(words[1:], id=place)


def judged(gate: GateConfig):
    """The decision about a model that lost a quarter of its baseline's GAP, on data enough."""
    evaluation = Evaluation(
        level=Level.VIDEO,
        top_k=20,
        videos=100_000,
        examples=100_000,
        overall=SliceMetrics(
            examples=100_000,
            videos=100_000,
            candidate={"gap": Estimate(value=0.4267, lower=0.42, upper=0.43)},
            baseline={"gap": Estimate(value=0.6970, lower=0.69, upper=0.71)},
            difference={"gap": Estimate(value=-0.2703, lower=-0.28, upper=-0.26)},
        ),
    )
    return decide(evaluation, limits_of(gate), mode=gate.mode, baseline="version 1")


def assert_rejected_by_its_change(gate: GateConfig) -> None:
    decision = judged(gate)
    assert not decision.blessed
    failed = [check.needed for check in decision.checks if not check.passed]
    assert any("change of gap against the baseline" in needed for needed in failed), failed


@pytest.mark.parametrize("text", shown_files())
def test_a_shown_file_and_its_gate_in_smoke_hold_a_worse_model_back(text, tmp_path):
    file = tmp_path / "shown.yaml"
    file.write_text(text)
    assert_rejected_by_its_change(load_config(str(file)).gate)
    gate = yaml.safe_load(text).get("gate", {})
    into_smoke = [f"gate.{key}={yaml.safe_dump(value)}" for key, value in gate.items()]
    assert_rejected_by_its_change(load_config("smoke", into_smoke).gate)


@pytest.mark.parametrize("words", shown_runs())
def test_a_shown_run_holds_a_worse_model_back(words):
    command = find(words)
    args = parse(*command)
    if args.config.endswith(".yaml"):  # a file that the page shows
        return
    assert_rejected_by_its_change(args.load().gate)


@pytest.mark.parametrize("preset", list_presets(), ids=lambda preset: preset.name)
def test_a_preset_and_a_gate_of_a_minimum_alone_hold_a_worse_model_back(preset):
    assert_rejected_by_its_change(load_config(preset.name).gate)
    assert_rejected_by_its_change(from_dict(GateConfig, {"gap_threshold": 0.1}))


def test_to_allow_a_loss_has_to_be_written():
    allowed = from_dict(GateConfig, {"gap_threshold": 0.1, "gap_change_threshold": None})
    assert judged(allowed).blessed
    assert dataclasses.replace(allowed, gap_change_threshold=-0.01) == GateConfig(gap_threshold=0.1)
