"""Each key and each option explains itself: in a phrase that names its subject, or with a verb."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
from plain_english import LIMIT, sentences, words

from yt8m.cli.parser import parser_of
from yt8m.cli.table import COMMANDS
from yt8m.kubeflow.config import PlatformConfig
from yt8m.pipeline.config import PipelineConfig
from yt8m.schemas.config_docs import describe

# A meaning that begins with one of these goes on with what another line says, or says no subject.
NO_SUBJECT = re.compile(
    r"(after|all|also|and|another|any|as|at|before|below|beside|between|but|by|each|either|empty|"
    r"every|false|for|from|given|here|how|if|in|is|it|its|neither|none|nor|not|null|of|on|once|"
    r"only|or|other|others|over|same|since|so|such|than|that|the same|their|then|there|these|they|"
    r"this|those|to|true|until|what|when|where|whether|which|who|whose|why|with|within|without)\b",
    re.IGNORECASE,
)
KEYS = [
    (field.path, field.meaning)
    for config in (PipelineConfig, PlatformConfig)
    for node in describe(config)
    for field in node.fields
    if field.type != node.choice  # `name`, which chooses the node
]
NODES = [
    (f"{node.path} {node.choice}".strip(), node.meaning)
    for config in (PipelineConfig, PlatformConfig)
    for node in describe(config)
    if node.path
]
OPTIONS = [
    (f"{words} {action.option_strings[-1] if action.option_strings else action.dest}", action.help)
    for words in COMMANDS
    for action in parser_of(words, COMMANDS[words])._actions
    if action.dest != "help"
]


def faults(meaning: str) -> list[str]:
    """List what is wrong with one meaning."""
    found = []
    if match := NO_SUBJECT.match(meaning):
        found.append(f"begins with {match[0]!r}")
    if not meaning[:1].isupper():
        found.append("has no capital letter")
    if len(meaning.split()) < 2:
        found.append("is one word")
    if any(words(sentence) > LIMIT for sentence in sentences(meaning)):
        found.append(f"has a sentence of more than {LIMIT} words")
    return found


@pytest.mark.parametrize("documented", [KEYS, NODES, OPTIONS], ids=["keys", "nodes", "options"])
def test_a_meaning_begins_with_its_subject_or_a_verb(documented) -> None:
    assert {name: wrong for name, text in documented if (wrong := faults(text or ""))} == {}


def test_keys_of_different_names_have_different_meanings() -> None:
    names = defaultdict(set)
    for path, meaning in KEYS:
        names[meaning].add(path.rpartition(".")[2])
    assert {text: keys for text, keys in names.items() if len(keys) > 1} == {}


def test_options_of_different_names_have_different_meanings() -> None:
    names = defaultdict(set)
    for option, text in OPTIONS:
        names[text].add(option.rpartition(" ")[2])
    assert {text: options for text, options in names.items() if len(options) > 1} == {}


@pytest.mark.parametrize("text", ["of the file", "None: no validation", "Format", "Of that sample"])
def test_a_fragment_is_noticed(text: str) -> None:
    assert faults(text)


def test_a_phrase_with_a_subject_is_none() -> None:
    assert faults("Seed for sampling the confidence intervals") == []
