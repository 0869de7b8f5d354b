"""Arguments of the commands about Kubeflow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from yt8m.cli.arguments.options import Arguments, Written
from yt8m.cli.arguments.shared import File, InputFile, Name, NamedConfigArguments, OutputFile
from yt8m.schemas.limits import NonNegativeFloat, PositiveFloat, PositiveInt

Account = Annotated[str, Written("ACCOUNT")]
Uri = Annotated[str, Written("URI")]
Seconds = Annotated[NonNegativeFloat, Written("S")]
Interval = Annotated[PositiveFloat, Written("S")]
RunId = Annotated[str, Written(is_positional=True)]


@dataclass(frozen=True, kw_only=True)
class ConnectionArguments(Arguments):
    """Address of the server, and credentials."""

    GROUP: ClassVar[str] = (
        "connection (or YT8M_KUBEFLOW_HOST and so on, or ~/.config/yt8m/kubeflow.yaml)"
    )

    # URL of Kubeflow Pipelines, e.g. http://localhost:8080.
    host: Annotated[str, Written("URL")] = ""
    # URL for the printed links, if different from --host.
    ui_host: Annotated[str, Written("URL")] = ""
    namespace: Name = ""  # Namespace of your profile, on a multi-user installation
    owner: Name = ""  # Your name, which marks your versions and schedules (default: your login)
    # Bearer token (visible to other users in `ps`; --token-file is safer).
    token: Annotated[str, Written("TOKEN")] = ""
    token_file: File = ""  # File with the bearer token, read for every request
    # Login cookie, e.g. authservice_session=... (--cookie-file is safer).
    cookie: Annotated[str, Written("COOKIE")] = ""
    cookie_file: File = ""  # File with the login cookie
    ca_file: File = ""  # File of the server's certificate authority
    # Use the pod's token at /var/run/secrets/kubeflow/pipelines/token.
    service_account: bool = False
    connection: File = ""  # File of these settings


@dataclass(frozen=True, kw_only=True)
class LaunchArguments(ConnectionArguments):
    """Arguments that start a run."""

    pipeline: Annotated[str, Written(is_positional=True)]  # Name or id of an uploaded pipeline
    version: str = ""  # Version of the pipeline (default: the newest, from any owner)
    # Run-time parameter; may be repeated.
    param: Annotated[tuple[str, ...], Written("NAME=VALUE")] = ()
    root: Uri = ""  # Artifact root of the run, e.g. s3://bucket/runs
    run_as: Account = ""  # Kubernetes service account of the pods
    experiment: Name = ""  # Name of the experiment (default: yt8m)
    dry_run: bool = False  # Check everything without changing anything


@dataclass(frozen=True, kw_only=True)
class CompileArguments(NamedConfigArguments):
    """Write a pipeline as Kubeflow Pipelines YAML (schema 2.1).

    Works without a network and a cluster. It compiles the same pipeline that `yt8m run` runs. A run
    can set data_root, span, push_dir, gap_threshold, gap_change_threshold and the pipeline root
    without recompiling. Whatever the open-source backend would refuse is an error here, with its
    place in the YAML.

    examples:
      yt8m kubeflow compile smoke --image registry/yt8m:1 --root s3://bucket/yt8m
      yt8m kubeflow compile frame_dbof --image registry/yt8m:1 --root minio://mlpipeline/yt8m \\
          --platform cluster.yaml --set gate.gap_threshold=0.5 --out pipeline.yaml
      yt8m kubeflow compile smoke --image registry/yt8m:1 --root gs://bucket/yt8m --dry-run --json

    A --platform file says what the pods get (everything in it is optional):

      kubeflow:
        work_dir: /mnt/yt8m/work          # on a shared volume: checkpoints outlive a run there
        resources:
          default: {cpu: "2", memory: 8Gi}
          Trainer: {cpu: "8", memory: 32Gi, gpus: 1}
        volumes:
          - {claim: yt8m-data, path: /mnt/yt8m}
        secrets:
          - {secret: s3, key: access-key, variable: AWS_ACCESS_KEY_ID}
        node_selector:
          Trainer: {pool: gpu}
    """

    LOADS_TENSORFLOW: ClassVar[bool] = True

    image: str = ""  # Container image, pinned by tag or digest
    root: Uri  # Artifact root: s3:// gs:// minio://
    out: OutputFile = "pipeline.yaml"  # File to write
    platform: InputFile = ""  # File of the pods' resources, volumes and secrets
    one_document: bool = False  # Omit the platform's document, as Vertex AI's client requires
    dry_run: bool = False  # Compile and check without writing


@dataclass(frozen=True, kw_only=True)
class CheckArguments(Arguments):
    """Check that the cluster has what a compiled pipeline needs.

    Checks permissions, volume claims, secrets with their keys, the image, the artifact root, and
    everything that `compile` checks. It talks to Kubernetes as kubectl does, and changes nothing.
    What you may not read is reported as `not known`, and is no error.

    exit codes: 0 nothing is missing, 1 something is missing.

    examples:
      yt8m kubeflow check pipeline.yaml --namespace team-a
      yt8m kubeflow check pipeline.yaml --namespace team-a --run-as pipeline-runner --json
    """

    # YAML file written by `yt8m kubeflow compile`.
    file: Annotated[str, Written(is_positional=True)]
    namespace: str = ""  # Namespace of the run (default: the kubeconfig's)
    run_as: Account = ""  # Service account whose permissions to check (default: yours)
    dry_run: bool = False  # Accepted without effect: the command changes nothing


@dataclass(frozen=True, kw_only=True)
class UploadArguments(ConnectionArguments):
    """Upload a compiled pipeline as a version named by its content.

    Creates the pipeline if it does not exist. Uploading the same content again reports "already
    there".

    examples:
      yt8m kubeflow upload pipeline.yaml --host http://localhost:8080
      yt8m kubeflow upload pipeline.yaml --name nightly --namespace team-a --token-file token
      yt8m kubeflow upload pipeline.yaml --dry-run --json
    """

    # YAML file written by `yt8m kubeflow compile`.
    file: Annotated[str, Written(is_positional=True)]
    name: str = ""  # Name of the pipeline (default: as compiled)
    dry_run: bool = False  # Show what would change without changing it


@dataclass(frozen=True, kw_only=True)
class KubeflowRunArguments(LaunchArguments):
    """Start one run of an uploaded pipeline.

    Parameters are checked against the compiled pipeline before anything is sent. If the server's
    answer is lost, the command looks for the run before it starts it again.

    examples:
      yt8m kubeflow run smoke --param span=3 --wait
      yt8m kubeflow run smoke --version sha256-0123456789abcdef --root s3://bucket/runs
      yt8m kubeflow run smoke --param gap_threshold=0.82 --dry-run --json
    """

    name: str = ""  # Name of the run (default: pipeline and time)
    wait: bool = False  # Follow the run to its end
    timeout: Seconds = 0.0  # Seconds to follow the run with --wait; 0: no limit
    every: Interval = 10.0  # Seconds between two requests with --wait
    patience: Seconds = 600.0  # Seconds to wait for an unreachable server with --wait


@dataclass(frozen=True, kw_only=True)
class ScheduleArguments(LaunchArguments):
    """Run an uploaded pipeline on a schedule.

    CRON has the usual five fields (minute hour day month weekday), or six with the seconds first,
    as Kubeflow itself expects. The command prints the next three times. Your schedule of the same
    name and pipeline is replaced; if nothing changed, the command does nothing. A name that belongs
    to somebody else or to another pipeline is refused. A schedule keeps its version: --latest moves
    it to the newest one, --version to another. Missed times are skipped unless --catch-up is given.

    examples:
      yt8m kubeflow schedule smoke --cron '0 3 * * *' --name nightly
      yt8m kubeflow schedule smoke --cron '0 0 3 * * mon-fri' --name nightly --param span=7
      yt8m kubeflow schedule smoke --cron '0 9 * * *' --timezone Asia/Tokyo --name nightly
      yt8m kubeflow schedule smoke --cron '0 3 * * *' --name nightly --disabled
      yt8m kubeflow schedule smoke --cron '0 3 * * *' --name nightly --latest
      yt8m kubeflow schedule smoke --cron '0 3 * * *' --name nightly --dry-run --json
    """

    latest: bool = False  # Move an existing schedule to the newest version of its pipeline
    cron: str  # Times to run at, e.g. '0 3 * * *'
    name: str = ""  # Name of the schedule (default: the pipeline's)
    timezone: str = "UTC"  # Time zone of --cron, e.g. Europe/Brussels
    cluster_timezone: str = "UTC"  # Time zone of the cluster: its CRON_SCHEDULE_TIMEZONE
    max_concurrency: int = 1  # Number of runs in parallel, 1 to 10
    catch_up: bool = False  # Run every missed time too
    disabled: bool = False  # Keep the schedule, but do not run it


@dataclass(frozen=True, kw_only=True)
class UnscheduleArguments(ConnectionArguments):
    """Delete a schedule; the runs that it started continue.

    A name deletes your own schedule only; an id deletes anybody's. To keep a schedule but switch it
    off, use `yt8m kubeflow schedule ... --disabled`.

    examples:
      yt8m kubeflow unschedule nightly
      yt8m kubeflow unschedule nightly --experiment retraining --dry-run
    """

    name: Annotated[str, Written(is_positional=True)]  # Name or id of the schedule
    dry_run: bool = False  # Show what would change without changing it
    experiment: Name = ""  # Name of the experiment (default: yt8m)


@dataclass(frozen=True, kw_only=True)
class KubeflowListArguments(ConnectionArguments):
    """List pipelines, versions, runs or schedules.

    examples:
      yt8m kubeflow list pipelines
      yt8m kubeflow list versions smoke
      yt8m kubeflow list runs --limit 5
      yt8m kubeflow list schedules --experiment retraining --json
    """

    # Kind of object to list.
    what: Annotated[
        Literal["pipelines", "runs", "schedules", "versions"], Written(is_positional=True)
    ]
    pipeline: Annotated[str, Written(is_positional=True)] = ""  # Pipeline whose versions to list
    limit: PositiveInt = 20  # Number of runs to list
    dry_run: bool = False  # Accepted without effect: the command changes nothing
    experiment: Name = ""  # Experiment whose runs or schedules to list (default: all)


@dataclass(frozen=True, kw_only=True)
class WaitArguments(ConnectionArguments):
    """Follow a run to its end and show the state of its tasks.

    exit codes: 0 the run succeeded, 1 it failed or was cancelled, 5 unknown: the run goes on
    after --timeout, or the server was unreachable for longer than --patience.

    examples:
      yt8m kubeflow wait 5f3c1a7e-0000-4000-8000-000000000000
      yt8m kubeflow wait RUN_ID --timeout 3600 --json
    """

    run: RunId  # Id of the run
    timeout: Seconds = 0.0  # Seconds to follow the run; 0: no limit
    every: Interval = 10.0  # Seconds between two requests
    patience: Seconds = 600.0  # Seconds to wait for an unreachable server
    dry_run: bool = False  # Show the current state without waiting


@dataclass(frozen=True, kw_only=True)
class LogsArguments(Arguments):
    """Show the logs of a run's pods.

    Without a step, the logs of the failed pods. The command talks to Kubernetes as kubectl does,
    and needs permission to list pods and read their logs. The logs of deleted pods are in the
    artifact executor-logs.

    examples:
      yt8m kubeflow logs 5f3c1a7e-0000-4000-8000-000000000000 --namespace team-a
      yt8m kubeflow logs RUN_ID Trainer --tail 1000
      yt8m kubeflow logs RUN_ID Trainer-driver --json
    """

    run: RunId  # Id of the run
    # Step, e.g. Trainer, or its driver, Trainer-driver (default: the failed ones).
    step: Annotated[str, Written(is_positional=True)] = ""
    namespace: str = ""  # Namespace of the run (default: the kubeconfig's)
    tail: PositiveInt = 200  # Number of lines per pod
    dry_run: bool = False  # Accepted without effect: the command changes nothing


@dataclass(frozen=True, kw_only=True)
class RunChangeArguments(ConnectionArguments):
    """Arguments of the commands that change a run."""

    run: RunId  # Id of the run
    dry_run: bool = False  # Show what would change without changing it


@dataclass(frozen=True, kw_only=True)
class CancelArguments(RunChangeArguments):
    """Cancel a run.

    The run's pods are stopped. A training keeps its checkpoints.

    examples:
      yt8m kubeflow cancel 5f3c1a7e-0000-4000-8000-000000000000
      yt8m kubeflow cancel RUN_ID --dry-run
    """


@dataclass(frozen=True, kw_only=True)
class RetryArguments(RunChangeArguments):
    """Run the failed steps of a run again.

    Steps that depend on them follow. Successful steps are kept. A training continues from its last
    checkpoint.

    examples:
      yt8m kubeflow retry 5f3c1a7e-0000-4000-8000-000000000000
      yt8m kubeflow retry RUN_ID --dry-run
    """


@dataclass(frozen=True, kw_only=True)
class ArchiveArguments(RunChangeArguments):
    """Hide a run in the user interface, or show it again.

    examples:
      yt8m kubeflow archive 5f3c1a7e-0000-4000-8000-000000000000
      yt8m kubeflow archive RUN_ID --undo
    """

    undo: bool = False  # Show an archived run again


@dataclass(frozen=True, kw_only=True)
class DeleteArguments(RunChangeArguments):
    """Delete a run from the server, with its Workflow.

    Pushed models and checkpoints stay. Cancel a run that is still active first.

    examples:
      yt8m kubeflow delete 5f3c1a7e-0000-4000-8000-000000000000
      yt8m kubeflow delete RUN_ID --dry-run
    """
