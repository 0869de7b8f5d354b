"""Several users of one group push into one directory, with whatever umask and rights.

Each push, and each look at it by a model server, is a process with ids of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from registry_models import best_record, fake_model

from yt8m.components.registry.champion import champion_versions
from yt8m.components.registry.cleaning import read_leftovers
from yt8m.components.registry.push import push, remove_damaged, rollback, set_champion
from yt8m.components.registry.versions import in_service, list_versions, load_version

pytestmark = pytest.mark.needs("root")

FIRST, SECOND, SERVER = 61001, 61002, 61003
TEAM = 62000
UMASKS = (0o002, 0o022, 0o027, 0o077)


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that everybody reaches, which pytest's own is not."""
    path = Path(tempfile.mkdtemp(prefix="yt8m-users-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def as_user(uid: int, umask: int, action: Callable[[], object]) -> str:
    """What `action` returns or says in a process of this user, whose second group is the team."""
    with tempfile.TemporaryFile("w+") as file:
        if (child := os.fork()) == 0:
            try:
                os.setgroups([TEAM])
                os.setgid(uid)
                os.setuid(uid)
                os.umask(umask)
                json.dump(str(action()), file)
            except Exception as error:
                json.dump(f"{type(error).__name__}: {error}", file)
            except BaseException:
                traceback.print_exc()
            finally:
                file.flush()
                os._exit(0)
        os.waitpid(child, 0)
        file.seek(0)
        said: str = json.load(file)
        return said


def team_directory(place: Path, mode: int, *, owner: int = FIRST) -> str:
    path = place / "push"
    path.mkdir()
    os.chown(path, owner, TEAM)
    path.chmod(mode)
    return str(path)


def model(place: Path, name: str) -> str:
    path = Path(fake_model(place / name))
    for below in (path, *path.rglob("*")):
        below.chmod(0o755 if below.is_dir() else 0o644)
    return str(path)


def pushed(place: Path, registry: str, uid: int, umask: int, name: str, *, keep: int = 2) -> str:
    source = model(place, name)
    record = best_record(source)
    return as_user(uid, umask, lambda: push(source, registry, record, keep=keep).number)


@pytest.mark.parametrize("mode", [0o2775, 0o2770, 0o775, 0o777])
@pytest.mark.parametrize("umask", UMASKS, ids=oct)
def test_users_of_a_group_push_one_after_the_other_and_remove_each_others_versions(
    place: Path, mode: int, umask: int
) -> None:
    registry = team_directory(place, mode)
    said = [
        pushed(place, registry, uid, umask, f"model-{number}")
        for number, uid in enumerate((FIRST, SECOND, SECOND, FIRST, SECOND))
    ]
    assert said == ["1", "2", "3", "4", "5"]
    assert list_versions(registry) == (4, 5)
    assert read_leftovers(registry).problems == ()
    assert as_user(FIRST, umask, lambda: rollback(registry, 4, keep=2).number) == "6"
    # The server is in the group, whatever the pusher's umask.
    for number in list_versions(registry):
        said = as_user(SERVER, 0, lambda: load_version(registry, number, verify=True).number)  # noqa: B023
        assert said == str(number)
    Path(registry, "4", "saved_model.pb").write_text("damaged")  # pushed by the other one
    assert "4:" in as_user(SECOND, umask, lambda: remove_damaged(registry).aside)


@pytest.mark.parametrize("umask", UMASKS, ids=oct)
def test_a_version_has_the_rights_of_the_push_directory(place: Path, umask: int) -> None:
    registry = team_directory(place, 0o2750)
    pushed(place, registry, FIRST, umask, "model")
    version = Path(registry, "1")
    found = {
        (path.is_dir(), path.stat().st_mode & 0o7777, path.stat().st_gid)
        for path in (version, *version.rglob("*"))
    }
    assert found == {(True, 0o2750, TEAM), (False, 0o640, TEAM)}


@pytest.mark.parametrize("umask", UMASKS, ids=oct)
def test_a_champion_that_one_user_chose_is_everybodys(place: Path, umask: int) -> None:
    registry = team_directory(place, 0o2775)
    pushed(place, registry, FIRST, umask, "one")
    pushed(place, registry, SECOND, umask, "two")
    assert as_user(FIRST, umask, lambda: set_champion(registry, 2).number) == "2"
    for uid in (SECOND, SERVER):
        assert as_user(uid, umask, lambda: sorted(champion_versions(registry))) == "[2]"
    assert as_user(SECOND, umask, lambda: set_champion(registry, 1).number) == "1"
    assert as_user(FIRST, umask, lambda: sorted(champion_versions(registry))) == "[1]"


@pytest.mark.parametrize("umask", UMASKS, ids=oct)
def test_who_may_not_delete_pushes_all_the_same_and_says_what_is_left(
    place: Path, umask: int
) -> None:
    registry = team_directory(place, 0o3775)  # sticky: only its owner removes a version
    os.chown(registry, 0, TEAM)
    assert pushed(place, registry, FIRST, umask, "one", keep=1) == "1"
    assert pushed(place, registry, SECOND, umask, "two", keep=1) == "2"
    assert in_service(registry).version == 2
    assert list_versions(registry) == (1, 2)
    (problem,) = read_leftovers(registry).problems
    assert problem.startswith("version 1 was not removed, of which 1 are to stay")
    assert pushed(place, registry, FIRST, umask, "three", keep=1) == "3"
    assert list_versions(registry) == (2, 3)  # each removes their own


def test_who_may_not_write_is_told_so_and_changes_nothing(place: Path) -> None:
    registry = team_directory(place, 0o2755)
    assert pushed(place, registry, FIRST, 0o022, "one") == "1"
    said = pushed(place, registry, SECOND, 0o022, "two")
    assert said.startswith(f"UserError: versions cannot be written to {registry}: ")
    assert list_versions(registry) == (1,)
    assert as_user(SECOND, 0o022, lambda: in_service(registry).version) == "1"
