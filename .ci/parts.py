"""CI's parts, one after the other: each prints its time, and the end prints what became of all.

    .ci/run                  every part, but those that may be left out and are as they were
    .ci/run --all            every part
    .ci/run tests checks     these parts, whatever they were
    .ci/run --record         as .ci/run, and writes .ci/green.json anew; commit it with the change

A part is left out by a rule that reads the tree alone: `green.json` holds, for each part, the
digest of the files that decide its outcome as they were at its last green run. Where the digest is
the same, so is the outcome. The checks and the tests of `make test` are never left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GREEN = Path(".ci/green.json")
GREEN_ENDED, FAILED, LEFT_OUT, NOT_RUN = "green", "FAILED", "left out", "not run"

# What decides how the product behaves, and what every test may use.
PRODUCT = ("schemas", "components", "pipeline", "kubeflow", "src", "setup.py", "lock", "Makefile")
SUPPORT = ("pyproject.toml", "tests/conftest.py", "tests/support", ".ci")


@dataclass(frozen=True, kw_only=True)
class Part:
    """A command; one with `paths` may be left out while the tracked files there are the same."""

    name: str
    command: tuple[str, ...]
    paths: tuple[str, ...] = ()
    limit_s: float = 2400.0


PARTS = (
    Part(name="checks", command=("make", "check")),
    Part(name="demo", command=("make", "demo"), paths=PRODUCT),
    Part(
        name="control plane",
        command=("make", "test-control-plane"),
        paths=(*PRODUCT, *SUPPORT, "tests/integration/kubeflow/test_control_plane.py"),
    ),
    Part(name="lane B", command=("make", "lane-b"), paths=(*PRODUCT, *SUPPORT, "tests")),
    Part(
        name="engines",
        command=("make", "test-engines"),
        paths=(*PRODUCT, *SUPPORT, "tests/e2e/test_engines.py"),
    ),
    Part(name="endurance", command=("make", "test-slow"), paths=(*PRODUCT, *SUPPORT, "tests")),
    Part(name="tests", command=("make", "test")),
)


@dataclass(frozen=True)
class Ended:
    part: Part
    state: str
    seconds: float = 0.0


def digest(part: Part, root: Path) -> str:
    """Of the part itself, and of name, mode and content of the tracked files that decide it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *part.paths],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    found = hashlib.sha256(repr(part).encode())
    for name in sorted(filter(None, listed.stdout.split("\0"))):
        path = root / name
        if name == str(GREEN) or not (path.is_symlink() or path.exists()):
            continue
        is_link = path.is_symlink()
        content = str(path.readlink()).encode() if is_link else path.read_bytes()
        mode = "link" if is_link else f"{path.stat().st_mode & 0o100:o}"
        found.update(f"{name}\0{mode}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return found.hexdigest()


def is_as_it_was(part: Part, root: Path, green: Mapping[str, str]) -> bool:
    """Whether the part may be left out, and its last green run was on the same files."""
    return bool(part.paths) and green.get(part.name) == digest(part, root)


def run(
    parts: Sequence[Part], root: Path, green: Mapping[str, str], *, everything: bool
) -> list[Ended]:
    """Every part in turn, to the first that fails."""
    ended: list[Ended] = []
    for part in parts:
        if any(one.state == FAILED for one in ended):
            ended.append(Ended(part, NOT_RUN))
        elif not everything and is_as_it_was(part, root, green):
            ended.append(Ended(part, LEFT_OUT))
        else:
            ended.append(_run(part, root))
        print(f"== {line(ended[-1])}", flush=True)
    return ended


def _run(part: Part, root: Path) -> Ended:
    print(f"== {part.name}: {' '.join(part.command)}", flush=True)
    start = time.monotonic()
    process = subprocess.Popen(part.command, cwd=root, start_new_session=True)
    try:
        code = process.wait(part.limit_s)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGABRT)  # at which Python tells where it was
        code = process.wait()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        print(f"== {part.name}: not done after {part.limit_s:.0f} s; it was ended", flush=True)
    return Ended(part, FAILED if code else GREEN_ENDED, time.monotonic() - start)


def line(one: Ended) -> str:
    """What became of a part, in a line."""
    if one.state in (GREEN_ENDED, FAILED):
        minutes, seconds = divmod(round(one.seconds), 60)
        return f"{one.part.name:<14}{one.state:<10}{minutes:3} min {seconds:02} s"
    why = " (its files are those of its last green run)" if one.state == LEFT_OUT else ""
    return f"{one.part.name:<14}{one.state}{why}"


def main(argv: Sequence[str], *, root: Path = ROOT, parts: Sequence[Part] = PARTS) -> int:
    parser = argparse.ArgumentParser(prog=".ci/run", description="What CI runs on a clean clone.")
    names = [part.name for part in parts]
    parser.add_argument("part", nargs="*", help=f"of {', '.join(names)}; all unless told")
    parser.add_argument("--all", action="store_true", help="leave nothing out")
    parser.add_argument("--record", action="store_true", help="write .ci/green.json anew")
    args = parser.parse_args(argv)
    if unknown := set(args.part) - set(names):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    chosen = [part for part in parts if not args.part or part.name in args.part]
    file = root / GREEN
    green = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    ended = run(chosen, root, green, everything=args.all or bool(args.part))
    failed = any(one.state == FAILED for one in ended)
    seconds = sum(one.seconds for one in ended)
    total = Ended(Part(name="all", command=()), FAILED if failed else GREEN_ENDED, seconds)
    print("\n".join(["", *map(line, [*ended, total])]))
    if args.record:
        _record(file, root, green, [one.part for one in ended if one.state == GREEN_ENDED])
    return int(failed)


def _record(file: Path, root: Path, known: Mapping[str, str], green: Sequence[Part]) -> None:
    now = {part.name: digest(part, root) for part in green if part.paths}
    recorded = dict(sorted({**known, **now}.items()))
    file.write_text(json.dumps(recorded, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
