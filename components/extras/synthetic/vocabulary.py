"""The generated classes' `vocabulary.csv`, with the columns of the published one."""

from __future__ import annotations

import csv
import io

import numpy as np

from yt8m.components.extras.synthetic.world import ClassKind, World
from yt8m.schemas.vocabulary import COLUMNS, VERTICALS

_QUALITIES = (
    "Amber", "Brisk", "Cedar", "Dusky", "Early", "Fabled", "Gentle", "Hollow", "Ivory", "Jolly",
    "Keen", "Lunar", "Misty", "Northern", "Opal", "Plain", "Quiet", "Rapid", "Silver", "Tidal",
)  # fmt: skip
_THINGS = (
    "anchor", "bridge", "canyon", "drum", "engine", "forest", "garden", "harbour", "island",
    "jacket", "kettle", "lantern", "market", "needle", "orchard", "piano", "quarry", "river",
    "saddle", "tunnel",
)  # fmt: skip


def vocabulary_csv(world: World, train_counts: np.ndarray) -> str:
    """The file's text; `train_counts` are the numbers of training videos of each class."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for index, count in enumerate(train_counts.tolist()):
        kind = ClassKind(int(world.kinds[index])).name.lower().replace("_", " ")
        writer.writerow(
            {
                "Index": index,
                "TrainVideoCount": count,
                "KnowledgeGraphId": f"/m/0syn{index:04x}",
                "Name": class_name(index),
                "Vertical1": VERTICALS[world.verticals[index]],
                "WikiDescription": f"A generated class, {kind}.",
            }
        )
    return out.getvalue()


def class_name(index: int) -> str:
    """A distinct name that a person can keep apart from its neighbours'."""
    round_, rest = divmod(index, len(_QUALITIES) * len(_THINGS))
    # Both words change from one class to the next; 7 has no factor in common with 20.
    quality = _QUALITIES[(rest * 7 + rest // len(_THINGS)) % len(_QUALITIES)]
    name = f"{quality} {_THINGS[rest % len(_THINGS)]}"
    return f"{name} {round_ + 1}" if round_ else name
