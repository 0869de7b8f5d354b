"""Action of `yt8m data generate`."""

from __future__ import annotations

from pathlib import Path

from yt8m.cli.arguments.data import GenerateArguments
from yt8m.components.console.console import Console
from yt8m.components.extras.synthetic.generate import generate
from yt8m.components.extras.synthetic.spec import DatasetSpec
from yt8m.schemas.errors import ConfigError


def run(args: GenerateArguments, console: Console) -> None:
    """Generate, then say what is there."""
    names = ("train", "eval", "test", "classes", "shards", "seed", "spans", "temporal")
    low, high = args.frames
    values = {name: getattr(args, name) for name in names}
    try:
        spec = DatasetSpec(**values, level=args.level, min_frames=low, max_frames=high)
    except ConfigError as error:
        problems = [problem.replace("min_frames", "frames") for problem in error.problems]
        raise ConfigError([f"--{problem}" for problem in problems]) from None
    with console.progress("generate", total=spec.total_examples, unit="records") as progress:
        done = generate(spec, Path(args.out), advance=progress.advance)
    console.result(
        {
            "out": str(done.out),
            "records": done.records,
            "bytes": done.bytes,
            "files": [str(path) for path in done.files],
            "vocabulary": str(done.vocabulary),
        },
        f"{done.records:,} records in {len(done.files)} files below {done.out}, "
        f"{done.bytes / 1e6:,.1f} MB; the classes' names are in {done.vocabulary}",
    )
