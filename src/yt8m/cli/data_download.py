"""Fetch YouTube-8M as Google publishes it: verified, several files at once, continued.

The published plan says which files there are and their checksums. What is there with the right
checksum is not fetched again, and what was begun is continued: after a fault, give the same
command. Beside the records comes vocabulary.csv. With --shard X/Y come the files that the published
downloader calls part X of Y; the same parts of train and validate make a small dataset.

Versions: 1 is of 2016; 2 of 2018 (video level 31 GB, frame level 1.5 TB); 3 are the segments that
were rated in 2019, frame level, validate and test.

examples:
  yt8m data download --version 2 --level video --split train --shard 1/100 --out /data/yt8m/video
  yt8m data download --version 3 --level frame --split validate --mirror eu --out /data/segments
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from yt8m.cli.shared_arguments import positive_int
from yt8m.components.console.console import Console
from yt8m.components.extras.published.plan import MIRRORS, SERVER, VERSIONS
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import Level
from yt8m.schemas.vocabulary import FILE_NAME

if TYPE_CHECKING:
    from yt8m.components.extras.published.plan import Partition


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which part of the dataset, and where to."""
    parser.add_argument("--version", type=int, choices=VERSIONS, default=2, help="(2)")
    parser.add_argument(
        "--level", choices=[Level.VIDEO.value, Level.FRAME.value], required=True, help="of records"
    )
    parser.add_argument("--split", choices=["train", "validate", "test"], required=True)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a folder here")
    parser.add_argument(
        "--shard", type=_part, default=(1, 1), metavar="X/Y", help="part X of Y of the files (1/1)"
    )
    parser.add_argument("--mirror", choices=MIRRORS, default=MIRRORS[0], help=f"({MIRRORS[0]})")
    parser.add_argument(
        "--workers", type=positive_int, default=8, metavar="N", help="files at once (8)"
    )
    parser.add_argument(
        "--server", default=SERVER, metavar="URL", help=f"another one with the paths of {SERVER}"
    )


def run(args: argparse.Namespace, console: Console) -> None:
    """Fetch what is missing."""
    from yt8m.components.extras.published.download import Download, download, read_with_retries
    from yt8m.components.extras.published.plan import Partition, choose_files, parse_plan

    partition = Partition(
        version=args.version,
        level=Level(args.level),
        split=args.split,
        mirror=args.mirror,
        server=args.server,
    )
    plan = parse_plan(read_with_retries(partition.plan_url), partition.plan_url)
    files = choose_files(plan, args.shard)
    if not files:
        raise UserError(f"--shard {args.shard[0]}/{args.shard[1]}: none of {len(plan)} files")
    job = Download(
        files=files, url_of=partition.file_url, out=args.out.absolute(), workers=args.workers
    )
    vocabulary = _vocabulary(partition, job.out)
    began, received = time.monotonic(), 0
    with console.progress("download", total=len(files), unit="files") as progress:

        def advance(count: int) -> None:
            nonlocal received
            received += count
            pace = received / max(time.monotonic() - began, 1e-9)
            progress.advance(note=f"{received / 1e6:,.1f} MB, {pace / 1e6:,.1f} MB/s")

        done = download(job, advance=advance)
    console.result(
        {
            "out": str(args.out),
            "files": done.files,
            "fetched": done.fetched,
            "bytes": done.bytes,
            "vocabulary": vocabulary,
        },
        f"{done.files:,} files in {args.out}, {done.fetched:,} of them fetched now "
        f"({done.bytes / 1e6:,.1f} MB); every checksum is right",
    )


def _vocabulary(partition: Partition, out: Path) -> str | None:
    """The file with the classes' names, which is fetched where it is not there."""
    from yt8m.components import storage
    from yt8m.components.extras.published.download import read_with_retries
    from yt8m.schemas.vocabulary import parse_vocabulary

    path, url = out / FILE_NAME, partition.vocabulary_url
    if url is None:
        return None
    if not path.is_file():
        data = read_with_retries(url)
        parse_vocabulary(data.decode("utf-8-sig", "replace"), source=url)
        storage.write_bytes(str(path), data)
    return str(path)


def _part(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise argparse.ArgumentTypeError(f"{text}: write it as X/Y, X from 1 to Y, e.g. 1/100")
    return int(part), int(parts)
