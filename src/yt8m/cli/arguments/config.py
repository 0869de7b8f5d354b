"""Arguments of the commands about configurations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from yt8m.cli.arguments.options import Arguments, positional
from yt8m.cli.arguments.shared import NamedConfigArguments


@dataclass(frozen=True, kw_only=True)
class ConfigListArguments(Arguments):
    """List the presets, one line each.

    A preset is a named configuration; `yt8m config show NAME` shows all of its values.

    examples:
      yt8m config list
      yt8m config list --json
    """


@dataclass(frozen=True, kw_only=True)
class ConfigShowArguments(NamedConfigArguments):
    """Show a configuration as a run would use it.

    Values come from the code's defaults, then from the preset or file, then from each --config,
    then from --set. The output is YAML, which you can save and use as a file. --changed prints only
    the values that differ from the defaults.

    examples:
      yt8m config show smoke
      yt8m config show smoke --changed
      yt8m config show video_mlp --set trainer.max_steps=500 --set gate.gap_threshold=0.6
      yt8m config show video_mlp --config my_site.yaml --json
    """

    changed: bool = False  # Print only the values that differ from the defaults


@dataclass(frozen=True, kw_only=True)
class ConfigDiffArguments(Arguments):
    """Show the values in which two configurations differ.

    A and B are presets, paths of YAML files, or `defaults`, which means the code's own. A dash
    stands for a value that one of them lacks, e.g. because it belongs to another model.

    examples:
      yt8m config diff video_logistic video_moe
      yt8m config diff defaults my_run.yaml --json
    """

    a: Annotated[str, positional("A")]  # First configuration: a preset, a YAML file, or `defaults`
    b: Annotated[str, positional("B")]  # Second configuration, written like A


@dataclass(frozen=True, kw_only=True)
class ConfigExplainArguments(Arguments):
    """Explain a value: type, default, limits, meaning, presets.

    PATH is written as for --set. For a node such as `trainer` every value is listed; without PATH,
    the nodes. Where `name` chooses (a model, an optimiser), the values of each choice are shown.

    examples:
      yt8m config explain trainer.clip_gradient_norm
      yt8m config explain trainer.model
      yt8m config explain gate --json
    """

    path: Annotated[str, positional("PATH")] = ""  # Path of a value or node, e.g. trainer.seed
