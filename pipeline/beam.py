"""The Beam runner: its arguments for every pipeline of a run, and a check that it answers."""

from __future__ import annotations

import json
import re
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit
from zipfile import BadZipFile, ZipFile

from yt8m.pipeline.beam_options import (
    environment_problem,
    invalid_combinations,
    option_problems,
    values_of,
)
from yt8m.pipeline.config import BeamConfig, BeamRunner

# Beam's engine in this process, by its own name: from Beam 2.69 on, "DirectRunner" may be another
# one, which Beam downloads where there is a network.
IN_PROCESS_RUNNER = "apache_beam.runners.portability.fn_api_runner.FnApiRunner"
_RUNNER_CLASS = {
    BeamRunner.LOCAL: IN_PROCESS_RUNNER,
    BeamRunner.FLINK: "yt8m.components.engines.runners.FlinkRunner",
    BeamRunner.SPARK: "yt8m.components.engines.runners.SparkRunner",
    BeamRunner.PORTABLE: "yt8m.components.engines.runners.PortableRunner",
    BeamRunner.DATAFLOW: "DataflowRunner",
}
# TFX packs a copy of itself for remote workers in every Beam component, 9 s each time, unless an
# option says where workers get it. Those in this process have it, those of these kinds bring it.
_NO_IMAGE = "--sdk_container_image=none-needed"
_RUNNER = "--runner="
# One worker in this process: several threads cost 1.4 times the CPU here, processes 7 times.
IN_PROCESS = (
    f"{_RUNNER}{IN_PROCESS_RUNNER}",
    "--direct_running_mode=in_memory",
    "--direct_num_workers=1",
    _NO_IMAGE,
)
_OWN_ENVIRONMENT = ("LOOPBACK", "EXTERNAL", "PROCESS")
_DOCKER = "DOCKER"  # Beam's own choice where nothing is said


def beam_arguments(config: BeamConfig) -> list[str]:
    """The arguments for every Beam pipeline of a run."""
    if config.runner is BeamRunner.LOCAL:
        return with_engine(config.options)
    arguments = [f"{_RUNNER}{_RUNNER_CLASS[config.runner]}"]
    options = values_of(config.options)
    kind = _environment(config)
    if kind in _OWN_ENVIRONMENT and _IMAGE not in options:
        arguments.append(_NO_IMAGE)
    elif image := _image(config):
        # TFX and Beam's staging read the one, a job server the other.
        names = (_IMAGE,) if config.runner is BeamRunner.DATAFLOW else (_IMAGE, _ENVIRONMENT)
        arguments += [f"--{name}={image}" for name in names if name not in options]
    if config.parallelism is not None:
        arguments.append(f"--parallelism={config.parallelism}")
    if kind == "PROCESS" and not options.get(_ENVIRONMENT):
        command = {"command": str(_program(_WORKER))}
        arguments.append(f"--{_ENVIRONMENT}={json.dumps(command)}")
    return [*arguments, *config.options]


def in_this_process(arguments: Sequence[str]) -> bool:
    """Whether these arguments name the engine in this process."""
    return IN_PROCESS[0] in arguments


def with_engine(arguments: Sequence[str]) -> list[str]:
    """`arguments`, and those of the engine in this process where they name none."""
    named = any(argument.startswith(_RUNNER) for argument in arguments)
    return [*arguments] if named else [*IN_PROCESS, *arguments]


def describe_workers(config: BeamConfig) -> str:
    """Where the workers of an engine come from, for the log; "" for those in this process."""
    if config.runner is BeamRunner.LOCAL:
        return ""
    if image := _image(config):
        return f"Beam's workers on {config.runner.value} run in the image {image}"
    place = values_of(config.options).get(_ENVIRONMENT, "")
    kind = f"{_environment(config)} {place}".strip()
    return f"Beam's workers on {config.runner.value}: {kind}"


def _environment(config: BeamConfig) -> str:
    """The kind of environment that an engine's workers have; "" in this process."""
    if config.runner is BeamRunner.LOCAL:
        return ""
    if config.runner is BeamRunner.DATAFLOW:
        return _DOCKER
    return values_of(config.options).get("environment_type") or _DOCKER


def _image(config: BeamConfig) -> str:
    """The image of workers that run in one; "" where there is none."""
    options = values_of(config.options)
    if _environment(config) != _DOCKER:
        return ""
    named = options.get(_IMAGE, "")
    return named if config.runner is BeamRunner.DATAFLOW else named or options.get(_ENVIRONMENT, "")


def _program(name: str) -> Path:
    """One of this environment's; on the engine's machines it is at the same place."""
    return Path(sys.executable).with_name(name)


_WORKER, _POOL = "yt8m-beam-worker", "yt8m-beam-worker-pool"
_IMAGE, _ENVIRONMENT = "sdk_container_image", "environment_config"
_LOCAL_MASTER = re.compile(r"\[.*\]|local(\[.*\])?")
_VERSION = re.compile(r"-(\d+\.\d+\.\d+)\.jar$")
_SDK_VERSION = re.compile(rb"^version=(\S+)", re.MULTILINE)
_JAR_CACHE = Path("~/.apache_beam/cache/jars")
_CONNECT_S = 3.0
_DOC = "docs/beam-engines.md has the recipe"


def check_beam(config: BeamConfig) -> list[str]:
    """List what is missing for `config.runner`, and options that Beam would not understand."""
    problems = [*_parallelism(config), *_CHECKS[config.runner](config)]
    if not problems and config.options:
        on_dataflow = config.runner is BeamRunner.DATAFLOW
        problems = invalid_combinations(beam_arguments(config), on_dataflow=on_dataflow)
    return problems


def _parallelism(config: BeamConfig) -> Iterator[str]:
    if config.parallelism is None:
        return
    if other := _NOT_BY_PARALLELISM.get(config.runner):
        yield f"beam.parallelism = {config.parallelism}: leave it out, {other}; {_DOC}"
    if "parallelism" in values_of(config.options):
        yield f"beam.parallelism = {config.parallelism}: beam.options say --parallelism, too"


_NOT_BY_PARALLELISM = {
    BeamRunner.LOCAL: "the engine in this process has one worker",
    BeamRunner.SPARK: "Spark's master decides (--beam-option=--spark_master_url=local[4])",
    BeamRunner.DATAFLOW: "Dataflow's own option is --beam-option=--num_workers=4",
}


def _local(config: BeamConfig) -> Iterator[str]:
    return option_problems(config.options, ())


def _flink(config: BeamConfig) -> Iterator[str]:
    return _with_job_server(config, values_of(config.options).get("flink_master", "[auto]"))


def _spark(config: BeamConfig) -> Iterator[str]:
    return _with_job_server(config, values_of(config.options).get("spark_master_url", "local[4]"))


def _portable(config: BeamConfig) -> Iterator[str]:
    if "job_endpoint" in values_of(config.options):
        return _with_job_server(config, "")
    missing = (
        "beam.runner = portable needs --beam-option=--job_endpoint=HOST:PORT, the address of "
        f"its engine's job server; {_DOC}"
    )
    return iter((*option_problems(config.options, None), missing))


def _with_job_server(config: BeamConfig, master: str) -> Iterator[str]:
    """What is asked over the network is asked in parallel: a wrong address costs seconds."""
    if config.options:  # loaded before that: of two threads that load parts of Beam, one may fail
        import apache_beam.options.pipeline_options_validator  # noqa: F401

        import yt8m.components.engines.job_server_check
        import yt8m.components.engines.worker_pool_check  # noqa: F401
    checks = (
        lambda: _workers(config),
        lambda: _job_server(config),
        lambda: _master(config, master),
    )
    with ThreadPoolExecutor(len(checks)) as pool:
        for problems in pool.map(lambda check: list(check()), checks):
            yield from problems


def _job_server(config: BeamConfig) -> Iterator[str]:
    """A running job server (`--job_endpoint`), or a jar and the Java to start one with."""
    options, engine = values_of(config.options), config.runner.value
    described = None
    if endpoint := options.get("job_endpoint"):
        what = f"beam.options --job_endpoint={endpoint}"
        unreachable = list(_reachable(what, endpoint))
        yield from unreachable
        if not unreachable:
            from yt8m.components.engines.job_server_check import NoJobServerError, described_options

            try:
                described = described_options(endpoint)
            except NoJobServerError as error:
                yield f"{what}: {error}; {_DOC}"
    yield from option_problems(config.options, described)
    if endpoint:
        return
    if shutil.which("java") is None:
        yield (
            f"beam.runner = {engine}: no `java` on PATH to start the job server with; install a "
            "Java runtime (apt-get install default-jre-headless), or name a running job server "
            f"with --beam-option=--job_endpoint=HOST:PORT; {_DOC}"
        )
    yield from _jar(engine, options.get(f"{engine}_job_server_jar", ""))


def _master(config: BeamConfig, master: str) -> Iterator[str]:
    """Whether the engine's own master is there, where it is not within the job server."""
    has_server = "job_endpoint" in values_of(config.options)
    if not master or _LOCAL_MASTER.fullmatch(master):
        return
    if has_server and config.runner is not BeamRunner.FLINK:  # the job server's affair
        return
    what = f"beam.options: the {config.runner.value} master {master}"
    unreachable = list(_reachable(what, master))
    yield from unreachable
    if not unreachable and config.runner is BeamRunner.FLINK:
        from yt8m.components.engines.flink_jobs import fault_of_job_manager

        if fault := fault_of_job_manager(master):
            yield f"{what}: {fault}; {_DOC}"


def _jar(engine: str, jar: str) -> Iterator[str]:
    installed, jar_version = version("apache-beam"), _beam_version_of(jar)
    if jar_version not in (None, installed):
        yield (
            f"beam.options --{engine}_job_server_jar={jar}: is of Beam {jar_version}, and Beam "
            f"{installed} is installed; get the one of this version; {_DOC}"
        )
    if urlsplit(jar).scheme or (jar and Path(jar).is_file()):
        return
    option = f"--beam-option=--{engine}_job_server_jar=FILE"
    if jar:
        yield f"beam.options --{engine}_job_server_jar={jar}: no such file"
    elif not any(_JAR_CACHE.expanduser().glob(f"beam-runners-{engine}*-{installed}.jar")):
        yield (
            f"beam.runner = {engine}: no job server jar; get beam-runners-{engine}-*-job-server of "
            f"Beam {installed} from Maven Central and pass {option}; {_DOC}"
        )


def _beam_version_of(jar: str) -> str | None:
    """The version of Beam in a jar, as its content says it, else its name."""
    with suppress(OSError, BadZipFile, KeyError), ZipFile(jar) as archive:
        if match := _SDK_VERSION.search(archive.read("org/apache/beam/sdk/sdk.properties")):
            return match[1].decode()
    by_name = _VERSION.search(jar)
    return by_name[1] if by_name else None


def _workers(beam: BeamConfig) -> Iterator[str]:
    """Where Python runs, which the engine starts or finds by `--environment_type`."""
    kind, config = _environment(beam), values_of(beam.options).get(_ENVIRONMENT, "")
    if problem := environment_problem(values_of(beam.options).get("environment_type", "")):
        yield f"{problem}; {_DOC}"
    if kind == _DOCKER and not _image(beam):
        yield (
            f"beam.runner = {beam.runner.value}: say where Python runs, with "
            "--beam-option=--environment_type=EXTERNAL, PROCESS or LOOPBACK, or name an image "
            "with --beam-option=--sdk_container_image=IMAGE (`make image`); without either Beam "
            f"uses its own image, which lacks yt8m; {_DOC}"
        )
    if kind == "PROCESS" and not config and not _program(_WORKER).is_file():
        yield (
            "beam.options --environment_type=PROCESS: there is no program that starts a worker, "
            f"{_program(_WORKER)}; `make install` makes it, or name another with "
            f"""--beam-option=--environment_config='{{"command": "/path/to/boot"}}'; {_DOC}"""
        )
    if kind == "PROCESS" and config and not _names_a_command(config):
        yield (
            f"beam.options --environment_config={config}: PROCESS takes the program that starts a "
            f"""worker as '{{"command": "/path/to/boot"}}', or nothing; {_DOC}"""
        )
    if kind == "EXTERNAL" and not config:
        yield (
            "beam.options --environment_type=EXTERNAL needs --beam-option=--environment_config="
            f"HOST:PORT, where a worker pool listens as the engine's workers see it; {_DOC}"
        )
    elif kind == "EXTERNAL" and not config.startswith("{"):  # Beam takes an address in JSON, too
        yield from _worker_pool(config)


def _names_a_command(config: str) -> bool:
    try:
        parsed = json.loads(config)
    except ValueError:
        return False
    return isinstance(parsed, dict) and bool(parsed.get("command"))


def _worker_pool(address: str) -> Iterator[str]:
    what = f"beam.options --environment_config={address}"
    if _host_and_port(address) is None:
        yield f"{what}: write it as HOST:PORT"
    # What is not to be reached from here may be there for the engine's machines.
    elif not list(_reachable(what, address)):
        from yt8m.components.engines.worker_pool_check import fault_of_pool

        if fault := fault_of_pool(address):
            yield (
                f"{what}: {fault}; {_program(_POOL)} starts a pool "
                f"whose workers have what they need; {_DOC}"
            )


def _reachable(what: str, address: str) -> Iterator[str]:
    if (place := _host_and_port(address)) is None:
        yield f"{what}: write it as HOST:PORT"
        return
    try:
        socket.create_connection(place, timeout=_CONNECT_S).close()
    except OSError as error:
        yield f"{what}: nothing listens there ({error.strerror or error}); start it first; {_DOC}"


def _host_and_port(address: str) -> tuple[str, int] | None:
    parts = urlsplit(address if "//" in address else f"//{address}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    return (host, port) if host and port else None


def _dataflow(config: BeamConfig) -> Iterator[str]:
    yield from option_problems(config.options, ())
    options = values_of(config.options)
    for name, example in (("project", "my-project"), ("region", "europe-west1")):
        if not options.get(name):
            yield f"beam.runner = dataflow needs --beam-option=--{name}={example}; {_DOC}"
    if not options.get("temp_location", "").startswith("gs://"):
        yield f"beam.runner = dataflow needs --beam-option=--temp_location=gs://BUCKET/PATH; {_DOC}"
    if not _image(config):
        yield (
            "beam.runner = dataflow needs --beam-option=--sdk_container_image=IMAGE, an image of "
            "yt8m (`make image`) that Google's machines can pull: Beam's own image lacks yt8m; "
            f"{_DOC}"
        )
    try:
        from google.auth import default
        from google.auth.exceptions import DefaultCredentialsError
    except ImportError:
        yield "beam.runner = dataflow needs Google's libraries: pip install 'apache-beam[gcp]'"
        return
    try:
        default()
    except DefaultCredentialsError:
        yield (
            "beam.runner = dataflow: no Google credentials; run `gcloud auth application-default "
            "login`, or set GOOGLE_APPLICATION_CREDENTIALS to a service account's key file"
        )


_CHECKS: dict[BeamRunner, Callable[[BeamConfig], Iterator[str]]] = {
    BeamRunner.LOCAL: _local,
    BeamRunner.FLINK: _flink,
    BeamRunner.SPARK: _spark,
    BeamRunner.PORTABLE: _portable,
    BeamRunner.DATAFLOW: _dataflow,
}
