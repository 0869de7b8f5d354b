"""Loading a configuration: code defaults, then a preset or a YAML file, then `--set`."""

from __future__ import annotations

import datetime
import difflib
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from yt8m.pipeline.config import PipelineConfig
from yt8m.schemas.config_layers import overlay, parse_overrides, parse_yaml
from yt8m.schemas.config_tree import flatten, from_dict, to_dict
from yt8m.schemas.errors import ConfigError, UserError

DEFAULTS = "defaults"  # names the code's defaults where a preset is expected
_SUFFIX = ".yaml"
_FILE_SUFFIXES = (".yaml", ".yml", ".json")
_MOST_BYTES = 1 << 20
_PATH = re.compile(r"[\w.]+")


@dataclass(frozen=True)
class Preset:
    """A configuration that comes with the package."""

    name: str
    summary: str  # the first line of its file


def list_presets() -> list[Preset]:
    """Every preset, by name."""
    files = (resources.files("yt8m.pipeline") / "configs").iterdir()
    return sorted(
        (_preset(f.name, f.read_text("utf-8")) for f in files if f.name.endswith(_SUFFIX)),
        key=lambda preset: preset.name,
    )


def preset_values() -> dict[str, dict[str, Any]]:
    """What the file of each preset sets, by the preset's name."""
    return {preset.name: _read(preset.name)[1] for preset in list_presets()}


def load_config(preset_or_file: str, overrides: Iterable[str] = ()) -> PipelineConfig:
    """The configuration of a preset's name or a YAML file's path, with `a.b=value` on top.

    Every wrong value is listed in one ConfigError, with the place that it comes from.
    """
    source, values = _read(preset_or_file)
    settings = parse_overrides(overrides)
    plain = to_dict(PipelineConfig())
    for layer in (values, settings):
        plain = overlay(PipelineConfig, plain, layer)
    plain = _with_span_as_text(plain)
    try:
        return from_dict(PipelineConfig, plain)
    except ConfigError as error:
        set_paths, file_paths, known = map(_prefixes, (settings, values, plain))
        raise ConfigError(
            [
                _placed(_found_elsewhere(problem, known), source, set_paths, file_paths)
                for problem in error.problems
            ]
        ) from None


def _with_span_as_text(plain: dict[str, Any]) -> dict[str, Any]:
    """A span is written as 7 or as 2026-11-20, which YAML reads as a number and as a date."""
    data = plain.get("data")
    if not isinstance(data, dict) or type(data.get("span")) not in (int, datetime.date):
        return plain
    return {**plain, "data": {**data, "span": str(data["span"])}}


def _read(preset_or_file: str) -> tuple[str, dict[str, Any]]:
    """Where the values come from, for messages, and the values."""
    if preset_or_file == DEFAULTS:
        return DEFAULTS, {}
    if preset_or_file.endswith(_FILE_SUFFIXES) or "/" in preset_or_file:
        return preset_or_file, _mapping(_read_file(preset_or_file), preset_or_file)
    names = [preset.name for preset in list_presets()]
    if preset_or_file not in names:
        close = difflib.get_close_matches(preset_or_file, names, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise UserError(
            f"no preset {preset_or_file!r}; {hint}There are {', '.join(names)}. "
            f"A file is named by its path, ending in {' or '.join(_FILE_SUFFIXES)}."
        )
    file = resources.files("yt8m.pipeline") / "configs" / (preset_or_file + _SUFFIX)
    return f"preset {preset_or_file}", _mapping(file.read_text("utf-8"), preset_or_file)


def _read_file(path: str) -> str:
    file = Path(path)
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):  # opening a named pipe waits, a device has no end
            raise UserError(f"{path}: the configuration must be a file, and this is none")
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


def _placed(problem: str, source: str, set_paths: set[str], file_paths: set[str]) -> str:
    match = _PATH.match(problem)
    path = match[0] if match else ""
    if path in set_paths:
        return f"--set {problem}"
    return f"{source}: {problem}" if path in file_paths else problem


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
