"""The one figure worth showing beside each component, from its artifacts' properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from yt8m.components.artifacts.training_curve import TRAINING, read_curve
from yt8m.pipeline.lineage import ArtifactFacts

# Property name to the text that shows it; the first one that an artifact has is taken.
_FORMATS = (
    ("pushed_version", "version {}"),
    ("pushed", "not pushed"),
    ("gap", "GAP {:.4f}"),
    ("loss", "loss {:.4f}"),
    ("anomalies", "{} anomalies"),
    ("records", "{:,} records"),
    ("version", "version {}"),
    ("features", "{} features"),
    ("verdict", "{}"),
)
_NO_VERSION = ("", "0")
_MODEL_RUN = "model_run"


def key_metric(outputs: Iterable[ArtifactFacts]) -> str:
    """The figure of a component; empty where its artifacts have none."""
    outputs = tuple(outputs)
    properties = {name: value for o in outputs for name, value in o.properties.items()}
    for name, form in _FORMATS:
        if name in properties:
            return _shown(form, properties, name)
    # TFX's own Trainer gives its artifacts no properties; its log has the last loss.
    curves = [read_curve(f"{o.uri}/{TRAINING}") for o in outputs if o.key == _MODEL_RUN]
    return next((_last_loss(curve) for curve in curves if curve), "")


def _shown(form: str, properties: dict[str, Any], name: str) -> str:
    value = properties[name]
    if "version" in name and str(value) in _NO_VERSION:
        return "none"
    baseline = properties.get("gap_baseline")
    if name == "gap" and isinstance(baseline, float):
        return f"GAP {value:.4f}, baseline {baseline:.4f}"
    return form.format(value)


def _last_loss(curve: Iterable[Mapping[str, Any]]) -> str:
    losses = [row["loss"] for row in curve if row.get("kind") == "train"]
    return f"loss {losses[-1]:.4f}" if losses else ""
