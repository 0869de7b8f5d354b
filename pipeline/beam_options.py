"""Names and values of Beam's options, by Beam's own parser.

Beam passes over a name that it does not know, and says so in a log. Which names there are, its
classes say, and the job server for its engine.
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# As in Beam's answer that describes options.
_BOOLEAN, _INTEGER = "BOOLEAN", "INTEGER"
_ALIKE = 0.8  # of two names that may be one, by difflib's measure


def option_problems(options: Sequence[str], described: Sequence[Any] | None) -> Iterator[str]:
    """List the problems of `options`, one by one.

    `described` are the options that a job server has said it takes. Where it is None a server will
    be started later, whose options nobody knows yet: then names alone that resemble known ones are
    refused.
    """
    if not options:  # Beam takes a second to import
        return
    parser = _parser(described or ())
    known = sorted(name for name in parser._option_string_actions if name.startswith("--"))
    for option in options:
        try:
            _, unknown = parser.parse_known_args([option])
        except argparse.ArgumentError as error:
            yield f"beam.options {option}: {error.message}"
            continue
        name = option.partition("=")[0]
        near = difflib.get_close_matches(name.replace("-", "_"), _spelled(known), cutoff=_ALIKE)
        if unknown and (near or described is not None):
            meant = f"; did you mean {known[_spelled(known).index(near[0])]}?" if near else ""
            yield f"beam.options {option}: Beam has no option {name}{meant}"


def environment_problem(kind: str) -> str:
    """Why `kind` is no environment of workers, "" where it is one, or Beam's own choice."""
    if not kind:
        return ""
    from apache_beam.options.pipeline_options_validator import PipelineOptionsValidator

    kinds = sorted(PipelineOptionsValidator.REQUIRED_ENVIRONMENT_OPTIONS)
    if kind in kinds or kind.startswith("beam:env:"):
        return ""
    near = difflib.get_close_matches(kind.upper(), kinds, n=1)
    meant = f"; did you mean {near[0]}?" if near else ""
    return f"beam.options --environment_type={kind}: one of {', '.join(kinds)}{meant}"


def invalid_combinations(arguments: Sequence[str], *, on_dataflow: bool) -> list[str]:
    """List the objections of Beam's own validator to a pipeline's arguments.

    Of Dataflow's options those that can be judged here: for the others Beam asks Google, and
    creates a bucket where none is named.
    """
    from apache_beam.options.pipeline_options import (
        GoogleCloudOptions,
        PipelineOptions,
        PortableOptions,
        WorkerOptions,
    )
    from apache_beam.options.pipeline_options_validator import PipelineOptionsValidator

    options = PipelineOptions(list(arguments))
    validator = PipelineOptionsValidator(options, None)
    problems = validator.validate_environment_options(options.view_as(PortableOptions))
    if on_dataflow:
        workers = options.view_as(WorkerOptions)
        problems += validator.validate_cloud_options(options.view_as(GoogleCloudOptions))
        problems += validator.validate_num_workers(workers)
        problems += validator.validate_worker_region_zone(workers)
    return [f"beam.options: {problem}" for problem in problems]


def values_of(options: Sequence[str]) -> Mapping[str, str]:
    """The values by name, the last one where an option is repeated; of a flag the empty text."""
    pairs = (option.removeprefix("--").partition("=") for option in options)
    return {name: value for name, _, value in pairs}


def _parser(described: Sequence[Any]) -> argparse.ArgumentParser:
    """Beam's, with the engine's options as Beam adds them, and without guesses at short names."""
    from apache_beam.options.pipeline_options import PipelineOptions, _BeamArgumentParser
    from apache_beam.portability.api import beam_job_api_pb2

    parser: argparse.ArgumentParser = _BeamArgumentParser(
        add_help=False, allow_abbrev=False, exit_on_error=False, conflict_handler="resolve"
    )
    for described_option in described:
        kind = beam_job_api_pb2.PipelineOptionType.Enum.Name(described_option.type)
        words: dict[str, Any] = {}
        if kind == _BOOLEAN:
            words = {"action": "store_true"}
        elif kind == _INTEGER:
            words = {"type": int}
        parser.add_argument(f"--{described_option.name}", **words)
    # Beam's own last: of two of one name they decide, as they do in Beam.
    for options in {str(one): one for one in PipelineOptions.__subclasses__()}.values():
        options._add_argparse_args(parser)
    return parser


def _spelled(names: Sequence[str]) -> list[str]:
    return [name.replace("-", "_") for name in names]
