"""A manifest of the examples that Transform has materialised, which has none of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from yt8m.components import storage
from yt8m.components.artifacts.manifest import FILE_NAME, Manifest, Shard
from yt8m.components.records.shard_reader import record_framing
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import Level

_SPLIT = "Split-"
_PREFIX = "transformed_examples"  # of the files, as TFX's Transform names them


def are_transformed(patterns: Sequence[str]) -> bool:
    """Whether TFX's `patterns` name what Transform has materialised."""
    return any(uri.rpartition("/")[2].startswith(_PREFIX) for uri in _files(patterns))


def write_manifest(patterns: Sequence[str], directory: str) -> str:
    """Write the manifest of the shards that TFX's `patterns` name, and give its address."""
    shards = [_shard(uri) for uri in sorted(_files(patterns))]
    if not any(shard.records for shard in shards):
        raise DataError(f"Transform has materialised no examples in {', '.join(patterns)}")
    path = storage.join(directory, FILE_NAME)
    manifest = Manifest(level=Level.VIDEO, shards=tuple(shards), transformed=True)
    storage.write_text(path, manifest.to_json())
    return path


def _files(patterns: Sequence[str]) -> set[str]:
    folders = {pattern.rpartition("/")[0] for pattern in patterns}
    there = [folder for folder in folders if storage.is_dir(folder)]
    return {storage.join(folder, name) for folder in there for name in storage.list_dir(folder)}


def _shard(uri: str) -> Shard:
    framing = record_framing(uri)
    if framing.fault is not None:
        raise DataError(f"{uri}: record {framing.fault.record}: {framing.fault.reason}")
    # Of every record the checksum counts: which worker wrote it to which file does not repeat.
    content = f"{framing.lengths} {framing.checksums}"
    return Shard(
        uri=uri,
        split=uri.split("/")[-2].removeprefix(_SPLIT),
        records=len(framing.lengths),
        bytes=storage.stat(uri).size,
        digest=hashlib.sha256(content.encode()).hexdigest()[:16],
        compression=framing.compression,
    )
