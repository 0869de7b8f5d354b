"""Choose the Python and the lock of an installation; print both, and the reason on stderr.

Run with any Python 3 by install.sh. PYTHON names an interpreter; without it the candidates are
executed one after the other, since a pyenv shim or a broken link exists and still does not run.
"""

import glob
import os
import platform
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

NEW_GLIBC = (2, 39)  # of TFX 1.21's wheels
# By lane: the Pythons that it has a lock for, the best first.
NEW, OLD = "tfx-1.21", "tfx-1.16"
PYTHONS = {NEW: ("3.13", "3.12", "3.11"), OLD: ("3.11",)}
OLDEST = (3, 6)  # that can run this script and pip
PROBE = """
import importlib.util, os, sys, sysconfig
print("%d.%d" % sys.version_info[:2])
print(all(map(importlib.util.find_spec, ("venv", "ensurepip"))))
print(os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))
"""

# has_venv: it can make the environment that uv is installed into; Debian packs that apart.
Interpreter = namedtuple("Interpreter", "path version has_venv has_headers")
Choice = namedtuple("Choice", "python version lane")


def lanes(glibc):
    """The lanes that this machine can run, the best first."""
    return (NEW, OLD) if glibc >= NEW_GLIBC else (OLD,)


def supported(glibc):
    """The Pythons that this machine has a lock for."""
    return [version for lane in lanes(glibc) for version in PYTHONS[lane]]


def lane_of(version, glibc):
    """The lane for Python `version`, or None."""
    return next((lane for lane in lanes(glibc) if version in PYTHONS[lane]), None)


def probe(python):
    """What an interpreter that runs has; None otherwise."""
    try:
        done = subprocess.run(
            [python, "-c", PROBE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = done.stdout.decode().split()
    if done.returncode != 0 or len(said) != 3:
        return None
    return Interpreter(python, said[0], said[1] == "True", said[2] == "True")


def paths(environ):
    """Where a Python may be: the distribution's own before those that somebody has built."""
    yield "/usr/bin/python3"
    names = ("python3.13", "python3.12", "python3.11", "python3", "python")
    yield from filter(None, map(shutil.which, names))
    pyenv = environ.get("PYENV_ROOT") or str(Path.home() / ".pyenv")
    yield from sorted(glob.glob(pyenv + "/versions/3.*/bin/python"), reverse=True)


def interpreters(environ):
    """Every Python 3 that runs, in the order of `paths`."""
    runs = []
    for path in dict.fromkeys(paths(environ)):
        interpreter = probe(path)
        if interpreter and number(interpreter) >= OLDEST:
            runs.append(interpreter)
    return runs


def number(interpreter):
    return tuple(map(int, interpreter.version.split(".")))


def find(there, glibc):
    """The best interpreter of `there`; one with an empty path where uv has to fetch it."""
    for lane in lanes(glibc):
        for version in PYTHONS[lane]:
            able = [one for one in there if one.version == version]
            if able:  # one without headers is told by check_machine.py what to install
                best = next((one for one in able if one.has_headers), able[0])
                return Choice(best.path, version, lane)
    lane = lanes(glibc)[0]
    return Choice("", PYTHONS[lane][0], lane)


def given(python, glibc):
    """The interpreter that PYTHON names; exits where it does not serve."""
    interpreter = probe(python)
    version = interpreter.version if interpreter else None
    lane = lane_of(version, glibc)
    if lane is None:
        found = f"is Python {version}" if version else "does not run"
        newer = (
            f" (TFX 1.21 alone runs on it, and needs glibc {text(NEW_GLIBC)})"
            if version in PYTHONS[NEW]
            else ""
        )
        able = " or ".join(sorted(set(supported(glibc))))
        sys.exit(
            f"error: PYTHON={python} {found}{newer}. With glibc {text(glibc)} Python {able} is "
            "needed; without PYTHON one is chosen."
        )
    return Choice(python, version, lane)


def maker_of(there, chosen):
    """The interpreter that makes uv's environment: the chosen one, or any with `venv`."""
    able = [one.path for one in there if one.has_venv]
    if chosen in able:
        return chosen
    if able:
        return able[0]
    found = "\n".join(map(describe, there))
    sys.exit(
        f"error: no Python here can make an environment. There is:\n{found}\n"
        "  Install what is missing, or a Python with its venv module (python.org, pyenv), or set "
        "PYTHON=/path/to/python, and run the same command again."
    )


def describe(one):
    """An interpreter and what it lacks, in a line."""
    lacks = ""
    if not one.has_venv:
        lacks = f", lacks its venv module (apt-get install python{one.version}-venv)"
    return f"  {one.path}: Python {one.version}{lacks}"


def text(glibc):
    return ".".join(map(str, glibc))


def say(line):
    print("install: " + line, file=sys.stderr)


def main():
    glibc = tuple(map(int, (platform.libc_ver()[1] or "0").split(".")[:2]))
    named = os.environ.get("PYTHON", "")
    there = interpreters(os.environ)
    if named:
        choice = given(named, glibc)
        there = [probe(named), *there]
    else:
        choice = find(there, glibc)
    maker = maker_of(there, choice.python)
    why = (
        f"glibc {text(glibc)} has TFX 1.21's wheels"
        if choice.lane == NEW
        else f"TFX 1.21 needs glibc {text(NEW_GLIBC)} and Python 3.11, here is {text(glibc)}"
    )
    taken = f"Python {choice.version}" + (f", {choice.python}" if choice.python else "")
    tfx = choice.lane.replace("tfx-", "TFX ")
    say(f"{tfx} on {taken} ({why}); PYTHON=/path/to/python chooses another")
    if not choice.python:
        say(f"none of {', '.join(supported(glibc))} is here, so uv fetches one; there is:")
        print("\n".join(map(describe, there)), file=sys.stderr)
    lock = f"{choice.lane}-py{choice.version.replace('.', '')}"
    print("\n".join((lock, choice.version, choice.python, maker)))


if __name__ == "__main__":
    main()
