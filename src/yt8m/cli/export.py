"""Write a model in the form that another program takes.

Formats:
  mediapipe   a model of level segment (or frame) for MediaPipe's YouTube-8M inference graph: inputs
              rgb_and_audio [batch, frames, 1152] and num_frames [batch, 1], output predictions
              [batch, classes]

examples:
  yt8m export --model push --format mediapipe --out /tmp/mediapipe/saved_model
"""

from __future__ import annotations

import argparse

from yt8m.components.console.console import Console
from yt8m.components.console.quiet import quiet_tensorflow

_FORMATS = ("mediapipe",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is written, and where."""
    parser.add_argument(
        "--model", required=True, metavar="DIR|REGISTRY", help="an export or a push directory"
    )
    parser.add_argument("--format", required=True, choices=_FORMATS, help="who takes it")
    parser.add_argument("--out", required=True, metavar="DIR", help="the SavedModel to write")


@quiet_tensorflow()
def run(args: argparse.Namespace, console: Console) -> None:
    """Write it, and say what goes in and what comes out."""
    from yt8m.components.export.mediapipe import export_for_mediapipe
    from yt8m.components.registry.find_model import find_model

    model = find_model(args.model)
    total, classes = export_for_mediapipe(model, args.out)
    console.result(
        {
            "out": args.out,
            "model": model,
            "format": args.format,
            "inputs": {"rgb_and_audio": [None, None, total], "num_frames": [None, 1]},
            "outputs": {"predictions": [None, classes]},
        },
        f"{args.out}: rgb_and_audio [batch, frames, {total}], num_frames [batch, 1] -> predictions "
        f"[batch, {classes}], of {model}",
    )
