"""A lease in an object store: one holder, which others see alive, gone or lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import asdict

import pytest
from memory_store import memory_store

from yt8m.components import storage
from yt8m.components.storage import lease as subject
from yt8m.components.storage.lease import LeaseLostError, held_lease, is_leased
from yt8m.components.storage.lock import LockedError

LOCK = "mem://bucket/root/run.lock"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """A hundredth of the times that count, in their proportions."""
    for name, seconds in (
        ("_RENEW_S", 0.1),
        ("_LOOK_S", 0.02),
        ("_STANDS_STILL_S", 0.6),
        ("_SEEN_ALIVE_S", 0.3),
        ("_LOST_AFTER_S", 0.4),
    ):
        monkeypatch.setattr(subject, name, seconds)


@pytest.fixture
def store():
    with memory_store() as store:
        yield store


def entry(**changes):
    """What a process of another machine has written."""
    values = {"owner": "other", "said": "theirs", "machine": "elsewhere", "pid": 1, "began": "1"}
    return json.dumps({**values, "count": 0, **changes}).encode()


def beating(ended):
    """Another machine's holder, which is alive."""
    count = 0
    while not ended.wait(0.05):
        count += 1
        storage.write_bytes(LOCK, entry(count=count))


def test_it_is_held_for_the_block_and_then_free(store):
    assert not is_leased(LOCK)
    with held_lease(LOCK, said="mine") as lease:
        assert is_leased(LOCK)
        lease.check()
        with pytest.raises(LockedError) as error, held_lease(LOCK, said="second"):
            pass
        assert error.value.holder == "mine"
    assert not is_leased(LOCK)
    with held_lease(LOCK, said="again"):
        pass


def test_it_stays_ours_as_long_as_it_is_renewed(store):
    with held_lease(LOCK, said="mine") as lease:
        before = storage.read_bytes(LOCK)
        threading.Event().wait(0.7)
        lease.check()
        assert storage.read_bytes(LOCK) != before


def test_another_machines_holder_that_is_alive_keeps_us_out(store):
    storage.write_bytes(LOCK, entry())
    ended = threading.Event()
    holder = threading.Thread(target=beating, args=(ended,))
    holder.start()
    try:
        assert is_leased(LOCK)
        with pytest.raises(LockedError) as error, held_lease(LOCK, said="mine"):
            pass
        assert error.value.holder == "theirs"
    finally:
        ended.set()
        holder.join()


def test_another_machines_holder_that_stands_still_is_gone(store):
    storage.write_bytes(LOCK, entry())
    assert not is_leased(LOCK)
    with held_lease(LOCK, said="mine"):
        assert json.loads(storage.read_bytes(LOCK))["said"] == "mine"


def test_a_killed_holder_of_this_machine_is_seen_at_once(store, monkeypatch):
    monkeypatch.setattr(subject, "_STANDS_STILL_S", 3600.0)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    holder = {"machine": subject._machine(), "pid": child.pid, "began": subject._began(child.pid)}
    storage.write_bytes(LOCK, entry(**holder))
    assert is_leased(LOCK)
    child.kill()
    assert not is_leased(LOCK) or child.wait()
    child.communicate()
    assert not is_leased(LOCK)
    with held_lease(LOCK, said="mine"):
        pass


def test_a_number_that_another_process_has_now_is_no_holder(store):
    storage.write_bytes(
        LOCK, entry(machine=subject._machine(), pid=os.getpid(), began="a time before")
    )
    assert not is_leased(LOCK)


def test_what_a_newer_yt8m_wrote_is_a_holder(store):
    ended = threading.Event()
    storage.write_bytes(LOCK, b'{"unknown": 1}')

    def renew():
        while not ended.wait(0.05):
            storage.write_bytes(LOCK, b'{"unknown": 1}')

    holder = threading.Thread(target=renew)
    holder.start()
    try:
        with pytest.raises(LockedError), held_lease(LOCK, said="mine"):
            pass
    finally:
        ended.set()
        holder.join()


def test_a_holder_that_was_replaced_is_told_so(store):
    told = threading.Event()
    with held_lease(LOCK, said="mine", on_lost=told.set) as lease:
        storage.write_bytes(LOCK, entry())
        assert told.wait(10)
        with pytest.raises(LeaseLostError, match="another process has taken it over"):
            lease.check()
    assert storage.read_bytes(LOCK) == entry()  # theirs stays


def test_a_holder_that_cannot_renew_gives_up_before_others_take_over(store):
    told = threading.Event()

    def fail(operation, path):
        raise OSError("no network")

    with held_lease(LOCK, said="mine", on_lost=told.set) as lease:
        store.answer = fail
        assert told.wait(10)
        with pytest.raises(LeaseLostError, match="could not be renewed"):
            lease.check()
        store.answer = None


def test_a_renewal_whose_answer_was_lost_was_done(store):
    answers = iter([OSError("the answer was lost")])
    with held_lease(LOCK, said="mine") as lease:
        store.answer = lambda operation, path: (
            next(answers, None) if operation == "write_if" else None
        )
        threading.Event().wait(0.7)
        lease.check()
    assert next(answers, None) is None  # it was lost


def test_of_many_at_once_one_gets_in(store):
    inside, out, leave = [], [], threading.Event()

    def enter(name):
        try:
            with held_lease(LOCK, said=name):
                inside.append(name)
                leave.wait(30)
        except LockedError as error:
            out.append(error.holder)
        if len(out) == 7:
            leave.set()

    threads = [threading.Thread(target=enter, args=(str(i),)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(inside) == 1
    assert out == inside * 7


def test_an_entry_is_read_as_it_was_written():
    holder = subject._Holder(owner="a", said="b", machine="c", pid=1, began="d", count=2)
    assert json.loads(holder.to_bytes()) == asdict(holder)
