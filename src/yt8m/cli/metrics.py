"""Action of `yt8m metrics`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile

from yt8m.cli.arguments.scoring import MetricsArguments
from yt8m.components.console.console import Console
from yt8m.components.metrics import Batch, MetricAccumulator, accumulate, values_of
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.metric_names import LOSS
from yt8m.schemas.npz_faults import NPZ_FAULTS

_NEEDED = ("predictions", "labels")


def run(args: MetricsArguments, console: Console) -> None:
    """Print the metrics of the file."""
    metrics = _accumulated(args)
    values = {**values_of(metrics), "videos": len(metrics)}
    del values[LOSS]  # the file has none
    rows = [[name, "undefined" if value is None else value] for name, value in values.items()]
    console.result(values, console.table(["metric", "value"], rows))


def _accumulated(args: MetricsArguments) -> MetricAccumulator:
    arrays = _load(Path(args.file))
    predictions = arrays["predictions"]
    if predictions.ndim != 2 or predictions.shape[1] == 0:
        raise DataError(
            f"{args.file}: predictions have shape {predictions.shape}: expected [videos, classes]"
        )
    if arrays["labels"].shape != predictions.shape:
        raise DataError(
            f"{args.file}: labels have shape {arrays['labels'].shape}, predictions "
            f"{predictions.shape}: both must be [videos, classes]"
        )
    ids = arrays.get("ids")
    if ids is not None and ids.shape != (len(predictions),):
        raise DataError(
            f"{args.file}: ids have shape {ids.shape}: expected [{len(predictions)}], one a video"
        )
    names = [str(name) for name in ids] if ids is not None else _numbers(len(predictions))
    batch = Batch(predictions=predictions, multi_hot=arrays["labels"], ids=names)
    return accumulate(batch, top_k=args.top_k, top_n=args.top_n)


def _load(path: Path) -> dict[str, np.ndarray]:
    try:
        file = np.load(path, allow_pickle=False)
        if not isinstance(file, NpzFile):
            raise DataError(f"{path}: one array; expected an .npz with predictions and labels")
        with file:
            arrays: dict[str, Any] = {name: file[name] for name in file.files}
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except NPZ_FAULTS as error:
        raise DataError(f"{path}: not a readable .npz file ({error})") from error
    missing = [name for name in _NEEDED if name not in arrays]
    if missing:
        raise DataError(
            f"{path}: no array {' or '.join(missing)}; it holds {', '.join(arrays) or 'nothing'}"
        )
    for name in _NEEDED:
        if arrays[name].dtype.kind not in "biuf":
            raise DataError(f"{path}: {name} hold {arrays[name].dtype}, not numbers")
    return arrays


def _numbers(count: int) -> list[str]:
    return [f"number {row}" for row in range(count)]
