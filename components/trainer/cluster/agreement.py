"""Agreement on the initial state: processes in step exchange their states and compare them.

What was restored is each process's own reading of a directory, which need not be the same one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from yt8m.components.trainer.cluster.collectives import Collectives
from yt8m.schemas.errors import ConfigError


def check_same_state(
    collectives: Collectives, name: str, state: Mapping[str, object], *, directory: str
) -> None:
    """ConfigError, in all processes alike, unless all of them hold the same `state`."""
    own = json.dumps({"name": name, "state": state, "directory": directory})
    processes = [json.loads(text) for text in collectives.exchange(own.encode())]
    differing = [key for key in state if len({json.dumps(p["state"][key]) for p in processes}) > 1]
    if not differing:
        return
    collectives.leave()
    lines = [
        f"  {process['name']}: "
        + ", ".join(f"{key} {process['state'][key]}" for key in differing)
        + f" ({process['directory']})"
        for process in processes
    ]
    raise ConfigError(
        "the processes of this training do not begin with the same state:\n"
        + "\n".join(lines)
        + "\nAll of them must see one directory of checkpoints, and start from the same weights"
    )
