"""A pod whose containers are processes of this machine.

They share a network and a host name. Each has PIDs, a root, /tmp and /dev of its own; its image is
this machine's file system.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
from pod_network import address_of, plug_in

_LAST_LINES = 80  # of a log, as the message of a container that failed
_TERMINATION_LOG = "/dev/termination-log"
# Keeps the network and the host name while containers come and go; it waits for its network.
_SANDBOX = 'read -r _; hostname "$1"; exec sleep infinity'
# PID 1 of a container, whose root has what this machine's has, but for what is mounted there.
# Links are resolved inside that root: /var/run is one to /run, which is this machine's own.
_START = """
set -e
root="$1/root"
mount -t tmpfs tmpfs "$root"
for place in /*; do
  case "$place" in /run | /mnt | /tmp | /dev) continue ;; esac
  if [ -L "$place" ]; then
    cp -P "$place" "$root"
  elif [ -d "$place" ]; then
    mkdir "$root$place"
    mount --rbind "$place" "$root$place"
  fi
done
mkdir "$root/dev"
mkdir -m 1777 "$root/tmp" "$root/dev/shm"
for device in null zero full random urandom tty; do
  : > "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"
while read -r source target; do
  place="$root$(chroot "$root" realpath -m "$target")"
  mkdir -p "${place%/*}"
  if [ -d "$source" ]; then mkdir -p "$place"; elif [ ! -e "$place" ]; then : > "$place"; fi
  mount --bind "$source" "$place"
done < "$1/mounts"
shift
exec chroot "$root" "$@" < /dev/null
"""
# Whoever starts a pod takes it along when it dies.
_LEASH = ("setpriv", "--pdeathsig", "KILL")
_NETWORK = ("unshare", "--net", "--uts", "sh", "-c", _SANDBOX, "sh")
_ALONE = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


class Pod:
    """One that was bound to this node. `advance` starts what is due, `status` says what it is."""

    def __init__(self, manifest: dict[str, Any], directory: Path, number: int) -> None:
        metadata, spec = manifest["metadata"], manifest["spec"]
        assert spec["restartPolicy"] == "Never", "no container is started a second time"
        self.key = metadata["namespace"], metadata["name"]
        self.reported: dict[str, Any] = {}
        self._address, self._started = address_of(number), _now()
        self._host = spec.get("hostname") or metadata["name"]
        self._sandbox = subprocess.Popen(
            [*_LEASH, *_NETWORK, self._host], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        plug_in(self._sandbox.pid, self._address, number=number)
        assert self._sandbox.stdin is not None
        self._sandbox.stdin.write(b"go\n")
        self._sandbox.stdin.close()

        def those(kind: str) -> list[Container]:
            return [Container(one, directory / one["name"]) for one in spec.get(kind, [])]

        self._first, self._main = those("initContainers"), those("containers")
        self._is_asked_to_end_at = 0.0

    @property
    def address(self) -> str:
        return self._address

    def log_of(self, container: str = "") -> Path:
        """Without a name: that of the container which does the work, as kubectl chooses it."""
        named = {one.name: one.log for one in [*self._first, *self._main]}
        return named[container or ("main" if "main" in named else self._main[0].name)]

    def due(self) -> list[Container]:
        """What is to be started now: one after the other, then all together."""
        if self._is_asked_to_end_at:
            return []
        for one in self._first:
            if one.code != 0:
                return [] if one.is_started else [one]
        return [one for one in self._main if not one.is_started]

    def start(
        self, container: Container, mounts: Mapping[str, Path], variables: Mapping[str, str]
    ) -> None:
        spaces = [f"--{kind}=/proc/{self._sandbox.pid}/ns/{kind}" for kind in ("net", "uts")]
        container.start(["nsenter", *spaces], mounts, {**variables, "HOSTNAME": self._host})

    def kill(self) -> None:
        for one in [*self._first, *self._main]:
            one.kill()
        self._sandbox.kill()
        self._sandbox.wait()

    def stop(self, grace_s: float) -> bool:
        """SIGTERM, and SIGKILL when the time is over; True once it has ended.

        Without any grace nothing is asked: what hears SIGTERM may still act before it is killed.
        """
        now, everything = time.monotonic(), [*self._first, *self._main]
        if grace_s > 0 and not self._is_asked_to_end_at:
            self._is_asked_to_end_at = now
            for one in everything:
                one.ask_to_end()
        is_patient = now - self._is_asked_to_end_at < grace_s
        if is_patient and any(one.is_running for one in everything):
            return False
        self.kill()
        return True

    def _phase(self) -> str:
        if any(one.code for one in self._first):
            return "Failed"
        if not all(one.is_started for one in self._main):
            return "Pending"
        if any(one.is_running for one in self._main):
            return "Running"
        return "Failed" if any(one.code for one in self._main) else "Succeeded"

    def status(self) -> dict[str, Any]:
        phase = self._phase()
        if phase in ("Failed", "Succeeded"):
            self._sandbox.kill()
        ready = str(phase == "Running")
        initialized = str(all(one.code == 0 for one in self._first))
        found: dict[str, Any] = {
            "phase": phase,
            "startTime": self._started,
            "podIP": self._address,
            "podIPs": [{"ip": self._address}],
            "conditions": [
                {"type": "PodScheduled", "status": "True"},
                {"type": "Initialized", "status": initialized},
                {"type": "Ready", "status": ready},
                {"type": "ContainersReady", "status": ready},
            ],
            "containerStatuses": [one.status() for one in self._main],
        }
        if self._first:
            found["initContainerStatuses"] = [one.status() for one in self._first]
        return found


class Container:
    """One process, once it is started."""

    def __init__(self, spec: dict[str, Any], directory: Path) -> None:
        self.name, self.spec = spec["name"], spec
        self.log = directory / "log"
        self._directory, self._ended = directory, ""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_started(self) -> bool:
        return self._process is not None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def code(self) -> int | None:
        return None if self._process is None else self._process.poll()

    def start(
        self, within: Sequence[str], mounts: Mapping[str, Path], variables: Mapping[str, str]
    ) -> None:
        """`mounts` are places of this machine, by the path that each has in the container."""
        (self._directory / "root").mkdir(parents=True)
        said = self._directory / "termination-log"
        said.touch()
        mounts = {**mounts, self.spec.get("terminationMessagePath", _TERMINATION_LOG): said}
        lines = [f"{mounts[target]} {target}\n" for target in sorted(mounts)]
        (self._directory / "mounts").write_text("".join(lines))
        words = [*self.spec["command"], *self.spec.get("args", [])]
        command = [expand(word, variables) for word in words]
        self._started = _now()
        self._process = subprocess.Popen(
            [*_LEASH, *within, *_ALONE, "sh", "-c", _START, "sh", str(self._directory), *command],
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._reader = threading.Thread(target=self._keep_log)
        self._reader.start()

    def _keep_log(self) -> None:
        """Each line with the time at which it came, in a form whose order is that of time."""
        assert self._process is not None
        assert self._process.stdout is not None
        with self.log.open("a", encoding="utf-8") as log:
            for line in self._process.stdout:
                log.write(f"{_now(fraction=True)} {line.decode(errors='replace').rstrip()}\n")
                log.flush()

    def ask_to_end(self) -> None:
        if self._process is not None:
            with contextlib.suppress(psutil.NoSuchProcess):
                for child in psutil.Process(self._process.pid).children():
                    child.terminate()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._reader.join()

    def status(self) -> dict[str, Any]:
        code = self.code
        if not self.is_started:
            state = {"waiting": {"reason": "PodInitializing"}}
        elif code is None:
            state = {"running": {"startedAt": self._started}}
        else:
            self._reader.join()
            self._ended = self._ended or _now()
            state = {"terminated": self._termination(code)}
        return {
            "name": self.name,
            "image": self.spec["image"],
            "imageID": "",
            "ready": self.is_running,
            "restartCount": 0,
            "state": state,
        }

    def _termination(self, code: int) -> dict[str, Any]:
        ended = {
            "exitCode": 128 - code if code < 0 else code,
            "reason": "Error" if code else "Completed",
            "startedAt": self._started,
            "finishedAt": self._ended,
        }
        message = (self._directory / "termination-log").read_text(encoding="utf-8")
        falls_back = self.spec.get("terminationMessagePolicy") == "FallbackToLogsOnError"
        if code and not message and falls_back:
            lines = self.log.read_text(encoding="utf-8").splitlines()[-_LAST_LINES:]
            message = "\n".join(line.partition(" ")[2] for line in lines)[-2048:]
        return ended | ({"message": message[-4096:]} if message else {})


def image_variables(path: Sequence[Path]) -> dict[str, str]:
    """What an image would say; `path` has the programs of others' images."""
    kept = {name: os.environ[name] for name in ("TF_CPP_MIN_LOG_LEVEL",) if name in os.environ}
    places = [str(Path(sys.executable).parent), *map(str, path), os.environ["PATH"]]
    return kept | {"PATH": ":".join(places), "HOME": "/tmp"}


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Variables as Kubernetes writes them in commands and values."""
    return re.sub(r"\$\((\w+)\)", lambda match: variables.get(match[1], match[0]), text)


def moment(seconds: float, *, fraction: bool = False) -> str:
    at = datetime.fromtimestamp(seconds, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%f000Z" if fraction else "%Y-%m-%dT%H:%M:%SZ")


def _now(*, fraction: bool = False) -> str:
    return moment(time.time(), fraction=fraction)
