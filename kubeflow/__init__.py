"""Layer 3: where the pipeline runs when one machine is not enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yt8m.kubeflow.kfp_components import Components


def components(path: str) -> Components:
    """Load the steps of the compiled pipeline in the file `path` as components of kfp's DSL.

    `yt8m kubeflow compile` writes the file; this needs kfp, and neither TFX nor TensorFlow.
    """
    from yt8m.kubeflow.kfp_components import load_components

    return load_components(path)
