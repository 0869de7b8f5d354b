"""Operating points of a model as a file: a line per class, and in it a threshold per precision.

    -1<TAB>0.05,0.1,...   the precisions
    -2<TAB>0.21,0.32,...  the thresholds of classes that have no line of their own
    17<TAB>0.12,0.2,...   those of class 17; inf where no score reaches the precision

The Evaluator writes it. Pusher puts it in the place of the empty table that every export has among
its assets, where TensorFlow reads it when the model is loaded.
"""

from __future__ import annotations

import numpy as np

from yt8m.components import storage
from yt8m.components.metrics.operating_points import OperatingPoints
from yt8m.schemas.errors import DataError

FILE_NAME = "operating_points.tsv"  # of an evaluation
ASSET = "yt8m_operating_points.tsv"
ASSET_FILE = f"assets/{ASSET}"  # of a SavedModel
LEVELS_LINE, OTHERS_LINE = -1, -2
NONE = "none"
EMPTY_TABLE = f"{LEVELS_LINE}\t{NONE}\n"  # of a model that nobody has judged
REMEDY = (
    "a run with evaluator.operating_points: true adds them to the version that it pushes, if its "
    "Evaluator has judged enough videos"
)


def table_text(points: OperatingPoints) -> str:
    """The content of the file."""
    lines = {LEVELS_LINE: np.asarray(points.levels), OTHERS_LINE: points.of_others}
    lines |= dict(zip(points.classes.tolist(), points.of_class, strict=True))
    return "".join(
        f"{number}\t{','.join(f'{value:.5g}' for value in values.tolist())}\n"
        for number, values in lines.items()
    )


def parse_table(text: str) -> OperatingPoints | None:
    """The inverse of `table_text`; None for the empty table, ValueError where it is damaged."""
    if text == EMPTY_TABLE:
        return None
    lines = {
        int(number): np.array(values.split(","), np.float64)
        for number, _, values in (line.partition("\t") for line in text.splitlines())
    }
    try:
        levels, others = lines.pop(LEVELS_LINE), lines.pop(OTHERS_LINE)
    except KeyError as error:
        raise ValueError(f"no line {error}") from error
    return OperatingPoints(
        levels=tuple(levels.tolist()),
        classes=np.array([*lines], np.int64),
        of_class=np.stack([*lines.values()]) if lines else np.empty((0, len(levels))),
        of_others=others,
    )


def load_operating_points(directory: str) -> OperatingPoints | None:
    """Those of the model in `directory`; None where it has none, or nobody has judged it."""
    path = storage.join(directory, ASSET_FILE)
    if not storage.exists(path):
        return None
    try:
        return parse_table(storage.read_text(path))
    except ValueError as error:
        raise DataError(f"{path}: damaged ({error})") from error
