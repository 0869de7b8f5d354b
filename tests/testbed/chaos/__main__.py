"""Everything at once, or a piece of it.

make chaos                            all of it, afresh, and the tables (an hour or two)
make chaos CHAOS="lives --more --minutes 5 --seed 3"  a piece, added to what was tried before
make chaos CHAOS="outcomes --stride 20"  of what fails call by call, every 20th call
make chaos CHAOS="--tables --write"   what was tried, into the tables of docs/reliability.md
make chaos CHAOS="stores --write"     a piece, and its rows there in place of those before

Only all of it, with --write, makes the tables anew; a piece leaves the rows of the others.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from chaos.checkpoints import checkpoints
from chaos.clocks import clocks
from chaos.damage import damage
from chaos.lives import lives
from chaos.network import network
from chaos.outcomes import outcomes
from chaos.pauses import pauses
from chaos.rivals import rivals
from chaos.stores import stores
from chaos.tensorflow_writes import tensorflow_writes
from chaos.trials import OUTCOMES, RUN_BLOWS, Trial, Trials, merged, outcomes_table, tables
from chaos.unsynced import unsynced
from chaos.writers import record_writers, registry_writers

Kind = Callable[[Path, random.Random], Iterator[Trial]]
KINDS: dict[str, Kind] = {
    "lives": lives,
    "registry": registry_writers,
    "records": record_writers,
    "checkpoints": checkpoints,
    "damage": damage,
    "network": network,
    "outcomes": outcomes,
    "pauses": pauses,
    "rivals": rivals,
    "stores": stores,
    "tensorflow-writes": tensorflow_writes,
    "unsynced": unsynced,
    "clocks": clocks,
}
STRIDED = ("outcomes", "tensorflow-writes")
PAGE = Path(__file__).parents[3] / "docs" / "reliability.md"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--more", action="store_true", help="keep what was tried before")
    parser.add_argument("--minutes", type=float, help="stop each kind after so long")
    parser.add_argument(
        "--stride", type=int, help=f"of {', '.join(STRIDED)}: fail every N-th call alone"
    )
    parser.add_argument("--blow", choices=RUN_BLOWS, help="of lives: deal this one alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, default=Path("build/chaos"))
    parser.add_argument("--tables", action="store_true", help="try nothing, show what was tried")
    parser.add_argument("--write", action="store_true", help="put the tables into the docs")
    args = parser.parse_args()
    work = args.work.absolute()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup` has it ignored, by all that starts here
    kinds = [] if args.tables else args.kinds or list(KINDS)
    trials = Trials(work / "trials.jsonl")
    if kinds and not args.more:
        (work / "trials.jsonl").unlink(missing_ok=True)
    for name in kinds:
        kind = KINDS[name]
        if args.stride and name in STRIDED:
            kind = partial(kind, stride=args.stride)
        if args.blow and name == "lives":
            kind = partial(kind, only=args.blow)
        chance = random.Random(f"{name} {args.seed}")
        _try(kind, work / name, trials, chance, minutes=args.minutes)
    tried = trials.read()
    texts = {"chaos": tables(tried), OUTCOMES: outcomes_table(tried)}
    print("\n".join(texts.values()))
    lost = [trial for trial in tried if trial.lost]
    for trial in lost:
        print(f"LOST in {trial.part} by {trial.blow}: {'; '.join(trial.lost)}", file=sys.stderr)
    if args.write:
        is_all = not (args.kinds or args.more or args.tables)
        for section, text in texts.items():
            if text.strip():
                write_page(section, text, replace=is_all)
    return 1 if lost else 0


def _try(
    kind: Kind, place: Path, trials: Trials, chance: random.Random, *, minutes: float | None
) -> None:
    place.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    for trial in kind(place, chance):
        trials.add(trial)
        print(f"{time.monotonic() - begun:7.1f} s  {trial.part}: {trial.blow}", file=sys.stderr)
        if minutes is not None and time.monotonic() - begun > 60 * minutes:
            return


def write_page(section: str, text: str, *, replace: bool) -> None:
    begin, end = (f"<!-- {section}: {mark} -->\n" for mark in ("begin", "end"))
    head, rest = PAGE.read_text().split(begin)
    before, tail = rest.split(end)
    PAGE.write_text(f"{head}{begin}{text if replace else merged(before, text)}{end}{tail}")


if __name__ == "__main__":
    sys.exit(main())
