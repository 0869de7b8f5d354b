"""Runs a compiled pipeline in kfp's own local DockerRunner.

    python kfp_local_run.py SPEC.yaml ROOT [--param NAME=VALUE]... [--mount DIR]...
        [--processes PYTHON]

With --processes no Docker daemon is needed: kfp does all that it does, and where
it would start a container the container's command is run here by PYTHON, which has yt8m.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
from kfp import components, local


class ProcessContainer:
    """What the docker SDK gives for a started container."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**kept, **environment},
            cwd=tempfile.gettempdir(),  # not the checkout, as in the image
        )

    def logs(self, *, stream: bool) -> Iterator[bytes]:
        assert stream
        assert self._process.stdout is not None
        yield from self._process.stdout

    def wait(self) -> dict[str, int]:
        return {"StatusCode": self._process.wait()}


class ProcessDocker:
    """As much of docker.DockerClient as kfp uses."""

    def __init__(self, python: str) -> None:
        self._python = python
        self.images = self.containers = self

    def info(self) -> dict[str, Any]:
        return {}

    def list(self) -> list[Any]:
        return []

    def pull(self, *image: str, **named: str) -> None:  # as the version of kfp calls it
        pass

    def close(self) -> None:
        pass

    def run(self, *, command: list[str], environment: Any = None, **_: Any) -> ProcessContainer:
        words = [self._python if command[0] == "python" else command[0], *command[1:]]
        return ProcessContainer(words, dict(environment or {}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spec")
    parser.add_argument("root", type=Path)
    parser.add_argument("--mount", type=Path, action="append", default=[])
    parser.add_argument("--processes", metavar="PYTHON", default="")
    parser.add_argument("--param", metavar="NAME=VALUE", action="append", default=[])
    args = parser.parse_args()
    if args.processes:
        docker.from_env = lambda: ProcessDocker(args.processes)
        runner = local.DockerRunner()
    else:
        mounts = [docker.types.Mount(str(m), str(m), type="bind") for m in args.mount]
        runner = local.DockerRunner(
            mounts=mounts,
            user=str(os.getuid()),  # whose files they are
            environment={"HOME": "/tmp"},
            network_mode="none",
        )
    local.init(runner=runner, pipeline_root=str(args.root.resolve()), raise_on_error=True)
    pipeline = components.load_component_from_file(args.spec)
    pipeline(**dict(parameter.split("=", 1) for parameter in args.param))


if __name__ == "__main__":
    main()
