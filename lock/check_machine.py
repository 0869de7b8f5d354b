"""Check that this machine can run the lock, before anything is downloaded.

Run by install.sh with the Python that it chose (or any, where uv will fetch one), and told which
version that is: it imports nothing else, and nothing new.
An error ends the installation; a warning is for what the pipeline wants later.
"""

import os
import platform
import shutil
import sys
import sysconfig
from pathlib import Path

GLIBC = (2, 28)  # of the newest wheel in the lock that has no older sister, h5py's
DISK_GB = 5  # 3 of packages and bytecode, and what uv unpacks beside them
MEMORY_GB = 8
COMPILERS = ("c++", "g++", "clang++")


def problems(place, version):
    """Errors and warnings, each a sentence with what to do."""
    system, machine = platform.system(), platform.machine()
    if (system, machine) != ("Linux", "x86_64"):
        return [
            f"Linux on x86-64 is needed, TFX has wheels for nothing else; this is {system} on "
            f"{machine}. Use a Linux machine or a container (kubeflow/images/Dockerfile)."
        ], []
    return [
        *_libc_problems(),
        *_disk_problems(place),
        *_build_problems(version),
    ], _memory_warnings()


def _libc_problems():
    library, version = platform.libc_ver()
    if library != "glibc" or tuple(map(int, version.split(".")[:2])) < GLIBC:
        found = f"{library} {version}".strip() or "another libc"
        yield (
            f"glibc {'.'.join(map(str, GLIBC))} or newer is needed, this is {found}. "
            "Debian 10, Ubuntu 20.04, RHEL 8 and what came after have it."
        )


def _disk_problems(place):
    free = shutil.disk_usage(str(place)).free / 1e9
    if free < DISK_GB and not (Path(place) / ".venv" / "lib").is_dir():
        yield (
            f"{DISK_GB} GB of disk are needed, {place} has {free:.1f} GB free. "
            "Make room, or put the checkout elsewhere."
        )


def _build_problems(version):
    """One package of the lock, pyfarmhash, has no wheel and is compiled."""
    if not any(map(shutil.which, COMPILERS)):
        yield (
            f"a C++ compiler is needed, there is no {', '.join(COMPILERS)}. "
            "Install one: apt-get install g++, or dnf install gcc-c++."
        )
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    # A Python that uv fetches has its headers.
    if ".".join(map(str, sys.version_info[:2])) == version and not header.exists():
        yield (
            f"Python's headers are needed, there is no {header}. "
            f"Install them: apt-get install python{version}-dev, "
            f"or dnf install python{version}-devel."
        )


def _memory_warnings():
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    if memory < MEMORY_GB * 0.9:  # a machine of 8 GB shows a little less
        return [f"{MEMORY_GB} GB of memory are wanted, this machine has {memory:.1f}."]
    return []


def main():
    errors, warnings = problems(Path.cwd(), sys.argv[1])
    for kind, found in (("warning", warnings), ("error", errors)):
        for text in found:
            print(f"{kind}: {text}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
