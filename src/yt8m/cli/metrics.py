"""Score predictions and labels in an .npz file: Hit@1, PERR, GAP and MAP.

The file holds `predictions` and `labels`, both [videos, classes]; a label is any value above 0.
`ids` [videos] may name the videos for messages. Equal scores of one video rank by class index;
between videos they count as the mean over all their orders.

examples:
  yt8m metrics predictions.npz
  yt8m metrics predictions.npz --top-k 5 --json
"""

from __future__ import annotations

import argparse
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yt8m.cli.shared_arguments import positive_int
from yt8m.components.console.console import Console
from yt8m.schemas.errors import DataError, UserError

if TYPE_CHECKING:
    import numpy as np

    from yt8m.components.metrics import MetricAccumulator

_NEEDED = ("predictions", "labels")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("file", type=Path, metavar="FILE.npz")
    parser.add_argument(
        "--top-k", type=positive_int, default=20, help="classes of each video that count (20)"
    )
    parser.add_argument(
        "--top-n", type=positive_int, help="predictions of each class that count in MAP (all)"
    )


def run(args: argparse.Namespace, console: Console) -> None:
    """Print the metrics of the file."""
    from yt8m.components.metrics import values_of
    from yt8m.components.metrics.catalogue import LOSS

    metrics = _accumulated(args)
    values = {**values_of(metrics), "videos": len(metrics)}
    del values[LOSS]  # the file has none
    rows = [[name, "undefined" if value is None else value] for name, value in values.items()]
    console.result(values, console.table(["metric", "value"], rows))


def _accumulated(args: argparse.Namespace) -> MetricAccumulator:
    from yt8m.components.metrics import Batch, accumulate

    arrays = _load(args.file)
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
    names = [str(name) for name in ids] if ids is not None else _numbers(len(predictions))
    batch = Batch(predictions=predictions, multi_hot=arrays["labels"], ids=names)
    return accumulate(batch, top_k=args.top_k, top_n=args.top_n)


def _load(path: Path) -> dict[str, np.ndarray]:
    import numpy as np
    from numpy.lib.npyio import NpzFile

    try:
        file = np.load(path, allow_pickle=False)
        if not isinstance(file, NpzFile):
            raise DataError(f"{path}: one array; expected an .npz with predictions and labels")
        with file:
            arrays: dict[str, Any] = {name: file[name] for name in file.files}
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
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
