"""TF_CONFIG, parsed and validated before TensorFlow starts anything.

TensorFlow's own checks are weak: an `evaluator` task that is listed in the cluster trains alone,
`ps` passes under MultiWorkerMirrored, a typing error in a key is ignored. Here every wrong text is
a ConfigError which names the field, its value and what is allowed.

A cluster on this machine is given as a text, `chief=1,worker=2,ps=1,evaluator=1`, from which the
TF_CONFIG of each process is made.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from yt8m.schemas.errors import ConfigError

VARIABLE = "TF_CONFIG"
LOOPBACK = "127.0.0.1"


class Role(enum.Enum):
    """Role of one process in a cluster."""

    CHIEF = "chief"
    MASTER = "master"  # a chief that also evaluates its own checkpoints (Estimator's meaning)
    WORKER = "worker"
    PS = "ps"
    EVALUATOR = "evaluator"


class ClusterKind(enum.Enum):
    """Division of work among the processes of a cluster."""

    LOCAL = "local"
    MULTI_WORKER = "multi_worker"
    PARAMETER_SERVER = "parameter_server"


_ROLES = tuple(role.value for role in Role)
_KEYS = ("cluster", "task", "environment", "job", "rpc_layer")
_TASK_KEYS = ("type", "index", "trial", "cloud")  # the last two: hosted services of old
_CHIEFS = (Role.CHIEF, Role.MASTER)
_COUNT = re.compile("[0-9]{1,3}")
_INDEX = re.compile("0|[1-9][0-9]{0,5}")  # ASCII digits alone: `isdigit` takes others, too
_NAME = "[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?[.]?"  # of a host, and an IPv4 address
_ADDRESS = re.compile(
    rf"({_NAME}|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9_.-]+)?\]):(?P<port>[1-9][0-9]{{0,4}})"
)


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Who takes part, and who this process is; no addresses means that it trains alone."""

    role: Role = Role.CHIEF
    index: int = 0
    addresses: Mapping[Role, Mapping[int, str]] = field(default_factory=dict)
    has_evaluator: bool = False  # listed beside those that train; one may run without being so
    is_sparse: bool = False  # TFJob's enableDynamicWorker: a task knows itself and the ps only

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Cluster:
        """The cluster that `TF_CONFIG` of `environ` describes; ConfigError if it is wrong."""
        text = environ.get(VARIABLE, "").strip()
        if not text:
            return cls(role=Role.MASTER)  # alone: trains, and evaluates its own checkpoints
        try:
            data = json.loads(text, object_pairs_hook=_distinct_keys)
        except ValueError as error:
            raise ConfigError(f"{VARIABLE} is not JSON ({error}): {text[:200]}") from error
        return _parse(data)

    @property
    def kind(self) -> ClusterKind:
        if Role.PS in self.addresses:
            return ClusterKind.PARAMETER_SERVER
        return ClusterKind.MULTI_WORKER if len(self.trainers) > 1 else ClusterKind.LOCAL

    @property
    def trainers(self) -> tuple[str, ...]:
        """The addresses that compute gradients under MultiWorkerMirrored, the chief's first."""
        chiefs = [a for role in _CHIEFS for a in self.addresses.get(role, {}).values()]
        return (*chiefs, *self.addresses.get(Role.WORKER, {}).values())

    @property
    def gradient_processes(self) -> int:
        """How many processes compute gradients."""
        is_ps = self.kind is ClusterKind.PARAMETER_SERVER
        workers = self.addresses.get(Role.WORKER, {}) if is_ps else self.trainers
        return max(1, len(workers))

    @property
    def address(self) -> str:
        """This process's own address; empty where it needs none."""
        return self.addresses.get(self.role, {}).get(self.index, "")

    @property
    def is_chief(self) -> bool:
        """True for the one process that writes; worker 0 where nobody is chief or master."""
        if self.role in _CHIEFS:
            return True
        has_chief = any(role in self.addresses for role in _CHIEFS)
        alone = self.kind is not ClusterKind.PARAMETER_SERVER and not has_chief
        return alone and self.role is Role.WORKER and self.index == 0

    @property
    def position(self) -> float:
        """Where this process stands among those it knows, from 0 up to 1, for work they share."""
        known = [(role, index) for role, tasks in self.addresses.items() for index in tasks]
        mine = (self.role, self.index)
        return known.index(mine) / len(known) if mine in known else 0.0

    @property
    def evaluates_itself(self) -> bool:
        """True where training and continuous evaluation share this process."""
        return self.role is Role.MASTER and self.kind is not ClusterKind.PARAMETER_SERVER

    @property
    def peers(self) -> dict[str, str]:
        """`name -> address` of the tasks which must be reachable before this one can begin."""
        if self.kind is ClusterKind.LOCAL or self.role is Role.EVALUATOR:
            return {}
        named = {
            f"{role.value} {index}": address
            for role, tasks in self.addresses.items()
            for index, address in tasks.items()
            if (role, index) != (self.role, self.index)
        }
        if self.kind is ClusterKind.MULTI_WORKER or self.is_chief:
            return named
        # Workers fetch from every ps, and each ps from every worker; a sparse one is known to none.
        other = Role.WORKER if self.role is Role.PS else Role.PS
        roles = _CHIEFS if self.is_sparse else (*_CHIEFS, other)
        return {n: a for n, a in named.items() if Role(n.split()[0]) in roles}

    @property
    def chief_address(self) -> str:
        """The address of the chief or master; empty where this process does not know it."""
        chiefs = (a for role in _CHIEFS for a in self.addresses.get(role, {}).values())
        return next(chiefs, "")

    def to_tensorflow(self) -> dict[str, Any]:
        """TF_CONFIG in the dialect that tf.distribute understands: no master, no evaluator."""
        cluster: dict[str, Any] = {}
        for role, tasks in self.addresses.items():
            name = _tensorflow_name(role)
            dense = list(tasks) == list(range(len(tasks)))
            cluster[name] = list(tasks.values()) if dense else dict(tasks)
        task = {"type": _tensorflow_name(self.role), "index": self.index}
        return {"cluster": cluster, "task": task}

    def __str__(self) -> str:
        return self.role.value if self.role in _CHIEFS else f"{self.role.value} {self.index}"


def _tensorflow_name(role: Role) -> str:
    return Role.CHIEF.value if role is Role.MASTER else role.value


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of a key given twice json itself would drop the first."""
    distinct: dict[str, Any] = {}
    for key, value in pairs:
        _check(key not in distinct, "key", key, "given once: it is given twice in one object")
        distinct[key] = value
    return distinct


def _parse(data: Any) -> Cluster:
    _mapping(data, VARIABLE)
    _known_keys(data, _KEYS, VARIABLE)
    environment = data.get("environment", "cloud")
    _check(isinstance(environment, str), "environment", environment, "a text such as cloud")
    addresses, is_sparse = _addresses(data.get("cluster") or {})
    role, index = _task(data.get("task"), required=bool(addresses))
    _check_roles(addresses, role, is_sparse)
    _check_task(addresses, role, index)
    evaluators = addresses.pop(Role.EVALUATOR, {})
    return Cluster(
        role=role,
        index=index,
        addresses=addresses,
        has_evaluator=bool(evaluators),
        is_sparse=is_sparse,
    )


def _addresses(cluster: Any) -> tuple[dict[Role, dict[int, str]], bool]:
    """Addresses by role, and whether this is TFJob's sparse form (`worker` is a mapping)."""
    _mapping(cluster, "cluster")
    _known_keys(cluster, _ROLES, "cluster")
    by_role: dict[Role, dict[int, str]] = {}
    for name, tasks in cluster.items():
        path = f"cluster.{name}"
        if isinstance(tasks, Mapping):
            parsed = {_sparse_index(key, path): _address(a, path) for key, a in tasks.items()}
        else:
            _check(isinstance(tasks, list), path, tasks, "a list of host:port")
            parsed = {i: _address(a, f"{path}[{i}]") for i, a in enumerate(tasks)}
        if parsed:
            by_role[Role(name)] = dict(sorted(parsed.items()))
    _check_distinct(by_role)
    return by_role, any(isinstance(tasks, Mapping) for tasks in cluster.values())


def _sparse_index(key: Any, path: str) -> int:
    _check(
        _INDEX.fullmatch(str(key)) is not None, path, key, "a mapping of task indices to host:port"
    )
    return int(key)


def _address(value: Any, path: str) -> str:
    match = _ADDRESS.fullmatch(value) if isinstance(value, str) else None
    valid = match is not None and int(match["port"]) < 65536
    _check(valid, path, value, "host:port with a port 1-65535, an IPv6 host as [host]:port")
    return str(value)


def _check_distinct(addresses: Mapping[Role, Mapping[int, str]]) -> None:
    seen: dict[str, str] = {}
    for role, tasks in addresses.items():
        for index, address in tasks.items():
            path = f"cluster.{role.value}[{index}]"
            other = seen.setdefault(address, path)
            _check(other == path, path, address, f"an address of its own; {other} has this one")


def _task(task: Any, *, required: bool) -> tuple[Role, int]:
    if task is None:
        _check(not required, "task", task, 'given beside cluster, as {"type": ..., "index": ...}')
        return Role.MASTER, 0
    _mapping(task, "task")
    _known_keys(task, _TASK_KEYS, "task")
    name, index = task.get("type"), task.get("index")
    _check(name in _ROLES, "task.type", name, f"one of {', '.join(_ROLES)}")
    if isinstance(index, str) and _INDEX.fullmatch(index):
        index = int(index)  # hosted services of old wrote it as a text
    is_index = isinstance(index, int) and not isinstance(index, bool) and index >= 0
    _check(is_index, "task.index", index, "a whole number, 0 or more")
    return Role(name), int(index)


def _check_roles(addresses: Mapping[Role, Mapping[int, str]], role: Role, is_sparse: bool) -> None:
    chiefs = [r for r in _CHIEFS if r in addresses]
    _check(len(chiefs) < 2, "cluster", "chief and master", "either chief or master, not both")
    for single in (*_CHIEFS, Role.EVALUATOR):
        tasks = addresses.get(single, {})
        path = f"cluster.{single.value}"
        _check(len(tasks) < 2, path, list(tasks.values()), "one address: there is only one")
    trainers = [r for r in addresses if r is not Role.EVALUATOR]
    if is_sparse or not trainers:
        return
    if Role.PS in addresses:
        _check(
            bool(chiefs), "cluster", _names(addresses), "with a chief, which leads ps and workers"
        )
        _check(Role.WORKER in addresses, "cluster", _names(addresses), "with a worker beside ps")


def _check_task(addresses: Mapping[Role, Mapping[int, str]], role: Role, index: int) -> None:
    if role in (*_CHIEFS, Role.EVALUATOR):
        _check(index == 0, "task.index", index, f"0: there is one {role.value}")
    if role is Role.EVALUATOR:
        return  # it watches the checkpoints and needs no address
    others = [r for r in addresses if r is not Role.EVALUATOR]
    if not others:
        alone = role is not Role.PS and index == 0
        where = f"{role.value} {index}"
        _check(alone, "task", where, "listed in cluster, which is empty here")
        return
    allowed = f"one of {', '.join(_names(addresses))}, the roles that cluster lists"
    _check(role in addresses, "task.type", role.value, allowed)
    indices = list(addresses[role])
    known = f"one of {', '.join(map(str, indices))}: cluster.{role.value} lists no other"
    _check(index in indices, "task.index", index, known)


def _names(addresses: Mapping[Role, Any]) -> list[str]:
    return [role.value for role in addresses]


def _mapping(value: Any, path: str) -> None:
    _check(isinstance(value, Mapping), path, value, "a JSON object")


def _known_keys(data: Mapping[str, Any], known: tuple[str, ...], path: str) -> None:
    for key in data:
        _check(key in known, f"{path} key", key, f"one of {', '.join(known)}")


def _check(condition: bool, path: str, value: Any, allowed: str) -> None:
    if not condition:
        where = path if path.startswith(VARIABLE) else f"{VARIABLE}: {path}"
        raise ConfigError(f"{where} = {value!r}: must be {allowed}")


def parse_processes(text: str) -> dict[Role, int]:
    """`chief=1,worker=2,ps=1,evaluator=1` as numbers by role; ConfigError says what is wrong."""
    counts: dict[Role, int] = {}
    roles = {role.value: role for role in Role}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, number = (word.strip() for word in part.partition("="))
        if name not in roles or not _COUNT.fullmatch(number or "1"):
            raise ConfigError(
                f"processes {part!r}: must be role=number, roles {', '.join(roles)}, "
                "as in chief=1,worker=2,ps=1,evaluator=1"
            )
        if roles[name] in counts:
            raise ConfigError(f"processes: {name} is given twice")
        counts[roles[name]] = int(number or 1)
    counts = {role: count for role, count in counts.items() if count}
    if not counts:
        raise ConfigError(f"processes {text!r}: there must be at least one process")
    return counts


def cluster_configs(
    counts: Mapping[Role, int], ports: Sequence[int]
) -> dict[tuple[Role, int], str]:
    """TF_CONFIG of each process; each is checked as that process will check it."""
    remaining = iter(ports)
    cluster = {
        role.value: [f"{LOOPBACK}:{next(remaining)}" for _ in range(count)]
        for role, count in counts.items()
    }
    configs = {}
    for role, count in counts.items():
        for index in range(count):
            task = {"type": role.value, "index": index}
            configs[role, index] = json.dumps({"cluster": cluster, "task": task})
            Cluster.from_env({VARIABLE: configs[role, index]})
    return configs


def find_processes_problem(text: str, *, waiting: str = "") -> str:
    """The problem that `check_processes` finds; empty for none."""
    try:
        check_processes(text, waiting=waiting)
    except ConfigError as error:
        return str(error)
    return ""


def check_processes(text: str, *, waiting: str = "") -> None:
    """ConfigError unless `text` is a cluster, and one that evaluates if any setting is `waiting`.

    `waiting` is `TrainerConfig.waits_for_evaluations`.
    """
    counts = parse_processes(text)
    configs = cluster_configs(counts, range(1, 1 + sum(counts.values())))
    clusters = [Cluster.from_env({VARIABLE: config}) for config in configs.values()]
    if waiting and not any(c.evaluates_itself or c.role is Role.EVALUATOR for c in clusters):
        raise ConfigError(
            f"processes {text!r}: there is no evaluator, and {waiting} needs one; add "
            "evaluator=1 (a master without ps evaluates by itself)"
        )
