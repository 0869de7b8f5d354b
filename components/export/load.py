"""Load an exported model to score with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from yt8m.components import storage
from yt8m.components.artifacts.export_info import SCORES, SERVING, ExportInfo, load_info
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import FeatureConfig, Level


class ExportedModel:
    """A loaded export; `score` and `serve` are its signatures."""

    def __init__(self, directory: str, loaded: Any, info: ExportInfo) -> None:
        self.directory, self.info = directory, info
        self._loaded = loaded  # keeps the variables alive
        self.score: Callable[..., dict[str, tf.Tensor]] = loaded.signatures[SCORES]
        self.serve: Callable[..., dict[str, tf.Tensor]] = loaded.signatures[SERVING]

    def require(self, *, level: Level, features: FeatureConfig) -> None:
        """UserError unless the model takes records of this kind and gives these classes."""
        wanted = {"level": level.value, "features": features}
        found = {"level": self.info.level.value, "features": self.info.features}
        for name, value in wanted.items():
            if found[name] != value:
                raise UserError(
                    f"{self.directory}: exported for {name} {found[name]}, but the data has {value}"
                )


def load_model(directory: str) -> ExportedModel:
    """The export in `directory`; UserError where there is none, or it cannot be loaded."""
    if not storage.exists(storage.join(directory, MODEL_FILE)):
        raise UserError(f"{directory}: holds no model (no {MODEL_FILE})")
    info = load_info(directory)
    try:
        loaded = tf.saved_model.load(directory)
    except (tf.errors.OpError, OSError, ValueError, LookupError) as error:
        first = str(error).strip().splitlines()[0]
        raise UserError(f"{directory}: the model is damaged ({first})") from error
    missing = {SCORES, SERVING} - set(loaded.signatures)
    if missing:
        names = ", ".join(sorted(loaded.signatures)) or "none"
        raise UserError(
            f"{directory}: no signature {', '.join(sorted(missing))}; the model has {names}"
        )
    return ExportedModel(directory, loaded, info)
