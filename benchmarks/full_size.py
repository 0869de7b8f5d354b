"""All of YouTube-8M's video level in whole runs: seconds, CPU and memory of each step.

    python benchmarks/full_size.py --place DIR                         all of it
    python benchmarks/full_size.py --place DIR --train 9000 --eval 1000 --shards 4

DIR/data receives as many generated videos as are published, 24 GB in ten minutes, once: a second
call uses them. Then two presets train for one epoch each, in one root. The second model is judged
against the first, and both are pushed. Goals: both runs within 90 minutes, 2.2 GB each.

The last run has a root of its own. SIGINT interrupts it once in each heavy step, after half of the
seconds that the step took before; the same command continues each time. The seconds that this adds
are what the interruptions cost. Close other programs first: it takes two cores for two hours.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verdicts import Verdict

PRESETS = ("video_mlp_small", "video_moe")
MADE = ("train", "eval", "shards", "classes")
HEAVY = ("ExampleGen", "Trainer", "Evaluator")
MAX_SECONDS, MAX_MIB = 90 * 60, 2.2 * 1024
INTERRUPTED = 130
# Both are pushed: these runs measure, and one epoch of generated videos says little of a preset.
SETTINGS = {
    "trainer.num_epochs": 1,
    "gate.gap_threshold": 0.05,
    "gate.gap_change_threshold": -0.5,
    "validation.label_skew": None,
}
_PROGRAMS = Path(sys.executable).parent
_RUNNING = re.compile(r"\b(\w+) +running\b")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--place", type=Path, required=True, help="where data and roots are kept")
    parser.add_argument("--train", type=int, default=3_900_000)
    parser.add_argument("--eval", type=int, default=1_100_000)
    parser.add_argument("--shards", type=int, default=3844)
    parser.add_argument("--classes", type=int, default=3862)
    parser.add_argument("--presets", nargs="+", default=PRESETS)
    parser.add_argument("--interrupt-after", type=float, default=0.5, help="share of each step")
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    data = prepare(args.place / "data", args)
    root = args.place / "root"
    shutil.rmtree(root, ignore_errors=True)
    whole = [measure(preset, data, root) for preset in args.presets]
    again = args.place / "root-interrupted"
    shutil.rmtree(again, ignore_errors=True)
    steps = whole[0]["steps"]
    stops = {step: args.interrupt_after * steps[step]["seconds"] for step in HEAVY}
    rows = [*whole, interrupted(args.presets[0], data, again, stops, whole[0]["seconds"])]
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print("\n".join(map(told, rows)))
    return verdict(whole)


def prepare(data: Path, args: argparse.Namespace) -> Path:
    if data.exists():
        made = json.loads((data / "dataset.json").read_text())
        if other := {name: made[name] for name in MADE if made[name] != getattr(args, name)}:
            sys.exit(f"{data} was made with {other}; remove it, or choose another --place")
        return data
    sizes = [f"--{name}={getattr(args, name)}" for name in MADE]
    command: list[str | Path] = [
        _PROGRAMS / "yt8m",
        "data",
        "generate",
        "--level=video",
        f"--out={data}",
        *sizes,
    ]
    subprocess.run(command, check=True)
    return data


def measure(preset: str, data: Path, root: Path) -> dict[str, Any]:
    """One run to its end, and what its record says of each step."""
    began = time.monotonic()
    if code := run(preset, data, root):
        sys.exit(f"{preset} ended with {code}")
    return row_of(preset, root, seconds=time.monotonic() - began)


def row_of(name: str, root: Path, *, seconds: float) -> dict[str, Any]:
    records = (root / "runs").glob("*/run.json")
    record = json.loads(max(records, key=lambda file: file.parent.name).read_text())
    steps = {
        node["name"]: {
            "seconds": round(node["seconds"], 1),
            "cpu_seconds": round(node["cpu_seconds"], 1),
            "peak_mib": round(node["peak_mib"]),
        }
        for node in record["nodes"]
    }
    return {
        "run": name,
        "seconds": round(seconds, 1),
        "peak_mib": max(step["peak_mib"] for step in steps.values()),
        "verdict": record["verdict"],
        "gap": record["metrics"].get("gap"),
        "change": record["differences"].get("gap"),
        "steps": steps,
    }


def interrupted(
    preset: str, data: Path, root: Path, stops: Mapping[str, float], whole_s: float
) -> dict[str, Any]:
    """The run with a SIGINT in each of `stops`: all its seconds, and in `cost` what that added."""
    began = time.monotonic()
    codes = [run(preset, data, root, stop) for stop in stops.items()]
    if set(codes) != {INTERRUPTED}:
        sys.exit(f"the interrupted runs ended with {codes}, not with {INTERRUPTED} each")
    if code := run(preset, data, root):
        sys.exit(f"{preset} ended with {code} after its interruptions")
    row = row_of(f"{preset}, interrupted", root, seconds=time.monotonic() - began)
    return {**row, "cost": round(row["seconds"] - whole_s, 1)}


def run(preset: str, data: Path, root: Path, stop: tuple[str, float] | None = None) -> int:
    """Run to the end, or to a SIGINT so many seconds after a step began."""
    settings = [f"--set={key}={json.dumps(value)}" for key, value in SETTINGS.items()]
    places: list[str | Path] = ["--data", data, "--root", root, "--push", root / "models"]
    command: list[str | Path] = [_PROGRAMS / "yt8m", "run", preset, *places, *settings]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        print(line, end="", file=sys.stderr, flush=True)
        began = _RUNNING.search(line)
        if stop is not None and began and began[1] == stop[0]:
            threading.Timer(stop[1], process.send_signal, [signal.SIGINT]).start()
    return process.wait()


def told(row: Mapping[str, Any]) -> str:
    gap = "" if row["gap"] is None else f", GAP {row['gap']:.4f}"
    change = "" if row["change"] is None else f" ({row['change']} against the version before)"
    cost = f", interruptions cost {row['cost']} s" if "cost" in row else ""
    head = f"{row['run']}: {row['seconds']} s, {row['peak_mib']} MiB, {row['verdict']}{gap}{change}"
    steps = (f"  {name:20} {step}" for name, step in row["steps"].items())
    return "\n".join([head + cost, *steps])


def verdict(rows: list[dict[str, Any]]) -> Verdict:
    reached = (
        all(row["peak_mib"] <= MAX_MIB for row in rows)
        and sum(row["seconds"] for row in rows) <= MAX_SECONDS
    )
    return Verdict.REACHED if reached else Verdict.BELOW


if __name__ == "__main__":
    sys.exit(main())
