"""Which Python and which lock an installation takes; prints both, and why on stderr.

Run with any Python 3 by install.sh. PYTHON names an interpreter; without it the candidates are
executed one after the other, since a pyenv shim or a broken link exists and still does not run.
"""

import glob
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

NEW_GLIBC = (2, 39)  # of TFX 1.21's wheels
# By lane: the Pythons that it has a lock for, the best first.
NEW, OLD = "tfx-1.21", "tfx-1.16"
PYTHONS = {NEW: ("3.13", "3.12", "3.11"), OLD: ("3.11", "3.10")}
PROBE = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"


def lanes(glibc):
    """The lanes that this machine can run, the best first."""
    return (NEW, OLD) if glibc >= NEW_GLIBC else (OLD,)


def lane_of(version, glibc):
    """The lane for Python `version`, or None."""
    return next((lane for lane in lanes(glibc) if version in PYTHONS[lane]), None)


def version_of(python):
    """Of an interpreter that runs and can make environments; None otherwise."""
    try:
        done = subprocess.run(
            [python, "-c", PROBE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60
        )
    except OSError:
        return None
    return done.stdout.decode().strip() if done.returncode == 0 else None


def candidates(version, environ):
    """Where a Python of that version may be."""
    pyenv = environ.get("PYENV_ROOT") or str(Path.home() / ".pyenv")
    yield from sorted(glob.glob(f"{pyenv}/versions/{version}*/bin/python"), reverse=True)
    for name in (f"python{version}", "python3", "python"):
        found = shutil.which(name)
        if found:
            yield found


def find(glibc, environ):
    """(interpreter, version, lane): the best that runs; no interpreter where uv has to fetch it."""
    for lane in lanes(glibc):
        for version in PYTHONS[lane]:
            for python in candidates(version, environ):
                if version_of(python) == version:
                    return python, version, lane
    lane = lanes(glibc)[0]
    return "", PYTHONS[lane][0], lane


def given(python, glibc):
    """The same for the interpreter that PYTHON names; exits where it does not serve."""
    version = version_of(python)
    lane = lane_of(version, glibc)
    if lane is None:
        able = sorted({v for lane in lanes(glibc) for v in PYTHONS[lane]})
        found = f"is Python {version}" if version else "does not run, or cannot make environments"
        newer = (
            f" (TFX 1.21 alone runs on it, and needs glibc {text(NEW_GLIBC)})"
            if version in PYTHONS[NEW]
            else ""
        )
        sys.exit(
            f"error: PYTHON={python} {found}{newer}. With glibc {text(glibc)} one of "
            f"{', '.join(able)} is needed, with its venv module; without PYTHON one is chosen."
        )
    return python, version, lane


def text(glibc):
    return ".".join(map(str, glibc))


def main():
    version = platform.libc_ver()[1] or "0"
    glibc = tuple(map(int, version.split(".")[:2]))
    environ = os.environ
    named = environ.get("PYTHON", "")
    python, version, lane = given(named, glibc) if named else find(glibc, environ)
    why = (
        f"glibc {text(glibc)} has TFX 1.21's wheels"
        if lane == NEW
        else f"TFX 1.21 needs glibc {text(NEW_GLIBC)} and Python 3.11, here is {text(glibc)}"
    )
    print(
        f"install: {lane.replace('tfx-', 'TFX ')} on Python {version} ({why}); "
        "PYTHON=/path/to/python chooses another",
        file=sys.stderr,
    )
    print(f"{lane}-py{version.replace('.', '')} {version} {python}")


if __name__ == "__main__":
    main()
