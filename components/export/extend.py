"""More videos in an export's index, with classes that no training has seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from yt8m.components.artifacts.export_info import load_info
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.export.load import load_export
from yt8m.components.export.retrieval_index import build_index
from yt8m.components.export.save import save_module
from yt8m.components.export.target import check_target
from yt8m.components.inputs.config import Source
from yt8m.components.models.config import RetrievalConfig
from yt8m.components.models.retrieval import Index, joined
from yt8m.components.records.shard_reader import count_records
from yt8m.components.records.unchanged import while_unchanged
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import DataError, UserError


def extend_export(directory: str, shards: tuple[Shard, ...], out: str) -> tuple[int, int]:
    """Write the export in `directory` to `out` with the videos of `shards` in its index as well.

    How many were added, and how many there are now. The network stays as it is. More than
    `max_videos` in all are refused: which ones to drop is not for this to decide.
    """
    info = load_info(directory)
    described = info.config.get("retrieval")
    if described is None:
        raise UserError(
            f"{directory}: was exported without an index of videos; train it with "
            f"trainer.retrieval={{}} (a finished training only repeats the export)"
        )
    check_target(out, models=[directory])
    config = from_dict(RetrievalConfig, described, path="retrieval")
    loaded = load_export(directory).loaded
    neighbours = loaded.neighbours
    there = len(neighbours.scales.numpy())
    with while_unchanged(shards, "extension"):
        shards = tuple(_counted(shard) for shard in shards)
        more = sum(shard.records for shard in shards)
        if there + more > config.max_videos:
            raise UserError(
                f"{directory}: its index has {there} videos, and {more} more would be above "
                f"retrieval.max_videos = {config.max_videos}; give fewer records"
            )
        source = Source(shards=shards, level=info.level, features=info.features)
        _append(neighbours, build_index(source, config))
    save_module(loaded, out, signatures=loaded.signatures, info=info)
    return more, there + more


def _counted(shard: Shard) -> Shard:
    records, _, fault = count_records(shard.uri)
    if fault:
        raise DataError(f"{shard.uri}: {fault}")
    return replace(shard, records=records)


def _append(neighbours: Any, index: Index) -> None:
    """Append to the loaded `Neighbours`, of which only the variables are loaded."""
    variables = (neighbours.keys, neighbours.scales, neighbours.labels)
    there = Index(*(variable.numpy() for variable in variables))
    for variable, values in zip(variables, joined([there, index]), strict=True):
        variable.assign(values)
