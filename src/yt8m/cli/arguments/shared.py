"""Arguments that several commands take, each defined here alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from yt8m.cli.arguments.options import Arguments, Sets, Written, positional
from yt8m.pipeline.config import BeamRunner
from yt8m.schemas.limits import NonNegativeInt, PositiveInt

DEFAULT_CONFIG = "smoke"

Directory = Annotated[str, Written("DIR")]
File = Annotated[str, Written("FILE")]
Name = Annotated[str, Written("NAME")]
Pattern = Annotated[str, Written("PATTERN")]
Records = Annotated[str, Written("DIR|PATTERN")]
Patterns = Annotated[tuple[str, ...], Written("DIR|PATTERN")]
Model = Annotated[str, Written("DIR|REGISTRY")]
Count = Annotated[PositiveInt, Written("N")]
VersionNumber = Annotated[int, positional("V")]


@dataclass(frozen=True, kw_only=True)
class NamedConfigArguments(Arguments):
    """A configuration, which has to be named."""

    config: Annotated[str, positional("PRESET|FILE")]  # a preset, a YAML file, or `defaults`
    # another one on top of it, e.g. a file of your site's paths; may be repeated
    layers: Annotated[tuple[str, ...], Written("PRESET|FILE", option="config")] = ()
    # any value of the configuration, e.g. trainer.max_steps=200; may be repeated
    set: Annotated[tuple[str, ...], Written("PATH=VALUE")] = ()


@dataclass(frozen=True, kw_only=True)
class ConfigArguments(NamedConfigArguments):
    """A configuration, the smallest one where none is named."""

    # a preset, a YAML file, or `defaults`
    config: Annotated[str, positional("PRESET|FILE")] = DEFAULT_CONFIG


@dataclass(frozen=True, kw_only=True)
class BeamArguments(Arguments):
    """The engine below Beam's pipelines."""

    beam_runner: Annotated[BeamRunner | None, Sets("beam.runner")] = None  # Beam's engine
    # an option passed to Beam, e.g. --beam-option=--parallelism=4; may be repeated
    beam_option: Annotated[tuple[str, ...], Written("=--OPTION"), Sets("beam.options")] = ()


@dataclass(frozen=True, kw_only=True)
class PipelineArguments(BeamArguments, ConfigArguments):
    """What most runs set: the configuration, places, and Beam's engine."""

    data: Annotated[Directory | None, Sets("data.root")] = None  # the records
    root: Annotated[Directory | None, Sets("root")] = None  # artifacts, metadata, logs


@dataclass(frozen=True, kw_only=True)
class PushingArguments(PipelineArguments):
    """Those of a pipeline that pushes its model to a registry."""

    push: Annotated[Directory | None, Sets("pusher.push_dir")] = None  # the registry of models


@dataclass(frozen=True, kw_only=True)
class RootArguments(Arguments):
    """A root that runs were made on."""

    root: Directory  # the root of the runs, as given to `yt8m run`


@dataclass(frozen=True, kw_only=True)
class OneRunArguments(RootArguments):
    """One run of a root."""

    run: Annotated[str, positional("RUN")] = ""  # id of the run; default: the newest


@dataclass(frozen=True, kw_only=True)
class RegistryArguments(Arguments):
    """A registry of pushed models."""

    push: Directory  # the push directory


@dataclass(frozen=True, kw_only=True)
class ScoringArguments(Arguments):
    """Records that a model is measured on, and what is reported."""

    LOADS_TENSORFLOW: ClassVar[bool] = True

    # the records: a directory, or files, e.g. 'data/validate*'; may be repeated
    data: Patterns
    top_k: Count = 20  # classes of each video that count
    # 0: no intervals; any other number: intervals
    replicates: Annotated[NonNegativeInt, Written("N")] = 200
