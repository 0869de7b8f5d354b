"""Action of `yt8m models extend`."""

from __future__ import annotations

from yt8m.cli.arguments.models import ModelsExtendArguments
from yt8m.components.console.console import Console
from yt8m.components.export.extend import extend_export
from yt8m.components.records.find import find_shards
from yt8m.components.registry.find_model import find_model


def run(args: ModelsExtendArguments, console: Console) -> None:
    """Write the extended model, and say how many videos it knows."""

    model = find_model(args.model)
    added, videos = extend_export(model, tuple(find_shards(args.data)), args.out)
    console.result(
        {"out": args.out, "model": model, "added": added, "videos": videos},
        f"{args.out}: {model} with {added} more videos in its index, {videos} in all",
    )
