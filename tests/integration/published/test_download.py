"""The dataset's own layout on a server here: every fault ends in complete files or a clear word."""

import hashlib
import json
import os
import re
import resource
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from http_double import HttpDouble, listening, reset
from werkzeug import Response
from werkzeug.routing import Map, Rule

from yt8m.cli.main import run as yt8m
from yt8m.components.extras.published.download import Download, download
from yt8m.components.extras.published.plan import Partition, choose_files, parse_plan
from yt8m.components.storage.errors import StorageError
from yt8m.components.storage.retry import Backoff
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import Level
from yt8m.schemas.vocabulary import COLUMNS

QUICK = Backoff(attempts=3, first_wait_s=0.0)
NAMES = [f"train{number:04d}.tfrecord" for number in range(12)]
FILES = {
    f"2/video/train/{name}": bytes([number]) * (1000 + number) for number, name in enumerate(NAMES)
}
VOCABULARY = (",".join(COLUMNS) + "\n0,1,/m/0,Game,,Games,,,\n1,1,/m/1,Car,,Games,,,\n").encode()


class DatasetServer(HttpDouble):
    """The dataset's paths: `faults` of a file are taken by its GETs, one after the other.

    `cut` sends half of what was asked for and closes, `reset` breaks the connection, a number is a
    status, `whole` ignores the range, `wrong` turns a byte.
    """

    routes = Map(
        [
            Rule(
                "/<any(us,eu,asia):mirror>.data.yt8m.org/<path:folder>/<name>", endpoint="get_file"
            ),
            Rule("/data.yt8m.org/<version>/download_plans/<part>.json", endpoint="get_plan"),
            Rule("/youtube8m/csv/2/vocabulary.csv", endpoint="get_vocabulary"),
        ]
    )

    def __init__(self):
        super().__init__()
        self.faults_of = defaultdict(list)
        self.served = Counter()  # bytes
        self.asked = defaultdict(list)  # begins of ranges
        self.mirrors = set()

    def get_vocabulary(self, request):
        return VOCABULARY

    def get_plan(self, request, version, part):
        folder = f"{version}/{part.replace('_', '/')}/"
        files = {p.removeprefix(folder): d for p, d in FILES.items() if p.startswith(folder)}
        if not files:
            self.refuse(404, "no such object")
        return {"files": {name: hashlib.md5(data).hexdigest() for name, data in files.items()}}

    def get_file(self, request, mirror, folder, name):
        data = FILES.get(f"{folder}/{name}")
        if data is None:
            self.refuse(404, "no such object")
        if request.method == "HEAD":
            return data
        self.mirrors.add(mirror)
        begin = int(re.sub(r"\D", "", request.headers.get("Range", "0")))
        self.asked[name].append(begin)
        fault = self.faults_of[name].pop(0) if self.faults_of[name] else ""
        if fault.isdecimal():
            self.refuse(int(fault), "told to")
        if fault == "reset":
            reset(request)
        if fault == "wrong":
            data = data[:begin] + bytes([data[begin] ^ 255]) + data[begin + 1 :]
        answer = Response(data)
        if fault != "whole":
            answer.make_conditional(request, accept_ranges=True, complete_length=len(data))
        body = answer.get_data()
        if fault == "cut":
            answer = Response(body[: len(body) // 2], answer.status, answer.headers)
            answer.headers["Content-Length"] = str(len(body))
        self.served[name] += len(answer.get_data())
        return answer


@pytest.fixture
def server():
    server = DatasetServer()
    with listening(server) as server.url:
        yield server


def content(name):
    return FILES[f"2/video/train/{name}"]


def command(server, out, *words, level="video", split="train", version="2"):
    where = ["--server", server.url, "--out", str(out)]
    what = ["--version", version, "--level", level, "--split", split]
    return yt8m(["data", "download", "--quiet", *where, *what, *words])


def fetch(server, out, names=NAMES, **values):
    """Straight to the files, without waiting between attempts."""
    partition = Partition(version=2, level=Level.VIDEO, split="train", server=server.url)
    files = {name: hashlib.md5(content(name)).hexdigest() for name in names}
    job = Download(files=files, url_of=partition.file_url, out=out, **{"backoff": QUICK, **values})
    return download(job, advance=lambda count: None)


def files_in(out):
    return {path.name: path.read_bytes() for path in out.iterdir()}


def test_a_part_comes_with_the_vocabulary_and_nothing_comes_twice(server, tmp_path, capsys):
    assert command(server, tmp_path, "--shard", "1/3", "--mirror", "eu", "--json") == 0
    first = json.loads(capsys.readouterr().out)
    expected = {n for n in NAMES if int(hashlib.md5(n.encode()).hexdigest(), 16) % 3 == 0}
    assert set(files_in(tmp_path)) == expected | {"vocabulary.csv"}
    assert all(files_in(tmp_path)[name] == content(name) for name in expected)
    assert server.mirrors == {"eu"}
    assert first["fetched"] == first["files"] == len(expected)
    assert first["bytes"] == sum(len(content(name)) for name in expected)
    assert command(server, tmp_path, "--json") == 0
    second = json.loads(capsys.readouterr().out)
    assert (second["files"], second["fetched"]) == (12, 12 - len(expected))
    assert set(server.served.values()) <= {len(data) for data in FILES.values()}


def test_the_parts_are_the_whole(tmp_path):
    plan = dict.fromkeys(NAMES, "0" * 32)
    parts = [choose_files(plan, (x, 5)) for x in range(1, 6)]
    assert sorted(name for part in parts for name in part) == NAMES


@pytest.mark.parametrize("fault", ["cut", "503", "429", "reset", "wrong"])
def test_a_fault_that_passes_is_overcome(server, tmp_path, fault):
    for name in NAMES[:4]:
        server.faults_of[name] = [fault]
    done = fetch(server, tmp_path, NAMES[:4])
    assert files_in(tmp_path) == {name: content(name) for name in NAMES[:4]}
    assert done.fetched == 4


def test_what_broke_off_is_continued_also_by_the_next_run(server, tmp_path):
    name = NAMES[3]
    server.faults_of[name] = ["cut", "503", "503", "503"]
    with pytest.raises(StorageError, match=r"HTTP 503.*the downloaded part is kept"):
        fetch(server, tmp_path, [name])
    begun = files_in(tmp_path)
    assert begun == {f".{name}.partial": content(name)[:501]}
    server.asked.clear()
    fetch(server, tmp_path, [name])
    assert server.asked[name] == [501]
    assert server.served[name] == len(content(name))
    assert files_in(tmp_path) == {name: content(name)}


def test_a_file_is_on_the_disk_before_it_has_its_name(server, tmp_path, monkeypatch):
    """One that a loss of power had emptied would be read as a shard without records."""
    flushed, flush = set(), os.fsync

    def fsync(descriptor):
        flush(descriptor)
        flushed.add(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", fsync)
    fetch(server, tmp_path, NAMES[:4])
    assert {path.stat().st_ino for path in tmp_path.iterdir()} <= flushed


def test_a_server_that_knows_no_ranges_sends_the_whole_again(server, tmp_path):
    name = NAMES[0]
    server.faults_of[name] = ["cut", "whole"]
    fetch(server, tmp_path, [name])
    assert files_in(tmp_path) == {name: content(name)}


@pytest.mark.parametrize("begun", [content(NAMES[0]) + b"more", b"other" * 10, content(NAMES[0])])
def test_a_begun_file_of_other_content_is_fetched_anew(server, tmp_path, begun):
    (tmp_path / f".{NAMES[0]}.partial").write_bytes(begun)
    (tmp_path / NAMES[1]).write_bytes(b"damaged")
    fetch(server, tmp_path, NAMES[:2])
    assert files_in(tmp_path) == {name: content(name) for name in NAMES[:2]}


def test_wrong_content_twice_names_the_file_and_leaves_nothing_under_its_name(server, tmp_path):
    server.faults_of[NAMES[0]] = ["wrong", "wrong"]
    with pytest.raises(DataError, match=rf"{NAMES[0]}: its MD5 differs from the plan's"):
        fetch(server, tmp_path, NAMES[:1])
    assert files_in(tmp_path) == {}


def test_two_downloads_into_one_directory_disturb_neither_each_other_nor_the_files(
    server, tmp_path
):
    with ThreadPoolExecutor(2) as both:
        done = [job.result() for job in [both.submit(fetch, server, tmp_path) for _ in range(2)]]
    assert files_in(tmp_path) == {name: content(name) for name in NAMES}
    assert [one.files for one in done] == [len(NAMES)] * 2
    assert server.served == {name: len(content(name)) for name in NAMES}  # nothing came twice


def test_too_little_room_is_said_before_anything_comes(server, tmp_path):
    with pytest.raises(UserError, match=r"12 files need about 0\.0 GB.*--shard"):
        fetch(server, tmp_path, free_bytes=lambda path: 5000)
    assert not server.served
    assert files_in(tmp_path) == {}


def test_a_disk_that_gets_full_is_named_by_the_file(server, tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
    try:
        with pytest.raises(OSError, match=rf"too large.*{NAMES[0]}\.partial"):
            fetch(server, tmp_path, NAMES[:1])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert fetch(server, tmp_path, NAMES[:1]).fetched == 1  # of what is there, the rest comes


def test_what_is_not_published_is_said(server, tmp_path, capsys):
    codes = [
        command(server, tmp_path, version="3"),
        command(server, tmp_path, level="frame", version="3"),
        command(server, tmp_path, split="test"),
        command(server, tmp_path, "--shard", "3/99"),
    ]
    errors = capsys.readouterr().err.split("error: ")[1:]
    assert codes == [2, 2, 1, 2]
    assert "version 3 has only frame" in errors[0]
    assert "version 3 has only validate, test" in errors[1]
    assert "HTTP 404" in errors[2]
    assert "none of 12 files" in errors[3]


@pytest.mark.parametrize(
    "data", [b"<html>", b"{}", b'{"files": {}}', b'{"files": {"../x": "' + b"0" * 32 + b'"}}']
)
def test_what_is_no_plan_is_refused(data):
    with pytest.raises(DataError, match="no download plan"):
        parse_plan(data, "http://x")


def test_nobody_there_is_a_fault_of_the_network(tmp_path):
    with listening(DatasetServer()) as url:
        pass  # it ends before anybody asks
    partition = Partition(version=2, level=Level.VIDEO, split="train", server=url)
    job = Download(
        files={NAMES[0]: "0" * 32}, url_of=partition.file_url, out=Path(tmp_path), backoff=QUICK
    )
    with pytest.raises(StorageError, match="run the same command again"):
        download(job, advance=lambda count: None)
