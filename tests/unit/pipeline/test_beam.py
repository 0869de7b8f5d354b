"""The arguments of Beam's pipelines: the engine is named, never left to Beam."""

from importlib.metadata import version

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
    assert beam_arguments(config) == [f"--runner={name}Runner", "--parallelism=4", "--flag"]


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


@pytest.mark.parametrize(
    ("runner", "option", "said"),
    [
        ("portable", "--parallelism=2", "portable needs --beam-option=--job_endpoint=HOST:PORT"),
        ("flink", "--environment_type=PROCESS", '--environment_config=\'{"command":'),
        ("spark", "--environment_type=EXTERNAL", "--environment_config=HOST:PORT"),
    ],
)
def test_options_that_need_others_say_which(runner, option, said):
    problems = check_beam(BeamConfig(runner=BeamRunner(runner), options=(option,)))
    assert any(said in problem for problem in problems)
