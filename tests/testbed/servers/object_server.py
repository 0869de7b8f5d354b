"""S3's and Google's storage interfaces over `MemoryBackend`, in this process.

    with object_server() as server:
        storage.write_text("s3://bucket/a", "1")
        assert storage.read_text("gs://bucket/a") == storage.read_text("mem://bucket/a")

What boto3 or Google's client wrote is seen at mem:// without a request, and assigning
`server.store.objects` puts everything back. It damages answers as `FaultyProxy` does. It has what a
registry takes: small objects, conditional writes, listings of one page.
"""

from __future__ import annotations

import datetime
import email
import email.policy
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from unittest import mock
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from faulty_proxy import Answer, FaultyProxy
from gcs_server import reached_at
from memory_store import MemoryBackend, memory_store
from s3_server import ENVIRONMENT

from yt8m.components.storage import s3
from yt8m.components.storage.backend import Stat

_GOOGLES = "/storage/v1/b/"
_XML = [("Content-Type", "application/xml")]
_JSON = [("Content-Type", "application/json")]
_STATUS = {"NoSuchKey": 404, "PreconditionFailed": 412, "NotImplemented": 501}


class _RefusedError(Exception):
    """The code of S3's answer."""


class ObjectServer(FaultyProxy):
    """Answers by itself what a proxy would pass on."""

    def __init__(self, store: MemoryBackend) -> None:
        super().__init__("http://this-process")
        self.store = store
        self._lock = threading.Lock()

    def forward(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        url = urlsplit(path)
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        lowered = {name.lower(): value for name, value in headers.items()}
        answer = self._googles if _GOOGLES in url.path else self._amazons
        with self._lock:
            try:
                return answer(method, url.path, query, lowered, body)
            except _RefusedError as error:
                code = str(error)
                text = f"<Error><Code>{code}</Code><Message>{code}</Message></Error>"
                return Answer(status=_STATUS[code], headers=_XML, body=text.encode())

    # Amazon's.

    def _amazons(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes,
    ) -> Answer:
        bucket, _, key = unquote(path).lstrip("/").partition("/")
        if method == "GET" and "list-type" in query:
            return self._amazons_listing(bucket, query)
        if method in ("GET", "HEAD"):
            answer = self._content(bucket, key, headers, match=headers.get("if-match"))
            return replace(answer, body=b"") if method == "HEAD" else answer
        if method == "DELETE":
            self.store.objects.pop((bucket, key), None)
            return Answer(status=204)
        if method == "POST" and "delete" in query:
            names = [item.text or "" for item in ElementTree.fromstring(body).findall(".//{*}Key")]
            for name in names:
                self.store.objects.pop((bucket, name), None)
            done = "".join(f"<Deleted><Key>{escape(name)}</Key></Deleted>" for name in names)
            text = f"<DeleteResult>{done}</DeleteResult>"
            return Answer(status=200, headers=_XML, body=text.encode())
        if method == "PUT" and not query.keys() & {"uploadId", "partNumber"}:
            there = self.store.objects.get((bucket, key))
            tag = _quoted(there[1].tag) if there else None
            if headers.get("if-none-match") and there:
                raise _RefusedError("PreconditionFailed")
            if (wanted := headers.get("if-match")) and wanted != tag:
                raise _RefusedError("PreconditionFailed" if there else "NoSuchKey")
            if source := headers.get("x-amz-copy-source"):
                of, _, name = unquote(source).lstrip("/").partition("/")
                data, _ = self._there(of, name)
                stat = self.store.store(bucket, key, data)
                text = (
                    f"<CopyObjectResult><ETag>{escape(_quoted(stat.tag))}</ETag>"
                    f"<LastModified>{_time(stat)}</LastModified></CopyObjectResult>"
                )
                return Answer(status=200, headers=_XML, body=text.encode())
            stat = self.store.store(bucket, key, body)
            return Answer(status=200, headers=[("ETag", _quoted(stat.tag))])
        raise _RefusedError("NotImplemented")

    def _amazons_listing(self, bucket: str, query: Mapping[str, str]) -> Answer:
        files, folders = self._listed(bucket, query)
        limit = int(query.get("max-keys", "1000"))
        contents = "".join(
            f"<Contents><Key>{escape(name)}</Key><Size>{stat.size}</Size>"
            f"<ETag>{escape(_quoted(stat.tag))}</ETag>"
            f"<LastModified>{_time(stat)}</LastModified></Contents>"
            for name, stat in list(files.items())[:limit]
        )
        below = "".join(
            f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for name in folders
        )
        if len(files) > 1000:
            raise _RefusedError("NotImplemented")
        text = (
            f"<ListBucketResult><Name>{bucket}</Name><IsTruncated>false</IsTruncated>"
            f"{contents}{below}</ListBucketResult>"
        )
        return Answer(status=200, headers=_XML, body=text.encode())

    # Google's.

    def _googles(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes,
    ) -> Answer:
        bucket, _, rest = path.partition(_GOOGLES)[2].partition("/o")
        key = unquote(rest.lstrip("/").partition("/rewriteTo/")[0])
        try:
            if method == "POST" and path.startswith("/upload/"):
                return self._uploaded(bucket, query, headers, body)
            if method == "POST" and "/rewriteTo/" in rest:
                into, _, name = rest.partition("/rewriteTo/b/")[2].partition("/o/")
                data, _ = self._there(bucket, key)
                stat = self.store.store(into, unquote(name), data)
                resource = _resource(into, unquote(name), stat)
                size = str(len(data))
                written = {"totalBytesRewritten": size, "objectSize": size}
                return _json({"done": True, "resource": resource, **written})
            if method == "GET" and not key:
                files, folders = self._listed(bucket, query)
                limit = int(query.get("maxResults", "1000"))
                items = [_resource(bucket, n, stat) for n, stat in list(files.items())[:limit]]
                return _json({"kind": "storage#objects", "items": items, "prefixes": folders})
            if method == "GET" and query.get("alt") == "media":
                return self._content(bucket, key, headers, match=query.get("ifGenerationMatch"))
            if method == "GET":
                return _json(_resource(bucket, key, self._there(bucket, key)[1]))
            if method == "DELETE":
                self._there(bucket, key)
                del self.store.objects[bucket, key]
                return Answer(status=204)
        except _RefusedError as error:
            status = _STATUS[str(error)]
            return _json({"error": {"code": status, "message": str(error)}}, status=status)
        raise _RefusedError("NotImplemented")

    def _uploaded(
        self, bucket: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes
    ) -> Answer:
        if query.get("uploadType") != "multipart":
            raise _RefusedError("NotImplemented")
        mime = f"Content-Type: {headers['content-type']}\r\n\r\n".encode() + body
        message = email.message_from_bytes(mime, policy=email.policy.HTTP)
        # A part's content is bytes, whatever they are: only its headers are the parser's.
        boundary = b"--" + message.get_boundary().encode()  # type: ignore[union-attr]
        about, content = (part.partition(b"\r\n\r\n")[2][:-2] for part in body.split(boundary)[1:3])
        name = json.loads(about)["name"]
        there = self.store.objects.get((bucket, name))
        wanted = query.get("ifGenerationMatch")
        if wanted is not None and wanted != (there[1].tag if there else "0"):
            raise _RefusedError("PreconditionFailed")
        return _json(_resource(bucket, name, self.store.store(bucket, name, content)))

    # Both.

    def _there(self, bucket: str, key: str) -> tuple[bytes, Stat]:
        try:
            return self.store.objects[bucket, key]
        except KeyError:
            raise _RefusedError("NoSuchKey") from None

    def _listed(self, bucket: str, query: Mapping[str, str]) -> tuple[dict[str, Stat], list[str]]:
        """Objects by name, and folders where a delimiter is given."""
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        files, folders = {}, set()
        for (of, name), (_, stat) in sorted(self.store.objects.items()):
            if of != bucket or not name.startswith(prefix):
                continue
            below = name.removeprefix(prefix)
            if delimiter and delimiter in below:
                folders.add(f"{prefix}{below.partition(delimiter)[0]}{delimiter}")
            else:
                files[name] = stat
        return files, sorted(folders)

    def _content(
        self, bucket: str, key: str, headers: Mapping[str, str], *, match: str | None
    ) -> Answer:
        data, stat = self._there(bucket, key)
        if match is not None and match not in (stat.tag, _quoted(stat.tag)):
            raise _RefusedError("PreconditionFailed")
        modified = datetime.datetime.fromtimestamp(stat.mtime, datetime.UTC)
        said = [
            ("ETag", _quoted(stat.tag)),
            ("X-Goog-Generation", stat.tag),
            ("Last-Modified", modified.strftime("%a, %d %b %Y %H:%M:%S GMT")),
            ("Content-Type", "application/octet-stream"),
            ("Content-Length", str(len(data))),
        ]
        if not (wanted := headers.get("range")):
            return Answer(status=200, headers=said, body=data)
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        end = min(int(last or len(data)), len(data) - 1)
        said.append(("Content-Range", f"bytes {first}-{end}/{len(data)}"))
        return Answer(status=206, headers=said, body=data[int(first) : end + 1])


@contextmanager
def object_server() -> Iterator[ObjectServer]:
    """A running server, reached by every client of s3:// and gs:// in this process."""
    with memory_store() as store, ObjectServer(store) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = {**ENVIRONMENT, "AWS_ENDPOINT_URL_S3": server.url}
        try:
            with mock.patch.dict(os.environ, environment), reached_at(server.url):
                s3.client.cache_clear()
                yield server
        finally:
            s3.client.cache_clear()
            server.shutdown()


def _quoted(tag: str) -> str:
    return f'"{tag}"'


def _time(stat: Stat) -> str:
    return datetime.datetime.fromtimestamp(stat.mtime, datetime.UTC).strftime(
        "%Y-%m-%dT%H:%M:%S.%fZ"
    )


def _resource(bucket: str, name: str, stat: Stat) -> dict[str, str]:
    return {
        "kind": "storage#object",
        "bucket": bucket,
        "name": name,
        "size": str(stat.size),
        "updated": _time(stat),
        "generation": stat.tag,
    }


def _json(value: object, *, status: int = 200) -> Answer:
    return Answer(status=status, headers=_JSON, body=json.dumps(value).encode())
