"""Action of `yt8m data inspect`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from yt8m.cli.arguments.data import InspectArguments
from yt8m.components.console.console import Console
from yt8m.components.records.find import find_files
from yt8m.components.records.inspection import Inspection
from yt8m.components.records.shard_reader import open_shard, scan
from yt8m.components.records.vocabulary import load_vocabulary
from yt8m.components.storage.errors import storage_failures_explained
from yt8m.schemas.errors import EXIT_DONE, EXIT_FAILED
from yt8m.schemas.vocabulary import Vocabulary

_SHOWN_PROBLEMS = 20


def run(args: InspectArguments, console: Console) -> int:
    """Read everything once, then say what was there."""
    vocabulary = load_vocabulary(args.vocabulary) if args.vocabulary else None
    shards = find_files(*args.patterns)
    inspection = Inspection(num_classes=len(vocabulary) if vocabulary else None)
    with console.progress("inspect", total=len(shards), unit="shards") as progress:
        for shard in shards:
            inspection.add_shard(shard, _records(shard, inspection))
            progress.advance(note=f"{inspection.records:,} records")
    values = _values(inspection, vocabulary, args.top)
    console.result(values, _text(values, console))
    return EXIT_FAILED if inspection.num_problems else EXIT_DONE


def _records(shard: str, inspection: Inspection) -> Iterator[tuple[int, bytes]]:
    with storage_failures_explained(shard), open_shard(shard) as (file, _):
        for block in scan(file):
            yield from zip(block.indices, block.records, strict=True)
            for problem in block.problems:
                where = f"{problem.reason} (byte {problem.offset})"
                inspection.add_problem(shard, problem.record, where)


def _values(i: Inspection, vocabulary: Vocabulary | None, top: int) -> dict[str, Any]:
    sizes = i.expected.sizes if i.expected else {}
    features = {
        name: {"size": size, "range": list(i.value_range[name]) if name in i.value_range else None}
        for name, size in sizes.items()
    }
    values: dict[str, Any] = {
        "levels": dict(i.levels),
        "shards": i.shards,
        "records": i.records,
        "bytes": i.size_bytes,
        "features": features,
        "unlabelled": i.unlabelled,
        "labels": _classes(i.label_counts, vocabulary, top),
        "problems": [str(problem) for problem in i.problems],
        "num_problems": i.num_problems,
        "warnings": dict(i.warnings),
    }
    if i.frames:
        values["frames"] = {"sum": i.frames, "least": i.min_frames, "most": i.max_frames}
    if i.rated_counts:
        values["ratings"] = _classes(i.rated_counts, vocabulary, top)
        values["ratings"]["positive"] = i.positive_ratings
    return values


def _classes(counts: Any, vocabulary: Vocabulary | None, top: int) -> dict[str, Any]:
    rows = []
    for index, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:top]:
        known = vocabulary is not None and 0 <= index < len(vocabulary)
        name = vocabulary.names[index] if vocabulary and known else ""
        rows.append({"class": index, "name": name, "count": count})
    return {"sum": sum(counts.values()), "classes": len(counts), "top": rows}


def _text(values: dict[str, Any], console: Console) -> str:
    sound = max(values["records"] - values["unlabelled"], 1)
    labels = values["labels"]
    lines = [
        f"level     {' and '.join(values['levels']) or 'none'}",
        f"shards    {values['shards']:,}",
        f"records   {values['records']:,} ({values['bytes'] / 1e6:,.1f} MB)",
    ]
    for name, feature in values["features"].items():
        low_high = " to ".join(f"{x:g}" for x in feature["range"] or ())
        lines.append(f"feature   {name}, size {feature['size']}, values {low_high or 'none'}")
    if "frames" in values:
        frames = values["frames"]
        lines.append(f"frames    {frames['sum']:,}, {frames['least']} to {frames['most']} a video")
    lines.append(
        f"labels    {labels['sum']:,} of {labels['classes']:,} classes, "
        f"{labels['sum'] / sound:.2f} per labelled record; {values['unlabelled']:,} records without"
    )
    if "ratings" in values:
        rated = values["ratings"]
        of = f"{rated['classes']:,} classes, {rated['positive']:,} of them positive"
        lines.append(f"ratings   {rated['sum']:,} of {of}")
    for title, key in (("class", "labels"), ("rated class", "ratings")):
        rows = [(r["class"], r["name"], f"{r['count']:,}") for r in values.get(key, labels)["top"]]
        if key in values and rows:
            lines += ["", console.table((title, "name", "count"), rows)]
    return "\n".join([*lines, "", *_problem_lines(values)])


def _problem_lines(values: dict[str, Any]) -> list[str]:
    count, texts = values["num_problems"], values["problems"]
    warnings = [f"warning: {n:,} records: {text}" for text, n in values["warnings"].items()]
    if not count:
        return [*warnings, "no problems"]
    lines = [*warnings, f"{count:,} problem{'s' if count > 1 else ''}:"]
    lines += [f"  {text}" for text in texts[:_SHOWN_PROBLEMS]]
    if count > _SHOWN_PROBLEMS:
        more = f"--json lists {len(texts):,} of them" if len(texts) < count else "--json lists all"
        lines.append(f"  ... {count - _SHOWN_PROBLEMS:,} more; {more}")
    return lines
