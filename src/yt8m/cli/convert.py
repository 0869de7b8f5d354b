"""Action of `yt8m convert`."""

from __future__ import annotations

from yt8m.cli.arguments.scoring import ConvertArguments
from yt8m.cli.output import check_output
from yt8m.components import storage
from yt8m.components.console.console import Console
from yt8m.components.extras.scores.json_predictions import write_video_file
from yt8m.schemas.errors import UserError


def run(args: ConvertArguments, console: Console) -> None:
    """Write the file, and say how many videos it has."""
    files = [name for each in args.predictions for name in storage.glob(storage.absolute(each))]
    sources = sorted(dict.fromkeys(files))
    if not sources:
        raise UserError(f"--predictions {' '.join(args.predictions)}: no such file")
    check_output(args.out, sources)
    videos = write_video_file(sources, storage.absolute(args.out))
    value = {"out": args.out, "videos": videos, "files": sources}
    console.result(value, f"{args.out}: {videos:,} videos of {len(sources)} files")
