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
    files = [name for each in args.predictions for name in _files(each)]
    sources = sorted(dict.fromkeys(files))
    check_output(args.out, sources)
    videos = write_video_file(sources, storage.absolute(args.out))
    value = {"out": args.out, "videos": videos, "files": sources}
    console.result(value, f"{args.out}: {videos:,} videos of {len(sources)} files")


def _files(place: str) -> list[str]:
    """The file of that name, whatever is in it, or all that the pattern means."""
    address = storage.absolute(place)
    if storage.is_dir(address):
        raise UserError(f"--predictions {place}: is a directory; give a pattern of its files")
    if storage.exists(address):
        return [address]
    files = [name for name in storage.glob(address) if not storage.is_dir(name)]
    if not files:
        raise UserError(f"--predictions {place}: no such file")
    return files
