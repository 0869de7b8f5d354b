"""Plain requests to a Kubernetes API, for what plays a part of a cluster: paths and objects."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import requests


class KubeApi:
    """The server at `url`, as the owner of `token`; usable from several threads."""

    def __init__(self, url: str, token: str, authority: Path) -> None:
        self.url, self.token, self.authority = url, token, authority

    def get(self, path: str, **query: str) -> dict[str, Any]:
        return self._ask("GET", path, params=query)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._ask("POST", path, json=body)

    def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Content-Type": "application/merge-patch+json"}
        return self._ask("PATCH", path, json=body, headers=headers)

    def delete(self, path: str, *, grace_s: int | None = None) -> dict[str, Any]:
        """Not being there any more is success."""
        body = {} if grace_s is None else {"gracePeriodSeconds": grace_s}
        return self._ask("DELETE", path, json=body, allowed=404)

    def stream(self, path: str, query: dict[str, str]) -> requests.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        where, authority = f"{self.url}{path}", str(self.authority)
        answer = requests.get(
            where, params=query, headers=headers, verify=authority, timeout=30, stream=True
        )
        if not answer.ok:
            raise KubeError(f"GET {path}: {answer.status_code} {answer.text}")
        return answer

    def _ask(
        self,
        method: str,
        path: str,
        *,
        headers: dict[str, str] | None = None,
        allowed: int = 0,
        **how: Any,
    ) -> dict[str, Any]:
        answer = requests.request(
            method,
            f"{self.url}{path}",
            headers={"Authorization": f"Bearer {self.token}", **(headers or {})},
            verify=str(self.authority),
            timeout=30,
            **how,
        )
        if not answer.ok and answer.status_code != allowed:
            raise KubeError(f"{method} {path}: {answer.status_code} {answer.text}")
        found: dict[str, Any] = answer.json()
        return found


class Watched:
    """What a collection holds, by a watch that `follow` keeps up; each change sets `changed`.

    Polling the pods of a Workflow would cost the API server a core: each is tens of kilobytes.
    """

    def __init__(self, api: KubeApi, path: str, changed: threading.Event) -> None:
        self._api, self._path, self._changed = api, path, changed
        self._items: dict[str, dict[str, Any]] = {}  # by uid

    def all(self) -> list[dict[str, Any]]:
        return list(self._items.values())

    def follow(self, stop: threading.Event) -> None:
        """Until `stop`; it begins anew when the API was away."""
        while not stop.is_set():
            try:
                version = self._list()
                while not stop.is_set():
                    version = self._watch(version)
            except (KubeError, requests.RequestException) as error:
                print(f"watch of {self._path}: {error}", file=sys.stderr)
                stop.wait(0.2)

    def _list(self) -> str:
        found = self._api.get(self._path)
        self._items = {item["metadata"]["uid"]: item for item in found["items"]}
        self._changed.set()
        return str(found["metadata"]["resourceVersion"])

    def _watch(self, version: str) -> str:
        """For a second; the version to go on from."""
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "1"}
        with self._api.stream(self._path, query) as answer:
            for line in answer.iter_lines(chunk_size=None):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise KubeError(str(event["object"]))
                version = self._take(event["type"], event["object"])
        return version

    def _take(self, kind: str, item: dict[str, Any]) -> str:
        if kind == "DELETED":
            self._items.pop(item["metadata"]["uid"], None)
        else:
            self._items[item["metadata"]["uid"]] = item
        self._changed.set()
        return str(item["metadata"]["resourceVersion"])


class KubeError(Exception):
    """The server refused, in its own words."""
