"""Action of `yt8m data download`."""

from __future__ import annotations

import time
from pathlib import Path

from yt8m.cli.arguments.data import DownloadArguments
from yt8m.components import storage
from yt8m.components.console.console import Console
from yt8m.components.extras.published.download import Download, download, read_with_retries
from yt8m.components.extras.published.plan import Partition, choose_files, parse_plan
from yt8m.schemas.errors import UserError
from yt8m.schemas.vocabulary import FILE_NAME, parse_vocabulary


def run(args: DownloadArguments, console: Console) -> None:
    """Fetch what is missing."""
    partition = Partition(
        version=args.version,
        level=args.level,
        split=args.split,
        mirror=args.mirror,
        server=args.server,
    )
    plan = parse_plan(read_with_retries(partition.plan_url), partition.plan_url)
    files = choose_files(plan, args.shard)
    if not files:
        raise UserError(f"--shard {args.shard[0]}/{args.shard[1]}: none of {len(plan)} files")
    job = Download(
        files=files, url_of=partition.file_url, out=Path(args.out).absolute(), workers=args.workers
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
            "out": args.out,
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
    path, url = out / FILE_NAME, partition.vocabulary_url
    if url is None:
        return None
    if not path.is_file():
        data = read_with_retries(url)
        parse_vocabulary(data.decode("utf-8-sig", "replace"), source=url)
        storage.write_bytes(str(path), data)
    return str(path)
