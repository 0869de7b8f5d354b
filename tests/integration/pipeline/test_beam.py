"""The arguments of Beam's pipelines: the engine is named, never left to Beam."""

import json
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version
from zipfile import ZipFile

import pytest
from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions
from apache_beam.runners import DirectRunner
from apache_beam.runners.portability.local_job_service import LocalJobServicer
from apache_beam.runners.runner import create_runner
from apache_beam.transforms.environments import DockerEnvironment, Environment

from yt8m.pipeline.beam import (
    IN_PROCESS_RUNNER,
    beam_arguments,
    check_beam,
    describe_workers,
    with_engine,
)
from yt8m.pipeline.config import BeamConfig, BeamRunner
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import ConfigError

LOOPBACK = "--environment_type=LOOPBACK"


def test_in_this_process_with_one_worker_by_default():
    arguments = beam_arguments(BeamConfig())
    assert arguments[0] == f"--runner={IN_PROCESS_RUNNER}"
    assert "--direct_running_mode=in_memory" in arguments
    assert "--direct_num_workers=1" in arguments


def test_arguments_that_name_no_engine_are_of_the_one_in_this_process():
    option = "--direct_num_workers=2"
    named = beam_arguments(BeamConfig(options=(option,)))
    assert with_engine([option]) == named
    for other in (named, beam_arguments(BeamConfig(runner=BeamRunner.FLINK))):
        assert with_engine(other) == other


def test_the_engine_is_the_same_in_every_version_of_beam():
    """`DirectRunner` is not: from 2.69 on it tries another engine first."""
    engine = create_runner(IN_PROCESS_RUNNER)
    assert type(engine).__name__ == "FnApiRunner"
    assert not isinstance(engine, DirectRunner)


@pytest.mark.parametrize(
    ("runner", "name"),
    [("flink", "Flink"), ("spark", "Spark"), ("portable", "Portable"), ("dataflow", "Dataflow")],
)
def test_other_engines_get_the_options_as_they_are(runner, name):
    config = BeamConfig(runner=BeamRunner(runner), options=("--parallelism=4", "--flag"))
    runner, *options = beam_arguments(config)
    assert create_runner(runner.removeprefix("--runner=")).__class__.__name__ == f"{name}Runner"
    assert options == ["--parallelism=4", "--flag"]


def test_parallelism_is_of_flink_and_said_once():
    config = BeamConfig(runner=BeamRunner.FLINK, parallelism=3)
    assert "--parallelism=3" in beam_arguments(config)
    for other in ("local", "spark", "dataflow"):
        problems = check_beam(BeamConfig(runner=BeamRunner(other), parallelism=3))
        assert any("beam.parallelism = 3: leave it out" in problem for problem in problems)
    twice = BeamConfig(runner=BeamRunner.FLINK, parallelism=3, options=("--parallelism=4",))
    assert any("beam.options say --parallelism, too" in problem for problem in check_beam(twice))


def test_processes_of_an_engine_are_started_by_a_program_of_this_environment():
    config = BeamConfig(runner=BeamRunner.FLINK, options=("--environment_type=PROCESS",))
    (given,) = (a for a in beam_arguments(config) if a.startswith("--environment_config="))
    program = json.loads(given.partition("=")[2])["command"]
    done = subprocess.run([program, "--help"], capture_output=True, text=True, check=True)
    assert "--provision_endpoint" in done.stdout
    assert not any("PROCESS" in problem for problem in check_beam(config))


@pytest.mark.parametrize("option", ["parallelism=4", "--runner=FlinkRunner", ""])
def test_what_is_no_option_is_refused(option):
    with pytest.raises(ConfigError, match=r"beam\.options"):
        from_dict(BeamConfig, {"options": [option]}, path="beam")


def test_workers_that_share_the_environment_are_sent_no_package_of_tfx():
    """It would be built and staged by every component, 9 s each."""

    def image(*options):
        arguments = beam_arguments(BeamConfig(runner=BeamRunner.FLINK, options=options))
        return [a for a in arguments if a.startswith("--sdk_container_image=")]

    assert image("--environment_type=LOOPBACK") == ["--sdk_container_image=none-needed"]
    assert image("--environment_type=EXTERNAL", "--sdk_container_image=mine") == [
        "--sdk_container_image=mine"
    ]


@pytest.mark.parametrize("master", ["localhost:1", "local.example:1", "http://localhost:1"])
def test_a_host_whose_name_begins_with_local_is_asked_for(master, tmp_path):
    jar = tmp_path / "job-server.jar"
    jar.touch()
    options = (LOOPBACK, f"--flink_master={master}", f"--flink_job_server_jar={jar}")
    (problem,) = check_beam(BeamConfig(runner=BeamRunner.FLINK, options=options))[-1:]
    assert f"the flink master {master}: nothing listens there" in problem


def test_a_master_beside_a_job_server_is_asked_for_too():
    """By its API a job is cancelled."""
    options = (LOOPBACK, "--job_endpoint=localhost:1", "--flink_master=localhost:2")
    problems = check_beam(BeamConfig(runner=BeamRunner.FLINK, options=options))
    assert ["--job_endpoint=localhost:1" in problem for problem in problems] == [True, False]
    assert "the flink master localhost:2: nothing listens there" in problems[1]


@pytest.mark.parametrize(
    ("runner", "master"),
    [
        ("flink", "flink_master=[auto]"),
        ("flink", "flink_master=[local]"),
        ("spark", "spark_master_url=local"),
        ("spark", "spark_master_url=local[*]"),
    ],
)
def test_an_engine_within_the_job_server_is_not(runner, master, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/java")
    jar = tmp_path / "job-server.jar"
    jar.touch()
    options = (LOOPBACK, f"--{master}", f"--{runner}_job_server_jar={jar}")
    assert check_beam(BeamConfig(runner=BeamRunner(runner), options=options)) == []


def test_a_jar_that_is_not_there_and_an_address_that_is_none_are_named():
    for option, said in (
        ("--flink_job_server_jar=/no.jar", "/no.jar: no such file"),
        ("--job_endpoint=nonsense", "write it as HOST:PORT"),
    ):
        problems = check_beam(BeamConfig(runner=BeamRunner.FLINK, options=(LOOPBACK, option)))
        assert any(said in problem for problem in problems)


def test_a_jar_of_another_version_of_beam_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/java")
    found = {}
    for number in ("2.1.0", version("apache-beam")):
        jar = tmp_path / f"beam-runners-flink-1.18-job-server-{number}.jar"
        jar.touch()
        options = (LOOPBACK, f"--flink_job_server_jar={jar}")
        found[number] = check_beam(BeamConfig(runner=BeamRunner.FLINK, options=options))
    assert "is of Beam 2.1.0, and Beam" in found.pop("2.1.0")[0]
    assert list(found.values()) == [[]]


def test_a_jars_version_is_that_of_its_content_whatever_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/java")
    jar = tmp_path / "job-server.jar"
    with ZipFile(jar, "w") as archive:
        archive.writestr("org/apache/beam/sdk/sdk.properties", "# SDK\n\nversion=2.1.0\n")
    options = (LOOPBACK, f"--flink_job_server_jar={jar}")
    (problem,) = check_beam(BeamConfig(runner=BeamRunner.FLINK, options=options))
    assert "is of Beam 2.1.0, and Beam" in problem


def test_a_jar_of_another_version_that_beam_once_fetched_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/java")
    monkeypatch.setattr("yt8m.pipeline.beam._JAR_CACHE", tmp_path)
    config = BeamConfig(runner=BeamRunner.FLINK, options=(LOOPBACK,))
    (tmp_path / "beam-runners-flink-1.18-job-server-2.1.0.jar").touch()
    (problem,) = check_beam(config)
    assert "no job server jar" in problem
    name = f"beam-runners-flink-1.18-job-server-{version('apache-beam')}.jar"
    (tmp_path / name).touch()
    assert check_beam(config) == []


@pytest.mark.parametrize(
    ("kind", "config", "said"),
    [
        ("PROCESS", "/usr/bin/boot", """'{"command": "/path/to/boot"}'"""),
        ("PROCESS", '{"os": "linux"}', """'{"command": "/path/to/boot"}'"""),
        ("EXTERNAL", "localhost", "write it as HOST:PORT"),
    ],
)
def test_an_environments_configuration_that_beam_would_stumble_over(kind, config, said):
    options = ("--job_endpoint=localhost:1", f"--environment_type={kind}")
    options += (f"--environment_config={config}",)
    problem, _ = check_beam(BeamConfig(runner=BeamRunner.PORTABLE, options=options))
    assert problem.startswith(f"beam.options --environment_config={config}: ")
    assert said in problem


@pytest.mark.parametrize(
    ("runner", "option", "said"),
    [
        ("portable", "--parallelism=2", "portable needs --beam-option=--job_endpoint=HOST:PORT"),
        ("spark", "--environment_type=EXTERNAL", "--environment_config=HOST:PORT"),
    ],
)
def test_options_that_need_others_say_which(runner, option, said):
    problems = check_beam(BeamConfig(runner=BeamRunner(runner), options=(option,)))
    assert any(said in problem for problem in problems)


@pytest.fixture(scope="module")
def job_server():
    """Beam's own, which runs pipelines in a process; its address."""
    server = LocalJobServicer("unused")
    port = server.start_grpc_server(0)
    yield f"localhost:{port}"
    server.stop(timeout=1)


@pytest.fixture
def silent():
    """Takes connections and says nothing."""
    with socket.socket() as one:
        one.bind(("localhost", 0))
        one.listen()
        yield f"localhost:{one.getsockname()[1]}"


@pytest.fixture
def web():
    """Speaks HTTP, and knows no page; its address, and what it answers with."""

    class Handler(BaseHTTPRequestHandler):
        body = b""

        def do_GET(self):
            self.send_response(200 if self.body else 404)
            self.end_headers()
            self.wfile.write(self.body)

        def log_message(self, *_):
            pass

    with HTTPServer(("localhost", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"localhost:{server.server_port}", Handler
        server.shutdown()


def portable(*options):
    return check_beam(BeamConfig(runner=BeamRunner.PORTABLE, options=options))


def test_a_job_server_that_answers_has_no_fault(job_server):
    assert portable(LOOPBACK, f"--job_endpoint={job_server}", "--parallelism=2") == []


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--paralelism=2", "no option --paralelism; did you mean --parallelism?"),
        ("--job-name=a", "no option --job-name; did you mean --job_name?"),
        ("--parallel=2", "no option --parallel; did you mean --parallelism?"),
        ("--of_nobody=2", "no option --of_nobody"),
        ("--num_workers=four", "invalid int value: 'four'"),
        ("--flink_version=0.1", "invalid choice: '0.1'"),
    ],
)
def test_an_option_that_beam_would_pass_over_is_named(option, said, job_server):
    (problem,) = portable(LOOPBACK, f"--job_endpoint={job_server}", option)
    assert problem.startswith(f"beam.options {option}: ")
    assert said in problem


@pytest.mark.parametrize("runner", [BeamRunner.LOCAL, BeamRunner.DATAFLOW])
def test_engines_without_a_job_server_take_beams_own_options_alone(runner):
    problems = check_beam(BeamConfig(runner=runner, options=("--of_nobody=1",)))
    assert "beam.options --of_nobody=1: Beam has no option --of_nobody" in problems


def test_what_a_job_server_of_later_will_know_is_not_refused(tmp_path, monkeypatch):
    """One that Beam starts from its jar describes its options when it is there."""
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/java")
    jar = tmp_path / "job-server.jar"
    jar.touch()

    def problems(option):
        options = (LOOPBACK, f"--flink_job_server_jar={jar}", option)
        return check_beam(BeamConfig(runner=BeamRunner.FLINK, options=options))

    assert problems("--object_reuse=true") == []
    assert "did you mean --parallelism?" in problems("--paralelism=2")[0]


@pytest.mark.parametrize("kind", ["EXTERNALL", "external", "KUBERNETES"])
def test_an_environment_that_beam_does_not_have_is_named(kind, job_server):
    (problem, *_) = portable(f"--environment_type={kind}", f"--job_endpoint={job_server}")
    assert f"--environment_type={kind}: one of DOCKER, EXTERNAL, LOOPBACK, PROCESS" in problem


def test_options_that_exclude_each_other_are_named_as_beam_does(job_server):
    (problem,) = portable(LOOPBACK, f"--job_endpoint={job_server}", "--environment_config=a")
    assert "environment_config is not compatible with environment type LOOPBACK" in problem


def test_a_port_where_no_job_server_is_is_named(silent, web):
    address, _ = web
    no_server = "no gRPC server answers there"
    said = {silent: f"{no_server} within 4 s;", address: f"{no_server};"}
    for other, why in said.items():
        (problem,) = portable(LOOPBACK, f"--job_endpoint={other}")
        assert f"--job_endpoint={other}: this is not a Beam job server: {why}" in problem


_FRESH = """
import sys
from yt8m.pipeline.beam import check_beam
from yt8m.pipeline.config import BeamConfig, BeamRunner
assert "apache_beam" not in sys.modules
print(*check_beam(BeamConfig(runner=BeamRunner.FLINK, options=tuple(sys.argv[1:]))), sep="\\n")
"""


def test_the_checks_of_a_process_that_has_not_loaded_beam_do_not_meet_in_its_imports(silent, web):
    """They are made at the same time, and so would load parts of it that need one another."""
    address, _ = web
    pool = ["--environment_type=EXTERNAL", f"--environment_config={silent}"]
    options = [*pool, f"--job_endpoint={silent}", f"--flink_master={address}"]
    command = [sys.executable, "-c", _FRESH, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for part in ("--environment_config", "--job_endpoint", "the flink master"):
        assert part in done.stdout


def test_a_server_of_something_else_that_speaks_grpc_is_no_job_server():
    from concurrent.futures import ThreadPoolExecutor

    import grpc

    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("localhost:0")
    server.start()
    (problem,) = portable(LOOPBACK, f"--job_endpoint=localhost:{port}")
    server.stop(None)
    assert "this is not a Beam job server (UNIMPLEMENTED)" in problem


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "it is not Flink's REST API (it answers 404 to /overview)"),
        (b"<html>", "it is not Flink's REST API (JSONDecodeError)"),
        (b"{}", "it is not Flink's REST API (KeyError)"),
        (b'{"flink-version": "1.19.1"}', None),
    ],
)
def test_a_flink_master_is_one_that_answers_as_flink_does(body, said, web, job_server):
    address, handler = web
    handler.body = body
    options = (LOOPBACK, f"--job_endpoint={job_server}", f"--flink_master={address}")
    problems = check_beam(BeamConfig(runner=BeamRunner.FLINK, options=options))
    assert [said in problem for problem in problems] == ([True] if said else [])


def test_a_job_server_in_place_of_a_flink_master_is_named(job_server):
    options = (LOOPBACK, f"--job_endpoint={job_server}", f"--flink_master={job_server}")
    (problem,) = check_beam(BeamConfig(runner=BeamRunner.FLINK, options=options))
    assert f"the flink master {job_server}: it is not Flink's REST API" in problem


@pytest.mark.parametrize("kind", [(), ("--environment_type=DOCKER",)])
def test_workers_in_an_image_need_one_with_yt8m(kind, job_server):
    """Beam's own image is its choice where nobody says anything."""
    (problem,) = portable(*kind, f"--job_endpoint={job_server}")
    assert "name an image with --beam-option=--sdk_container_image=IMAGE" in problem
    assert portable(*kind, f"--job_endpoint={job_server}", "--sdk_container_image=mine:1") == []


@pytest.mark.parametrize("option", ["sdk_container_image", "environment_config"])
def test_an_image_is_the_one_that_workers_start_from(option):
    config = BeamConfig(runner=BeamRunner.FLINK, options=(f"--{option}=mine:1",))
    options = PipelineOptions(beam_arguments(config))
    environment = Environment.from_options(options.view_as(PortableOptions))
    assert isinstance(environment, DockerEnvironment)
    assert environment.container_image == "mine:1"
    # Which keeps TFX and Beam from sending their own packages to it.
    assert "--sdk_container_image=mine:1" in beam_arguments(config)
    assert describe_workers(config) == "Beam's workers on flink run in the image mine:1"


def test_dataflow_needs_an_image():
    problems = check_beam(BeamConfig(runner=BeamRunner.DATAFLOW))
    assert any("needs --beam-option=--sdk_container_image=IMAGE" in problem for problem in problems)
    given = BeamConfig(runner=BeamRunner.DATAFLOW, options=("--sdk_container_image=mine:1",))
    assert not any("sdk_container_image" in problem for problem in check_beam(given))
    assert describe_workers(given) == "Beam's workers on dataflow run in the image mine:1"
