"""What Pusher did: `pushed.json` in its artifact, for readers who see no artifact properties."""

from __future__ import annotations

import json
from dataclasses import dataclass

from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.schemas.config_tree import from_dict, to_dict

FILE_NAME = "pushed.json"


@dataclass(frozen=True, kw_only=True)
class PushOutcome:
    """Whether the model was pushed, where to, and its record, which exists either way."""

    pushed: bool
    # The version's directory: the one pushed, or the one that is this very model; else empty.
    destination: str = ""
    up_to_date: bool = False  # the model is in service already, so there was nothing to push
    record: VersionRecord

    def to_json(self) -> str:
        return json.dumps(to_dict(self), indent=1, allow_nan=False)


def parse_push_outcome(text: str) -> PushOutcome:
    """The inverse of `PushOutcome.to_json`."""
    return from_dict(PushOutcome, json.loads(text))
