"""Arguments of the commands that take a model, or its predictions, and records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from yt8m.cli.arguments.options import Arguments, Written, positional
from yt8m.cli.arguments.paths import missing, missing_file, missing_records, unwritable
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
)
from yt8m.components.predictions.plan import MAX_SEGMENTS, Format
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import SegmentScoring

EQUAL, FIT = "equal", "fit"


@dataclass(frozen=True, kw_only=True)
class SegmentArguments(Arguments):
    """How segments are scored by a model of whole videos."""

    # score of a segment by a frame-level model (default: window where rows are segments)
    segments: SegmentScoring | None = None
    context: Model | None = None  # a model that scores the whole videos, for product and mean

    def __post_init__(self) -> None:
        if self.context and self.segments in (None, SegmentScoring.WINDOW):
            raise UserError("--context: give --segments product or mean too, which need it")


@dataclass(frozen=True, kw_only=True)
class EvaluateArguments(SegmentArguments, ScoringArguments):
    """Score an exported model on records, with intervals.

    The metrics are those of docs/gating.md. The model is scored by its own `scores`
    signature, so what is measured is what will serve. With a baseline both are scored in one pass,
    and the difference is paired. Records may be of any level; at segment level the rated segments
    are scored. A frame-level model scores them too: their five frames alone (--segments window),
    times its score of the whole video (product), or the mean of both (mean). The score of the whole
    video may be another model's (--context), e.g. of the one that --model was fine-tuned from. Of a
    training that is under way, given as its --out, the newest checkpoint is scored.

    examples:
      yt8m evaluate --model push/3 --data data/validation
      yt8m evaluate --model push/4 --baseline push/3 --data 'data/validate*.tfrecord' --json
    """

    model: Annotated[str, Written("DIR", problem=missing)]  # a SavedModel
    # a SavedModel to compare with
    baseline: Annotated[str | None, Written("DIR", problem=missing)] = None
    # write metrics, pace and histograms of each batch there, for TensorBoard
    log_dir: OutputDirectory | None = None


@dataclass(frozen=True, kw_only=True)
class PredictArguments(SegmentArguments, BeamArguments):
    """Write predictions: competition files, JSON lines, Parquet.

    --model is a SavedModel, or a registry, whose version in service is taken. Records may be of any
    level, labelled or not. Segments are those that a record names, and of a record that names none
    all windows of five frames. A frame-level model scores segments with --format segment or
    --segments: their frames alone (window), times the score of the whole video (product), or the
    mean of both (mean). The score of the whole video may be another model's (--context).

    Formats:
      video     VideoId,LabelConfidencePairs: the file of the 2017 and 2018 competitions
      segment   Class,Segments: that of 2019; of each class the 100,000 best segments at most
      jsonl, tfrecord, parquet   video_id, segment_start where rows are segments, class_ids, scores

    Rows are in the order of the records, and of equal scores the lower class comes first. The file
    is complete or absent. A run that was ended continues: finished parts wait beside the file in
    .NAME.parts, and go when it is complete. With --beam-runner the work is done on a Beam engine,
    whose workers must reach model, data and output.

    examples:
      yt8m predict --model push --data 'data/test*.tfrecord' --out submission.csv --format video
      yt8m predict --model push/7 --data 'gs://bucket/frames/test*' --out gs://bucket/2019.csv \\
          --format segment --segments product
    """

    LOADS_TENSORFLOW: ClassVar[bool] = True

    model: Model  # a SavedModel or a push directory
    data: Patterns  # TFRecord files, e.g. 'test*.tfrecord'; may be repeated
    out: OutputFile  # the file to write, here or in an object store
    format: Format  # form of the file
    # classes of each row (default: 20; all with format segment)
    top_k: Count | None = None
    # the classes that may be predicted, a file or address with one a line (default: with format
    # segment the 1,000 published ones where the model scores all 3,862 classes; else all)
    segment_classes: Annotated[str | None, Written("published|all|CSV|URL")] = None
    max_segments: Count = MAX_SEGMENTS  # segments of each class, with format segment
    batch_size: Count | None = None  # records a batch (default: 1024 videos, 64 with frames)
    workers: Count | None = None  # groups predicted in parallel (default: one a processor)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beam_option and self.beam_runner is None:
            raise UserError("--beam-option: give --beam-runner too, without which there is no Beam")


@dataclass(frozen=True, kw_only=True)
class ScoreArguments(Arguments):
    """Score a competition file against labelled records.

    A file with `VideoId,LabelConfidencePairs` is scored by GAP@20 over all labels of all videos in
    the records; one with `Class,Segments` by MAP: of each class's first --top-n segments those
    count that somebody rated for that class, and the mean is over all classes with a positive
    rating. Header and order of the lines do not matter. What the file lacks counts as not found;
    what the records do not know is left out; both are told.

    examples:
      yt8m score --submission submission.csv --data 'data/validate*.tfrecord'
      yt8m score --submission segments.csv --data 'segments/validate*' --json
    """

    LOADS_TENSORFLOW: ClassVar[bool] = True

    submission: InputFile  # the competition's file, here or in an object store
    data: Patterns  # labelled records, e.g. 'validate*'; may be repeated
    top_n: Count = MAX_SEGMENTS  # segments of each class that count
    # a file to keep the labels in: written the first time, read from then on
    label_cache: OutputFile | None = None


@dataclass(frozen=True, kw_only=True)
class ConvertArguments(Arguments):
    """Turn predictions in JSON into a competition's file of videos.

    The files hold one JSON object a line, as a cloud's batch prediction writes them: `video_id`,
    `class_indexes` and `predictions` of the starter code's exports, or `video_id`, `class_ids` and
    `scores` of yt8m's. A video that comes twice is an error.

    examples:
      yt8m convert --predictions 'results/prediction.results-*' --out submission.csv
    """

    # files; may be repeated
    predictions: Annotated[tuple[str, ...], Written("PATTERN", problem=missing_records)]
    out: OutputFile  # the file to write, VideoId,LabelConfidencePairs


@dataclass(frozen=True, kw_only=True)
class EnsembleArguments(Arguments):
    """Make one model of several, by the weighted mean of scores.

    The result is a SavedModel. The members may be of any architecture and from any maker; they
    score the same rows and classes. What comes out is a model like every other: `yt8m evaluate`
    compares it, `yt8m models import --data` puts it into service, `yt8m predict` writes its
    predictions. --weights is `equal`, numbers (which are divided by their sum), or `fit`: then
    those under which the labels of --data are most likely.

    examples:
      yt8m ensemble --models push/3 push/4 other/export --out ensemble
      yt8m ensemble --models push/3 push/4 --weights fit --data 'data/validate*' --out ensemble
    """

    LOADS_TENSORFLOW: ClassVar[bool] = True

    # SavedModels, or push directories, whose version in service is taken
    models: Annotated[tuple[str, ...], Written("DIR|REGISTRY", is_list=True, problem=missing)]
    out: OutputDirectory  # the ensemble's SavedModel
    # weights of the members, in their order
    weights: Annotated[str, Written(f"{EQUAL}|{FIT}|W,W,...")] = EQUAL
    data: Pattern | None = None  # labelled records, for --weights fit
    # names of the classes
    vocabulary: Annotated[str | None, Written("CSV", problem=missing_file)] = None

    def __post_init__(self) -> None:
        if self.weights == FIT and not self.data:
            raise UserError(f"--weights {FIT}: needs labelled records, --data PATTERN")
        self.given_weights()

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

    model: Model  # an export or a push directory
    format: Literal["mediapipe", "tgz"]  # the form of it
    # the SavedModel's directory, or the file, to write
    out: Annotated[str, Written("DIR|FILE", problem=unwritable)]


@dataclass(frozen=True, kw_only=True)
class MetricsArguments(Arguments):
    """Score predictions and labels in an .npz file.

    The metrics are those of docs/gating.md. The file holds `predictions` and `labels`, both
    [videos, classes]; a label is any value above 0. `ids` [videos] may name the videos for
    messages. Equal scores of one video rank by class index; between videos they count as the mean
    over all their orders.

    examples:
      yt8m metrics predictions.npz
      yt8m metrics predictions.npz --top-k 5 --json
    """

    file: Annotated[str, positional("FILE.npz", missing_file)]  # the file with both arrays
    top_k: Count = 20  # classes of each video that count
    top_n: Count | None = None  # predictions of each class that count in MAP (default: all)
