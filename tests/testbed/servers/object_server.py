"""S3's and Google's storage interfaces over `MemoryBackend`, in this process.

    with object_server() as server:
        storage.write_text("s3://bucket/a", "1")
        assert storage.read_text("gs://bucket/a") == storage.read_text("mem://bucket/a")

What boto3 or Google's client wrote is seen at mem:// without a request, and assigning
`server.store.objects` puts everything back. It damages answers as `FaultyProxy` does. It has what a
registry takes: small objects, conditional writes, listings of one page.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from unittest import mock
from urllib.parse import unquote

import xmltodict
from faulty_proxy import FaultyProxy
from gcs_server import reached_at
from http_double import HttpDouble, listening, respond
from memory_store import MemoryBackend, memory_store
from s3_server import ENVIRONMENT
from werkzeug import Request, Response
from werkzeug.routing import Map, Rule

from yt8m.components.storage import s3
from yt8m.components.storage.backend import Stat

_MISSING, _CHANGED = (404, "NoSuchKey"), (412, "PreconditionFailed")
_UNKNOWN = (501, "NotImplemented")
_PAGE = 1000


class ObjectServer(FaultyProxy):
    """Answers by itself what a proxy would pass on."""

    def __init__(self, store: MemoryBackend) -> None:
        super().__init__("http://this-process")
        self.store = store
        self._amazons, self._googles = _Amazons(store), _Googles(store)
        self._googles.lock = self._amazons.lock  # of the one store

    def forward(self, request: Request) -> Response:
        is_googles = "/storage/v1/b/" in request.path
        return (self._googles if is_googles else self._amazons).answer(request)


class _Interface(HttpDouble):
    def __init__(self, store: MemoryBackend) -> None:
        super().__init__()
        self.store = store

    def there(self, bucket: str, key: str) -> tuple[bytes, Stat]:
        return self.store.objects.get((bucket, key)) or self.refuse(*_MISSING)

    def content(self, request: Request, bucket: str, key: str, match: str | None) -> Response:
        data, stat = self.there(bucket, key)
        if match is not None and match.strip('"') != stat.tag:
            self.refuse(*_CHANGED)
        # Of which a range is cut without a copy of all that follows it.
        answer = Response([memoryview(data)], headers={"X-Goog-Generation": stat.tag})
        answer.set_etag(stat.tag)
        answer.last_modified = datetime.fromtimestamp(stat.mtime, UTC)
        answer.make_conditional(request, accept_ranges=True, complete_length=len(data))
        answer.set_data(answer.get_data())
        return answer

    def listed(
        self, bucket: str, query: Mapping[str, str], limit: str
    ) -> tuple[list[tuple[str, Stat]], list[str]]:
        """Objects by name, no more than `limit`, and folders where a delimiter is given."""
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        files, folders = [], set()
        for (of, name), (_, stat) in sorted(self.store.objects.items()):
            if of != bucket or not name.startswith(prefix):
                continue
            below = name.removeprefix(prefix)
            if delimiter and delimiter in below:
                folders.add(f"{prefix}{below.partition(delimiter)[0]}{delimiter}")
            else:
                files.append((name, stat))
        if len(files) > _PAGE:
            self.refuse(*_UNKNOWN)
        return files[: int(query.get(limit, _PAGE))], sorted(folders)


class _Amazons(_Interface):
    routes = Map(
        [
            Rule("/<bucket>", endpoint="list_objects", methods=["GET"]),
            Rule("/<bucket>", endpoint="remove_all", methods=["POST"]),
            Rule("/<bucket>/<path:key>", endpoint="read", methods=["GET"]),
            Rule("/<bucket>/<path:key>", endpoint="write", methods=["PUT", "POST"]),
            Rule("/<bucket>/<path:key>", endpoint="remove", methods=["DELETE"]),
        ],
        strict_slashes=False,
        merge_slashes=False,
    )

    def error(self, status: int, message: str) -> Response:
        return _xml("Error", {"Code": message, "Message": message}, status)

    def list_objects(self, request: Request, bucket: str) -> Response:
        files, folders = self.listed(bucket, request.args, "max-keys")
        contents = [{"Key": name, "Size": stat.size, **_written(stat)} for name, stat in files]
        below = [{"Prefix": name} for name in folders]
        found = {"Name": bucket, "IsTruncated": "false", "Contents": contents}
        return _xml("ListBucketResult", {**found, "CommonPrefixes": below})

    def remove_all(self, request: Request, bucket: str) -> Response:
        wanted = xmltodict.parse(request.get_data(), force_list=["Object"])["Delete"]["Object"]
        for one in wanted:
            self.store.objects.pop((bucket, one["Key"]), None)
        return _xml("DeleteResult", {"Deleted": [{"Key": one["Key"]} for one in wanted]})

    def read(self, request: Request, bucket: str, key: str) -> Response:
        return self.content(request, bucket, key, request.headers.get("If-Match"))

    def remove(self, request: Request, bucket: str, key: str) -> Response:
        self.store.objects.pop((bucket, key), None)
        return Response(status=204)

    def write(self, request: Request, bucket: str, key: str) -> Response:
        if request.method == "POST" or "partNumber" in request.args:
            self.refuse(*_UNKNOWN)
        there = self.store.objects.get((bucket, key))
        wanted = request.headers.get("If-Match", "").strip('"')
        if wanted and not there:
            self.refuse(*_MISSING)
        if there and (wanted not in ("", there[1].tag) or "If-None-Match" in request.headers):
            self.refuse(*_CHANGED)
        if source := request.headers.get("X-Amz-Copy-Source"):
            of, _, name = unquote(source).lstrip("/").partition("/")
            stat = self.store.store(bucket, key, self.there(of, name)[0])
            return _xml("CopyObjectResult", _written(stat))
        answer = Response()
        answer.set_etag(self.store.store(bucket, key, request.get_data()).tag)
        return answer


class _Googles(_Interface):
    _objects = "/storage/v1/b/<bucket>/o"
    routes = Map(
        [
            Rule(_objects, endpoint="list_objects", methods=["GET"]),
            Rule(f"/upload{_objects}", endpoint="write", methods=["POST"]),
            Rule(f"{_objects}/<path:key>", endpoint="read", methods=["GET"]),
            Rule(f"/download{_objects}/<path:key>", endpoint="read", methods=["GET"]),
            Rule(f"{_objects}/<path:key>", endpoint="remove", methods=["DELETE"]),
            Rule(
                f"{_objects}/<path:key>/rewriteTo/b/<into>/o/<path:name>",
                endpoint="copy",
                methods=["POST"],
            ),
        ],
        merge_slashes=False,
    )

    def error(self, status: int, message: str) -> Response:
        return respond({"error": {"code": status, "message": message}}, status)

    def list_objects(self, request: Request, bucket: str) -> Any:
        files, folders = self.listed(bucket, request.args, "maxResults")
        items = [_resource(bucket, name, stat) for name, stat in files]
        return {"kind": "storage#objects", "items": items, "prefixes": folders}

    def read(self, request: Request, bucket: str, key: str) -> Any:
        if request.args.get("alt") == "media":
            return self.content(request, bucket, key, request.args.get("ifGenerationMatch"))
        return _resource(bucket, key, self.there(bucket, key)[1])

    def remove(self, request: Request, bucket: str, key: str) -> Response:
        self.there(bucket, key)
        del self.store.objects[bucket, key]
        return Response(status=204)

    def copy(self, request: Request, bucket: str, key: str, into: str, name: str) -> Any:
        data = self.there(bucket, key)[0]
        written = {"totalBytesRewritten": str(len(data)), "objectSize": str(len(data))}
        resource = _resource(into, name, self.store.store(into, name, data))
        return {"done": True, "resource": resource, **written}

    def write(self, request: Request, bucket: str) -> Any:
        if request.args.get("uploadType") != "multipart":
            self.refuse(*_UNKNOWN)
        boundary = b"--" + request.mimetype_params["boundary"].encode()
        parts = request.get_data().split(boundary)[1:3]
        about, content = (part.partition(b"\r\n\r\n")[2][:-2] for part in parts)
        name = json.loads(about)["name"]
        there = self.store.objects.get((bucket, name))
        wanted = request.args.get("ifGenerationMatch")
        if wanted is not None and wanted != (there[1].tag if there else "0"):
            self.refuse(*_CHANGED)
        return _resource(bucket, name, self.store.store(bucket, name, content))


@contextmanager
def object_server() -> Iterator[ObjectServer]:
    """A running server, reached by every client of s3:// and gs:// in this process."""
    with memory_store() as store, listening(server := ObjectServer(store)) as url:
        environment = {**ENVIRONMENT, "AWS_ENDPOINT_URL_S3": url}
        try:
            with mock.patch.dict(os.environ, environment), reached_at(url):
                s3.client.cache_clear()
                yield server
        finally:
            s3.client.cache_clear()


def _xml(name: str, content: Mapping[str, Any], status: int = 200) -> Response:
    return Response(xmltodict.unparse({name: content}), status, mimetype="application/xml")


def _written(stat: Stat) -> dict[str, str]:
    return {"ETag": f'"{stat.tag}"', "LastModified": _time(stat)}


def _time(stat: Stat) -> str:
    return f"{datetime.fromtimestamp(stat.mtime, UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


def _resource(bucket: str, name: str, stat: Stat) -> dict[str, str]:
    about = {"kind": "storage#object", "bucket": bucket, "name": name, "size": str(stat.size)}
    return {**about, "updated": _time(stat), "generation": stat.tag}
