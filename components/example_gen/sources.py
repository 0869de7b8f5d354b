"""Files that a configuration names: spans resolved, split by split, without reading any file.

`resolve_sources` is what the executor, the scheduler and the pre-flight check call;
`source_digest` is what makes TFX's cache notice that the outside world has changed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from yt8m.components import storage
from yt8m.components.artifacts.spans import have_dates, span_name
from yt8m.components.example_gen.config import DataConfig, Ingest
from yt8m.components.example_gen.spans import (
    SpanPattern,
    choose_spans,
    parse_pattern,
)
from yt8m.components.records.shared_index import FOLDER
from yt8m.components.records.unchanged import is_same_content, stat_if_there, stats_of
from yt8m.components.storage.errors import OF_THE_FILE, storage_failures_explained
from yt8m.schemas.errors import DataError, UserError

_SPAN_DIRECTORY = "span-{SPAN}"  # of `yt8m data generate --spans`
UNDIVIDED = "all"  # the split of a shard whose records are divided later, by id


@dataclass(frozen=True, kw_only=True)
class SourceShard:
    """One file that will be ingested."""

    uri: str
    split: str
    size: int
    mtime: float
    span: int | None = None
    version: int | None = None  # of the span
    tag: str = ""

    @contextmanager
    def while_unchanged(self) -> Iterator[None]:
        """DataError where the file is another one after the block than when it was listed.

        Whatever else the block raises follows from that.
        """
        try:
            yield
        except Exception:
            self.check_unchanged()
            raise
        self.check_unchanged()

    def check_unchanged(self) -> None:
        """DataError where the file is another one than when it was listed."""
        self._compare(stat_if_there(self.uri))

    def _compare(self, now: storage.Stat | None) -> None:
        if not is_same_content(storage.Stat(self.size, self.mtime, tag=self.tag), now):
            raise DataError(
                f"{self.uri} changed while it was ingested; restore it, or run again to take it as "
                "it is"
            )


def check_unchanged(shards: Sequence[SourceShard]) -> None:
    """DataError where one of the files is another one than when it was listed."""
    now = stats_of(shard.uri for shard in shards)
    for shard in shards:
        shard._compare(now[shard.uri])


@dataclass(frozen=True, kw_only=True)
class Sources:
    """All files, with the spans they come from (none where no pattern has a span)."""

    shards: tuple[SourceShard, ...]
    spans: tuple[int, ...] = ()
    available: tuple[int, ...] = ()  # every complete span that is there
    dated: bool = False  # whether every span is a date, so that people are shown dates

    def split(self, name: str) -> tuple[SourceShard, ...]:
        return tuple(shard for shard in self.shards if shard.split == name)

    @property
    def digest(self) -> str:
        rows = sorted((s.split, s.uri, s.size, s.mtime, s.tag, s.span) for s in self.shards)
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]


def source_digest(config: DataConfig, *, data_root: str = "", span: str = "") -> str:
    """Changes when other files, or files of other size or time, would be ingested."""
    return resolve_sources(config, data_root=data_root, span=span).digest


def resolve_sources(config: DataConfig, *, data_root: str = "", span: str = "") -> Sources:
    """The files that `config` means; `data_root` and `span` override it when not empty."""
    patterns = _patterns(config)
    root = _absolute(data_root or config.root, patterns)
    found_shards = {name: _find(root, name, texts) for name, texts in patterns.items()}
    _check_found(config, root, patterns, found_shards)
    wanted = span or config.span
    dated = have_dates(text for texts in patterns.values() for text in texts)
    available = _complete_spans(config, patterns, found_shards, wanted, dated=dated)
    chosen = choose_spans(available, wanted, dated=dated) if available else ()
    shards = [
        shard
        for of_split in found_shards.values()
        for shard in of_split
        if shard.span is None or shard.span in chosen
    ]
    _check_versions(config, shards, dated=dated)
    if config.divide.patterns and config.ingest is not Ingest.REWRITE:
        shards = _divide(shards, config.divide.buckets, root)
    _check_local(config, shards)
    _check_overlap(shards)
    return Sources(
        shards=tuple(shards), spans=chosen, available=tuple(sorted(available)), dated=dated
    )


def stable_bucket(key: str, buckets: dict[str, int]) -> str:
    """The split that `key` falls to: the same on every machine, in every version of Python."""
    at = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % sum(buckets.values())
    for name, share in buckets.items():
        if at < share:
            return name
        at -= share
    raise AssertionError("buckets are positive")


def _patterns(config: DataConfig) -> dict[str, tuple[str, ...]]:
    if config.divide.patterns:
        return {UNDIVIDED: config.divide.patterns}
    return {name: texts for name, texts in config.splits.items() if texts}


def _absolute(root: str, patterns: dict[str, tuple[str, ...]]) -> str:
    """`root` as links and manifests need it; it may be missing where no pattern is relative."""
    relative = [
        text for texts in patterns.values() for text in texts if storage.join("/", text) != text
    ]
    if not root and relative:
        raise UserError("data.root is not set: name the directory of the records (--data DIR)")
    return storage.absolute(root) if root else root


def _find(root: str, split: str, texts: tuple[str, ...]) -> list[SourceShard]:
    shards: dict[str, SourceShard] = {}
    for text in (_plain(root, text) for text in texts):
        below = storage.join(root, text).removesuffix(text)
        for shard in _newest_versions(parse_pattern(text, below=below), split):
            shards.setdefault(shard.uri, shard)
    return sorted(shards.values(), key=lambda shard: (shard.span or 0, shard.uri))


def _plain(root: str, text: str) -> str:
    """One way to write a pattern of local files, so that `a//b` and `./a/b` find no file twice."""
    if "://" in text or storage.local_path(storage.join(root, text)) is None:
        return text  # an object of this very name
    return re.sub(r"^(\./)+|(?<=/)(\./|/)+", "", text)


def _newest_versions(pattern: SpanPattern, split: str) -> list[SourceShard]:
    try:
        with storage_failures_explained(pattern.text):
            stats = storage.find(pattern.glob)
    except OF_THE_FILE as error:  # a bucket that is not there, or not for everybody
        raise UserError(f"{pattern.text}: cannot be searched ({error})") from error
    shards: list[SourceShard] = []
    newest: dict[int | None, int] = defaultdict(int)
    spellings: dict[tuple[int | None, ...], tuple[str, str]] = {}
    for uri, stat in stats.items():
        if not stat.is_dir and f"/{FOLDER}/" not in uri:
            _check_name(uri)
            span, version = pattern.read(uri)
            fields = pattern.fields(uri)
            for name, number in (("SPAN", (span,)), ("VERSION", (span, version))):
                written = fields.get(name, "")
                first, other = spellings.setdefault(number, (written, uri))
                if written != first:
                    raise UserError(
                        f"{other} and {uri} have the same {{{name}}}, written {first} and "
                        f"{written}: rename one of them"
                    )
            newest[span] = max(newest[span], version or 0)
            shard = SourceShard(
                uri=uri,
                split=split,
                span=span,
                version=version,
                size=stat.size,
                mtime=stat.mtime,
                tag=stat.tag,
            )
            shards.append(shard)
    return [shard for shard in shards if (shard.version or 0) == newest[shard.span]]


def _check_name(uri: str) -> None:
    """UserError where digests, metadata and reports could not hold the name."""
    try:
        uri.encode()
    except UnicodeEncodeError as error:
        raise UserError(f"{uri}: the name is not UTF-8; rename it") from error


def _check_found(
    config: DataConfig,
    root: str,
    patterns: dict[str, tuple[str, ...]],
    shards: dict[str, list[SourceShard]],
) -> None:
    missing = [n for n, files in shards.items() if not files and n not in config.unlabelled]
    if not missing:
        return
    lines = [f"  {name}: no file matches {', '.join(patterns[name])}" for name in missing]
    lines.append(f"  {_what_is_there(root)}")
    if patterns := _in_spans(config, root, missing):
        settings = [f"--set 'data.splits.{n}={json.dumps(texts)}'" for n, texts in patterns.items()]
        lines.append(f"  the directories are spans: give {' '.join(settings)}")
    elif any(shards.values()):
        lines.append(
            "  name each split's files (--set 'data.splits.train=[PATTERN]'), or divide one set "
            "of files (--set 'data.divide.patterns=[PATTERN]')"
        )
    raise UserError("\n".join([f"no records below {root}", *lines]))


def _in_spans(config: DataConfig, root: str, splits: list[str]) -> dict[str, tuple[str, ...]]:
    """The patterns that find all of `splits` in directories of spans; none where they do not."""
    patterns = {
        name: tuple(f"{_SPAN_DIRECTORY}/{text}" for text in config.splits.get(name, ()))
        for name in splits
    }
    try:
        found = all(_find(root, name, texts) for name, texts in patterns.items())
    except UserError:  # directories of other names, or patterns that have a span already
        return {}
    return patterns if found else {}


def _what_is_there(root: str) -> str:
    try:
        names = storage.list_dir(root)
    except FileNotFoundError:
        return "the directory does not exist"
    except NotADirectoryError:
        return "it is a file, not a directory"
    except OSError as error:
        return f"the directory cannot be read ({error.strerror or error})"
    if not names:
        return "the directory is empty"
    return f"the directory holds {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"


def _complete_spans(
    config: DataConfig,
    patterns: dict[str, tuple[str, ...]],
    shards: dict[str, list[SourceShard]],
    wanted: str,
    *,
    dated: bool,
) -> set[int]:
    """Spans that every split with a span has; where the newest are wanted, as in TFX, no split
    may be ahead of the others."""
    spans = {
        name: {file.span for file in files if file.span is not None}
        for name, files in shards.items()
        if name not in config.unlabelled
        and any(parse_pattern(text).has_span for text in patterns[name])
    }
    if not spans:
        return set()
    newest = {name: max(numbers, default=-1) for name, numbers in spans.items()}
    if len(set(newest.values())) > 1 and not wanted[:1].isdigit():
        texts = ", ".join(f"{n} {span_name(span, dated=dated)}" for n, span in newest.items())
        raise UserError(
            f"the newest span differs between splits ({texts}): wait until the span is complete, "
            "or name an older one with data.span=N"
        )
    return set.intersection(*spans.values())


def _check_versions(config: DataConfig, shards: list[SourceShard], *, dated: bool) -> None:
    """As in TFX, one version of a span serves all splits: while one arrives they differ."""
    versions: dict[int | None, dict[str, int]] = defaultdict(dict)
    for shard in shards:
        if shard.version is not None and shard.split not in config.unlabelled:
            versions[shard.span][shard.split] = shard.version
    for span, of_split in versions.items():
        if len(set(of_split.values())) > 1:
            texts = ", ".join(f"{name} {number}" for name, number in of_split.items())
            name = "" if span is None else span_name(span, dated=dated)
            what = f"version of span {name}" if name else "version"
            raise UserError(
                f"the newest {what} differs between splits ({texts}): wait until it is complete, "
                "or remove what came of it"
            )


def _divide(shards: list[SourceShard], buckets: dict[str, int], root: str) -> list[SourceShard]:
    divided = [
        replace(shard, split=stable_bucket(shard.uri.removeprefix(root).lstrip("/"), buckets))
        for shard in shards
    ]
    for name in buckets:
        if not any(shard.split == name for shard in divided):
            raise UserError(
                f"dividing {len(shards)} shards by hash leaves none for {name}: use more shards, "
                "or ingest=rewrite, which divides by video id"
            )
    return divided


def can_be_linked(uri: str, *, to: str = "") -> bool:
    """Whether a symbolic link can lead to the shard, from below `to`."""
    return storage.local_path(uri) is not None and storage.local_path(to) is not None


def bytes_copied_to_sample(sources: Sources, config: DataConfig, *, to: str = "") -> int:
    """Bytes that `data.sample_mb = 0` copies of sources that cannot be linked.

    Of a bounded sample it is little, and a rewrite's new shards are linked.
    """
    if config.sample_bytes is not None or config.ingest is Ingest.REWRITE:
        return 0
    return sum(
        shard.size
        for shard in sources.shards
        if shard.split not in config.unlabelled and not can_be_linked(shard.uri, to=to)
    )


def _check_local(config: DataConfig, shards: list[SourceShard]) -> None:
    remote = next((shard.uri for shard in shards if not can_be_linked(shard.uri)), None)
    if config.ingest is Ingest.LINK and remote:
        raise UserError(f"{remote} cannot be linked: set data.ingest=reference, or copy")


def _check_overlap(shards: list[SourceShard]) -> None:
    """No file may be in two splits, by whatever names or links."""
    known: dict[str, SourceShard] = {}
    for shard in shards:
        other = known.setdefault(storage.real_name(shard.uri), shard)
        if other.split != shard.split:
            same = "" if other.uri == shard.uri else f" (as {other.uri})"
            raise UserError(f"{shard.uri} is in two splits, {other.split}{same} and {shard.split}")
