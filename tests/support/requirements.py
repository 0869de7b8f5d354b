"""Programs and rights beside Python that some tests need: how each is found, what installs it.

A test says what it needs by `@pytest.mark.needs("chromium", ...)`; `tests/conftest.py` skips it
where that is missing, and says at the end of a run how many were skipped, of what, and what to do.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REQUIRE_ALL = "YT8M_REQUIRE_ALL"  # set to 1: what is missing is a failure
APT = "apt-get install -y --no-install-recommends"
_VENV = Path(__file__).parents[2] / ".venv"
# Where Debian puts servers; an ordinary user's PATH does not lead there.
_SERVER_PATH = "/usr/sbin:/usr/libexec"
CONTROL_PLANE = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "jobset",
    "manifests/serving.kserve.io_inferenceservices.yaml",
    "manifests/kubeflow.org_tfjobs.yaml",
)


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """Something outside Python; Debian's `package` that brings it, or what to do `otherwise`."""

    find: Callable[[], object]
    package: str = ""
    otherwise: str = ""


def program(*names: str) -> str | None:
    """The first of these programs that is installed."""
    found = (shutil.which(name) or shutil.which(name, path=_SERVER_PATH) for name in names)
    return next(filter(None, found), None)


def chromium_program() -> str | None:
    return program("chromium", "chromium-browser", "google-chrome")


def fake_gcs_program() -> str | None:
    """As `make fake-gcs-server` builds it, of tests/testbed/servers/fake_gcs/go.mod."""
    return shutil.which("fake-gcs-server", path=str(_built() / "bin"))


def control_plane_programs() -> Path | None:
    """Where `make control-plane` puts them; tests/testbed/control_plane/go.mod has the versions."""
    place = _built() / "control-plane"
    return place if all((place / name).exists() for name in CONTROL_PLANE) else None


def argo_programs() -> Path | None:
    """Where `make argo` puts Argo's controller and executor; tests/testbed/kubeflow/argo/go.mod."""
    place = _built() / "argo"
    return place if (place / "manifests").is_dir() else None  # made last


def flink_programs() -> Path | None:
    """Where `make flink` puts Flink and Beam's job server, of tests/testbed/engines."""
    place = _built() / "flink"
    return place if (place / "unlisted-jars.jar").exists() else None  # made last


def spark_programs() -> Path | None:
    """Where `make spark` puts Spark and Beam's job server for it."""
    place = _built() / "spark"
    return place if any(place.glob("beam-runners-spark-3-*.jar")) else None


def prism_program() -> str | None:
    """As `make prism` builds it: of the version in tests/testbed/engines/prism/go.mod."""
    return shutil.which("prism", path=str(_built() / "bin"))


def _built() -> Path:
    """As CACHE in the Makefile."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "yt8m"


def _succeeds(*command: str) -> bool:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


REQUIREMENTS: dict[str, Requirement] = {
    "chromium": Requirement(find=chromium_program, package="chromium"),
    "chromedriver": Requirement(find=lambda: program("chromedriver"), package="chromium-driver"),
    "mariadbd": Requirement(find=lambda: program("mariadbd"), package="mariadb-server"),
    "debootstrap": Requirement(find=lambda: program("debootstrap"), package="debootstrap"),
    "go": Requirement(find=lambda: program("go"), package="golang-go"),
    "java": Requirement(find=lambda: program("java"), package="default-jre-headless"),
    "fake-gcs-server": Requirement(
        find=fake_gcs_program, otherwise="make fake-gcs-server (Go 1.26 or newer, five minutes)"
    ),
    "control plane": Requirement(
        find=control_plane_programs, otherwise="make control-plane (Go 1.26 or newer, 7 minutes)"
    ),
    "argo": Requirement(find=argo_programs, otherwise="make argo (Go 1.26 or newer, four minutes)"),
    "mlflow": Requirement(find=lambda: importlib.util.find_spec("mlflow"), otherwise="make mlflow"),
    "mlflow-server": Requirement(
        find=_VENV.joinpath("mlflow/made").exists, otherwise="make mlflow-server"
    ),
    "jupyter": Requirement(
        find=_VENV.joinpath("jupyter/made").exists,
        otherwise="make jupyter",
    ),
    "huggingface_hub": Requirement(
        find=lambda: importlib.util.find_spec("huggingface_hub"), otherwise="make readers"
    ),
    "model_signing": Requirement(
        find=lambda: importlib.util.find_spec("model_signing"), otherwise="make sign"
    ),
    "openlineage": Requirement(
        find=lambda: importlib.util.find_spec("openlineage"), otherwise="make readers"
    ),
    "flink": Requirement(
        find=flink_programs, otherwise="make flink (with Maven and a JDK; 400 MB, two minutes)"
    ),
    "spark": Requirement(
        find=spark_programs, otherwise="make spark (with Maven; 300 MB, half a minute)"
    ),
    "prism": Requirement(
        find=prism_program, otherwise="make prism (Go 1.26 or newer, two minutes)"
    ),
    "mvn": Requirement(find=lambda: program("mvn"), package="maven"),
    "javac": Requirement(find=lambda: program("javac"), package="default-jdk-headless"),
    "cc": Requirement(find=lambda: program("cc"), package="gcc"),
    "promtool": Requirement(find=lambda: program("promtool"), package="prometheus"),
    "openssl": Requirement(find=lambda: program("openssl"), package="openssl"),
    "curl": Requirement(find=lambda: program("curl"), package="curl"),
    "ip": Requirement(find=lambda: program("ip"), package="iproute2"),
    "mount namespaces": Requirement(
        find=lambda: _succeeds("unshare", "--mount", "true"),
        otherwise="run as root, in a container with CAP_SYS_ADMIN",
    ),
    "network namespaces": Requirement(
        find=lambda: _succeeds("unshare", "--net", "true"),
        otherwise="run as root, in a container with CAP_SYS_ADMIN",
    ),
    "tmpfs mounts": Requirement(
        find=lambda: _succeeds("unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"),
        otherwise="run as root, in a container with CAP_SYS_ADMIN",
    ),
    "root": Requirement(find=lambda: os.geteuid() == 0, otherwise="run as root"),
}


@cache
def is_there(name: str) -> bool:
    return bool(REQUIREMENTS[name].find())


def missing(names: tuple[str, ...]) -> list[str]:
    """Those of `names` that this machine lacks; a name that nobody defined is a KeyError."""
    return [name for name in names if not is_there(name)]


def remedy(names: list[str]) -> str:
    """The one command that brings all of `names`, and what to do for those without a package."""
    wanted = [REQUIREMENTS[name] for name in names]
    packages = sorted({one.package for one in wanted if one.package})
    steps = [f"{APT} {' '.join(packages)}"] if packages else []
    return "; ".join([*steps, *dict.fromkeys(one.otherwise for one in wanted if one.otherwise)])


def summary(skipped: Mapping[str, int]) -> list[str]:
    """The last lines of a run: how many tests were skipped for want of what, and what to do."""
    if not skipped:
        return []
    counts = ", ".join(f"{count} without {name}" for name, count in sorted(skipped.items()))
    return [f"tests skipped: {counts}", f"to run them: {remedy(sorted(skipped))}"]


def missing_packages() -> list[str]:
    """Debian's packages that bring what this machine lacks."""
    return sorted({REQUIREMENTS[name].package for name in missing(tuple(REQUIREMENTS))} - {""})


if __name__ == "__main__":  # for .ci/run, which installs them
    print(*missing_packages())
