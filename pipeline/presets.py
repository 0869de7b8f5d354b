"""Loading a configuration: code defaults, then presets and YAML files, then `--set`.

A file may name the preset or file that it builds on: `base: video_mlp`.
"""

from __future__ import annotations

import datetime
import difflib
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from yt8m.pipeline.config import PipelineConfig
from yt8m.schemas.config_layers import difference, overlay, parse_overrides, parse_yaml
from yt8m.schemas.config_tree import flatten, from_dict, to_dict
from yt8m.schemas.errors import ConfigError, UserError

DEFAULTS = "defaults"  # names the code's defaults where a preset is expected
_BASE = "base"  # a file's key that names the preset or file below it
_SUFFIX = ".yaml"
_FILE_SUFFIXES = (".yaml", ".yml", ".json")
_MOST_BYTES = 1 << 20
_PATH = re.compile(r"[\w.]+")


@dataclass(frozen=True)
class Preset:
    """A configuration that comes with the package."""

    name: str
    summary: str  # the first line of its file


@dataclass(frozen=True)
class _Layer:
    """Values of one place."""

    source: str  # for messages
    values: dict[str, Any]
    base: Any = None  # what a file builds on, as it is written there


def list_presets() -> list[Preset]:
    """Every preset, by name."""
    files = (resources.files("yt8m.pipeline") / "configs").iterdir()
    return sorted(
        (_preset(f.name, f.read_text("utf-8")) for f in files if f.name.endswith(_SUFFIX)),
        key=lambda preset: preset.name,
    )


def preset_values() -> dict[str, dict[str, Any]]:
    """The values that each preset's file sets, by the preset's name."""
    return {preset.name: _read(preset.name).values for preset in list_presets()}


def load_config(
    presets_or_files: str | Sequence[str], overrides: Iterable[str] = ()
) -> PipelineConfig:
    """Load a preset or a YAML file, or several, each on top of the one before; then `a.b=value`.

    Every wrong value is listed in one ConfigError, with the place that it comes from.
    """
    names = [presets_or_files] if isinstance(presets_or_files, str) else presets_or_files
    layers = [layer for name in names for layer in _with_bases(name)]
    layers.append(_Layer("--set", parse_overrides(overrides)))
    plain = to_dict(PipelineConfig())
    for layer in layers:
        plain = overlay(PipelineConfig, plain, layer.values)
    plain = _with_span_as_text(plain)
    try:
        return from_dict(PipelineConfig, plain)
    except ConfigError as error:
        known = _prefixes(plain)
        raise ConfigError(
            [_placed(_found_elsewhere(problem, known), layers) for problem in error.problems]
        ) from None


def changed_values(config: PipelineConfig) -> dict[str, Any]:
    """The values that differ from the code's defaults: a file of them loads as `config`."""
    return difference(PipelineConfig, to_dict(PipelineConfig()), to_dict(config))


def _with_span_as_text(plain: dict[str, Any]) -> dict[str, Any]:
    """A span is written as 7 or as 2026-11-20, which YAML reads as a number and as a date."""
    data = plain.get("data")
    if not isinstance(data, dict) or type(data.get("span")) not in (int, datetime.date):
        return plain
    return {**plain, "data": {**data, "span": str(data["span"])}}


def _with_bases(preset_or_file: str) -> list[_Layer]:
    """The layers of a preset or file: what it builds on comes first."""
    layers: list[_Layer] = []
    name = preset_or_file
    while True:
        layer = _read(name)
        if layer.source in [above.source for above in layers]:
            chain = " -> ".join(one.source for one in [*layers, layer])
            raise ConfigError(f"{_BASE}: the files build on one another in a circle: {chain}")
        layers.append(layer)
        if layer.base is None:
            return layers[::-1]
        name = _base_of(layer)


def _base_of(layer: _Layer) -> str:
    """The preset or file that a layer names; a file is found from the directory of its own."""
    if not isinstance(layer.base, str):
        raise ConfigError(
            f"{layer.source}: {_BASE} = {layer.base!r}: must be a preset's name or a file's path"
        )
    if not _is_file_name(layer.base):
        return layer.base
    return os.path.normpath(Path(layer.source).parent / layer.base)


def _is_file_name(name: str) -> bool:
    return name.endswith(_FILE_SUFFIXES) or "/" in name


def _read(preset_or_file: str) -> _Layer:
    if preset_or_file == DEFAULTS:
        return _Layer(DEFAULTS, {})
    if _is_file_name(preset_or_file):
        values = _mapping(_read_file(preset_or_file), preset_or_file)
        return _Layer(preset_or_file, values, base=values.pop(_BASE, None))
    names = [preset.name for preset in list_presets()]
    if preset_or_file not in names:
        close = difflib.get_close_matches(preset_or_file, names, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise UserError(
            f"no preset {preset_or_file!r}{hint}\n"
            f"  presets: {', '.join(names)}\n"
            f"  or the path of a file that ends in {' or '.join(_FILE_SUFFIXES)}"
        )
    file = resources.files("yt8m.pipeline") / "configs" / (preset_or_file + _SUFFIX)
    return _Layer(f"preset {preset_or_file}", _mapping(file.read_text("utf-8"), preset_or_file))


def _read_file(path: str) -> str:
    file = Path(path)
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):  # opening a named pipe waits, a device has no end
            raise UserError(f"{path}: the configuration must be a regular file")
        if status.st_size > _MOST_BYTES:
            raise UserError(
                f"{path}: {status.st_size:,} bytes, and a configuration has {_MOST_BYTES:,} at most"
            )
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{path}: the configuration cannot be read ({reason})") from error


def _mapping(text: str, source: str) -> dict[str, Any]:
    values = parse_yaml(text, source=source)
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"{source}: must be a mapping such as `trainer: {{max_steps: 200}}`")
    return values


def _prefixes(values: Mapping[str, Any]) -> set[str]:
    """Every dotted path in `values` and every path above one."""
    paths = set()
    for path in flatten(values):
        keys = path.split(".")
        paths |= {".".join(keys[: i + 1]) for i in range(len(keys))}
    return paths


def _placed(problem: str, layers: Sequence[_Layer]) -> str:
    """The problem, with the topmost layer that sets the value."""
    match = _PATH.match(problem)
    path = match[0] if match else ""
    for layer in reversed(layers):
        if path in _prefixes(layer.values):
            separator = " " if layer is layers[-1] else ": "
            return f"{layer.source}{separator}{problem}"
    return problem


def _found_elsewhere(problem: str, known: set[str]) -> str:
    """For an unknown key that exists in another place: where."""
    path, unknown, _ = problem.partition(": unknown key")
    key = path.rpartition(".")[2]
    places = [p for p in known if p != path and p.rpartition(".")[2] == key]
    if not unknown or not places or not _PATH.fullmatch(path):
        return problem
    above = path.split(".")[:-1]
    nearest = max(sorted(places), key=lambda place: len(set(above) & set(place.split("."))))
    return f"{path}: unknown key; did you mean {nearest}?"


def _preset(file_name: str, text: str) -> Preset:
    first = text.partition("\n")[0]
    return Preset(file_name.removesuffix(_SUFFIX), first.lstrip("# ").strip())
