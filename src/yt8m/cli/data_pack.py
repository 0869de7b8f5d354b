"""Action of `yt8m data pack`."""

from __future__ import annotations

from pathlib import Path

from yt8m.cli.arguments.data import PackArguments
from yt8m.components.console.console import Console
from yt8m.components.extras.packing.pack import Packed, Packing, pack
from yt8m.components.extras.packing.rows import open_table
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import MAX_FRAMES

_WARN_SHARE = 0.001  # of numbers that were clipped: more is hardly meant


def run(args: PackArguments, console: Console) -> None:
    """Pack, and say what a configuration needs to read it."""
    table = open_table(Path(args.input))
    if args.shards > max(table.rows, 1):
        raise UserError(f"--shards {args.shards}: {args.input} has {table.rows} rows")
    packing = Packing(
        level=args.level,
        out=Path(args.out).absolute(),
        split=args.split,
        shards=args.shards,
        value_range=args.range,
        zeros=args.zero_sizes(),
    )
    with console.progress("pack", total=table.rows, unit="records") as progress:
        done = pack(table, packing, advance=progress.advance)
    if done.numbers and done.clipped / done.numbers > _WARN_SHARE:
        low, high = args.range
        console.warn(
            f"{done.clipped / done.numbers:.1%} of the numbers lie outside {low:g} to {high:g} and "
            "were stored as the nearest of these; --range says where they lie"
        )
    if done.repeated:
        one, other = done.twins
        console.warn(
            f"{done.repeated:,} records have the id of another, for one rows {one} and {other}; "
            "each of them counts as a video"
        )
    settings = _settings(done)
    console.result(
        {
            "out": args.out,
            "records": done.records,
            "files": done.files,
            "clipped": done.clipped,
            "repeated_ids": done.repeated,
            "features": {
                "names": list(done.sizes),
                "sizes": list(done.sizes.values()),
                "num_classes": done.num_classes,
            },
        },
        f"{done.records:,} records in {len(done.files)} files below {args.out}; to read them:\n"
        f"  {settings}",
    )


def _settings(done: Packed) -> str:
    names, sizes = list(done.sizes), list(done.sizes.values())
    classes = f" --set features.num_classes={done.num_classes}" if done.num_classes else ""
    longer = f" --set features.max_frames={done.frames}" if done.frames > MAX_FRAMES else ""
    return (
        f"--set 'features.names=[{', '.join(names)}]' --set 'features.sizes={sizes}'"
        f"{classes}{longer}"
    )
