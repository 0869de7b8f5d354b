"""Action of `yt8m models show`."""

from __future__ import annotations

from yt8m.cli.arguments.models import ModelsShowArguments
from yt8m.components.artifacts.estimate import estimate_text
from yt8m.components.artifacts.spans import are_dates, spans_text
from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.components.console.console import Console
from yt8m.components.registry.versions import load_version, require_version


def run(args: ModelsShowArguments, console: Console) -> None:
    """Print the record."""
    require_version(args.push, args.version)
    version = load_version(args.push, args.version, verify=True)
    value = {"path": version.path, **version.record.fields}
    console.result(value, _text(version.path, version.record))


def _text(path: str, record: VersionRecord) -> str:
    size = sum(file.bytes for file in record.files.values())
    lines = [
        f"version {record.version}, {path}",
        f"  pushed     {record.created}, {_origin(record)}",
        f"  decision   {'blessed' if record.blessed else 'not blessed'}: {record.reason or '-'}",
        f"  baseline   {record.baseline_version or 'none'}",
        f"  data       {_data(record)}",
        f"  files      {len(record.files)}, {size:,} bytes, contents verified",
        f"  served     {record.infra_check.get('reason', '').removeprefix('infra check: ') or '-'}",
        f"  code       {record.code_version or '-'}, run {record.run_key or '-'}",
    ]
    lines += ["", "metrics"] if record.metrics else []
    lines += [f"  {name:<10} {estimate_text(metric)}" for name, metric in record.metrics.items()]
    lines += ["", "made from"] if record.lineage else []
    lines += [f"  {name:<15} {uri}" for name, uri in record.lineage.items()]
    return "\n".join(lines)


def _origin(record: VersionRecord) -> str:
    if record.origin_version:
        return f"a rollback to version {record.origin_version}"
    return f"imported from {record.origin_path}" if record.origin_path else "by a pipeline run"


def _data(record: VersionRecord) -> str:
    data = record.data
    if not data.manifest_digest:
        return "-"
    dated = are_dates(record.configuration)
    spans = f", {spans_text(data.spans, dated=dated)}" if data.spans else ""
    counts = ", ".join(f"{count:,} {split}" for split, count in data.examples.items())
    return f"{data.level} level{spans}; {counts}; digest {data.manifest_digest}"
