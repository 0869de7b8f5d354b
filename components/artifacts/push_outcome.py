"""Outcome of Pusher: `pushed.json` in its artifact, for readers without artifact properties."""

from __future__ import annotations

from dataclasses import dataclass

from yt8m.components.artifacts.run_record import Verdict
from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.json_file import JsonFile, to_text

FILE_NAME = "pushed.json"


@dataclass(frozen=True, kw_only=True)
class PushOutcome(JsonFile):
    """Whether the model was pushed, where to, and its record, which exists either way."""

    pushed: bool
    # The version's directory: the one pushed, or the one with the same model; else empty.
    destination: str = ""
    up_to_date: bool = False  # the model is in service already, so there was nothing to push
    stale: bool = False  # what it was compared with was replaced meanwhile: it was never refused
    record: VersionRecord

    @property
    def verdict(self) -> Verdict:
        """How a run that came to its end ended."""
        if self.up_to_date:
            return Verdict.UP_TO_DATE
        return Verdict.PUSHED if self.pushed else Verdict.REJECTED

    @property
    def headline(self) -> str:
        """The outcome in a few words."""
        if self.stale:
            return "Another model was pushed meanwhile: nothing was pushed"
        return {
            Verdict.PUSHED: f"Pushed as version {self.record.version}",
            Verdict.UP_TO_DATE: "Up to date: nothing was pushed",
            Verdict.REJECTED: "Rejected by the gate: nothing was pushed",
        }[self.verdict]

    def to_json(self) -> str:
        return to_text({**to_dict(self), "record": self.record.fields}, self.FORMAT)
