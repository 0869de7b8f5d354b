"""Choice of the scored shards: by default the newest span's, whatever the window trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from yt8m.components.artifacts.spans import span_name, span_names, spans_text
from yt8m.components.evaluator.config import EvaluatedSpans, EvaluatorConfig
from yt8m.schemas.errors import DataError


class InSplit(Protocol):
    """A shard of the manifest, or a source file that will be one."""

    @property
    def split(self) -> str: ...

    @property
    def span(self) -> int | None: ...


S = TypeVar("S", bound=InSplit)


@dataclass(frozen=True, kw_only=True)
class ShardSelection(Generic[S]):
    """Shards to score, and the spans of the split that are left out."""

    shards: tuple[S, ...]
    left_out: tuple[int, ...] = ()
    dated: bool = False  # whether every span is a date

    @property
    def spans(self) -> tuple[int, ...]:
        """Where the shards come from; empty where no pattern has a span."""
        return _spans(self.shards)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for a reader of the result."""
        if not self.left_out:
            return ()
        return (
            f"scored on {spans_text(self.spans, dated=self.dated)}, the newest, only; not on "
            f"{span_names(self.left_out, dated=self.dated)} (evaluator.spans: newest)",
        )


def choose_shards(
    config: EvaluatorConfig, shards: Sequence[S], *, dated: bool = False
) -> ShardSelection[S]:
    """Of all shards of the data, those of the evaluated split that count.

    Shards without a span are of no age, and stay. `dated`: whether every span is a date.
    """
    of_split = tuple(shard for shard in shards if shard.split == config.split)
    spans = _spans(of_split)
    if config.spans is EvaluatedSpans.ALL or not spans:
        return ShardSelection(shards=of_split, dated=dated)
    newest = _spans(shards)[-1]
    if newest not in spans:
        raise DataError(
            f"span {span_name(newest, dated=dated)}, the newest, has no shard in split "
            f"{config.split}, so a model trained on it cannot be evaluated; give every span shards "
            "of that split, or set evaluator.spans=all"
        )
    return ShardSelection(
        shards=tuple(shard for shard in of_split if shard.span in (None, newest)),
        left_out=tuple(span for span in spans if span != newest),
        dated=dated,
    )


def _spans(shards: Sequence[InSplit]) -> tuple[int, ...]:
    return tuple(sorted({shard.span for shard in shards if shard.span is not None}))
