"""Each message that docs/troubleshooting.md explains is one that the code can print."""

from __future__ import annotations

import re

import pytest
from docs_blocks import ROOT
from plain_english import source_texts

PAGE = ROOT / "docs" / "troubleshooting.md"
LAYERS = ("schemas", "components", "pipeline", "kubeflow", "src/yt8m/cli")
TEXTS = [
    text
    for layer in LAYERS
    for path in (ROOT / layer).rglob("*.py")
    for text in source_texts(path.read_text(encoding="utf-8"))
]
MESSAGES = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def printed(message: str) -> bool:
    """Whether one text has the message's pieces, one after the other, with values between."""
    pieces = ".*".join(re.escape(piece.strip()) for piece in message.split("…"))
    return any(re.search(pieces, text, re.DOTALL) for text in TEXTS)


def test_there_are_messages_of_every_kind() -> None:
    assert len(MESSAGES) > 40


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_one_of_the_code(message: str) -> None:
    assert printed(message)


def test_a_message_that_no_code_prints_is_noticed() -> None:
    assert not printed("the moon is … of cheese")
