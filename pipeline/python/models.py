"""Models from Python: exported or pushed, loaded, queried, evaluated."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from yt8m.components.artifacts.estimate import estimate_columns
from yt8m.components.artifacts.evaluation import Evaluation
from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.components.console.console import Console
from yt8m.components.console.quiet import silence_tensorflow
from yt8m.components.evaluator.thresholds import nearest
from yt8m.components.records.find import find_shards
from yt8m.components.registry.find_model import find_model
from yt8m.components.registry.versions import (
    UnusableVersionError,
    list_baselines,
    list_versions,
    load_record,
    require_registry,
    require_version,
    version_path,
)
from yt8m.components.report.model import RunReport
from yt8m.components.report.page import render_section
from yt8m.pipeline.python.show import frame
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import SegmentScoring
from yt8m.schemas.json_file import NewerFormatError

_AT_ONCE = 512


def load_model(path: str | Path) -> Model:
    """The SavedModel in a directory: an export, a pushed version, or a TFX artifact."""
    silence_tensorflow()
    return Model(find_model(str(path)))


class Model:
    """A model that was loaded."""

    def __init__(self, path: str) -> None:
        from yt8m.components.export.load import load_model as load

        self.path, self._loaded = path, load(path)

    @property
    def num_classes(self) -> int | None:
        return self._loaded.num_classes

    def scores(self, records: Iterable[bytes] | str | Path) -> tuple[list[str], Any]:
        """The ids of the rows, and their scores [rows, classes] as a numpy array.

        `records` are serialized, or the directory or pattern of the files that hold them.
        """
        ids: list[str] = []
        parts = []
        for batch in _batches(records):
            result = self._loaded.score_records(batch)
            ids += _row_names(result.ids, result.starts)
            parts.append(result.scores.numpy())
        return ids, np.concatenate(parts) if parts else np.empty((0, self.num_classes or 0))

    def predict(self, records: Iterable[bytes] | str | Path, *, top_k: int = 5) -> pd.DataFrame:
        """The best classes of each row, as the model serves them.

        Columns: id, rank, class_id, score, and name where the model was exported with names.
        """
        known = self._loaded.info.top_k
        if not 1 <= top_k <= known:
            raise UserError(f"top_k = {top_k}: the model serves 1 to {known}; `scores` has all")
        parts = [pd.DataFrame(columns=["id", "rank", "class_id", "score"])]
        for batch in _batches(records):
            arrays = {
                name: part.numpy() for name, part in self._loaded.serve_records(batch).items()
            }
            ids = _row_names(arrays["video_id"], arrays.get("segment_start"))
            columns = {
                "id": np.repeat(ids, top_k),
                "rank": np.tile(np.arange(1, top_k + 1), len(ids)),
                "class_id": arrays["class_ids"][:, :top_k].ravel(),
                "score": arrays["scores"][:, :top_k].ravel(),
            }
            if "class_names" in arrays:
                names = arrays["class_names"][:, :top_k].ravel()
                columns["name"] = [name.decode(errors="replace") for name in names]
            parts.append(pd.DataFrame(columns))
        return pd.concat(parts[1:] or parts, ignore_index=True)

    def __repr__(self) -> str:
        level = self._loaded.level
        kind = f"{level.value}-level, " if level else ""
        return f"<Model {self.path}: {kind}{self.num_classes} classes>"


def evaluate(
    model: Model | str | Path,
    data: str | Path,
    *,
    baseline: Model | str | Path | None = None,
    top_k: int = 20,
    segments: str = "",
    context: Model | str | Path | None = None,
) -> Metrics:
    """Every metric with its interval, as `yt8m evaluate` gives them.

    `segments` (window, product or mean) says how a frame-level model scores rated segments, and
    `context` which model scores the whole videos.
    """
    from yt8m.components.evaluator.model_evaluation import evaluate_files, evaluator_config

    def path(one: Model | str | Path) -> str:
        return one.path if isinstance(one, Model) else find_model(str(one))

    console = Console(quiet=True)
    evaluation = evaluate_files(
        path(model),
        [str(data)],
        console,
        baseline=path(baseline) if baseline is not None else None,
        config=evaluator_config(
            top_k=top_k,
            segments=_segment_score(segments) if segments else None,
            context=path(context) if context is not None else "",
        ),
    )
    for note in evaluation.notes:
        console.warn(note)
    return Metrics(evaluation)


def _segment_score(name: str) -> SegmentScoring:
    try:
        return SegmentScoring(name)
    except ValueError:
        known = ", ".join(score.value for score in SegmentScoring)
        raise UserError(f"segments = {name!r}: must be one of {known}") from None


class Metrics:
    """One evaluation; `metrics["gap"]` is the value."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation

    def __getitem__(self, name: str) -> float | None:
        candidate = self.evaluation.overall.candidate
        if name not in candidate:
            raise UserError(
                f"no metric {name!r}{nearest(str(name), candidate)}; there are: "
                f"{', '.join(candidate)}"
            )
        return candidate[name].value

    @property
    def frame(self) -> pd.DataFrame:
        """By metric: value, lower, upper, and the same of the paired difference."""
        overall = self.evaluation.overall
        rows = {
            name: {
                **estimate_columns(estimate),
                **estimate_columns(overall.difference.get(name), "difference"),
            }
            for name, estimate in overall.candidate.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("metric")

    def __repr__(self) -> str:
        return repr(self.frame)

    def _repr_html_(self) -> str:
        report = RunReport(evaluation=self.evaluation)
        return frame(render_section("metrics", report), height=520)


def registry(push: str | Path) -> Registry:
    """The pushed versions in a push directory; UserError where there is none."""
    require_registry(str(push))
    return Registry(str(push))


class Registry:
    """Versions by number."""

    def __init__(self, push: str) -> None:
        self.path = push

    @property
    def versions(self) -> tuple[int, ...]:
        """All numbers, the newest last."""
        return tuple(sorted((*list_versions(self.path), *list_baselines(self.path))))

    def record(self, version: int) -> VersionRecord:
        """The version's record: metrics, decision, data, configuration."""
        self._require(version)
        return load_record(self.path, version)

    def load(self, version: int) -> Model:
        """The model of a version."""
        self._require(version)
        return load_model(version_path(self.path, version))

    def _require(self, version: int) -> None:
        if not isinstance(version, int | np.integer) or isinstance(version, bool):
            raise UserError(f"version {version!r}: must be a number, such as 1")
        require_version(self.path, int(version))

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each version."""
        return pd.DataFrame([self._row(number) for number in reversed(self.versions)])

    def _row(self, number: int) -> dict[str, Any]:
        try:
            record = load_record(self.path, number)
        except (UnusableVersionError, NewerFormatError) as error:
            return {"version": number, "problem": str(error)}
        gap = record.metrics.get("gap")
        return {
            "version": number,
            "pushed": record.created,
            "blessed": record.blessed,
            "gap": gap.value if gap else None,
            "spans": ", ".join(map(str, record.data.spans)),
        }

    def __repr__(self) -> str:
        return f"<Registry {self.path}: versions {', '.join(map(str, self.versions)) or 'none'}>"

    def _repr_html_(self) -> str:
        return str(self.frame.to_html(index=False, float_format="{:.4f}".format, na_rep=""))


def _row_names(ids: Any, starts: Any | None) -> list[str]:
    """Video ids; `id:start` of segments."""
    names = [one.decode(errors="replace") for one in ids]
    if starts is None:
        return names
    return [f"{name}:{start}" for name, start in zip(names, starts, strict=True)]


def _batches(records: Iterable[bytes] | str | Path) -> Iterable[Any]:
    """Serialized records as tensors [B]."""
    import tensorflow as tf

    if isinstance(records, str | Path):
        from yt8m.components.inputs.shards import read_shards

        return read_shards(find_shards(str(records))).batch(_AT_ONCE)
    listed = list(records)
    if not all(isinstance(one, bytes) for one in listed):
        raise UserError("records are serialized tf.Examples (bytes), or a directory or pattern")
    return (
        tf.constant(listed[start : start + _AT_ONCE]) for start in range(0, len(listed), _AT_ONCE)
    )
