"""The arguments of Beam's pipelines: the engine is named, never left to Beam."""

import json
import subprocess
from importlib.metadata import version
from zipfile import ZipFile

import pytest
from apache_beam.runners import DirectRunner
from apache_beam.runners.runner import create_runner

from yt8m.pipeline.beam import IN_PROCESS_RUNNER, beam_arguments, check_beam
from yt8m.pipeline.config import BeamConfig, BeamRunner
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import ConfigError


def test_in_this_process_with_one_worker_by_default():
    arguments = beam_arguments(BeamConfig())
    assert arguments[0] == f"--runner={IN_PROCESS_RUNNER}"
    assert "--direct_running_mode=in_memory" in arguments
    assert "--direct_num_workers=1" in arguments


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
    assert image("--environment_type=DOCKER") == []
    assert image("--environment_type=EXTERNAL", "--sdk_container_image=mine") == [
        "--sdk_container_image=mine"
    ]


@pytest.mark.parametrize("master", ["localhost:1", "local.example:1", "http://localhost:1"])
def test_a_host_whose_name_begins_with_local_is_asked_for(master, tmp_path):
    jar = tmp_path / "job-server.jar"
    jar.touch()
    options = (f"--flink_master={master}", f"--flink_job_server_jar={jar}")
    (problem,) = check_beam(BeamConfig(runner=BeamRunner.FLINK, options=options))[-1:]
    assert f"the flink master {master}: nothing listens there" in problem


def test_a_master_beside_a_job_server_is_asked_for_too():
    """By its API a job is cancelled."""
    options = ("--job_endpoint=localhost:1", "--flink_master=localhost:2")
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
    options = (f"--{master}", f"--{runner}_job_server_jar={jar}")
    assert check_beam(BeamConfig(runner=BeamRunner(runner), options=options)) == []


def test_a_jar_of_another_version_of_beam_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/java")
    found = {}
    for number in ("2.1.0", version("apache-beam")):
        jar = tmp_path / f"beam-runners-flink-1.18-job-server-{number}.jar"
        jar.touch()
        options = (f"--flink_job_server_jar={jar}",)
        found[number] = check_beam(BeamConfig(runner=BeamRunner.FLINK, options=options))
    assert "is of Beam 2.1.0, and Beam" in found.pop("2.1.0")[0]
    assert list(found.values()) == [[]]


def test_a_jars_version_is_that_of_its_content_whatever_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/java")
    jar = tmp_path / "job-server.jar"
    with ZipFile(jar, "w") as archive:
        archive.writestr("org/apache/beam/sdk/sdk.properties", "# SDK\n\nversion=2.1.0\n")
    options = (f"--flink_job_server_jar={jar}",)
    (problem,) = check_beam(BeamConfig(runner=BeamRunner.FLINK, options=options))
    assert "is of Beam 2.1.0, and Beam" in problem


def test_a_jar_of_another_version_that_beam_once_fetched_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/java")
    monkeypatch.setattr("yt8m.pipeline.beam._JAR_CACHE", tmp_path)
    config = BeamConfig(runner=BeamRunner.FLINK)
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
