"""Files of each version of the dataset, and where they lie."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import Level

SERVER = "https://storage.googleapis.com"
_BUCKET = "data.yt8m.org"
MIRRORS = ("us", "eu", "asia")
_VOCABULARY_SERVER = "https://research.google.com"
_VOCABULARY = "youtube8m/csv/2/vocabulary.csv"  # of versions 2 and 3
_MD5 = re.compile(r"[0-9a-f]{32}")
_ALL = ("train", "validate", "test")

# By version and level: the name of the level there, and its splits. Version 3 are the segments
# that were rated in 2019.
_PUBLISHED: dict[int, dict[Level, tuple[str, tuple[str, ...]]]] = {
    1: {Level.VIDEO: ("video_level", _ALL), Level.FRAME: ("frame_level", _ALL)},
    2: {Level.VIDEO: ("video", _ALL), Level.FRAME: ("frame", _ALL)},
    3: {Level.FRAME: ("frame", ("validate", "test"))},
}
VERSIONS = tuple(_PUBLISHED)


@dataclass(frozen=True, kw_only=True)
class Partition:
    """One split of one level of one version, on a server with the paths of Google's storage."""

    version: int
    level: Level
    split: str
    mirror: str = MIRRORS[0]
    server: str = SERVER

    def __post_init__(self) -> None:
        levels = _PUBLISHED[self.version]
        if self.level not in levels:
            known = ", ".join(level.value for level in levels)
            raise UserError(f"--level {self.level.value}: version {self.version} has only {known}")
        splits = levels[self.level][1]
        if self.split not in splits:
            raise UserError(
                f"--split {self.split}: version {self.version} has only {', '.join(splits)}"
            )

    @property
    def plan_url(self) -> str:
        """Names and checksums of all files."""
        return f"{self._server}/{_BUCKET}/{self.version}/download_plans/{self._name}.json"

    def file_url(self, name: str) -> str:
        """Where the file `name` is."""
        folder = _PUBLISHED[self.version][self.level][0]
        bucket = f"{self.mirror}.{_BUCKET}"
        return f"{self._server}/{bucket}/{self.version}/{folder}/{self.split}/{name}"

    @property
    def vocabulary_url(self) -> str | None:
        """The classes' names; those of version 1 are published elsewhere."""
        if self.version == 1:
            return None
        server = _VOCABULARY_SERVER if self.server == SERVER else self._server
        return f"{server}/{_VOCABULARY}"

    @property
    def _server(self) -> str:
        return self.server.rstrip("/")

    @property
    def _name(self) -> str:
        return f"{_PUBLISHED[self.version][self.level][0]}_{self.split}"


def parse_plan(data: bytes, url: str) -> dict[str, str]:
    """MD5 by name of file; DataError where this is no plan."""
    try:
        files = json.loads(data)["files"]
        good = files and all(_is_file(name, md5) for name, md5 in files.items())
    except (ValueError, KeyError, TypeError, AttributeError):
        files, good = {}, False
    if not good:
        raise DataError(f"{url}: no download plan (an object with `files`, each name's MD5)")
    return dict(sorted(files.items()))


def choose_files(plan: dict[str, str], shard: tuple[int, int]) -> dict[str, str]:
    """Part X of Y, as the published downloader divides: by the MD5 of the name."""
    part, parts = shard
    return {
        name: md5
        for name, md5 in plan.items()
        if int(hashlib.md5(name.encode()).hexdigest(), 16) % parts == part - 1
    }


def _is_file(name: object, md5: object) -> bool:
    # A name is a path of this machine later on: nothing but a plain one may be it.
    plain = isinstance(name, str) and "/" not in name and not name.startswith(".") and name != ""
    return plain and isinstance(md5, str) and _MD5.fullmatch(md5) is not None
