"""Connection to Kubeflow Pipelines: address and credentials from flags, environment, file.

Secrets are kept in `Secret`, which shows itself as stars, and are read when a request is made:
the kubelet renews a service account's token every hour.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import UserError
from yt8m.schemas.url import url_problem

SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubeflow/pipelines/token"
_PREFIX = "YT8M_KUBEFLOW_"
_DEFAULT_FILE = "~/.config/yt8m/kubeflow.yaml"


class Secret:
    """A text that never prints itself; read from a file each time when it has one.

    It becomes a header of a request; what cannot be one is refused here, for the library that sends
    it would quote it.
    """

    def __init__(self, value: str = "", *, file: str = "", what: str = "secret") -> None:
        self._value, self._file, self._what = value, file, what

    def read(self) -> str:
        where = f"the {self._what} file {self._file}" if self._file else f"the {self._what}"
        try:
            text = self._value
            if self._file:
                text = Path(self._file).expanduser().read_text(encoding="utf-8")
        except OSError as error:
            raise UserError(f"{where}: {error.strerror}") from error
        except UnicodeDecodeError:
            text = "\0"  # it is not shown
        text = text.strip()
        if not text:
            raise UserError(f"{where} is empty")
        if not (text.isascii() and text.isprintable()):
            raise UserError(f"{where}: must be one line of printable ASCII")
        return text

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__


@dataclass(frozen=True, kw_only=True)
class Connection:
    """Address and credentials of the server; every text may come from flag, environment or file."""

    host: str = ""
    ui_host: str = ""  # for the printed links, where it differs from host
    namespace: str = ""  # the profile, on a multi-user installation
    experiment: str = ""
    owner: str = ""  # who asks, written into what is uploaded and scheduled
    token: str = ""
    token_file: str = ""
    cookie: str = ""
    cookie_file: str = ""
    service_account: bool = False  # the projected token that Kubeflow mounts into a pod
    ca_file: str = ""

    def __repr__(self) -> str:  # the generated one would print the secrets
        return f"Connection(host={self.host!r}, namespace={self.namespace!r})"

    def bearer(self) -> Secret | None:
        if self.service_account:
            path = self.token_file or SERVICE_ACCOUNT_TOKEN
            return Secret(file=path, what="service account token")
        if self.token_file or self.token:
            return Secret(self.token, file=self.token_file, what="token")
        return None

    def cookies(self) -> Secret | None:
        if self.cookie_file or self.cookie:
            return Secret(self.cookie, file=self.cookie_file, what="cookie")
        return None


def load_connection(
    flags: Mapping[str, str | bool | None], environ: Mapping[str, str], file: str = ""
) -> Connection:
    """Flags over environment over file; a wrong key in the file is an error."""
    connection = _read_file(file or environ.get(f"{_PREFIX}CONFIG", ""))
    connection = _over(connection, _from_environment(environ))
    connection = _over(connection, {k: v for k, v in flags.items() if v})
    if not connection.host:
        raise UserError(
            "no Kubeflow Pipelines server named: give --host http://localhost:8080, "
            f"or set {_PREFIX}HOST, or write `host:` into {_DEFAULT_FILE}"
        )
    for option, url in (("--host", connection.host), ("--ui-host", connection.ui_host)):
        if url and (problem := url_problem(url)):
            raise UserError(f"{option} {url}: {problem}")
    if connection.ca_file and not Path(connection.ca_file).is_file():
        raise UserError(f"--ca-file {connection.ca_file}: there is no such file")
    owner = connection.owner or _login(environ)
    return replace(connection, host=connection.host.rstrip("/"), owner=" ".join(owner.split()))


def _login(environ: Mapping[str, str]) -> str:
    """The name that this process goes by; a container's user may have none."""
    for variable in ("LOGNAME", "USER"):
        if environ.get(variable):
            return environ[variable]
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"


def _from_environment(environ: Mapping[str, str]) -> dict[str, str | bool]:
    settings: dict[str, str | bool] = {}
    for field in fields(Connection):
        text = environ.get(_PREFIX + field.name.upper(), "")
        if text:
            is_switch = field.name == "service_account"
            settings[field.name] = text.lower() in ("1", "true", "yes") if is_switch else text
    return settings


def _over(connection: Connection, values: Mapping[str, str | bool]) -> Connection:
    """A token in one source replaces a token file of a weaker one, and so for cookies."""
    cleared: dict[str, str | bool] = {}
    for secret in ("token", "cookie"):
        if values.get(secret) or values.get(f"{secret}_file"):
            cleared |= {secret: "", f"{secret}_file": ""}
    return replace(connection, **{**cleared, **values})  # type: ignore[arg-type]


def _read_file(name: str) -> Connection:
    path = Path(name or _DEFAULT_FILE).expanduser()
    if not path.exists():
        if name:
            raise UserError(f"the connection file {name} does not exist")
        return Connection()
    import yaml

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise UserError(f"the connection file {path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        # The message of the parser quotes the line, which may hold a token.
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise UserError(f"the connection file {path}{line} is not YAML") from None
    if isinstance(data, dict):  # a number would be refused with its value, which is a secret
        data = {k: str(v) if k in ("token", "cookie") else v for k, v in data.items()}
    return from_dict(Connection, data, path=str(path))


def link(connection: Connection, kind: str, identifier: str) -> str:
    """The page of a run, a recurring run or a pipeline version in the user interface."""
    pages = {
        "run": "runs/details",
        "schedule": "recurringrun/details",
        "pipeline": "pipelines/details",
    }
    return f"{(connection.ui_host or connection.host).rstrip('/')}/#/{pages[kind]}/{identifier}"
