"""Arguments that several commands take, each defined here alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, ClassVar

from yt8m.cli.arguments import paths
from yt8m.cli.arguments.options import Arguments, Sets, Written, positional, settings_of
from yt8m.components import storage
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.registry.archive import is_archive
from yt8m.pipeline.config import BeamRunner, PipelineConfig
from yt8m.pipeline.presets import load_config
from yt8m.pipeline.run_record import record_named
from yt8m.pipeline.workspace import layout_of
from yt8m.schemas.config_layers import has_closed_brackets, overrides_of
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.limits import Limit, PositiveInt

DEFAULT_CONFIG = "smoke"

# What is read must be there; what is written must be writable.
InputDirectory = Annotated[str, Written("DIR", problem=paths.missing_directory)]
InputFile = Annotated[str, Written("FILE", problem=paths.missing_file)]
OutputDirectory = Annotated[str, Written("DIR", problem=paths.unwritable_directory)]
LocalDirectory = Annotated[str, Written("DIR", problem=paths.unwritable_local_directory)]
OutputFile = Annotated[str, Written("FILE", parse=paths.behind_link, problem=paths.unwritable_file)]
Directory = Annotated[str, Written("DIR", problem=paths.not_a_directory)]  # read or written
File = Annotated[str, Written("FILE")]  # likewise
# The shell splits what is not quoted, and a value is a part of what was meant.
Setting = Annotated[
    str, Limit("with each bracket closed; quote it: --set 'a.b=[1, 2]'", has_closed_brackets)
]
Name = Annotated[str, Written("NAME")]
Pattern = Annotated[str, Written("PATTERN", problem=paths.missing_records)]
Records = Annotated[str, Written("DIR|PATTERN", problem=paths.missing_records)]
Patterns = Annotated[tuple[str, ...], Written("DIR|PATTERN", problem=paths.missing_records)]
Model = Annotated[str, Written("DIR|REGISTRY", problem=paths.missing)]
Count = Annotated[PositiveInt, Written("N")]
VersionNumber = Annotated[int, positional("V")]


@dataclass(frozen=True, kw_only=True)
class NamedConfigArguments(Arguments):
    """A configuration, as a required argument."""

    # Configuration: a preset, a YAML file, or `defaults`.
    config: Annotated[str, positional("PRESET|FILE")]
    # Configuration to add on top, e.g. a file of your site's paths; may be repeated.
    layers: Annotated[tuple[str, ...], Written("PRESET|FILE", option="config")] = ()
    # Value of the configuration to set, e.g. trainer.max_steps=200; may be repeated.
    set: Annotated[tuple[Setting, ...], Written("PATH=VALUE")] = ()

    def load(self) -> PipelineConfig:
        """The configuration that the arguments mean; an option of its own is above --set."""
        settings = [*self.set, *overrides_of(settings_of(self))]
        return load_config([self.config, *self.layers], settings)

    def check(self) -> None:
        super().check()
        self.load()


def check_model_target(out: str, models: Iterable[str]) -> None:
    """Raise UserError where no model may be written to --out, before any of `models` is loaded."""
    # These need numpy, which other commands start without.
    from yt8m.components.export.target import check_target
    from yt8m.components.registry.find_model import find_model

    # An archive has no place that --out could be in, and a training may have its exports within it.
    found = [find_model(model) for model in models if not is_archive(model)]
    check_target(out, models=[m for m in found if storage.exists(storage.join(m, MODEL_FILE))])


def require_own_code(config: PipelineConfig) -> None:
    """Raise ConfigError where the configuration names code of the user's that is not there."""
    if problems := config.own_code_problems():
        raise ConfigError(problems)


@dataclass(frozen=True, kw_only=True)
class ConfigArguments(NamedConfigArguments):
    """A configuration, by default the smallest preset."""

    # Configuration: a preset, a YAML file, or `defaults`.
    config: Annotated[str, positional("PRESET|FILE")] = DEFAULT_CONFIG


@dataclass(frozen=True, kw_only=True)
class BeamArguments(Arguments):
    """The Beam runner and its options."""

    # Beam runner of every Beam step; `portable` needs a job server's address in --beam-option.
    beam_runner: Annotated[BeamRunner | None, Sets("beam.runner")] = None
    # Option passed to Beam, e.g. --beam-option=--parallelism=4; may be repeated.
    beam_option: Annotated[tuple[str, ...], Written("=--OPTION"), Sets("beam.options")] = ()


@dataclass(frozen=True, kw_only=True)
class PipelineArguments(BeamArguments, ConfigArguments):
    """Arguments of most runs: configuration, places, and the Beam runner."""

    data: Annotated[Directory | None, Sets("data.root")] = None  # Directory of the records
    # Directory of artifacts, metadata and logs.
    root: Annotated[Directory | None, Sets("root")] = None

    def check(self) -> None:
        super().check()
        require_own_code(self.load())


@dataclass(frozen=True, kw_only=True)
class PushingArguments(PipelineArguments):
    """Arguments of a pipeline that pushes its model to a registry."""

    # Directory of the registry to push to.
    push: Annotated[Directory | None, Sets("pusher.push_dir")] = None


@dataclass(frozen=True, kw_only=True)
class RootArguments(Arguments):
    """A root directory with runs."""

    root: InputDirectory  # Root directory of the runs, as passed to `yt8m run`

    def check(self) -> None:
        super().check()
        layout_of(self.root)


@dataclass(frozen=True, kw_only=True)
class OneRunArguments(RootArguments):
    """One run of a root."""

    run: Annotated[str, positional("RUN")] = ""  # Id of the run (default: the newest)

    def check(self) -> None:
        super().check()
        record_named(layout_of(self.root), self.run)


@dataclass(frozen=True, kw_only=True)
class RegistryArguments(Arguments):
    """A registry of pushed models."""

    push: Directory  # Directory of the registry


@dataclass(frozen=True, kw_only=True)
class ScoringArguments(Arguments):
    """Records to score a model on, and settings of the metrics."""

    LOADS_TENSORFLOW: ClassVar[bool] = True

    # Directory of the records, or pattern of files, e.g. 'data/validate*'; may be repeated.
    data: Patterns
    top_k: Count = 20  # Number of classes per video that count
    no_intervals: bool = False  # Skip the confidence intervals
