"""A cluster on this machine as a text: `chief=1,worker=2,ps=1,evaluator=1`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from yt8m.components.trainer.tf_config import VARIABLE, Cluster, Role
from yt8m.schemas.errors import ConfigError

HOST = "127.0.0.1"
_COUNT = re.compile("[0-9]{1,3}")


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
        raise ConfigError(f"processes {text!r}: no process at all")
    return counts


def cluster_configs(
    counts: Mapping[Role, int], ports: Sequence[int]
) -> dict[tuple[Role, int], str]:
    """TF_CONFIG of each process; each is checked as that process will check it."""
    remaining = iter(ports)
    cluster = {
        role.value: [f"{HOST}:{next(remaining)}" for _ in range(count)]
        for role, count in counts.items()
    }
    configs = {}
    for role, count in counts.items():
        for index in range(count):
            task = {"type": role.value, "index": index}
            configs[role, index] = json.dumps({"cluster": cluster, "task": task})
            Cluster.from_env({VARIABLE: configs[role, index]})
    return configs


def problem_of(text: str, *, waiting: str = "") -> str:
    """What `check_processes` finds wrong; empty for nothing."""
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
            f"processes {text!r}: nobody evaluates, and {waiting} would wait for it in vain; add "
            "evaluator=1 (a master without ps evaluates by itself)"
        )
