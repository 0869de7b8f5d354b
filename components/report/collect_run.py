"""How the run ended, its components' times, and what differs from the last pushed run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yt8m.components import storage
from yt8m.components.artifacts.decision import Decision
from yt8m.components.artifacts.push_outcome import PushOutcome
from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.components.report.model import ComponentRow, ConfigChange, Outcome, RunOutcome
from yt8m.schemas.config_tree import flatten

_STOP = "ValidationGate"
_FAILED = "failed"
_RUNNING = "running"
_WRITING = "writing this"
_ABSENT = "–"


@dataclass(frozen=True, kw_only=True)
class RunFile:
    """What the runner wrote of the run."""

    run_id: str = ""
    reason: str = ""
    components: tuple[ComponentRow, ...] = ()

    @property
    def failed(self) -> ComponentRow | None:
        return next((one for one in self.components if one.state == _FAILED), None)


def read_run_file(path: str, *, now: float) -> RunFile:
    """The runner's `run.json`; empty where there is none, as on Kubeflow."""
    if not path or not storage.exists(path):
        return RunFile()
    content = json.loads(storage.read_text(path))
    return RunFile(
        run_id=content.get("run_id", ""),
        reason=content.get("reason", ""),
        components=tuple(_component(node, now) for node in content.get("nodes", ())),
    )


def run_outcome(
    run: RunFile,
    pushed: PushOutcome | None,
    decision: Decision | None,
    baseline: VersionRecord | None,
) -> RunOutcome:
    """How the run ended, from the last thing that it did."""
    version = baseline.version if baseline else 0
    reason = decision.reason if decision else ""
    if pushed is not None and pushed.pushed:
        return RunOutcome(
            outcome=Outcome.PUSHED,
            reason=reason or pushed.record.reason,
            version=pushed.record.version,
            destination=pushed.destination,
            baseline_version=version,
        )
    if run.failed is not None:
        stopped = run.failed.name == _STOP
        return RunOutcome(
            outcome=Outcome.STOPPED if stopped else Outcome.FAILED,
            failed_component=run.failed.name,
            reason=_first_line(run.failed.error or run.reason),
            baseline_version=version,
        )
    if pushed is not None or (decision is not None and not decision.blessed):
        reason = (pushed.record.reason if pushed is not None else "") or reason
        return RunOutcome(outcome=Outcome.HELD_BACK, reason=reason, baseline_version=version)
    return RunOutcome(reason=run.reason, baseline_version=version)


def changes(record: VersionRecord, configuration: Mapping[str, Any]) -> tuple[ConfigChange, ...]:
    """Values of `configuration` that are not what the version was made with.

    Nodes that the record does not have decide nothing about a model and are not compared.
    """
    then = flatten(record.configuration)
    now = flatten({k: v for k, v in configuration.items() if k in record.configuration})
    return tuple(
        ConfigChange(key=key, before=_shown(then, key), now=_shown(now, key))
        for key in sorted({*then, *now})
        if then.get(key) != now.get(key)
    )


def identifiers(pushed: PushOutcome | None) -> dict[str, str]:
    """What names data, code and run beyond doubt, as Pusher has put it on record."""
    if pushed is None:
        return {}
    found = {
        "data digest": pushed.record.data.manifest_digest,
        "code version": pushed.record.code_version,
        "run key": pushed.record.run_key,
    }
    return {name: value for name, value in found.items() if value}


def _component(node: Mapping[str, Any], now: float) -> ComponentRow:
    running = node["state"] == _RUNNING  # Report itself: its time so far is nearly all of it
    return ComponentRow(
        name=node["name"],
        state=_WRITING if running else node["state"],
        seconds=max(now - node["started"], 0.0) if running else float(node.get("seconds") or 0.0),
        peak_mib=float(node.get("peak_mib") or 0.0),
        figure=node.get("figure", ""),
        error=node.get("error", ""),
    )


def _shown(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    return _ABSENT if value is None or value == "" else str(value)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
