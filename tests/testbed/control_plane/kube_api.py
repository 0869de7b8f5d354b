"""Plain requests to a Kubernetes API, for what plays a part of a cluster: paths and objects."""

from __future__ import annotations

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


class KubeError(Exception):
    """The server refused, in its own words."""
