"""Each message that docs/troubleshooting.md explains is one that the code can print."""

from __future__ import annotations

import re

import pytest
from docs_blocks import ROOT
from own_sources import own_sources

PAGE = ROOT / "docs" / "troubleshooting.md"
MESSAGES = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def printed(message: str) -> bool:
    """Whether one text has the message's pieces, one after the other, with values between."""
    pieces = ".*".join(re.escape(piece.strip()) for piece in message.split("…"))
    texts = (text for source in own_sources() for text in source.texts)
    return any(re.search(pieces, text, re.DOTALL) for text in texts)


def test_there_are_messages_of_every_kind() -> None:
    assert len(MESSAGES) > 40


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_one_of_the_code(message: str) -> None:
    assert printed(message)


def test_a_message_that_no_code_prints_is_noticed() -> None:
    assert not printed("the moon is … of cheese")
