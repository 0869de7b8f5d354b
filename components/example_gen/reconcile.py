"""Adds up what verification found, and decides by policy whether the run goes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from yt8m.components.example_gen.config import BadInput, DataConfig
from yt8m.components.example_gen.verify import ShardReport
from yt8m.components.records.shard_reader import UNKNOWN
from yt8m.schemas.errors import ConfigError, DataError

_LINES_A_SHARD = 5


@dataclass(frozen=True, kw_only=True)
class RecordCounts:
    """Every record that came in is either kept or quarantined, or filtered when rewriting.

    Of shards that cannot be read to their end the number of records is an estimate.
    """

    records_in: int
    kept: int
    quarantined: int = 0
    filtered: int = 0
    shards: int = 0
    remembered: int = 0

    def __post_init__(self) -> None:
        if self.records_in != self.kept + self.quarantined + self.filtered:
            raise RuntimeError(f"records do not add up: {self.text()}")

    def text(self) -> str:
        filtered = f" + {self.filtered:,} filtered" if self.filtered else ""
        return (
            f"{self.records_in:,} records in = {self.kept:,} out + "
            f"{self.quarantined:,} quarantined{filtered}"
        )


def enforce_bad_input_policy(reports: Sequence[ShardReport], config: DataConfig) -> RecordCounts:
    """The sums; a DataError that lists every bad shard where the policy does not let it pass."""
    _check_configuration(reports, config)
    lost = sum(report.lost for report in reports)
    total = sum(report.records for report in reports) + lost
    bad = sum(len(report.problems) for report in reports) + lost
    if bad and config.bad_input is BadInput.FAIL:
        advice = "Repair or remove them, or set data.bad_input=quarantine to continue without them."
        raise DataError(f"{_listing(reports, total, bad)}\n{advice}")
    if bad > config.max_quarantined * total:
        share = f"{bad / total:.2%} is more than data.max_quarantined={config.max_quarantined:.2%}"
        raise DataError(f"{_listing(reports, total, bad)}\n{share}.")
    _check_something_left(reports, config)
    return RecordCounts(
        records_in=total,
        kept=total - bad,
        quarantined=bad,
        shards=len(reports),
        remembered=sum(report.remembered for report in reports),
    )


def _check_configuration(reports: Sequence[ShardReport], config: DataConfig) -> None:
    """Where every record of a split has the same fault, the records are hardly to blame."""
    for split in sorted({report.source.split for report in reports}):
        of_split = [report for report in reports if report.source.split == split]
        records = sum(report.records for report in of_split)
        problems = [problem for report in of_split for problem in report.problems]
        alike = len({problem.reason for problem in problems}) == 1
        if any(r.broken for r in of_split) or len(problems) < max(records, 2) or not alike:
            continue
        reason = problems[0].reason
        raise ConfigError(
            f"all {records:,} records of split {split} fail for the same reason, so the "
            f"configuration probably does not match them: {reason}. "
            f"{_what_to_compare(config, reason, of_split[0].source.uri)}"
        )


def _what_to_compare(config: DataConfig, reason: str, uri: str) -> str:
    parse = config.rewrite.parse
    if parse and reason.startswith(parse):
        return (
            f"Call the function data.rewrite.parse={parse} with the first record of {uri}, and "
            "repair it; leave it out if the records are in YouTube-8M's own format"
        )
    # Nobody but the user's function reads records of another format.
    source = f"data.rewrite.parse={parse} returns" if parse else f"`yt8m data inspect {uri}` says"
    return (
        f"Compare data.level={config.level.value}, features.names, features.sizes, "
        f"features.num_classes and data.unlabelled with what {source}"
    )


def quarantine_json(reports: Sequence[ShardReport]) -> str:
    """All that was left out, shard by shard."""
    rows = [
        {
            "uri": report.source.uri,
            "problems": [p._asdict() for p in report.problems],
            "lost_besides": report.lost,
        }
        for report in reports
        if report.problems
    ]
    return json.dumps(rows, indent=1)


def _listing(reports: Sequence[ShardReport], total: int, bad: int) -> str:
    faulty = [report for report in reports if report.problems]
    about = "about " if any(report.lost for report in reports) else ""
    counts = f"{about}{bad:,} of {total:,} records"
    lines = [f"{len(faulty)} of {len(reports)} shards are bad ({counts}):"]
    for report in faulty:
        for problem in report.problems[:_LINES_A_SHARD]:
            at_byte = "" if problem.offset == UNKNOWN else f" at byte {problem.offset}"
            place = f"record {problem.record}{at_byte}"
            lines.append(f"  {report.source.uri}: {place}: {problem.reason}")
        if report.lost:
            lines.append(f"  {report.source.uri}: about {report.lost + 1:,} records are lost there")
        more = len(report.problems) - _LINES_A_SHARD
        if more > 0:
            lines.append(f"  {report.source.uri}: and {more:,} more")
    return "\n".join(lines)


def _check_something_left(reports: Sequence[ShardReport], config: DataConfig) -> None:
    for split in sorted({report.source.split for report in reports}):
        of_split = [report for report in reports if report.source.split == split]
        if not sum(report.records - len(report.problems) for report in of_split):
            optional = split in config.unlabelled and split in config.splits
            advice = f"; data.splits.{split}=[] leaves the split out" if optional else ""
            raise DataError(
                f"no good record is left in split {split}; the first is bad: "
                f"{of_split[0].problems[0].reason}{advice}"
            )
