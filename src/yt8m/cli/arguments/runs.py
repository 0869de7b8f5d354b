"""Arguments of the commands that run the pipeline or its trainer, or look at runs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
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
    check_model_target,
    require_own_code,
)
from yt8m.components import storage
from yt8m.components.trainer.tf_config import check_processes
from yt8m.pipeline.config import EngineName, PipelineConfig
from yt8m.pipeline.retraining.points import Point, points_of
from yt8m.pipeline.run_record import record_named
from yt8m.pipeline.workspace import Layout, layout_of
from yt8m.schemas.errors import UserError


@dataclass(frozen=True, kw_only=True)
class ExecutingArguments(PushingArguments):
    """Arguments for running the pipeline on this machine."""

    # TFX runner that executes the graph: BeamDagRunner or LocalDagRunner.
    runner: EngineName = "beam"
    # Seconds to wait for another run on the same root.
    wait: Annotated[float, Written("SECONDS")] = 0.0


@dataclass(frozen=True, kw_only=True)
class RunArguments(ExecutingArguments):
    """Run the pipeline here, from records to a pushed model.

    All errors in the arguments are listed before anything starts. Results that are still valid come
    from the cache. Repeat the command to continue a killed run; if nothing changed, it ends
    immediately with the known outcome.

    exit codes: 0 pushed or up to date, 3 rejected by the gate, 1 failed, 2 user error, 130 Ctrl-C,
    143 SIGTERM or SIGHUP.

    examples:
      yt8m run smoke --data demo/data --root demo/run --push demo/models
      yt8m run video_mlp --data /data --root /runs/mlp --push /models --set trainer.num_epochs=3
      yt8m run my.yaml --beam-runner flink --beam-option=--job_endpoint=localhost:8099 \\
          --beam-option=--flink_master=localhost:8081 --beam-option=--environment_type=PROCESS
    """

    timings: bool = False  # Print the time and memory of each part at the end


@dataclass(frozen=True, kw_only=True)
class RetrainArguments(ExecutingArguments):
    """Retrain when there is new data, once or on a schedule.

    Without --cron the command runs once, if there is newer data than the last complete run used;
    else it says that there is none. Use it like this from cron, a systemd timer or a Kubernetes
    CronJob.

    With --cron it keeps running and retrains at those times, one run at a time. A failed run is
    retried (retrain.retries, retrain.backoff_s) and then reported (notify.command). An alarm is
    raised when no new data came for retrain.alarm_days. `yt8m status` shows the last and the next
    run of the schedule. For Prometheus they are in <root>/retrain.prom, or in retrain.metrics_file.

    A cron expression has the fields minute, hour, day of month, month, weekday. Sunday is 0 or 7.

    Each retraining takes the newest retrain.window spans, starts from the newest blessed model, and
    is compared with it on the newest data.

    With retrain.rollback the gate first checks the version in service on the newest labelled
    records. If it fails, the newest older version that passes replaces it. The retraining goes on
    in either case.

    exit codes: 0 pushed or up to date, 3 rejected by the gate, 4 nothing new, 1 failed, 2 user
    error, 130 Ctrl-C, 143 SIGTERM or SIGHUP. With --exit-zero, 3 and 4 become 0.

    examples:
      yt8m retrain smoke --data demo/data --root demo/run --push demo/models
      yt8m retrain my.yaml --exit-zero
      yt8m retrain my.yaml --cron "0 3 * * mon-fri" --timezone Europe/Brussels
    """

    # Times to retrain at, e.g. "0 3 * * *" for every night at three; keeps running.
    cron: Annotated[str | None, Written("EXPRESSION")] = None
    # Time zone of --cron, e.g. Europe/Brussels.
    timezone: Annotated[str | None, Written("ZONE"), Sets("retrain.timezone")] = None
    exit_zero: bool = False  # Exit with 0 if the gate rejects the model or no data is new
    no_notify: bool = False  # Skip notify.command


@dataclass(frozen=True, kw_only=True)
class SweepArguments(PipelineArguments):
    """Run every combination of some values, and show the best.

    A --set with several values, separated by commas, is swept over; with several such options every
    combination runs. The runs share one root, so records are verified and analysed once. There is
    no baseline, and models go to `<root>/models`, so that runs do not affect each other. Repeat the
    command to continue: finished runs are not run again.

    exit codes: 0 all have run, 1 some failed, 2 they failed for user errors alone, 130 Ctrl-C, 143
    SIGTERM or SIGHUP.

    examples:
      yt8m sweep smoke --data demo/data --root demo/sweep --set trainer.seed=1,2,3
      yt8m sweep my.yaml --root sweep --set trainer.seed=1,2 --set trainer.model.width=256,512
    """

    # Seconds to wait for another run on the same root.
    wait: Annotated[float, Written("SECONDS")] = 0.0

    def configs(self) -> list[tuple[Point, PipelineConfig]]:
        """Each combination of the swept values, with its configuration."""
        return [
            (point, dataclasses.replace(self, set=tuple(settings)).load())
            for point, settings in points_of(self.set)
        ]

    def check(self) -> None:
        Arguments.check(self)
        require_own_code(self.configs()[0][1])


@dataclass(frozen=True, kw_only=True)
class HistoryArguments(RootArguments):
    """List the runs, newest first: spans, GAP, outcome.

    --json and --csv have every metric of every run; --metric chooses those of the table.

    --mlflow also writes the runs to an MLflow server or database: configuration, metrics with
    intervals, curves, times of the components, and places of the artifacts. Repeat it to add new
    runs; existing ones stay.

    examples:
      yt8m history --root demo/run
      yt8m history --root demo/run --metric gap --metric map
      yt8m history --root demo/run --json
      yt8m history --root demo/run --csv > runs.csv
      yt8m history --root demo/run --mlflow http://127.0.0.1:5000
    """

    # Metric to show, built-in or custom (default: gap); may be repeated.
    metric: tuple[Name, ...] = ()
    csv: bool = False  # Print comma-separated values
    # MLflow server or database to write the runs to.
    mlflow: Annotated[str | None, Written("URI")] = None
    experiment: Name | None = None  # Experiment of --mlflow (default: the pipeline's name)

    def __post_init__(self) -> None:
        if self.experiment and not self.mlflow:
            raise UserError("--experiment: needs --mlflow")


@dataclass(frozen=True, kw_only=True)
class StatusArguments(OneRunArguments):
    """Show a run's components and artifacts, and the schedule.

    A schedule is a `yt8m retrain --cron` on the root. The command shows whether it is running, and
    its last and next run.

    examples:
      yt8m status --root demo/run
      yt8m status --root demo/run --watch
      yt8m status --root demo/run --artifacts
      yt8m status 20260301-030000-000000 --root demo/run --json
    """

    artifacts: bool = False  # Show the components' output artifacts with their properties
    watch: bool = False  # Print again on every change until the run, or the root's schedule, ends

    def check(self) -> None:
        Arguments.check(self)
        layout = Layout(storage.absolute(self.root))
        if not storage.exists(
            layout.schedule_status
        ):  # else its schedule is worth showing by itself
            record_named(layout_of(self.root), self.run)


@dataclass(frozen=True, kw_only=True)
class CompareArguments(Arguments):
    """Compare two runs or versions: settings, metrics, classes.

    Shows the settings that differ, the metrics with the interval of their difference, and the
    classes with the largest gains and losses. A run is named by its id, or by its directory below
    `<root>/runs` if it has another root; a version by its number. --html writes one page with all
    classes and the training curves in one plot.

    examples:
      yt8m compare 20260301-030000-000000 20260302-030000-000000 --root demo/run
      yt8m compare 3 4 --push demo/models
      yt8m compare 3 4 --push demo/models --html compared.html
    """

    a: Annotated[str, positional("A")]  # First run or version, the reference
    b: Annotated[str, positional("B")]  # Second run or version
    root: InputDirectory | None = None  # Root directory of the runs, as passed to `yt8m run`
    push: Directory | None = None  # Registry of the versions
    support: Annotated[int, Written("N")] = 10  # Number of videos that a listed class has at least
    html: OutputFile | None = None  # HTML page to write, with plots and all classes


@dataclass(frozen=True, kw_only=True)
class ReportArguments(OneRunArguments):
    """Print where a run's report is, or open it.

    --all writes one page over all runs of the root, <root>/runs.html. It shows the runs and what
    changed between them, their curves in one plot, the versions in service over time, and the
    gate's observed values with their limits.

    examples:
      yt8m report --root demo/run
      yt8m report --root demo/run --open
      yt8m report --root demo/run --all --open
    """

    open: bool = False  # Open the page in the browser
    all: bool = False  # Write a page over all runs of the root

    def __post_init__(self) -> None:
        if self.all and self.run:
            raise UserError(
                f"{self.run}: names one run, and --all means all runs; omit one of the two"
            )

    def check(self) -> None:
        if self.all:  # also where the newest run's record cannot be read
            RootArguments.check(self)
        else:
            super().check()


@dataclass(frozen=True, kw_only=True)
class GcArguments(RootArguments):
    """Remove artifacts of old runs that nothing needs.

    A run is removed if it is older than --keep-days and not among the newest --keep-runs. Three
    kinds are kept: the newest run, runs whose models are in the registry, and artifacts that a kept
    run reused. Checkpoints and logs are removed with their run. The metadata store keeps its
    history and marks removed artifacts as deleted.

    examples:
      yt8m gc --root demo/run --dry-run
      yt8m gc --root demo/run --keep-runs 5 --keep-days 7
    """

    # Number of newest runs to keep (default: retention.keep_runs).
    keep_runs: Annotated[int | None, Written("N")] = None
    # Days for which every run is kept (default: retention.keep_days).
    keep_days: Annotated[float | None, Written("DAYS")] = None
    dry_run: bool = False  # List what would be removed without removing it; works during a run


@dataclass(frozen=True, kw_only=True)
class TrainArguments(ConfigArguments):
    """Train a model, in one process or a local cluster.

    The command runs the pipeline's trainer alone, from records to an exported model. Repeat it to
    continue. --out receives `export` (the SavedModel), `logs` (TensorBoard, training.jsonl),
    `checkpoints`, and `processes` (a log per process).

    --processes starts a cluster of processes on this machine, each with its own TF_CONFIG; if one
    fails, all are stopped. Without --processes the command follows the TF_CONFIG of its
    environment.

    examples:
      yt8m train video_logistic --data demo/data --out demo/train
      yt8m train smoke --data 'demo/data/train*' --out demo/cluster --processes chief=1,worker=1
      yt8m train smoke --data demo/data --out demo/ps --processes chief=1,worker=2,ps=1,evaluator=1
    """

    data: Patterns  # Directory of the records, or pattern of the training shards; may be repeated
    # Pattern of shards to validate on (default: the configured ones beside the training shards).
    validation: Pattern | None = None
    out: OutputDirectory  # Directory for the model, logs and checkpoints
    # Processes of a local cluster, e.g. chief=1,worker=2,ps=1,evaluator=1.
    processes: Annotated[str | None, Written("ROLE=N,...")] = None
    # Path of a vocabulary.csv with the names of the classes.
    vocabulary: Annotated[
        str | None, Written("CSV", problem=missing_file), Sets("evaluator.vocabulary")
    ] = None
    # Export or checkpoint to take matching weights from.
    warm_start: Annotated[Directory | None, Sets("trainer.warm_start")] = None

    def __post_init__(self) -> None:
        if self.processes is not None:
            check_processes(self.processes)

    def check(self) -> None:
        super().check()
        # After hours, the trained model replaces what is there.
        check_model_target(storage.join(self.out, "export"), models=[])
        require_own_code(self.load())
