"""Arguments of the commands about Kubeflow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from yt8m.cli.arguments.options import Arguments, Written
from yt8m.cli.arguments.shared import File, InputFile, Name, NamedConfigArguments, OutputFile

Account = Annotated[str, Written("ACCOUNT")]
Uri = Annotated[str, Written("URI")]
Seconds = Annotated[float, Written("S")]
RunId = Annotated[str, Written(is_positional=True)]


@dataclass(frozen=True, kw_only=True)
class ConnectionArguments(Arguments):
    """How to reach the server, and how to log in."""

    GROUP: ClassVar[str] = (
        "connection (or YT8M_KUBEFLOW_HOST and so on, or ~/.config/yt8m/kubeflow.yaml)"
    )

    # address of Kubeflow Pipelines, e.g. http://localhost:8080
    host: Annotated[str, Written("URL")] = ""
    ui_host: Annotated[str, Written("URL")] = ""  # address for the printed links, if another
    namespace: Name = ""  # your profile's namespace, on a multi-user installation
    owner: Name = ""  # who you are: whose versions and schedules are yours (default: your login)
    # bearer token (other users can see it in `ps`; --token-file is better)
    token: Annotated[str, Written("TOKEN")] = ""
    token_file: File = ""  # file with the bearer token, read for every request
    # login cookie, e.g. authservice_session=... (better: --cookie-file)
    cookie: Annotated[str, Written("COOKIE")] = ""
    cookie_file: File = ""  # file with the cookie
    ca_file: File = ""  # certificate authority of the server
    # inside a pod: use the token mounted at /var/run/secrets/kubeflow/pipelines/token
    service_account: bool = False
    connection: File = ""  # a file of these settings


@dataclass(frozen=True, kw_only=True)
class LaunchArguments(ConnectionArguments):
    """What a run starts with."""

    pipeline: Annotated[str, Written(is_positional=True)]  # name or id of an uploaded pipeline
    version: str = ""  # version of the pipeline (default: the newest, whoever uploaded it)
    param: Annotated[tuple[str, ...], Written("NAME=VALUE")] = ()  # a run-time parameter
    root: Uri = ""  # where artifacts go, s3://...
    run_as: Account = ""  # Kubernetes service account of the pods
    experiment: Name = ""  # experiment (default: yt8m)
    dry_run: bool = False  # check everything, and change nothing


@dataclass(frozen=True, kw_only=True)
class CompileArguments(NamedConfigArguments):
    """Write a pipeline as Kubeflow Pipelines YAML (schema 2.1).

    Needs no network and no cluster. The same `create_pipeline` is compiled as `yt8m run` runs. What
    a run may set without compiling anew: data_root, span, push_dir, gap_threshold,
    gap_change_threshold, and the pipeline root. What the open-source backend would refuse is
    refused here, with its place in the YAML.

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

    image: str = ""  # container image, pinned by tag or digest
    root: Uri  # where artifacts go: s3:// gs:// minio://
    out: OutputFile = "pipeline.yaml"  # file to write
    platform: InputFile = ""  # a file that says what the pods get
    one_document: bool = False  # leave the platform's document out, as Vertex AI's client needs it
    dry_run: bool = False  # compile and check, write nothing


@dataclass(frozen=True, kw_only=True)
class CheckArguments(Arguments):
    """Ask whether the cluster has what a compiled pipeline needs.

    Permissions, volume claims, secrets with their keys, image, artifact root, and everything that
    `compile` checks. Talks to Kubernetes as kubectl does, and changes nothing. Ends with 0 when
    nothing is missing, with 1 otherwise; what may not be looked at is `not known`, and no fault.

    examples:
      yt8m kubeflow check pipeline.yaml --namespace team-a
      yt8m kubeflow check pipeline.yaml --namespace team-a --run-as pipeline-runner --json
    """

    file: Annotated[str, Written(is_positional=True)]  # YAML written by `yt8m kubeflow compile`
    namespace: str = ""  # where it will run (default: the kubeconfig's)
    run_as: Account = ""  # whose permissions to look at (default: yours)
    dry_run: bool = False  # no effect: it changes nothing


@dataclass(frozen=True, kw_only=True)
class UploadArguments(ConnectionArguments):
    """Upload a compiled pipeline as a version named by its content.

    The pipeline is made if it is not there. The same content twice is "already there".

    examples:
      yt8m kubeflow upload pipeline.yaml --host http://localhost:8080
      yt8m kubeflow upload pipeline.yaml --name nightly --namespace team-a --token-file token
      yt8m kubeflow upload pipeline.yaml --dry-run --json
    """

    file: Annotated[str, Written(is_positional=True)]  # YAML written by `yt8m kubeflow compile`
    name: str = ""  # name of the pipeline (default: as compiled)
    dry_run: bool = False  # look, and change nothing


@dataclass(frozen=True, kw_only=True)
class KubeflowRunArguments(LaunchArguments):
    """Start one run of an uploaded pipeline.

    Parameters are checked against the compiled pipeline before anything is sent. If the server's
    answer is lost, the run is looked for before it is started again.

    examples:
      yt8m kubeflow run smoke --param span=3 --wait
      yt8m kubeflow run smoke --version sha256-0123456789abcdef --root s3://bucket/runs
      yt8m kubeflow run smoke --param gap_threshold=0.82 --dry-run --json
    """

    name: str = ""  # name of the run (default: pipeline and time)
    wait: bool = False  # follow it to its end
    timeout: Seconds = 0.0  # with --wait, give up after this many seconds; 0: never
    every: Seconds = 10.0  # with --wait, seconds between two questions
    patience: Seconds = 600.0  # with --wait, how long a server that is away is waited for


@dataclass(frozen=True, kw_only=True)
class ScheduleArguments(LaunchArguments):
    """Run an uploaded pipeline again and again.

    CRON has the usual five fields (minute hour day month weekday), or six with the seconds first,
    as Kubeflow itself wants them. The command explains it by the next three times. Your schedule of
    the same name and pipeline is replaced, never doubled; without a change nothing happens. One of
    somebody else's or of another pipeline is left alone, and the name is refused. A schedule keeps
    its version: --latest moves it to the newest one, --version to another. Missed times are not
    caught up on unless --catch-up is given.

    examples:
      yt8m kubeflow schedule smoke --cron '0 3 * * *' --name nightly
      yt8m kubeflow schedule smoke --cron '0 0 3 * * mon-fri' --name nightly --param span=7
      yt8m kubeflow schedule smoke --cron '0 9 * * *' --timezone Asia/Tokyo --name nightly
      yt8m kubeflow schedule smoke --cron '0 3 * * *' --name nightly --disabled
      yt8m kubeflow schedule smoke --cron '0 3 * * *' --name nightly --latest
      yt8m kubeflow schedule smoke --cron '0 3 * * *' --name nightly --dry-run --json
    """

    latest: bool = False  # move an existing schedule to the newest version of its pipeline
    cron: str  # when to run, e.g. '0 3 * * *'
    name: str = ""  # name of the schedule (default: the pipeline's)
    timezone: str = "UTC"  # zone that the cron is meant in
    cluster_timezone: str = "UTC"  # zone that the cluster counts in: its CRON_SCHEDULE_TIMEZONE
    max_concurrency: int = 1  # runs in parallel, 1-10
    catch_up: bool = False  # run every missed time too
    disabled: bool = False  # keep the schedule, switched off


@dataclass(frozen=True, kw_only=True)
class UnscheduleArguments(ConnectionArguments):
    """Delete a schedule; runs that it started go on.

    By its name only your own is deleted, by its id any. To keep it and switch it off, use
    `yt8m kubeflow schedule ... --disabled`.

    examples:
      yt8m kubeflow unschedule nightly
      yt8m kubeflow unschedule nightly --experiment retraining --dry-run
    """

    name: Annotated[str, Written(is_positional=True)]  # name or id of the schedule
    dry_run: bool = False  # look, and change nothing
    experiment: Name = ""  # experiment (default: yt8m)


@dataclass(frozen=True, kw_only=True)
class KubeflowListArguments(ConnectionArguments):
    """List pipelines, versions, runs or schedules.

    examples:
      yt8m kubeflow list pipelines
      yt8m kubeflow list versions smoke
      yt8m kubeflow list runs --limit 5
      yt8m kubeflow list schedules --experiment retraining --json
    """

    # what to list
    what: Annotated[
        Literal["pipelines", "runs", "schedules", "versions"], Written(is_positional=True)
    ]
    pipeline: Annotated[str, Written(is_positional=True)] = ""  # the pipeline of the versions
    limit: int = 20  # how many runs
    dry_run: bool = False  # no effect: listing changes nothing
    experiment: Name = ""  # list those of this experiment alone (default: of all)


@dataclass(frozen=True, kw_only=True)
class WaitArguments(ConnectionArguments):
    """Follow a run to its end and show its state by task.

    Ends with 0 when the run succeeded, with 1 when it failed or was cancelled, and with 5 when the
    server stayed away for longer than --patience, so that nobody knows.

    examples:
      yt8m kubeflow wait 5f3c1a7e-0000-4000-8000-000000000000
      yt8m kubeflow wait RUN_ID --timeout 3600 --json
    """

    run: RunId  # id of the run
    timeout: Seconds = 0.0  # give up after this many seconds; 0: never
    every: Seconds = 10.0  # seconds between two questions
    patience: Seconds = 600.0  # how long a server that does not answer is waited for
    dry_run: bool = False  # show the state now, do not wait


@dataclass(frozen=True, kw_only=True)
class LogsArguments(Arguments):
    """Show what the pods of a run have said.

    Without a step, those of the pods that failed. Talks to Kubernetes as kubectl does, since
    Kubeflow's own answers name no pods, and needs the right to list pods and read their logs. Pods
    that are gone have left theirs in the artifact executor-logs.

    examples:
      yt8m kubeflow logs 5f3c1a7e-0000-4000-8000-000000000000 --namespace team-a
      yt8m kubeflow logs RUN_ID Trainer --tail 1000
      yt8m kubeflow logs RUN_ID Trainer-driver --json
    """

    run: RunId  # id of the run
    # a step, e.g. Trainer, or its driver, Trainer-driver (default: what failed)
    step: Annotated[str, Written(is_positional=True)] = ""
    namespace: str = ""  # where it ran (default: the kubeconfig's)
    tail: int = 200  # lines of each pod
    dry_run: bool = False  # no effect: it changes nothing


@dataclass(frozen=True, kw_only=True)
class RunChangeArguments(ConnectionArguments):
    """Which run to change."""

    run: RunId  # id of the run
    dry_run: bool = False  # look, and change nothing


@dataclass(frozen=True, kw_only=True)
class CancelArguments(RunChangeArguments):
    """Cancel a run.

    Its pods are ended. A training keeps its checkpoints.

    examples:
      yt8m kubeflow cancel 5f3c1a7e-0000-4000-8000-000000000000
      yt8m kubeflow cancel RUN_ID --dry-run
    """


@dataclass(frozen=True, kw_only=True)
class RetryArguments(RunChangeArguments):
    """Run the failed steps of a run again.

    Steps that depend on them follow. Steps that succeeded are kept.
    A training continues from its last checkpoint.

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

    undo: bool = False  # show it again


@dataclass(frozen=True, kw_only=True)
class DeleteArguments(RunChangeArguments):
    """Delete a run from the server, with its Workflow.

    Pushed models and checkpoints stay. A run that is not over yet is refused: cancel it first.

    examples:
      yt8m kubeflow delete 5f3c1a7e-0000-4000-8000-000000000000
      yt8m kubeflow delete RUN_ID --dry-run
    """
