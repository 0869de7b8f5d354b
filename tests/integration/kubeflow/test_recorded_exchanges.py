"""What the client sends and the double answers, against what real servers took and answered."""

import json
import re
import uuid

import pytest
from golden_specs import GOLDEN
from http_double import listening
from kfp_server import KfpServer

from yt8m.cli.main import run

RECORDED = json.loads((GOLDEN / "records" / "exchanges.json").read_text())
# Maps whose keys are the pipeline's own, or the server's notes on an error.
FREE = ("parameters", "pipeline_spec", "details")
# What both versions' OpenAPI has, though it was not yet sent when the exchanges were recorded.
SPECIFIED = {("POST", "/apis/v2beta1/pipelines/upload_version"): {(".description", "str")}}
NAMES = ("experiment", "run", "schedule", "pipeline", "version")


class Recorder(KfpServer):
    """The double, and every exchange with it."""

    def __init__(self, version):
        super().__init__(page_size=100, version=version)
        self.multi_user, self.exchanges = False, []

    def answer(self, request):
        answer = super().answer(request)
        asked = {
            "method": request.method,
            "path": re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "{id}", request.path),
            "query": request.args.to_dict(),
            "request": request.get_json() if request.is_json and request.data else None,
        }
        said = answer.get_json() if answer.status_code == 200 else None
        self.exchanges.append(asked | {"status": answer.status_code, "answer": said})
        return answer


@pytest.fixture(params=RECORDED)
def exchanges(request, tmp_path, monkeypatch, capsys):
    """Of every command in turn, with a server of that version; and what was recorded of it."""
    server = Recorder(request.param)
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "pipeline.yaml"
    file.write_text((GOLDEN / "smoke.yaml").read_text())
    given = ["--param", "data_root=/records", "--param", "push_dir=/models"]
    given += ["--root", "s3://bucket/yt8m"]
    nightly = ["schedule", "smoke", "--name", "nightly", "--cron", "0 3 * * 1", *given]
    with listening(server) as host:
        for words in (
            ["upload", str(file)],
            ["upload", str(file)],
            ["run", "smoke", "--name", "first", *given],
            nightly,
            [*nightly, "--disabled"],
            ["list", "pipelines"],
            ["list", "versions", "smoke"],
            ["list", "runs"],
            ["list", "schedules"],
            ["unschedule", "nightly"],
        ):
            assert run(["kubeflow", *words, "--host", host, "--quiet"]) == 0, words
        (started,) = server.runs
        is_told = request.param == "2.17.0"  # with 2.5.0 no run was followed so far
        server.set_state(started, "SUCCEEDED", {"Trainer": "SUCCEEDED"} if is_told else None)
        assert run(["kubeflow", "wait", started, "--host", host, "--quiet"]) == 0
        assert run(["kubeflow", "wait", str(uuid.UUID(int=0)), "--host", host]) == 2
    return server.exchanges, RECORDED[request.param]


def _shape(value, path=""):
    """Every path in `value`, with the type that JSON gives it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key}", type(inner).__name__
            if key not in FREE:
                yield from _shape(inner, f"{path}.{key}")
    for inner in value if isinstance(value, list) else ():
        yield from _shape(inner, f"{path}[]")


def _recorded(exchange, recorded, what):
    """The shape that `what` had in any recorded exchange of the same kind."""
    same = ("method", "path", "status")
    known = [one for one in recorded if all(one[key] == exchange[key] for key in same)]
    assert known, f"{exchange['method']} {exchange['path']}: {exchange['status']}"
    return set().union(*(_shape(one[what]) for one in known))


def _specified(exchange):
    return SPECIFIED.get((exchange["method"], exchange["path"]), set())


def test_every_request_is_one_that_the_real_server_took(exchanges):
    made, recorded = exchanges
    assert len({(one["method"], one["path"]) for one in made}) > 10
    for exchange in made:
        where = f"{exchange['method']} {exchange['path']}"
        for what in ("query", "request"):
            more = set(_shape(exchange[what])) - _recorded(exchange, recorded, what)
            assert not more - _specified(exchange), where


def test_the_double_says_nothing_that_the_real_server_does_not_say(exchanges):
    made, recorded = exchanges
    for exchange in made:
        more = set(_shape(exchange["answer"])) - _recorded(exchange, recorded, "answer")
        more -= {(".description", "str"), (".pipeline_versions[].description", "str")}
        assert not more, f"{exchange['method']} {exchange['path']}"
