"""Requests to the v2beta1 API: their errors explained, and which of them are tried again.

A request that may have been carried out (a time-out, a dropped connection, a 5xx) is repeated
blindly only when repeating it changes nothing. A create is looked for before it is sent again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import kfp_server_api
import urllib3
from kfp_server_api.exceptions import ApiException, ApiTypeError, ApiValueError

from yt8m.components.storage.retry import Backoff
from yt8m.kubeflow.server.connection import Connection
from yt8m.schemas.errors import EXIT_UNKNOWN, UserError, Yt8mError

T = TypeVar("T")
_API = "/apis/v2beta1"
# A pair, because the generated client silently ignores a single float.
_TIMEOUT_S = (10.0, 60.0)
_LONGEST_TEXT = 500
_INTERNAL_ERROR = 500
_NO_DATE = "Failed to parse `"
# By what each thing is asked for later.
_IDS = {
    "V2beta1Pipeline": "pipeline_id",
    "V2beta1PipelineVersion": "pipeline_version_id",
    "V2beta1Experiment": "experiment_id",
    "V2beta1Run": "run_id",
    "V2beta1RecurringRun": "recurring_run_id",
}
_TITLE = re.compile("<title>([^<]*)</title>", re.IGNORECASE)


class ServerError(Yt8mError):
    """The server could not be asked, or failed (429, 5xx); `unsure` if it may have acted."""

    def __init__(
        self, message: str, *, status: int = 0, unsure: bool, wait_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.unsure, self.wait_s = status, unsure, wait_s


class UnknownOutcomeError(Yt8mError):
    """What was asked for may have been done or not: the server cannot be asked."""

    exit_code = EXIT_UNKNOWN


class RefusedError(UserError):
    """The server declined: a wrong id, no permission, already there. Or it is another program."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class RetryPolicy(Backoff):
    """Repeats requests, and looks before it repeats a create."""

    attempts: int = 5

    def repeat(self, action: Callable[[], T]) -> T:
        """`action` until it succeeds; for requests that may be carried out twice."""
        return self._run(action, look_up=None)

    def create(self, action: Callable[[], T], look_up: Callable[[], T | None]) -> T:
        """`action` at most once in effect: what an unsure attempt left is found by `look_up`.

        A 500 is looked up too, but never repeated: the API server answers it after it has made
        objects in the cluster which no list shows.
        """
        return self._run(action, look_up=look_up)

    def _run(self, action: Callable[[], T], look_up: Callable[[], T | None] | None) -> T:
        for attempt in range(self.attempts):
            try:
                return action()
            except RefusedError as error:
                # Made by an attempt before, or by somebody else at the same moment.
                existing = look_up() if look_up and error.status == 409 else None
                if existing is None:
                    raise
                return existing
            except ServerError as error:
                # Waiting before looking: the server may still be writing.
                if attempt + 1 < self.attempts or (look_up and error.unsure):
                    self.sleep(self.wait_s(attempt, error.wait_s))
                if look_up and error.unsure:
                    existing = _found(look_up, error)
                    if existing is not None:
                        return existing
                is_half_done = look_up is not None and error.status == _INTERNAL_ERROR
                if is_half_done or attempt + 1 == self.attempts:
                    raise
        raise AssertionError("attempts must be 1 or more")


def _found(look_up: Callable[[], T | None], unsure: ServerError) -> T | None:
    try:
        return look_up()
    except (ServerError, RefusedError) as error:
        raise UnknownOutcomeError(
            f"{unsure}. It may have been done all the same, and cannot be looked for ({error}): "
            "see with `yt8m kubeflow list` before you repeat the command"
        ) from None


class HttpTransport:
    """The generated client without its method names, which differ from version to version."""

    def __init__(
        self, connection: Connection, *, timeout_s: tuple[float, float] = _TIMEOUT_S
    ) -> None:
        self._host, self._timeout_s = connection.host, timeout_s
        self._cookie = connection.cookies()
        self._token = connection.bearer()
        configuration = kfp_server_api.Configuration(host=connection.host)
        # urllib3's own retries would repeat a POST unseen, and follow a redirect to a login page.
        configuration.retries = urllib3.Retry(0, redirect=0)
        if connection.ca_file:
            configuration.ssl_ca_cert = connection.ca_file
        if self._token is not None:
            configuration.api_key_prefix["authorization"] = "Bearer"
            configuration.api_key["authorization"] = "read when a request is made"
            configuration.refresh_api_key_hook = self._refresh
        self._client = kfp_server_api.ApiClient(configuration)

    def _refresh(self, configuration: Any) -> None:
        if self._token is not None:
            configuration.api_key["authorization"] = self._token.read()

    def request(
        self,
        method: str,
        path: str,
        answer: str,
        *,
        query: Mapping[str, str | int | None] | None = None,
        body: Any = None,
        file: str = "",
    ) -> Any:
        """The answer as the model named `answer` ("object" where nothing is expected)."""
        pairs = [(k, v) for k, v in (query or {}).items() if v not in (None, "")]
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if file:
            headers["Content-Type"] = "multipart/form-data"
        if self._cookie is not None:
            headers["Cookie"] = self._cookie.read()
        try:
            data: Any = self._client.call_api(
                _API + path,
                method,
                query_params=pairs,
                header_params=headers,
                body=body,
                post_params=_upload(file) if file else None,
                response_type=answer,
                auth_settings=["Bearer"],
                _return_http_data_only=True,
                _request_timeout=self._timeout_s,
            )
            self._expect_answer(method, data)
            _expect_ids(data, answer)
        except ApiException as error:
            raise self._explain(error, method, path) from None
        except urllib3.exceptions.HTTPError as error:
            raise self._unreachable(error, method, path) from None
        except (ApiTypeError, ApiValueError, ValueError, AttributeError, TypeError) as error:
            raise self._strange(str(error), f"{method} {self._host}{_API}{path}") from None
        return data

    def _expect_answer(self, method: str, data: Any) -> None:
        """The generated client makes an empty model of a page of HTML, which is a login page.

        It does so with another program's JSON, too, as if there were nothing to list. Only what is
        done, and has nothing to tell, may have no text.
        """
        text = self._client.last_response.data or ("" if method == "GET" else "{}")
        entries = json.loads(text)
        if not isinstance(entries, dict):
            raise ValueError("not a JSON object")
        known = set(getattr(data, "attribute_map", {}).values())
        if known and entries and not known & set(entries):
            raise ValueError(f"it has {', '.join(entries)}")

    def _explain(self, error: ApiException, method: str, path: str) -> ServerError | RefusedError:
        status = int(error.status or 0)
        where = f"{method} {self._host}{_API}{path}"
        said = _said(error.body)
        if status in (301, 302, 303, 307, 308, 401):
            return self._login(status)
        if status == 403:
            return RefusedError(
                f"{where}: permission denied ({said}); on a multi-user installation give "
                "--namespace with your profile, and a token that may use it",
                status=status,
            )
        if status == 0:  # how the generated client tells of TLS, and of a date that is none
            if str(error.reason).startswith(_NO_DATE):
                return self._strange(str(error.reason), where)
            return self._distrusted(str(error.reason), where)
        if status == 429 or status >= 500:
            wait = _seconds((error.headers or {}).get("Retry-After"))
            unsure = status != 429
            return ServerError(
                f"{where}: {status} {said}", status=status, unsure=unsure, wait_s=wait
            )
        hint = "" if _json(error.body) else "; is --host the address of Kubeflow Pipelines v2?"
        return RefusedError(f"{where}: {status} {said}{hint}", status=status)

    def _login(self, status: int) -> RefusedError:
        return RefusedError(
            f"{self._host} requires a login (status {status}): give --token-file or --cookie-file, "
            "or --service-account inside a pod; a token may also have run out",
            status=401,
        )

    def _strange(self, detail: str, where: str) -> RefusedError:
        return RefusedError(
            f"{where}: the answer is not that of Kubeflow Pipelines v2 ({_short(detail)}); "
            "is --host its address?",
            status=200,
        )

    def _distrusted(self, detail: str, where: str) -> RefusedError:
        return RefusedError(
            f"{where}: {_short(detail)}; if the server's certificate is signed by an authority of "
            "your own, give that with --ca-file",
            status=0,
        )

    def _unreachable(self, error: Exception, method: str, path: str) -> ServerError | RefusedError:
        before = (
            urllib3.exceptions.NewConnectionError,
            urllib3.exceptions.ConnectTimeoutError,
        )
        error = getattr(error, "reason", None) or error  # what urllib3 wrapped as MaxRetryError
        if isinstance(error, urllib3.exceptions.LocationValueError):
            return RefusedError(
                f"--host {self._host}: no URL of a server ({_short(str(error))}); write it like "
                "http://localhost:8080",
                status=0,
            )
        if isinstance(error, urllib3.exceptions.ResponseError):
            return self._login(302)
        if isinstance(error, urllib3.exceptions.SSLError):
            return self._distrusted(str(error), f"{method} {self._host}{_API}{path}")
        never_sent = isinstance(error, before)
        detail = re.sub(r"^<[^>]*>: ", "", str(error))
        return ServerError(
            f"{method} {self._host}{_API}{path}: {_short(detail)}"
            + ("; is the server up, and --host its address?" if never_sent else ""),
            unsure=not never_sent,
        )


def _expect_ids(data: Any, answer: str) -> None:
    """What the server shows, alone or in a list, has an id."""
    name = _IDS.get(answer)
    if name and not getattr(data, name):
        raise ValueError(f"it has no {name}")
    for field, kind in getattr(data, "openapi_types", {}).items():
        listed = kind.removeprefix("list[").removesuffix("]")
        if listed != kind and listed in _IDS:
            for item in getattr(data, field) or []:
                _expect_ids(item, listed)


def _upload(file: str) -> list[tuple[str, tuple[str, bytes, str]]]:
    """The server takes a file for YAML by its name alone."""
    return [("uploadfile", ("pipeline.yaml", Path(file).read_bytes(), "application/yaml"))]


def _said(body: Any) -> str:
    """The server's own message, without the stack of Go errors that follows it."""
    data, text = _json(body), _text(body)
    if data:
        return _short(
            str(data.get("error_message") or data.get("message") or data.get("error") or text)
        )
    title = _TITLE.search(text)  # of a page: of a proxy, or of another program
    return _short(title[1] if title else text)


def _json(body: Any) -> dict[str, Any]:
    """The JSON object of an answer; empty where it has none."""
    try:
        data = json.loads(_text(body))
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _text(body: Any) -> str:
    return body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body or "")


def _short(text: str) -> str:
    lines: Sequence[str] = text.strip().splitlines()
    first = lines[0] if lines else "(no message)"
    return first if len(first) <= _LONGEST_TEXT else first[:_LONGEST_TEXT] + "..."


def _seconds(text: str | None) -> float | None:
    return float(text) if text and text.isdigit() else None
