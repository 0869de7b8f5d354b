"""Outcome of the run, times of its components, and differences from the last pushed run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from yt8m.components import storage
from yt8m.components.artifacts.decision import Decision
from yt8m.components.artifacts.push_outcome import PushOutcome
from yt8m.components.artifacts.read import read_file
from yt8m.components.artifacts.run_record import NodeRecord, RunRecord, State
from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.components.report.model import ConfigChange, Outcome, RunOutcome
from yt8m.schemas.config_tree import flatten

_STOP = "ValidationGate"
_ABSENT = "–"


def read_run_record(path: str) -> RunRecord | None:
    """The runner's record of the run; None where there is none, as on Kubeflow."""
    return read_file(path, RunRecord.from_json) if path and storage.exists(path) else None


def components(run: RunRecord | None, *, now: float) -> tuple[NodeRecord, ...]:
    """The components of the run in their order, with the time so far of the one that is running.

    It is Report itself, whose time so far is nearly all of it.
    """
    return tuple(
        dataclasses.replace(node, seconds=max(now - node.started, 0.0))
        if node.state is State.RUNNING
        else node
        for node in (run.nodes if run else ())
    )


def run_outcome(
    run: RunRecord | None,
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
            is_below_baseline=decision is not None and decision.is_below_baseline,
            not_compared=len(decision.not_compared) if decision is not None else 0,
        )
    if pushed is not None and pushed.up_to_date:
        return RunOutcome(
            outcome=Outcome.UP_TO_DATE,
            reason=pushed.record.reason,
            destination=pushed.destination,
            baseline_version=version,
        )
    failed = next((node for node in run.nodes if node.state is State.FAILED), None) if run else None
    if run is not None and failed is not None:
        stopped = failed.name == _STOP
        return RunOutcome(
            outcome=Outcome.STOPPED if stopped else Outcome.FAILED,
            failed_component=failed.name,
            reason=(failed.error or run.reason).strip().partition("\n")[0],
            baseline_version=version,
        )
    if pushed is not None or (decision is not None and not decision.blessed):
        reason = (pushed.record.reason if pushed is not None else "") or reason
        return RunOutcome(outcome=Outcome.REJECTED, reason=reason, baseline_version=version)
    return RunOutcome(reason=run.reason if run else "", baseline_version=version)


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
    """The identifiers of data, code and run, as Pusher recorded them."""
    if pushed is None:
        return {}
    values = {
        "data digest": pushed.record.data.manifest_digest,
        "code version": pushed.record.code_version,
        "run key": pushed.record.run_key,
    }
    return {name: value for name, value in values.items() if value}


def _shown(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    return _ABSENT if value is None or value == "" else str(value)
