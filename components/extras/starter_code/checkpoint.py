"""Checkpoints of the starter code: TF1 variables by name, as the weights of the same network here.

Of its models those are known whose arithmetic has an equal here. `model_flags.json`, which it
writes beside a checkpoint, says which one it was and what it read; without that file the variables'
names and shapes do. What neither says, as DBoF's activation, the user does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import tensorflow as tf

from yt8m.components import storage
from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.extras.starter_code.frame_trunks import check_flags, find_trunk, has_trunk
from yt8m.components.inputs.shards import tf_reason
from yt8m.components.models.config import (
    FrameLogisticConfig,
    LogisticConfig,
    ModelConfig,
    MoeConfig,
    Sharing,
)
from yt8m.components.models.heads import create_heads
from yt8m.components.models.layers import Recipe
from yt8m.components.models.network import Network
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import AUDIO, FEATURE_SIZES, RGB, FeatureConfig, Level, record_key

_FLAGS_FILE = "model_flags.json"
_SCOPE = "tower/"
_LOGISTIC = ("fully_connected/weights", "fully_connected/biases")
_MOE = ("gates/weights", "experts/weights", "experts/biases")
_OF_TRAINING = re.compile(r"(.*/)?(global_step|beta[12]_power(_\d+)?)")
_STEP = re.compile(r".*-(\d+)")
_FILE = re.compile(r"\.(index|meta|data-\d+-of-\d+)$")
_KNOWN = "LogisticModel, MoeModel, FrameLevelLogisticModel, DbofModel and LstmModel"
_FRAME_MODELS = ("FrameLevelLogisticModel", "DbofModel", "LstmModel")
_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class _Flags:
    """Contents of `model_flags.json`, as far as they decide the weights' meaning."""

    model: str = ""
    frame_features: bool = False
    names: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class _Weights:
    """A known model: its network here, and what its weights are there."""

    model: ModelConfig
    num_classes: int
    inputs: int
    values: tuple[np.ndarray, ...] = field(repr=False)  # in the order of the network's weights


def find_checkpoint(source: str) -> str | None:
    """The checkpoint that `source` is (or one of its files), or the newest in it; None: none."""
    source = _FILE.sub("", source)
    if storage.exists(f"{source}.index"):
        return source
    if not storage.is_dir(source):
        return None
    names = [n.removesuffix(".index") for n in storage.list_dir(source) if n.endswith(".index")]
    newest = max(names, key=_step_of, default=None)
    return storage.join(source, newest) if newest else None


def export_checkpoint(
    source: str,
    directory: str,
    *,
    level: Level | None = None,
    said: Mapping[str, str] | None = None,
) -> None:
    """Write `source`, a checkpoint's path, as an export; UserError where it is no known model's.

    `said` are flags of the starter code that the checkpoint does not have, by name.
    """
    check_flags(said or {})
    flags = _read_flags(source)
    variables = _read_variables(source)
    level = _level(source, flags, level, is_frame=has_trunk(variables))
    known = _recognise(source, variables, level, said or {})
    features = _features(source, flags, known, level)
    network = Network(
        known.model,
        features=features,
        level=level,
        heads=create_heads((), features=features, level=level),
        sharing=Sharing.ALL,
        recipe=Recipe(seed=0),
    )
    for weight, value in zip(network.weights, known.values, strict=True):
        if weight.shape != value.shape:
            raise UserError(
                f"{source}: its variables do not fit together: one has the shape "
                f"{list(value.shape)}, and by the others it is {list(weight.shape)}"
            )
        if not np.isfinite(value).all():
            raise UserError(
                f"{source}: its variables have NaN or infinity: it is of a diverged training; give "
                "an earlier checkpoint"
            )
        weight.assign(value)
    config = {"starter_code": {"checkpoint": source, "model": known.model.name}}
    export_model(network, directory, ExportSpec(level=level, features=features, config=config))


def _step_of(name: str) -> tuple[int, str]:
    match = _STEP.fullmatch(name)
    return (int(match[1]) if match else -1, name)


def _read_variables(source: str) -> dict[str, np.ndarray]:
    """The model's variables without their scope; not those that only training needs."""
    try:
        reader = tf.train.load_checkpoint(source)
        names = sorted(reader.get_variable_to_shape_map())
        kept = [
            name
            for name in names
            if not _OF_TRAINING.fullmatch(name)
            # A slot of the optimiser is named after its variable: NAME/Adam.
            and not any(name.startswith(f"{other}/") for other in names)
        ]
        return {name.removeprefix(_SCOPE): reader.get_tensor(name) for name in kept}
    except (tf.errors.OpError, ValueError, RuntimeError) as error:
        raise DataError(f"{source} is damaged, it cannot be read: {tf_reason(error)}") from error


def _recognise(
    source: str, weights: Mapping[str, np.ndarray], level: Level, said: Mapping[str, str]
) -> _Weights:
    trunk = find_trunk(source, weights, said) if level.is_sequence else None
    rest = {name: weights[name] for name in weights if trunk is None or name not in trunk.names}
    end = _classifier(rest)
    if end is not None and trunk is not None and isinstance(end.model, LogisticConfig | MoeConfig):
        return replace(
            end,
            model=replace(trunk.model, classifier=end.model),
            inputs=trunk.inputs,
            values=(*trunk.trained, *trunk.means, *end.values),
        )
    if end is not None and isinstance(end.model, LogisticConfig) and level.is_sequence:
        return replace(end, model=FrameLogisticConfig())
    if end is not None and not level.is_sequence:
        return end
    shapes = [f"{name} {list(value.shape)}" for name, value in sorted(weights.items())]
    more = f" and {len(shapes) - _SHOWN} more" if len(shapes) > _SHOWN else ""
    raise UserError(
        f"{source}: no checkpoint of a {level.value}-level model of the starter code that yt8m can "
        f"import ({_KNOWN}); it holds {', '.join(shapes[:_SHOWN]) or 'nothing'}{more}. Export the "
        "model as a SavedModel there, and import that"
    )


def _classifier(weights: Mapping[str, np.ndarray]) -> _Weights | None:
    """The classifier that all of `found` are the weights of."""
    if set(weights) == set(_LOGISTIC):
        kernel, bias = (weights[name] for name in _LOGISTIC)
        if kernel.ndim == 2 and bias.shape == kernel.shape[1:]:
            return _Weights(
                model=LogisticConfig(),
                num_classes=kernel.shape[1],
                inputs=kernel.shape[0],
                values=(kernel, bias),
            )
    if set(weights) == set(_MOE):
        gates, experts, biases = (weights[name] for name in _MOE)
        if gates.ndim != 2 or experts.ndim != 2:
            return None
        classes = gates.shape[1] - experts.shape[1]
        if classes > 0 and experts.shape[1] % classes == 0 and biases.shape == experts.shape[1:]:
            mixtures = experts.shape[1] // classes
            return _Weights(
                model=MoeConfig(num_mixtures=mixtures),
                num_classes=classes,
                inputs=gates.shape[0],
                values=(
                    _by_mixture(gates, mixtures + 1),
                    _by_mixture(experts, mixtures),
                    _by_mixture(biases, mixtures),
                ),
            )
    return None


def _by_mixture(values: np.ndarray, mixtures: int) -> np.ndarray:
    """Columns ordered by mixture and then class; the starter code has them by class."""
    parts = values.reshape(*values.shape[:-1], -1, mixtures)
    return np.ascontiguousarray(np.swapaxes(parts, -1, -2)).reshape(values.shape)


def _read_flags(source: str) -> _Flags:
    place = storage.join(source.rpartition("/")[0] or ".", _FLAGS_FILE)
    if not storage.exists(place):
        return _Flags()
    try:
        said = json.loads(storage.read_text(place))
        return _Flags(
            model=str(said.get("model", "")),
            frame_features=bool(said.get("frame_features", False)),
            names=_listed(said["feature_names"]),
            sizes=tuple(int(size) for size in _listed(said["feature_sizes"])),
        )
    except (ValueError, KeyError, AttributeError) as error:
        raise UserError(
            f"{place}: not what the starter code writes there ({error!r}); it says what the "
            "checkpoint was trained on. Repair or remove it"
        ) from error


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


def _level(source: str, flags: _Flags, said: Level | None, *, is_frame: bool) -> Level:
    """Frame level where flags or variables say so; segments are frames, and only `said` tells."""
    frames = flags.frame_features or flags.model in _FRAME_MODELS or is_frame
    if said is None:
        return Level.FRAME if frames else Level.VIDEO
    if flags.names and said.is_sequence is not frames:
        trained = "frames" if frames else "video-level records"
        raise UserError(f"--level {said.value}: {source} was trained on {trained} ({_FLAGS_FILE})")
    return said


def _features(source: str, flags: _Flags, known: _Weights, level: Level) -> FeatureConfig:
    prefix = record_key("", level)
    sizes = dict(zip(flags.names, flags.sizes, strict=False)) if flags.names else _usual(known)
    if flags.names and not all(name.startswith(prefix) for name in flags.names):
        raise UserError(
            f"{source}: trained on the features {', '.join(flags.names)} ({_FLAGS_FILE}); at "
            f"{level.value} level their names begin with {prefix}"
        )
    if len(flags.names) != len(flags.sizes) or sum(sizes.values()) != known.inputs:
        raise UserError(
            f"{source}: takes {known.inputs} numbers a video, and "
            + (f"{_FLAGS_FILE} has {sizes}" if flags.names else "rgb and audio have 1024 and 128")
            + f"; {_FLAGS_FILE} beside it, with feature_names and feature_sizes, says which"
        )
    return FeatureConfig(
        names=tuple(name.removeprefix(prefix) if flags.names else name for name in sizes),
        sizes=tuple(sizes.values()),
        num_classes=known.num_classes,
    )


def _usual(known: _Weights) -> dict[str, int]:
    """The published features that are as long as the model's input."""
    for names in ((RGB, AUDIO), (RGB,), (AUDIO,)):
        sizes = {name: FEATURE_SIZES[name] for name in names}
        if sum(sizes.values()) == known.inputs:
            return sizes
    return {}
