"""Differences between the run's data and the data of the run before."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from yt8m.components import storage
from yt8m.components.artifacts.read import read_file
from yt8m.components.artifacts.report import SUMMARY_FILE
from yt8m.components.artifacts.run_record import FILE_NAME, RUNS, RunRecord
from yt8m.components.artifacts.spans import span_names
from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.components.report import formatting
from yt8m.components.report.model import ConfigChange, DataSummary
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.json_file import DamagedFileError, fields_of

_NOTABLE = 0.1  # of its labels a class must gain or lose, and
_MANY = 100  # labels it must have had, to be a change by itself
_MOST = 20  # such classes


def previous_data(run_file: str, baseline: VersionRecord | None) -> tuple[str, Mapping[str, Any]]:
    """The name of the run before (else of the baseline), and its data as its summary has them."""
    previous = _previous_run(run_file) if run_file else None
    if previous is not None:
        return previous
    if baseline is None or not baseline.data.examples:
        return "", {}
    data = baseline.data
    splits = [{"name": name, "records": count} for name, count in data.examples.items()]
    known = {"level": data.level, "digest": data.manifest_digest, "spans": list(data.spans)}
    return f"version {baseline.version}", {**known, "splits": splits}


def _previous_run(run_file: str) -> tuple[str, Mapping[str, Any]] | None:
    runs, this = _place_of(run_file)
    for name in sorted(storage.list_directories(runs), reverse=True):
        if name >= this:
            continue
        try:
            record = read_file(storage.join(runs, name, FILE_NAME), RunRecord.from_json)
            page = record.place_in(runs.rpartition("/")[0], record.report)
            summary = storage.join(page.rpartition("/")[0], SUMMARY_FILE)
            data = read_file(summary, fields_of)["data"]
        except (OSError, KeyError, DamagedFileError):
            continue  # it ended early, or housekeeping has taken its report
        if data.get("digest"):
            return f"run {record.run_id}", data
    return None


def _place_of(run_file: str) -> tuple[str, str]:
    """The folder of all runs, and the name of the run whose record this is."""
    local = storage.local_path(run_file)
    if local is not None:  # the path may lead through the link to the newest run
        this = local.resolve().parent
        return str(this.parent), this.name
    root = run_file.rpartition("/")[0].rpartition("/")[0]
    return storage.join(root, RUNS), read_file(run_file, RunRecord.from_json).run_id


def compared(data: DataSummary, before: tuple[str, Mapping[str, Any]]) -> DataSummary:
    """`data` with what differs from `before`."""
    name, then = before
    if not name or not data.digest:
        return data
    old, new = (_facts(one, dated=data.dated) for one in (then, to_dict(data)))
    changes = [
        ConfigChange(
            key=key, before=old.get(key, formatting.NONE), now=new.get(key, formatting.NONE)
        )
        for key in dict.fromkeys([*old, *new])
        if key in old and old[key] != new.get(key)
    ]
    changes += _label_changes(then.get("label_counts") or {}, data.label_counts)
    return dataclasses.replace(data, compared_with=name, changes=tuple(changes))


def _facts(data: Mapping[str, Any], *, dated: bool) -> dict[str, str]:
    facts = {
        "level": data.get("level"),
        "content (digest)": data.get("digest"),
        "spans": span_names(data.get("spans") or (), dated=dated),
    }
    for split in data.get("splits") or ():
        for part in ("records", "labelled", "quarantined"):
            if part in split:
                facts[f"{part}, {split['name']}"] = formatting.count(split[part])
    if data.get("labels_per_record") is not None:
        facts["labels per record"] = f"{data['labels_per_record']:.2f}"
    if data.get("label_counts"):
        facts["classes with labels"] = formatting.count(len(data["label_counts"]))
    return {name: str(value) for name, value in facts.items() if value}


def _label_changes(then: Mapping[str, float], now: Mapping[str, float]) -> list[ConfigChange]:
    """Classes whose share of the labels has changed most."""
    whole_then, whole_now = sum(then.values()), sum(now.values())
    if not whole_then or not whole_now:
        return []
    ratio = {
        name: (now.get(name, 0.0) / whole_now) / (count / whole_then)
        for name, count in then.items()
        if count >= _MANY
    }
    changed = [name for name, one in ratio.items() if abs(one - 1) > _NOTABLE]
    changed.sort(key=lambda name: -abs(ratio[name] - 1))
    return [
        ConfigChange(
            key=f"labels of class {name}",
            before=formatting.count(then[name]),
            now=formatting.count(now.get(name, 0.0)),
        )
        for name in changed[:_MOST]
    ]
