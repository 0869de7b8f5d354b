"""Action of `yt8m export`."""

from __future__ import annotations

from yt8m.cli.arguments.scoring import ExportArguments
from yt8m.cli.model_source import model_of
from yt8m.cli.output import check_output
from yt8m.components.console.console import Console
from yt8m.components.export.load import load_model
from yt8m.components.export.mediapipe import export_for_mediapipe
from yt8m.components.registry.archive import pack_model


def run(args: ExportArguments, console: Console) -> None:
    """Write it, and say what goes in and what comes out."""
    model = model_of(args.model, console)
    if args.format == "tgz":
        _write_archive(model, args, console)
    else:
        _write_for_mediapipe(model, args, console)


def _write_archive(model: str, args: ExportArguments, console: Console) -> None:
    check_output(args.out, [args.model])
    load_model(model)  # whatever else is in the directory is not packed
    size = pack_model(model, args.out)
    value = {"out": args.out, "model": model, "format": args.format, "bytes": size}
    console.result(value, f"{args.out}: {size:,} bytes, of {model}")


def _write_for_mediapipe(model: str, args: ExportArguments, console: Console) -> None:
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
