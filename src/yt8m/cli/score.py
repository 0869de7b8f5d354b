"""Action of `yt8m score`."""

from __future__ import annotations

from dataclasses import asdict

from yt8m.cli.arguments.scoring import ScoreArguments
from yt8m.components.console.console import Console
from yt8m.components.extras.scores.submission_score import (
    SegmentScore,
    VideoScore,
    score_segments,
    score_videos,
)
from yt8m.components.predictions.submission import SegmentSubmission, read_submission
from yt8m.components.records.find import find_level, find_shards
from yt8m.components.records.unchanged import while_unchanged
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import Level


def run(args: ScoreArguments, console: Console) -> None:
    """Print the metric and what was not found."""
    score = _score(args, console)
    values = asdict(score)
    rows = [[name.replace("_", " "), _text(value)] for name, value in values.items()]
    console.result(values, console.table(["", "value"], rows))


def _score(args: ScoreArguments, console: Console) -> VideoScore | SegmentScore:
    submission = read_submission(args.submission)
    shards = find_shards(*args.data)
    level = find_level(shards)
    with (
        while_unchanged(shards, "scoring"),
        console.progress("labels", total=len(shards), unit="shards") as progress,
    ):
        if isinstance(submission, SegmentSubmission):
            if level is not Level.SEGMENT:
                raise UserError(
                    f"{args.submission} is a segment submission, and the records of "
                    f"{' '.join(args.data)} "
                    f"are of level {level.value}: they have no rated segments"
                )
            return score_segments(
                submission,
                shards,
                top_n=args.top_n,
                advance=progress.advance,
                cache=args.label_cache,
            )
        return score_videos(
            submission, shards, level=level, advance=progress.advance, cache=args.label_cache
        )


def _text(value: float) -> str:
    return f"{value:.6f}" if isinstance(value, float) else f"{value:,}"
