"""Arguments of the commands that take a model, or its predictions, and records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from yt8m.cli.arguments.options import Arguments, Written, positional
from yt8m.cli.arguments.paths import behind_link, missing, missing_file, missing_records, unwritable
from yt8m.cli.arguments.shared import (
    BeamArguments,
    Count,
    InputFile,
    Model,
    OutputDirectory,
    OutputFile,
    Pattern,
    Patterns,
    ScoringArguments,
    check_model_target,
)
from yt8m.components.predictions.plan import MAX_SEGMENTS, Format
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import SegmentScoring
from yt8m.schemas.limits import above

EQUAL, FIT = "equal", "fit"


@dataclass(frozen=True, kw_only=True)
class SegmentArguments(Arguments):
    """Arguments for scoring segments with a model of whole videos."""

    # Method by which a frame-level model scores segments (default: window if rows are segments).
    segments: SegmentScoring | None = None
    # Model that scores the whole videos, for --segments product and mean.
    context: Model | None = None

    def __post_init__(self) -> None:
        if self.context and self.segments in (None, SegmentScoring.WINDOW):
            raise UserError("--context: needs --segments product or mean")


@dataclass(frozen=True, kw_only=True)
class EvaluateArguments(SegmentArguments, ScoringArguments):
    """Evaluate an exported model on records, with intervals.

    docs/gating.md explains the metrics. The command scores with the model's own `scores` signature,
    as model servers do. With --baseline it scores both models in one pass and reports the paired
    difference. Records may be of any level; at segment level the rated segments are scored.

    A frame-level model can score segments with --segments. `window` scores the five frames;
    `product` multiplies that by the score of the whole video; `mean` is the mean of both. --context
    names another model for the whole videos, e.g. the one that --model was fine-tuned from.

    For a running training, pass its --out as --model to evaluate the newest checkpoint.

    examples:
      yt8m evaluate --model push/3 --data data/validation
      yt8m evaluate --model push/4 --baseline push/3 --data 'data/validate*.tfrecord' --json
    """

    model: Annotated[str, Written("DIR", problem=missing)]  # SavedModel to evaluate
    # SavedModel to compare with.
    baseline: Annotated[str | None, Written("DIR", problem=missing)] = None
    # Directory for the metrics, speed and histograms of each batch, for TensorBoard.
    log_dir: OutputDirectory | None = None


@dataclass(frozen=True, kw_only=True)
class PredictArguments(SegmentArguments, BeamArguments):
    """Write predictions: competition files, JSON lines, Parquet.

    --model is a SavedModel, or a registry, whose version in service predicts. Records may be of any
    level, labelled or not. Segments are those that a record lists; without a list, all windows of
    five frames.

    A frame-level model can score segments, with --format segment or --segments. `window` scores the
    five frames; `product` multiplies that by the score of the whole video; `mean` is the mean of
    both. --context names another model for the whole videos.

    Formats:
      video     VideoId,LabelConfidencePairs: the file of the 2017 and 2018 competitions
      segment   Class,Segments: the file of 2019, with at most the 100,000 best segments per class
      jsonl, tfrecord, parquet   video_id, segment_start if rows are segments, class_ids, scores

    Rows are in the order of the records; among equal scores the lower class comes first. The file
    is complete or absent. Repeat an interrupted command to continue: finished parts wait beside the
    file in .NAME.parts until it is complete. --beam-runner predicts on a Beam runner, whose workers
    must reach the model, the data and the output.

    examples:
      yt8m predict --model push --data 'data/test*.tfrecord' --out submission.csv --format video
      yt8m predict --model push/7 --data 'gs://bucket/frames/test*' --out gs://bucket/2019.csv \\
          --format segment --segments product
    """

    LOADS_TENSORFLOW: ClassVar[bool] = True

    model: Model  # SavedModel, or a push directory, whose version in service predicts
    # Directory of the records, or pattern of files, e.g. 'data/validate*'; may be repeated.
    data: Patterns
    out: OutputFile  # File to write, local or in an object store
    format: Format  # Format of the predictions
    top_k: Count | None = None  # Number of classes per row (default: 20; all with format segment)
    # Write only predictions that are expected to be right as often as this, e.g. 0.9. Needs a
    # version of a run with evaluator.operating_points: true.
    precision: Annotated[float | None, above(0), Written("P")] = None
    # Classes that may be predicted: a file or URL with one per line (default: with format segment
    # the 1,000 published ones if the model scores all 3,862 classes; else all).
    segment_classes: Annotated[str | None, Written("published|all|CSV|URL")] = None
    max_segments: Count = MAX_SEGMENTS  # Number of segments per class with format segment
    # Number of records per batch (default: 1024 videos, or 64 with frames).
    batch_size: Count | None = None
    workers: Count | None = None  # Number of groups processed in parallel (default: one per CPU)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beam_option and self.beam_runner is None:
            raise UserError("--beam-option: needs --beam-runner")
        if self.precision is not None and self.format in (Format.VIDEO, Format.SEGMENT):
            raise UserError(
                "--precision: for the formats jsonl, tfrecord and parquet; a competition ranks "
                "all predictions"
            )


@dataclass(frozen=True, kw_only=True)
class ScoreArguments(Arguments):
    """Score a competition file against labelled records.

    A file with `VideoId,LabelConfidencePairs` is scored by GAP@20 over all labels of all videos in
    the records. A file with `Class,Segments` is scored by MAP: among the first --top-n segments of
    each class, those with a rating for that class count. The mean is over all classes with a
    positive rating. Header and order of the lines do not matter. A label that is missing from the
    file counts as not predicted; unknown videos are ignored. The command reports both.

    examples:
      yt8m score --submission submission.csv --data 'data/validate*.tfrecord'
      yt8m score --submission segments.csv --data 'segments/validate*' --json
    """

    LOADS_TENSORFLOW: ClassVar[bool] = True

    submission: InputFile  # Competition file, local or in an object store
    # Directory of labelled records, or pattern of files, e.g. 'data/validate*'; may be repeated.
    data: Patterns
    top_n: Count = MAX_SEGMENTS  # Number of segments per class that count
    # File to cache the labels in; written the first time, read afterwards.
    label_cache: OutputFile | None = None


@dataclass(frozen=True, kw_only=True)
class ConvertArguments(Arguments):
    """Convert JSON predictions to a competition's file of videos.

    The files hold one JSON object per line, as a cloud's batch prediction writes them. The starter
    code's exports have `video_id`, `class_indexes` and `predictions`; yt8m's have `video_id`,
    `class_ids` and `scores`. A video that occurs twice is an error.

    examples:
      yt8m convert --predictions 'results/prediction.results-*' --out submission.csv
    """

    # Pattern of prediction files; may be repeated.
    predictions: Annotated[tuple[str, ...], Written("PATTERN", problem=missing_records)]
    out: OutputFile  # File to write, VideoId,LabelConfidencePairs


@dataclass(frozen=True, kw_only=True)
class EnsembleArguments(Arguments):
    """Combine several models by the weighted mean of scores.

    The result is a SavedModel. The members may have any architecture and come from any tool; they
    must score the same rows and classes. Use the result like every other model: `yt8m evaluate`
    compares it, `yt8m models import --data` puts it into service, `yt8m predict` writes its
    predictions. --weights is `equal`, a list of numbers (which are divided by their sum), or `fit`:
    the weights that make the labels of --data most likely.

    examples:
      yt8m ensemble --models push/3 push/4 other/export --out ensemble
      yt8m ensemble --models push/3 push/4 --weights fit --data 'data/validate*' --out ensemble
    """

    LOADS_TENSORFLOW: ClassVar[bool] = True

    # SavedModels, or push directories, whose version in service is used.
    models: Annotated[tuple[str, ...], Written("DIR|REGISTRY", is_list=True, problem=missing)]
    out: OutputDirectory  # Directory of the ensemble's SavedModel
    # Weights of the members, in their order.
    weights: Annotated[str, Written(f"{EQUAL}|{FIT}|W,W,...")] = EQUAL
    data: Pattern | None = None  # Pattern of labelled records, for --weights fit
    # Path of a vocabulary.csv with the names of the classes.
    vocabulary: Annotated[str | None, Written("CSV", problem=missing_file)] = None

    def __post_init__(self) -> None:
        if self.weights == FIT and not self.data:
            raise UserError(f"--weights {FIT}: needs labelled records, --data PATTERN")
        self.given_weights()

    def check(self) -> None:
        super().check()
        check_model_target(self.out, self.models)

    def given_weights(self) -> list[float] | None:
        """The weights as they were given; None where they are to be fitted."""
        count = len(self.models)
        if self.weights == FIT:
            return None
        if self.weights == EQUAL:
            return [1 / count] * count
        try:
            values = [float(part) for part in self.weights.split(",")]
        except ValueError:
            values = []
        good = all(math.isfinite(value) and value >= 0 for value in values) and sum(values) > 0
        if len(values) != count or not good:
            raise UserError(
                f"--weights {self.weights}: give {EQUAL}, {FIT}, or {count} numbers, one for each "
                "of --models, 0 or more and not all 0"
            )
        return [value / sum(values) for value in values]


@dataclass(frozen=True, kw_only=True)
class ExportArguments(Arguments):
    """Write a model in the form that another program takes.

    Formats:
      mediapipe   a model of level segment (or frame) for MediaPipe's YouTube-8M inference graph:
                  inputs rgb_and_audio [batch, frames, 1152] and num_frames [batch, 1], output
                  predictions [batch, classes]
      tgz         the SavedModel in one file, as Kaggle's competitions took models; every --model
                  takes such a file

    examples:
      yt8m export --model push --format mediapipe --out /tmp/mediapipe/saved_model
      yt8m export --model push --format tgz --out model.tgz
    """

    LOADS_TENSORFLOW: ClassVar[bool] = True

    model: Model  # Export or push directory
    format: Literal["mediapipe", "tgz"]  # Form to export to
    # Directory of the SavedModel, or file, to write.
    out: Annotated[str, Written("DIR|FILE", parse=behind_link, problem=unwritable)]

    def check(self) -> None:
        super().check()
        if self.format == "mediapipe":
            check_model_target(self.out, [self.model])


@dataclass(frozen=True, kw_only=True)
class MetricsArguments(Arguments):
    """Compute metrics of predictions and labels in an .npz file.

    docs/gating.md explains the metrics. The file holds `predictions` and `labels`, both [videos,
    classes]; a label is any value above 0. `ids` [videos] may name the videos for messages. Equal
    scores of one video rank by class index; between videos they count as the mean over all orders.

    examples:
      yt8m metrics predictions.npz
      yt8m metrics predictions.npz --top-k 5 --json
    """

    # File with the arrays `predictions` and `labels`.
    file: Annotated[str, positional("FILE.npz", missing_file)]
    top_k: Count = 20  # Number of classes per video that count
    top_n: Count | None = None  # Number of predictions per class that count in MAP (default: all)
