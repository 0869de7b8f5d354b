"""Where Beam's own pipelines run: in this process, or on Flink, Spark or Dataflow."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from yt8m.schemas.config_tree import require


class BeamRunner(enum.Enum):
    """The engine under StatisticsGen, Transform and whatever else is written in Beam."""

    LOCAL = "local"
    FLINK = "flink"
    SPARK = "spark"
    DATAFLOW = "dataflow"


# Beam's engine in this process, by its own name: from Beam 2.69 on, "DirectRunner" may be another
# one, which Beam downloads where there is a network.
IN_PROCESS_RUNNER = "apache_beam.runners.portability.fn_api_runner.FnApiRunner"
_RUNNER_CLASS = {
    BeamRunner.LOCAL: IN_PROCESS_RUNNER,
    BeamRunner.FLINK: "FlinkRunner",
    BeamRunner.SPARK: "SparkRunner",
    BeamRunner.DATAFLOW: "DataflowRunner",
}
# One worker in this process: several threads cost 1.4 times the CPU here, processes 7 times.
# TFX packs a copy of itself for remote workers in every Beam component, seconds each time, unless
# an option says where workers get it; workers in this process have it.
_IN_PROCESS = (
    "--direct_running_mode=in_memory",
    "--direct_num_workers=1",
    "--sdk_container_image=none-needed-in-process",
)


@dataclass(frozen=True, kw_only=True)
class BeamConfig:
    """The beam node of the configuration."""

    runner: BeamRunner = BeamRunner.LOCAL
    options: tuple[str, ...] = ()  # handed to Beam as they are, e.g. "--parallelism=4"

    def __post_init__(self) -> None:
        for option in self.options:
            require(
                option.startswith("--") and not option.startswith("--runner"),
                "options",
                self.options,
                'texts such as "--parallelism=4"; the runner itself is beam.runner',
            )


def beam_arguments(config: BeamConfig) -> list[str]:
    """The arguments for every Beam pipeline of a run."""
    arguments = [f"--runner={_RUNNER_CLASS[config.runner]}"]
    if config.runner is BeamRunner.LOCAL:
        arguments += _IN_PROCESS
    return [*arguments, *config.options]
