"""Add labelled videos to the index of an exported model, without training.

The model was trained with trainer.retrieval. Classes that training had no video of are predicted
from then on, as far as the neighbours' weight goes; the network itself stays as it is. The result
is an export, to be judged with `yt8m evaluate --baseline`.

examples:
  yt8m models extend --model push --data 'new/videos*.tfrecord' --out extended
"""

from __future__ import annotations

import argparse

from yt8m.components.console.console import Console
from yt8m.components.console.quiet import silence_tensorflow


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "--model", required=True, metavar="DIR|REGISTRY", help="an export or a push directory"
    )
    parser.add_argument(
        "--data",
        required=True,
        metavar="DIR|PATTERN",
        help="the records: a directory, or files, e.g. 'new/videos*'",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="the SavedModel to write")


def run(args: argparse.Namespace, console: Console) -> None:
    """Write the extended model, and say how many videos it knows."""
    silence_tensorflow()
    from yt8m.components.export.extend import extend_export
    from yt8m.components.records.find import find_shards
    from yt8m.components.registry.find_model import find_model

    model = find_model(args.model)
    added, videos = extend_export(model, tuple(find_shards(args.data)), args.out)
    console.result(
        {"out": args.out, "model": model, "added": added, "videos": videos},
        f"{args.out}: {model} with {added} more videos in its index, {videos} in all",
    )
