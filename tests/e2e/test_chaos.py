"""A little of everything that `make chaos` does: nothing is lost, nothing is half visible."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chaos.checkpoints import checkpoints
from chaos.damage import DAMAGES, damage
from chaos.lives import STEPS, live
from chaos.network import network
from chaos.outcomes import first_calls, in_a_store, on_this_machine
from chaos.pauses import pauses
from chaos.rivals import rivals
from chaos.stores import stores
from chaos.tensorflow_writes import tensorflow_writes
from chaos.trials import HUP, INT, KILL, TERM, Trial, merged, outcomes_table, tables
from chaos.unsynced import unsynced
from chaos.writers import record_writers, registry_writers

pytestmark = pytest.mark.e2e


def losses(trials: list[Trial]) -> list[str]:
    return [f"{t.part}, {t.blow}: {'; '.join(t.lost)}" for t in trials if t.lost]


@pytest.mark.slow
def test_a_run_that_is_killed_and_interrupted_in_turn_ends_as_if_nothing_had_been(
    tmp_path: Path,
) -> None:
    first = STEPS[:1]
    blows = iter([KILL, TERM, INT, HUP])
    trials = list(live(tmp_path, random.Random(1), blows, steps=first))
    assert losses(trials) == []
    assert len(trials) >= 2


@pytest.mark.parametrize(
    "some",
    [
        pytest.param(
            lambda work, chance: registry_writers(work, chance, stride=40),
            id="registry",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda work, chance: record_writers(work, chance, stride=45),
            id="records",
            marks=pytest.mark.slow,
        ),
        pytest.param(lambda work, chance: checkpoints(work, chance, kills=3), id="checkpoints"),
        pytest.param(
            lambda work, chance: damage(work, chance, times=3 * len(DAMAGES)), id="damage"
        ),
        pytest.param(
            lambda work, chance: network(work, chance, reads=2, ingests=2, pushes=4, in_a_row=2),
            id="network",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda work, chance: on_this_machine(work, chance, stride=60),
            id="outcomes",
            marks=pytest.mark.needs("cc"),
        ),
        pytest.param(
            lambda work, chance: in_a_store(work, "s3", chance, stride=120),
            id="outcomes on s3",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda work, chance: in_a_store(work, "gs", chance, stride=120),
            id="outcomes on gs",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda work, chance: stores(work, chance, kills=2, pairs=1, rollbacks=1),
            id="stores",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda work, chance: tensorflow_writes(work, chance, stride=15),
            id="tensorflow-writes",
            marks=[pytest.mark.slow, pytest.mark.needs("cc")],
        ),
        pytest.param(lambda work, chance: pauses(work / "w", chance, stride=12), id="pauses"),
        pytest.param(unsynced, id="unsynced"),
        pytest.param(lambda work, chance: rivals(work, chance, pushes=2, runs=0), id="rivals"),
    ],
)
def test_of_a_few_blows_of_each_kind_none_loses_anything(
    tmp_path: Path, some: Callable[[Path, random.Random], Iterator[Trial]]
) -> None:
    trials = list(some(tmp_path, random.Random(2)))
    assert losses(trials) == []
    assert len(trials) >= 2


@pytest.mark.needs("cc")
@pytest.mark.parametrize(
    ("planted", "stride"), [("failure_after_the_commit", 3), ("failure_of_cleaning", 20)]
)
def test_what_a_push_says_wrongly_is_noticed(tmp_path: Path, planted: str, stride: int) -> None:
    trials = on_this_machine(tmp_path, random.Random(2), stride=stride, planted=planted)
    noticed = next(trial for trial in trials if trial.lost)
    assert noticed.part == "push on this machine"
    assert "said to be not done" in "; ".join(noticed.lost)


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_what_a_push_into_a_store_says_wrongly_is_noticed(tmp_path: Path, scheme: str) -> None:
    chance = random.Random(2)
    trials = in_a_store(tmp_path, scheme, chance, stride=20, planted="failure_of_cleaning")
    noticed = next(trial for trial in trials if trial.lost)
    assert noticed.part == f"push on {scheme}://"


@pytest.mark.parametrize(("ways", "stride"), [(9, 9), (9, 3), (6, 5), (1, 1)])
def test_with_a_stride_of_no_more_than_the_ways_to_fail_each_call_fails(
    ways: int, stride: int
) -> None:
    for chance in range(stride):
        starts = first_calls(ways, stride, chance)
        assert {call for start in starts for call in range(start, 40, stride)} == {*range(1, 40)}


def test_the_tables_count_by_component_and_show_what_was_lost() -> None:
    trials = [
        Trial(kind="lives", part="Trainer", blow=KILL),
        Trial(kind="lives", part="Trainer", blow=TERM, seconds=2.5),
        Trial(kind="lives", part="Pusher", blow=KILL, lost=["version 3 is gone"]),
        Trial(kind="writers", part="push", blow=KILL),
    ]
    lines = tables(trials).splitlines()
    assert "| Trainer | 1 | 1 | 0 | 0 | 0 | 2.5 s | nothing |" in lines
    assert "| Pusher | 1 | 0 | 0 | 0 | 0 | - | **1** |" in lines
    assert "| all | 2 | 1 | 0 | 0 | 0 | 2.5 s | **1** |" in lines
    assert "| push | kill -9 | 1 | nothing |" in lines


def test_a_piece_counts_anew_what_it_tried_and_leaves_all_other_rows() -> None:
    before = [
        Trial(kind="lives", part="Trainer", blow=KILL),
        Trial(kind="lives", part="Trainer", blow=TERM, seconds=12.5),
        Trial(kind="lives", part="Report", blow=INT, seconds=1.0),
        Trial(kind="writers", part="push", blow=KILL),
        Trial(kind="rivals", part="two pushers", blow="at once"),
    ]
    old = tables(before)
    assert merged(old, "") == old
    of_others = tables([Trial(kind="stores", part="two pushers on s3://", blow="at once")] * 2)
    added = merged(old, of_others)
    assert added == f"{old.rstrip()}\n| two pushers on s3:// | at once | 2 | nothing |\n"
    again = [Trial(kind="rivals", part="two pushers", blow="at once", lost=["both"])] * 3
    assert "| two pushers | at once | 3 | **3** |" in merged(added, tables(again)).splitlines()
    hung_up = [Trial(kind="lives", part=p, blow=HUP, seconds=2.0) for p in ("Trainer", "Pusher")]
    whole = merged(old, tables(hung_up)).splitlines()
    assert "| Trainer | 1 | 1 | 0 | 1 | 0 | 12.5 s | nothing |" in whole
    assert "| Report | 0 | 0 | 1 | 0 | 0 | 1.0 s | nothing |" in whole
    assert "| Pusher | 0 | 0 | 0 | 1 | 0 | 2.0 s | nothing |" in whole
    assert "| all | 1 | 1 | 1 | 2 | 0 | 12.5 s | nothing |" in whole
    assert whole[-1] == "| two pushers | at once | 1 | nothing |"


def test_a_table_that_has_no_column_yet_for_a_blow_gets_it() -> None:
    old = tables([Trial(kind="lives", part="Trainer", blow=KILL)]).replace(" SIGHUP |", "")
    old = old.replace("| 1 | 0 | 0 | 0 | 0 |", "| 1 | 0 | 0 | 0 |")
    old = old.replace(" --- |" * 8, " --- |" * 7)
    new = tables([Trial(kind="lives", part="Trainer", blow=HUP, seconds=2.0)])
    assert "| all | 1 | 0 | 0 | 1 | 0 | 2.0 s | nothing |" in merged(old, new).splitlines()


def test_a_change_of_the_registry_has_its_own_row() -> None:
    def tried(part: str, fault: str) -> Trial:
        return Trial(kind="outcomes", part=part, blow=f"request: {fault}")

    old = outcomes_table([tried("push on s3://", "403"), tried("prune on s3://", "403")])
    new = outcomes_table([tried("push on s3://", "reset")] * 2)
    rows = merged(old, new).splitlines()[2:]
    assert rows == [
        "| push on s3:// | reset | 2 | nothing |",
        "| prune on s3:// | 403 | 1 | nothing |",
    ]
