"""A run that pushes into S3, which refuses from some request on: what it says, what it leaves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from object_server import ObjectServer, object_server
from yt8m_runs import Place, environment, generate

from yt8m.components.registry.versions import (
    InService,
    UnfinishedVersionError,
    in_service,
    list_baselines,
    list_versions,
    load_version,
)

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SEEN = "mem://bucket/push"


def refuse(server: ObjectServer, at: int, fault: str, *, lasting: bool) -> list[str]:
    """Refuse the request of number `at`, or all from it on; the requests that came."""
    came: list[str] = []

    def choose(method: str, path: str) -> str:
        came.append(f"{method} {path}")
        return fault if len(came) == at or (lasting and len(came) > at) else ""

    server.choose = choose
    return came


@pytest.mark.parametrize(("fault", "lasting"), [("403", False), ("expired", True)])
def test_whenever_s3_refuses_a_run_says_so_and_leaves_no_number_that_counts(
    tmp_path: Path, fault: str, lasting: bool
) -> None:
    with object_server() as server:
        place = Place(
            data=generate(tmp_path / "data"),
            root=tmp_path / "root",
            push=tmp_path / "unused",
            env=environment(**os.environ),
        )
        code, at, ends = 1, 1, []
        while code != 0:
            server.store.objects = {}
            came = refuse(server, at, fault, lasting=lasting)
            done = place.run("--push", "s3://bucket/push")
            server.choose = None
            code, said = done.returncode, done.stdout + done.stderr
            ends.append(f"from request {at} of {len(came)} on: {code}\n{said[-2000:]}")
            assert "a bug in yt8m" not in said, ends[-1]
            assert "Traceback" not in said, ends[-1]
            versions = list_versions(SEEN)
            if code != 0:
                assert code in (1, 2), ends[-1]
                assert {"403": "AccessDenied", "expired": "ExpiredToken"}[fault] in said or (
                    "(403)" in said or "(400)" in said
                ), ends[-1]
                # What may not be removed either is an upload that was broken off.
                assert lasting or versions == (), ends[-1]
                for number in versions:
                    with pytest.raises(UnfinishedVersionError):
                        load_version(SEEN, number)
                assert (in_service(SEEN), list_baselines(SEEN)) == (InService(), ()), ends[-1]
            at = at * 2 if at < 16 else at + 16
        load_version(SEEN, versions[-1], verify=True)
        assert len(ends) > 5
