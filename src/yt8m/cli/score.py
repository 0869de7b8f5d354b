"""Score a competition's file against labelled records: GAP of videos, MAP of segments.

A file with `VideoId,LabelConfidencePairs` is scored by GAP@20 over all labels of all videos in the
records; one with `Class,Segments` by MAP: of each class's first --top-n segments those count that
somebody rated for that class, and the mean is over all classes with a positive rating. Header and
order of the lines do not matter. What the file lacks counts as not found; what the records do not
know is left out; both are told.

examples:
  yt8m score --submission submission.csv --data 'data/validate*.tfrecord'
  yt8m score --submission segments.csv --data 'segments/validate*' --json
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from yt8m.cli.shared_arguments import positive_int
from yt8m.components import storage
from yt8m.components.console.console import Console
from yt8m.components.console.quiet import quiet_tensorflow
from yt8m.components.predictions.plan import MAX_SEGMENTS
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import Level

if TYPE_CHECKING:
    from yt8m.components.extras.scores.submission_score import SegmentScore, VideoScore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file, and what it is held against."""
    parser.add_argument("--submission", required=True, metavar="FILE", help=storage.KNOWN)
    parser.add_argument(
        "--data", required=True, metavar="PATTERN", help="labelled records, e.g. 'validate*'"
    )
    parser.add_argument(
        "--top-n",
        type=positive_int,
        default=MAX_SEGMENTS,
        metavar="N",
        help=f"segments of each class that count ({MAX_SEGMENTS})",
    )


@quiet_tensorflow()
def run(args: argparse.Namespace, console: Console) -> None:
    """Print the metric and what was not found."""
    found = _score(args, console)
    values = asdict(found)
    rows = [[name.replace("_", " "), _text(value)] for name, value in values.items()]
    console.result(values, console.table(["", "value"], rows))


def _score(args: argparse.Namespace, console: Console) -> VideoScore | SegmentScore:
    from yt8m.components.predictions.submission import SegmentSubmission, read_submission
    from yt8m.components.records.find import find_level, find_shards

    submission = read_submission(args.submission)
    shards = find_shards(args.data)
    level = find_level(shards)
    from yt8m.components.extras.scores.submission_score import score_segments, score_videos

    with console.progress("labels", total=len(shards), unit="shards") as progress:
        if isinstance(submission, SegmentSubmission):
            if level is not Level.SEGMENT:
                raise UserError(
                    f"{args.submission} is a segment submission, and the records of {args.data} "
                    f"are of level {level.value}: they have no rated segments"
                )
            return score_segments(submission, shards, top_n=args.top_n, advance=progress.advance)
        return score_videos(submission, shards, level=level, advance=progress.advance)


def _text(value: float) -> str:
    return f"{value:.6f}" if isinstance(value, float) else f"{value:,}"
