"""Every change of a registry, with each of its requests failing in turn: what it says is so.

In an object store in memory: `make chaos CHAOS=outcomes` does the same on real servers, and on a
file system, where each system call fails.
"""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import Any

import pytest
from memory_store import MemoryBackend, memory_store
from registry_models import best_record, blessed_record, fake_model

from yt8m.cli.main import run
from yt8m.components import storage
from yt8m.components.registry import object_store, versions
from yt8m.components.registry.cleaning import read_leftovers
from yt8m.components.registry.outcomes import NotPushedError, UnknownPushError
from yt8m.components.registry.push import push, remove_damaged, rollback
from yt8m.components.registry.versions import (
    DamagedVersionError,
    UnfinishedVersionError,
    UnusableVersionError,
    in_service,
    is_sound,
    list_baselines,
    list_versions,
    load_version,
    newest,
)
from yt8m.schemas.errors import Yt8mError

REGISTRY = "mem://bucket/push"
STRIDE = 5  # `make chaos` leaves out none
Objects = dict[tuple[str, str], Any]


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryBackend]:
    monkeypatch.setattr(object_store.ObjectStore, "waits_s", (0.0, 0.0))
    with memory_store() as store:
        yield store


def push_new(model: str) -> object:
    return push(model, REGISTRY, blessed_record(run_key="new"), keep=2)


def push_baseline(model: str) -> object:
    return push(model, REGISTRY, blessed_record(run_key="new"), served=False)


def roll_back(model: str) -> object:
    return rollback(REGISTRY, list_versions(REGISTRY)[1], keep=2)


def prune(model: str) -> object:
    done = remove_damaged(REGISTRY)
    if done.failed:
        raise Yt8mError("not removed")
    return done


CHANGES = (push_new, push_baseline, roll_back, prune)


def refused(operation: str, path: str) -> Exception | None:
    raise PermissionError(f"{path}: AccessDenied")


def failed(operation: str, path: str) -> Exception | None:
    raise OSError(f"{path}: no answer")


def lost(operation: str, path: str) -> Exception | None:
    return OSError(f"{path}: the answer was lost")


def denied_the_absence(operation: str, path: str) -> Exception | None:
    if operation in ("put", "copy", "remove", "write_if"):
        return None
    raise FileNotFoundError(f"{path}: 404")


def listing() -> dict[str, Any]:
    """What `yt8m models list --json` says, by version."""
    hidden = [number for number in list_baselines(REGISTRY) if is_sound(REGISTRY, number)]
    served = in_service(REGISTRY).version
    return {"served": served, "all": list_versions(REGISTRY), "hidden": hidden}


def failing(
    store: MemoryBackend, at: int, fault: Callable[[str, str], Exception | None], *, lasting: bool
) -> Callable[[], bool]:
    """The request of this number fails, or all from it on; whether it came to that."""
    seen = 0

    def answer(operation: str, path: str) -> Exception | None:
        nonlocal seen
        seen += 1
        return fault(operation, path) if seen == at or (lasting and seen > at) else None

    store.answer = answer
    return lambda: seen >= at


@pytest.fixture
def before(store: MemoryBackend, tmp_path: Path) -> tuple[Objects, str]:
    """The objects of a registry with three sound versions, of which one is to go, and a damaged."""
    for name in ("damaged", "first", "second", "third"):
        version = push(fake_model(tmp_path / name), REGISTRY, blessed_record(run_key=name))
        if name == "damaged":
            storage.write_text(f"{version.path}/saved_model.pb", "damaged")
    return dict(store.objects), fake_model(tmp_path / "new")


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from-then-on"])
@pytest.mark.parametrize("fault", [refused, failed, lost])
@pytest.mark.parametrize("change", CHANGES)
def test_whatever_fails_what_is_said_agrees_with_the_list(
    store: MemoryBackend,
    before: tuple[Objects, str],
    change: Callable[[str], object],
    fault: Callable[[str, str], Exception | None],
    lasting: bool,
) -> None:
    objects, model = before
    then = listing()
    at, has_failed = (
        random.Random(f"{change.__name__} {fault.__name__} {lasting}").randrange(STRIDE),
        True,
    )
    while has_failed:
        at += STRIDE
        store.objects = dict(objects)
        reached = failing(store, at, fault, lasting=lasting)
        error: Exception | None = None
        try:
            change(model)
        except Exception as raised:
            error = raised
        store.answer = None
        has_failed = reached()
        now = listing()
        said = f"{change.__name__}, request {at}: {type(error).__name__} {error}; {now}"
        if error is None:
            assert now["served"] > then["served"] or change not in (push_new, roll_back), said
            assert len(now["hidden"]) == (1 if change is push_baseline else 0), said
            assert change is not prune or then["all"][0] not in now["all"], said
        elif isinstance(error, UnknownPushError):
            assert str(error.number) in str(error), said
        elif change is not prune:
            assert isinstance(error, (NotPushedError, OSError, UnusableVersionError)), said
            assert (now["served"], now["hidden"]) == (then["served"], then["hidden"]), said
        # Whatever happened, the next push succeeds and tidies up.
        last = push(model, REGISTRY, blessed_record(run_key="last"), keep=2)
        assert in_service(REGISTRY).version == last.number, said
    assert at > 10


@pytest.mark.parametrize("change", CHANGES)
def test_one_absence_that_is_none_changes_no_decision(
    store: MemoryBackend, before: tuple[Objects, str], change: Callable[[str], object]
) -> None:
    objects, model = before
    at, has_failed = random.Random(change.__name__).randrange(STRIDE), True
    while has_failed:
        at += STRIDE
        store.objects = dict(objects)
        sound = set(list_versions(REGISTRY)) - {list_versions(REGISTRY)[0]}
        reached = failing(store, at, denied_the_absence, lasting=False)
        with contextlib.suppress(OSError, Yt8mError):
            change(model)
        store.answer = None
        has_failed = reached()
        found = newest(REGISTRY)
        assert found is not None
        assert found.number >= max(sound), at
        if change is prune:
            assert sound <= set(list_versions(REGISTRY)), at


@pytest.mark.parametrize(("method", "lie"), [("_listed", ()), ("remove_tree", None)])
def test_what_is_pruned_is_gone_and_its_copy_is_whole_whatever_one_answer_says(
    store: MemoryBackend,
    before: tuple[Objects, str],
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    lie: object,
) -> None:
    """An empty listing, and a removal that is confirmed and was not done."""
    objects, _ = before
    damaged = list_versions(REGISTRY)[0]
    true, calls, at = getattr(store, method), 0, 0

    def answer(*arguments: str) -> object:
        nonlocal calls
        calls += 1
        return lie if calls == at else true(*arguments)

    while calls >= at:
        store.objects, calls, at = dict(objects), 0, at + 1
        monkeypatch.setattr(store, method, answer)
        aside: Container[int] = ()
        with contextlib.suppress(OSError, Yt8mError):
            aside = remove_damaged(REGISTRY).aside
        monkeypatch.setattr(store, method, true)
        assert (damaged in aside) == (damaged not in list_versions(REGISTRY)), at
        if damaged not in aside:
            continue
        for (bucket, key), (data, _) in objects.items():
            copy = key.replace("push/", "push/.pruned/", 1)
            if key.startswith(f"push/{damaged}/"):
                assert store.objects[bucket, copy][0] == data, (at, copy)
    assert at >= 2


def test_a_version_that_is_completed_while_it_is_read_is_read_again(
    store: MemoryBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = push(fake_model(tmp_path / "model"), REGISTRY, blessed_record()).number
    read = versions._load_version
    meets: list[Exception] = [UnfinishedVersionError("uploading"), DamagedVersionError("missing")]

    def read_while_it_is_pushed(*arguments: Any) -> Any:
        if meets:
            raise meets.pop(0)
        return read(*arguments)

    monkeypatch.setattr(versions, "_load_version", read_while_it_is_pushed)
    assert load_version(REGISTRY, number).number == number


def test_what_may_not_be_removed_is_a_warning_that_is_repeated_until_it_is_done(
    store: MemoryBackend,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def no_removal(operation: str, path: str) -> Exception | None:
        return refused(operation, path) if operation == "remove" else None

    for name in ("one", "two"):
        model = fake_model(tmp_path / name)
        push(model, REGISTRY, best_record(model))
    store.answer = no_removal
    model = fake_model(tmp_path / "three")
    third = push(model, REGISTRY, best_record(model), keep=2)
    assert in_service(REGISTRY).version == third.number
    assert "was not removed, of which 2 are to stay" in caplog.text
    capsys.readouterr()
    assert run(["models", "list", "--push", REGISTRY, "--json"]) == 0
    said = capsys.readouterr()
    assert "was not removed" in said.err
    assert json.loads(said.out)["versions"][0]["served"] is True
    assert len(json.loads(said.out)["leftovers"]) == 2  # the version, and the upload's mark
    store.answer = None
    push(fake_model(tmp_path / "four"), REGISTRY, blessed_record(), keep=2)
    assert len(list_versions(REGISTRY)) == 2
    assert run(["models", "list", "--push", REGISTRY, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["leftovers"] == []


def test_two_writers_of_whom_one_may_not_delete_push_by_turns(
    store: MemoryBackend, tmp_path: Path
) -> None:
    def no_removal(operation: str, path: str) -> Exception | None:
        return refused(operation, path) if operation == "remove" else None

    for number, answer in enumerate((no_removal, None, no_removal, no_removal, None)):
        store.answer = answer
        model = fake_model(tmp_path / str(number))
        version = push(model, REGISTRY, best_record(model), keep=1)
        assert in_service(REGISTRY).version == version.number
        left = read_leftovers(REGISTRY).problems
        assert bool(left) == (answer is not None), left
    assert list_versions(REGISTRY) == (version.number,)


@pytest.mark.parametrize("text", ["", "<html>", "[]", "{}", '{"version": "x"}'])
@pytest.mark.usefixtures("store")
def test_a_head_that_is_damaged_is_rebuilt_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    first = push(fake_model(tmp_path / "one"), REGISTRY, blessed_record())
    storage.write_text(f"{REGISTRY}/.head", text)
    second = push(fake_model(tmp_path / "two"), REGISTRY, blessed_record())
    assert in_service(REGISTRY).version == second.number
    assert f"{REGISTRY}/.head is damaged" in caplog.text
    assert f"of which {first.number} is the newest" in caplog.text


def test_of_an_unknown_outcome_the_message_says_what_shows_it() -> None:
    said = str(UnknownPushError("/models", 7, OSError("no answer")))
    assert said.startswith("version 7 in /models: it is not known whether it is in service")
    assert "(no answer)" in said
    assert "yt8m models list --push /models" in said


def test_pushers_that_cannot_see_each_other_take_different_numbers_ahead_of_the_clock(
    tmp_path: Path, store: MemoryBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 5000)  # long before what is there
    push(fake_model(tmp_path / "first"), REGISTRY, blessed_record())
    taken = []
    for name in ("a", "b"):
        before = dict(store.objects)
        taken.append(push(fake_model(tmp_path / name), REGISTRY, blessed_record()).number)
        store.objects = before  # as the other one sees it
    assert min(taken) > max(list_versions(REGISTRY))
    assert len(set(taken)) == 2


def test_an_upload_under_way_survives_a_pusher_whose_clock_is_days_ahead(
    tmp_path: Path, store: MemoryBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = time.time_ns() // 1000
    mark = f"{REGISTRY}/.uploads/{number}/saved_model.pb"
    storage.write_text(mark, "model")
    now = time.time()
    monkeypatch.setattr(object_store.time, "time", lambda: now + 3 * 86400)
    store.now = lambda: now  # the store dates by its own clock
    push(fake_model(tmp_path / "a"), REGISTRY, blessed_record())
    assert storage.exists(mark)
    assert not storage.glob(f"{REGISTRY}/.uploads/clock-*")
    store.now = lambda: now + 2 * 86400
    push(fake_model(tmp_path / "b"), REGISTRY, blessed_record())
    assert not storage.exists(mark)
