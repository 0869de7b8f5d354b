"""Is there anything to retrain on, and with which spans? Answered from MLMD and the registry."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from yt8m.components.example_gen.sources import Sources, resolve_sources
from yt8m.components.registry.versions import newest
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.lineage import Lineage
from yt8m.pipeline.metadata import open_store
from yt8m.pipeline.run.record import Verdict
from yt8m.pipeline.run.workspace import Layout

_NEWEST_SPAN = ("", "latest")


@dataclass(frozen=True)
class News:
    """Whether there are new data, in words; `is_new` False ends a retraining at once."""

    is_new: bool
    text: str


def windowed(config: PipelineConfig) -> PipelineConfig:
    """`config` on the newest `retrain.window` spans, unless it names its spans itself."""
    if config.data.span not in _NEWEST_SPAN:
        return config
    window = f"last:{config.retrain.window}"
    return dataclasses.replace(config, data=dataclasses.replace(config.data, span=window))


def prepared(config: PipelineConfig) -> PipelineConfig:
    """`config` as a retraining runs it: on the window, and from the newest blessed model."""
    warm = config.retrain.warm_start or config.trainer.start_from_base
    trainer = dataclasses.replace(config.trainer, start_from_base=warm)
    return dataclasses.replace(windowed(config), trainer=trainer)


def find_news(config: PipelineConfig) -> News:
    """Compare what is there with what complete runs, and the newest model, were made from."""
    sources = resolve_sources(config.data)
    processed = _complete_runs(config)
    if sources.digest in processed:
        return News(
            False,
            f"nothing new: {processed[sources.digest]} was made from {_named(sources)} already; "
            "after a change of the configuration, use `yt8m run`",
        )
    known = _newest_known_span(config)
    if sources.spans and known is not None and not processed and max(sources.spans) <= known:
        return News(False, f"nothing new: the registry's newest model has seen span {known}")
    return News(True, f"retraining on {_named(sources)}")


def _complete_runs(config: PipelineConfig) -> dict[str, str]:
    """Digest of the data to the run that was made from them, and what came of it, in words."""
    database = Layout(Path(config.root)).database
    if config.metadata.mysql is None and not database.exists():
        return {}
    lineage = Lineage(open_store(config.metadata, database))
    return {
        str(notes.get("source_digest", "")): f"run {run_id} ({notes['verdict']})"
        for run_id, notes in lineage.notes()
        if Verdict(notes.get("verdict", Verdict.FAILED.value)).is_complete
    }


def _newest_known_span(config: PipelineConfig) -> int | None:
    """Where this root has no history (a new machine, a CronJob's empty disk), the registry has."""
    if not config.pusher.push_dir:
        return None
    version = newest(config.pusher.push_dir)
    return max(version.record.data.spans, default=None) if version else None


def _named(sources: Sources) -> str:
    if not sources.spans:
        return f"{len(sources.shards)} shards (digest {sources.digest})"
    spans = ", ".join(map(str, sources.spans))
    return f"span {spans}" if len(sources.spans) == 1 else f"spans {spans}"
