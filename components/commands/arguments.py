"""Arguments that several commands about models have in common."""

from __future__ import annotations

import argparse


def add_push_argument(parser: argparse.ArgumentParser) -> None:
    """`--push`: the registry that the command is about."""
    parser.add_argument("--push", required=True, metavar="DIR", help="the push directory")
