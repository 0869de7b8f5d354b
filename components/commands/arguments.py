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
