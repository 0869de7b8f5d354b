"""A rough estimate of the memory that training takes, to refuse what cannot fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from yt8m.components.models.config import (
    DbofConfig,
    FrameLogisticConfig,
    LogisticConfig,
    MlpConfig,
    ModelConfig,
    MoeConfig,
    NetVladConfig,
    NextVladConfig,
    RnnConfig,
    TransformerConfig,
    TrunkClassifierConfig,
)
from yt8m.pipeline.config import PipelineConfig
from yt8m.schemas.features import SEGMENT_FRAMES, FeatureConfig, Level

_PROCESS_BYTES = 1.5e9  # the libraries, and their arenas
_FLOAT = 4
_COPIES_OF_WEIGHTS = 4  # itself, gradient, two moments of Adam
_BATCHES_IN_FLIGHT = 3  # in use and prefetched
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def training_bytes(config: PipelineConfig) -> float:
    """Peak memory of the training process, within a factor of two."""
    weights, activations = _model(config.trainer.model, config.features, _frames(config))
    row = _frames(config) * config.features.total_size * _BATCHES_IN_FLIGHT
    row_bytes = row * (_FLOAT if config.data.level is Level.VIDEO else 1)
    per_row = row_bytes + activations * _FLOAT * 2  # kept for the gradient, and the gradient
    return (
        _PROCESS_BYTES + weights * _FLOAT * _COPIES_OF_WEIGHTS + config.trainer.batch_size * per_row
    )


def available_bytes() -> float | None:
    """The free memory here, with the container's limit; None where it is unknown."""
    limits = [_free_memory(Path("/proc/meminfo"))]
    limits += [_limit(Path(name)) for name in _CGROUP_LIMITS]
    known = [limit for limit in limits if limit is not None]
    return min(known) if known else None


def _frames(config: PipelineConfig) -> int:
    if config.data.level is Level.VIDEO:
        return 1
    return config.features.max_frames if config.data.level is Level.FRAME else SEGMENT_FRAMES


def _model(model: ModelConfig, features: FeatureConfig, frames: int) -> tuple[float, float]:
    """Number of weights, and of activations for one row."""
    size, classes = features.total_size, features.num_classes
    if isinstance(model, LogisticConfig | MoeConfig | FrameLogisticConfig):
        weights, outputs = _classifier(model, size, classes)
        return weights, frames * size + outputs
    trunk, activations, width = _trunk(model, size, frames)
    weights, outputs = _classifier(model.classifier, width, classes)
    members = model.members if isinstance(model, MlpConfig) else 1
    return members * (trunk + weights), members * (activations + outputs)


def _classifier(
    config: TrunkClassifierConfig | FrameLogisticConfig, width: int, classes: int
) -> tuple[float, float]:
    if isinstance(config, MlpConfig):
        blocks, activations, wide = _trunk(config, width, 1)
        weights, outputs = _classifier(config.classifier, wide, classes)
        return blocks + weights, activations + outputs
    each = 2 * config.num_mixtures + 1 if isinstance(config, MoeConfig) else 1
    weights, outputs = width * classes * each, classes * each * 2
    if isinstance(config, LogisticConfig) and (units := config.co_occurrence):
        return weights + 2 * classes * units, outputs + units + 2 * classes
    return weights, outputs


def _trunk(model: Any, size: int, frames: int) -> tuple[float, float, int]:
    """Weights, activations for one row, and the width of the vector that comes out."""
    match model:
        case MlpConfig():
            blocks = model.blocks * 2 * model.width**2
            return size * model.width + blocks, (2 + 4 * model.blocks) * model.width, model.width
        case DbofConfig():
            weights = size * model.clusters + model.clusters * model.hidden
            taken = min(frames, model.frames)
            return weights, taken * (size + 3 * model.clusters), model.hidden
        case RnnConfig():
            ways = 2 if model.bidirectional else 1
            first, rest = size + model.cells, (ways + 1) * model.cells * (model.layers - 1)
            return (
                4 * ways * model.cells * (first + rest),
                frames * (size + 8 * ways * model.cells * model.layers),
                ways * model.cells,
            )
        case NetVladConfig():
            return (
                model.clusters * size * (model.hidden + 2),
                frames * (2 * size + 3 * model.clusters),
                model.hidden,
            )
        case NextVladConfig():
            # As one vector; apart it is less by a few per cent.
            wide, cells = size * model.expansion, model.clusters * model.groups
            vlad = wide * model.clusters / model.groups
            trunk = size * wide + wide * cells + vlad * model.hidden
            return trunk, frames * (size + 2 * wide + 3 * cells), model.hidden
        case TransformerConfig():
            each = 4 * model.width**2 + 2 * model.width * model.feed_forward
            seen = 10 * model.width + 2 * model.feed_forward + 3 * model.heads * frames
            return (
                size * model.width + model.layers * each,
                frames * (size + model.layers * seen),
                model.width,
            )
    raise TypeError(f"no estimate for {type(model).__name__}")


def _free_memory(path: Path) -> float | None:
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    free = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    return float(free[0]) if free else None


def _limit(path: Path) -> float | None:
    try:
        return float(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such group, or "max"
        return None
