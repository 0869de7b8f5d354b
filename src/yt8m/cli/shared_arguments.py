"""Arguments that several commands have in common."""

from __future__ import annotations

import argparse


def add_push_argument(parser: argparse.ArgumentParser) -> None:
    """`--push`: the registry that the command is about."""
    parser.add_argument("--push", required=True, metavar="DIR", help="the push directory")


def positive_int(text: str) -> int:
    """The type of an argument that counts something."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: must be a whole number, 1 or more")
    return int(text)


def add_scoring_arguments(parser: argparse.ArgumentParser) -> None:
    """What commands that measure models are given: the records, and what is reported of them."""
    parser.add_argument(
        "--data",
        required=True,
        metavar="DIR|PATTERN",
        help="the records: a directory, or files, e.g. 'data/validate*'",
    )
    parser.add_argument("--top-k", type=positive_int, default=20, help="classes of each video (20)")
    parser.add_argument(
        "--replicates",
        type=int,
        default=200,
        help="0: no intervals; any other number: intervals (200)",
    )
