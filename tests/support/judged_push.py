"""Pushes a model that was compared with what is in service now, once told to. Run as a script.

    python judged_push.py MODEL PUSH_DIR

It prints "ready" when it has looked, waits for a line on its input, pushes, and prints the number
of the new version, or "held" when something else came into service meanwhile.
"""

from __future__ import annotations

import sys

from registry_models import blessed_record

from yt8m.components.registry.outcomes import StaleBaselineError
from yt8m.components.registry.push import push
from yt8m.components.registry.versions import in_service


def main(model: str, push_dir: str) -> None:
    judged = in_service(push_dir)
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        print(push(model, push_dir, blessed_record(), replaces=judged).number, flush=True)
    except StaleBaselineError:
        print("held", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
