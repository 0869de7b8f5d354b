"""Every benchmark in turn, and one table of them all: Markdown, JSON, and a page with plots.

    python benchmarks/table.py [--quick] [--out build/benchmarks] [--only stages training]

Figures are ratios within one run, for a machine is seldom equally fast for long. `--quick` takes
ten minutes on two quiet cores: small sizes, one turn instead of the median of three.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verdicts import Verdict

HERE = Path(__file__).parent
_FILE = "{file}"  # where a benchmark leaves its rows, for those that print lines for people


@dataclass(frozen=True, kw_only=True)
class Part:
    """One benchmark; it prints JSON unless its arguments name a file for it."""

    name: str
    about: str
    arguments: tuple[str, ...] = ()
    quick: tuple[str, ...] = ()  # beside the arguments


PARTS = (
    Part(
        name="stages",
        about="Each stage beside TFX's stock one.",
        arguments=("--json", _FILE),
        quick=("--level", "video", "--sizes", "2500", "20000", "--repeats", "1"),
    ),
    Part(
        name="training",
        about="Training, with input and log, beside what the machine allows.",
        arguments=("--json", _FILE),
        quick=("--models", "logistic,moe,frame_logistic", "--turns", "1"),
    ),
    Part(name="input_pipeline", about="Reading batches beside reading bytes."),
    Part(name="predict", about="Predictions beside their model's product, and beside parsing."),
    Part(
        name="evaluator",
        about="The Evaluator beside TFX's.",
        quick=("--skip-memory", "--skip-share", "--turns", "1"),
    ),
    Part(
        name="ingest",
        about="A video more in ExampleGen, beside ImportExampleGen.",
        arguments=("--json",),
        quick=("--examples", "40000"),
    ),
    Part(name="data_path", about="From records to statistics and the Transform graph."),
    Part(name="generator", about="Making records."),
    Part(name="training_metrics", about="What metrics cost while training."),
    Part(name="input_workers", about="One worker of many."),
    Part(
        name="beam_engines",
        about="Flink's workers beside this process, and from which size they pay.",
        arguments=("--json", _FILE),
    ),
)
_NOT_QUICK = {"data_path", "generator", "training_metrics", "input_workers", "beam_engines"}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    part: Part
    seconds: float
    verdict: Verdict
    rows: Any  # what it left or printed as JSON; None where it printed lines
    lines: str = field(repr=False)


def main() -> int:
    names = [part.name for part in PARTS]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks"))
    parser.add_argument("--only", nargs="+", choices=names)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    chosen = args.only or [n for n in names if not (args.quick and n in _NOT_QUICK)]
    outcomes = [measure(p, args.out, quick=args.quick) for p in PARTS if p.name in chosen]
    write(outcomes, args.out)
    print(f"{args.out}/benchmarks.md, .json, .html")
    for outcome in outcomes:
        if outcome.verdict is not Verdict.REACHED:
            print(f"{outcome.part.name}: {outcome.verdict.text}")
    return int(any(outcome.verdict is Verdict.BELOW for outcome in outcomes))


def measure(part: Part, out: Path, *, quick: bool) -> Outcome:
    print(f"== {part.name}", file=sys.stderr, flush=True)
    file = out / f"{part.name}.json"
    file.unlink(missing_ok=True)
    words = [word.format(file=file) for word in part.arguments + (part.quick if quick else ())]
    command = [sys.executable, "-W", "ignore", str(HERE / f"{part.name}.py"), *words]
    began = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    seconds = time.monotonic() - began
    rows = json.loads(file.read_text()) if file.exists() else _json(done.stdout)
    known = done.returncode in set(Verdict)
    verdict = Verdict(done.returncode) if known else Verdict.BELOW  # what fails reaches nothing
    return Outcome(part=part, seconds=seconds, verdict=verdict, rows=rows, lines=done.stdout)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def write(outcomes: Sequence[Outcome], out: Path) -> None:
    """The table three times: for machines, for a repository, for a browser."""
    found = {o.part.name: o.rows if o.rows is not None else o.lines for o in outcomes}
    (out / "benchmarks.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (out / "benchmarks.md").write_text(_markdown(outcomes), encoding="utf-8")
    (out / "benchmarks.html").write_text(_page(outcomes), encoding="utf-8")


Table = tuple[Sequence[str], list[Sequence[object]]]


def _table(outcome: Outcome) -> Table | None:
    shown = _SHOWN.get(outcome.part.name)
    return shown(outcome.rows) if shown and outcome.rows else None


def _stages(rows: list[dict[str, Any]]) -> Table:
    columns = (
        "stage",
        "examples",
        "s, ours",
        "stock",
        "times faster",
        "CPU-s, ours",
        "stock",
        "MiB, ours",
        "stock",
        "CPU-µs an example more, ours",
        "stock",
        "exponent, ours",
        "stock",
    )
    keys = ["times_faster"]
    for name in ("cpu_seconds", "peak_mib", "cpu_us_an_example", "exponent"):
        keys += [f"ours_{name}", f"stock_{name}"]
    return columns, [
        (
            f"{row['level']}: {row['stage']}",
            f"{row['examples']:,}",
            row.get("ours_seconds", ""),
            row.get("stock_seconds", ""),
            *(row.get(key, "") for key in keys),
        )
        for row in rows
        if max(row.get(f"{side}_seconds", 0.0) for side in ("ours", "stock")) >= 0.5
    ]


def _training(rows: list[dict[str, Any]]) -> Table:
    columns = (
        "model",
        "precision",
        "examples/s",
        "of the fp32 product limit",
        "of the reading limit",
        "goal beside",
        "ratio",
        "goal",
    )
    keys = ["model", "precision", "examples_per_s", "of_products", "of_reading"]
    keys += ["limit", "ratio", "goal"]
    return columns, [[row[key] if row[key] else "" for key in keys] for row in rows]


_SHOWN: dict[str, Callable[[Any], Table]] = {"stages": _stages, "training": _training}


def _markdown(outcomes: Sequence[Outcome]) -> str:
    parts = ["# Benchmarks\n"]
    for outcome in outcomes:
        text = outcome.verdict.text
        verdict = text if outcome.verdict is Verdict.REACHED else f"**{text}**"
        said = f"{outcome.part.about} {outcome.seconds:.0f} s; {verdict}."
        parts.append(f"\n## {outcome.part.name}\n\n{said}\n")
        if table := _table(outcome):
            columns, rows = table
            lines = [columns, ["---"] * len(columns), *rows]
            parts += [f"| {' | '.join(map(str, line))} |" for line in lines]
        else:
            parts.append(f"```\n{outcome.lines.strip()}\n```")
    return "\n".join(parts) + "\n"


def _page(outcomes: Sequence[Outcome]) -> str:
    from yt8m.components.report.rendering import render

    parts = []
    for outcome in outcomes:
        table: tuple[Sequence[object], Sequence[object]] | None = None
        if rows := _table(outcome):
            table = [(title, "number" if n else "") for n, title in enumerate(rows[0])], rows[1]
        parts.append(
            {
                "name": outcome.part.name,
                "about": outcome.part.about,
                "plots": _plots(outcome),
                "table": table,
                "lines": outcome.lines.strip(),
            }
        )
    return f"{render('page.html', folder=HERE, parts=parts)}\n"


def _plots(outcome: Outcome) -> list[Any]:
    """Seconds over examples, of the whole pipeline and of the stages that both sides have."""
    from yt8m.components.report.charts import Axis, Series, line_chart
    from yt8m.components.report.model import Curve

    if outcome.part.name != "stages" or not outcome.rows:
        return []
    plots = []
    for level, stage in dict.fromkeys((row["level"], row["stage"]) for row in outcome.rows):
        rows = [
            row
            for row in outcome.rows
            if (row["level"], row["stage"]) == (level, stage) and "times_faster" in row
        ]
        if len(rows) < 2:
            continue
        series = [
            Series(
                name=side,
                style=style,
                dots=True,
                curve=Curve(
                    x=tuple(float(row["examples"]) for row in rows),
                    y=tuple(max(row[f"{side}_seconds"], 0.01) for row in rows),
                ),
            )
            for side, style in (("ours", "candidate"), ("stock", "baseline"))
        ]
        x, y = Axis(label="examples", log=True), Axis(label="seconds", log=True)
        plots.append(line_chart(f"{level}: {stage}", series, x=x, y=y))
    return plots


if __name__ == "__main__":
    sys.exit(main())
