"""Arguments of the commands that run the pipeline or its trainer, or look at runs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from yt8m.cli.arguments.options import Arguments, Sets, Written, positional
from yt8m.cli.arguments.paths import missing_file
from yt8m.cli.arguments.shared import (
    ConfigArguments,
    Directory,
    InputDirectory,
    Name,
    OneRunArguments,
    OutputDirectory,
    OutputFile,
    Pattern,
    Patterns,
    PipelineArguments,
    PushingArguments,
    RootArguments,
    require_own_code,
)
from yt8m.components.trainer.tf_config import check_processes
from yt8m.pipeline.config import EngineName, PipelineConfig
from yt8m.pipeline.retraining.points import Point, points_of
from yt8m.pipeline.run_record import record_named
from yt8m.pipeline.workspace import Layout, layout_of
from yt8m.schemas.errors import UserError


@dataclass(frozen=True, kw_only=True)
class ExecutingArguments(PushingArguments):
    """How the pipeline is run here."""

    # the TFX runner that executes the graph: BeamDagRunner or LocalDagRunner
    runner: EngineName = "beam"
    # longest wait for another run on the same root, instead of ending immediately
    wait: Annotated[float, Written("SECONDS")] = 0.0


@dataclass(frozen=True, kw_only=True)
class RunArguments(ExecutingArguments):
    """Run the pipeline here, from records to a pushed model.

    Everything wrong is listed before anything starts. What ran before and still holds is taken from
    the cache: a killed run continues where it was when the same command is given again, and with
    nothing changed it ends at once with the outcome that is known.

    exit codes: 0 pushed or up to date, 3 held back by the gate, 1 failed, 2 a mistake in what was
    given, 130 Ctrl-C, 143 SIGTERM or SIGHUP.

    examples:
      yt8m run smoke --data demo/data --root demo/run --push demo/models
      yt8m run video_mlp --data /data --root /runs/mlp --push /models --set trainer.num_epochs=3
      yt8m run my.yaml --beam-runner flink --beam-option=--job_endpoint=localhost:8099
        --beam-option=--flink_master=localhost:8081 --beam-option=--environment_type=PROCESS
    """

    timings: bool = False  # print at the end where time and memory went


@dataclass(frozen=True, kw_only=True)
class RetrainArguments(ExecutingArguments):
    """Retrain when there is new data, once or on a schedule.

    Without --cron it runs once, if there is a span, or data, newer than what the last complete run
    was made from, and says so if not: fit for cron, a systemd timer or a Kubernetes CronJob. With
    --cron it keeps running and does that at each time, one run at a time; a failed run is tried
    again (retrain.retries, retrain.backoff_s) and then reported (notify.command). So is an alarm
    when nothing new came for retrain.alarm_days. `yt8m status` shows the schedule's last and next
    run; for Prometheus they are in <root>/retrain.prom, or in retrain.metrics_file.

    The expression is the usual one: minute, hour, day of month, month, weekday. Sunday is 0 or 7.

    Each retraining takes the newest retrain.window spans, starts from the newest blessed model, and
    is gated against it on the newest data.

    With retrain.rollback the version in service is first judged by the gate on the newest labelled
    records; one that falls below it is replaced by the newest older version that passes there.

    exit codes: 0 pushed or up to date, 3 held back by the gate, 4 nothing new, 1 failed, 2 a
    mistake in what was given, 130 Ctrl-C, 143 SIGTERM or SIGHUP. With --exit-zero, 3 and 4 become
    0.

    examples:
      yt8m retrain smoke --data demo/data --root demo/run --push demo/models
      yt8m retrain my.yaml --exit-zero
      yt8m retrain my.yaml --cron "0 3 * * mon-fri" --timezone Europe/Brussels
    """

    # keep running, and retrain at these times, e.g. "0 3 * * *" for every night at three
    cron: Annotated[str | None, Written("EXPRESSION")] = None
    # time zone of --cron
    timezone: Annotated[str | None, Written("ZONE"), Sets("retrain.timezone")] = None
    exit_zero: bool = False  # exit with 0 when the model is held back or nothing is new
    no_notify: bool = False  # do not call notify.command


@dataclass(frozen=True, kw_only=True)
class SweepArguments(PipelineArguments):
    """Run every combination of some values, and say which is best.

    A --set with several values, separated by commas, is swept over; with several of those every
    combination runs. The runs share one root, and with it everything that the values do not change:
    records are verified and analysed once. There is no baseline, and models go to `<root>/models`,
    so that one run does not raise the bar for the next. Given again, the same command continues:
    what has run is not run again.

    examples:
      yt8m sweep smoke --data demo/data --root demo/sweep --set trainer.seed=1,2,3
      yt8m sweep my.yaml --root sweep --set trainer.seed=1,2 --set trainer.model.width=256,512
    """

    def configs(self) -> list[tuple[Point, PipelineConfig]]:
        """Each combination of the swept values, with its configuration."""
        fixed, points = points_of(self.set)
        return [
            (point, dataclasses.replace(self, set=(*fixed, *settings)).load())
            for point in points
            if (settings := [f"{path}={value}" for path, value in point.items()])
        ]

    def check(self) -> None:
        Arguments.check(self)
        require_own_code(self.configs()[0][1])


@dataclass(frozen=True, kw_only=True)
class HistoryArguments(RootArguments):
    """List the runs, newest first: spans, GAP, pushed or why not.

    Every metric of every run is in --json and --csv; --metric shows others than GAP in the table.

    With --mlflow they are also written to an MLflow server or database: configuration, metrics with
    intervals, curves, what each component took, where artifacts lie. Given again, what is there
    stays.

    examples:
      yt8m history --root demo/run
      yt8m history --root demo/run --metric gap --metric map
      yt8m history --root demo/run --json
      yt8m history --root demo/run --csv > runs.csv
      yt8m history --root demo/run --mlflow http://127.0.0.1:5000
    """

    # metric to show, of ours or yours (default: gap); may be repeated
    metric: tuple[Name, ...] = ()
    csv: bool = False  # print comma-separated values
    mlflow: Annotated[str | None, Written("URI")] = None  # write them to this MLflow, too
    experiment: Name | None = None  # experiment of --mlflow; default: the pipeline's name

    def __post_init__(self) -> None:
        if self.experiment and not self.mlflow:
            raise UserError("--experiment: an experiment of --mlflow, which is not given")


@dataclass(frozen=True, kw_only=True)
class StatusArguments(OneRunArguments):
    """Show a run's components and artifacts, and the schedule.

    A schedule is a `yt8m retrain --cron` on the root: whether it is running, its last and next run.

    examples:
      yt8m status --root demo/run
      yt8m status --root demo/run --watch
      yt8m status --root demo/run --artifacts
      yt8m status 20260301-030000-000000 --root demo/run --json
    """

    artifacts: bool = False  # show what components put out, with its properties
    # print it again whenever it changes, to the end of the run, or of the root's schedule
    watch: bool = False

    def check(self) -> None:
        Arguments.check(self)
        layout = Layout(Path(self.root).absolute())
        if not layout.schedule_status.exists():  # else its schedule is worth showing by itself
            record_named(layout_of(self.root), self.run)


@dataclass(frozen=True, kw_only=True)
class CompareArguments(Arguments):
    """Compare two runs or versions: settings, metrics, classes.

    Settings that differ, metrics with the interval of their difference, the classes that gained and
    lost most. A run is named by its id, or by the folder below `<root>/runs` where it is of another
    root; a version by its number. --html writes one page with the training curves over one another
    and every class.

    examples:
      yt8m compare 20260301-030000-000000 20260302-030000-000000 --root demo/run
      yt8m compare 3 4 --push demo/models
      yt8m compare 3 4 --push demo/models --html compared.html
    """

    a: Annotated[str, positional("A")]  # a run or a version, the one to compare with
    b: Annotated[str, positional("B")]  # another of the same kind
    root: InputDirectory | None = None  # the root of the runs, as given to `yt8m run`
    push: Directory | None = None  # the registry of the versions
    support: Annotated[int, Written("N")] = 10  # videos that a class must have
    html: OutputFile | None = None  # a page to write, with plots and all classes


@dataclass(frozen=True, kw_only=True)
class ReportArguments(OneRunArguments):
    """Print where a run's report is; --open shows it.

    With --all it writes one page over all runs of the root, <root>/runs.html: the runs with what
    was changed between them, their curves over one another, the versions in service over time, and
    what the gate observed beside its limits.

    examples:
      yt8m report --root demo/run
      yt8m report --root demo/run --open
      yt8m report --root demo/run --all --open
    """

    open: bool = False  # show it in the browser
    all: bool = False  # write a page over all runs of the root

    def __post_init__(self) -> None:
        if self.all and self.run:
            raise UserError(f"{self.run}: one run, and --all means all of them; leave one out")


@dataclass(frozen=True, kw_only=True)
class GcArguments(RootArguments):
    """Remove artifacts of old runs that nothing needs.

    A run goes when it is both older than --keep-days and not among the newest --keep-runs. The
    newest run, runs whose models are in the registry, and artifacts that a kept run took from the
    cache stay. Checkpoints and logs go with their run. The metadata store keeps its history; the
    artifacts that are gone are marked deleted there.

    examples:
      yt8m gc --root demo/run --dry-run
      yt8m gc --root demo/run --keep-runs 5 --keep-days 7
    """

    # newest runs to keep; default: retention.keep_runs
    keep_runs: Annotated[int | None, Written("N")] = None
    # age up to which runs are kept; default: retention.keep_days
    keep_days: Annotated[float | None, Written("DAYS")] = None
    dry_run: bool = False  # list what would go, and remove nothing; works during a run


@dataclass(frozen=True, kw_only=True)
class TrainArguments(ConfigArguments):
    """Train alone, in one process or a local cluster.

    The trainer of the pipeline without the pipeline: the same code, from records to an exported
    model. Given again, the same command continues where it was. Below --out: `export` (the
    SavedModel), `logs` (TensorBoard, training.jsonl), `checkpoints`, `processes` (a log of each
    process).

    With --processes a cluster of real processes is started on this machine, each with its own
    TF_CONFIG; when one fails all are ended. Without it TF_CONFIG of this process is obeyed.

    examples:
      yt8m train video_logistic --data demo/data --out demo/train
      yt8m train smoke --data 'demo/data/train*' --out demo/cluster --processes chief=1,worker=1
      yt8m train smoke --data demo/data --out demo/ps --processes chief=1,worker=2,ps=1,evaluator=1
    """

    # the records: a directory, or a pattern of the training shards, which may be repeated
    data: Patterns
    # shards to validate on; default: the configured ones beside the training shards
    validation: Pattern | None = None
    out: OutputDirectory  # where model, logs and checkpoints go
    # a local cluster, e.g. chief=1,worker=2,ps=1,evaluator=1
    processes: Annotated[str | None, Written("ROLE=N,...")] = None
    # names of the classes
    vocabulary: Annotated[
        str | None, Written("CSV", problem=missing_file), Sets("evaluator.vocabulary")
    ] = None
    # an export or a checkpoint to take weights from
    warm_start: Annotated[Directory | None, Sets("trainer.warm_start")] = None

    def __post_init__(self) -> None:
        if self.processes is not None:
            check_processes(self.processes)

    def check(self) -> None:
        super().check()
        require_own_code(self.load())
