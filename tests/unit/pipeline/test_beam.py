"""The arguments of Beam's pipelines: the engine is named, never left to Beam."""

import pytest
from apache_beam.runners import DirectRunner
from apache_beam.runners.runner import create_runner

from yt8m.pipeline.beam import IN_PROCESS_RUNNER, beam_arguments
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
    ("runner", "name"), [("flink", "Flink"), ("spark", "Spark"), ("dataflow", "Dataflow")]
)
def test_other_engines_get_the_options_as_they_are(runner, name):
    config = BeamConfig(runner=BeamRunner(runner), options=("--parallelism=4", "--flag"))
    assert beam_arguments(config) == [f"--runner={name}Runner", "--parallelism=4", "--flag"]


@pytest.mark.parametrize("option", ["parallelism=4", "--runner=FlinkRunner", ""])
def test_what_is_no_option_is_refused(option):
    with pytest.raises(ConfigError, match=r"beam\.options"):
        from_dict(BeamConfig, {"options": [option]}, path="beam")
