"""Runs a command on lane B (TFX 1.21, Python 3.13) where the machine's glibc is too old for it.

    python tests/testbed/lanes/lane_b.py make demo test-unit
    python tests/testbed/lanes/lane_b.py --share /some/folder yt8m history --root /some/folder/run

The command runs in a Debian 13 root, in a copy of this checkout, after `make install-dev` there.
The root is made once, by debootstrap from the mirror that this machine's own apt uses, and is kept
in the cache. Everything is mounted in a namespace of the command's own, and its processes are in
another: when this program ends, or is killed, they are gone.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from requirements import REQUIRE_ALL, missing, remedy

CHECKOUT = Path(__file__).resolve().parents[3]
NEEDS = ("root", "debootstrap", "tmpfs mounts")
GLIBC = "2.39"  # of lane B's wheels
SUITE = "trixie"
# What README asks of a machine, and what tests use that the image of an ordinary machine has.
PACKAGES = ("ca-certificates", "g++", "git", "make", "procps", "python3-dev", "python3-venv")
# Of the machine: where its network is, and whom it trusts.
OF_THE_MACHINE = (
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/pip.conf",
    "/etc/ssl/certs/ca-certificates.crt",
)
INSIDE = Path("/src")
# Not YT8M_REQUIRE_ALL: what tests need beside Python is asked of the machine, not of the root.
HANDED_DOWN = ("PIP_", "UV_", "SSL_", "REQUESTS_", "TF_", "http", "HTTP", "no_", "NO_")


# Whichever of these is killed, the next one goes with it.
ENTER = ("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child")


class UnavailableError(Exception):
    """This machine cannot have such a root; says why, and what to do."""


def cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(home, "yt8m", "lane-b")


def mirror() -> list[str]:
    """The mirror of Debian that apt is told here; none where it is another system's."""
    form = "$(ORIGIN) $(LABEL) $(REPO_URI)"
    done = subprocess.run(
        ["apt-get", "indextargets", "--format", form], capture_output=True, text=True, check=False
    )
    rows = (line.split() for line in done.stdout.splitlines())
    return next(([place] for *labels, place in rows if labels == ["Debian", "Debian"]), [])


def make_root(root: Path) -> None:
    """By debootstrap, elsewhere first: what is at `root` is whole."""
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root.parent, prefix="making-") as made:
        Path(made).chmod(0o755)
        command = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}"]
        done = subprocess.run(
            # Its mounts go with the namespace, also when it is killed.
            ["unshare", "--mount", *command, SUITE, f"{made}/root", *mirror()],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            last = "\n".join(done.stdout.splitlines()[-3:])
            raise UnavailableError(f"debootstrap could not make a Debian {SUITE} root:\n{last}")
        for place in OF_THE_MACHINE:
            inside = Path(f"{made}/root{place}")
            inside.parent.mkdir(parents=True, exist_ok=True)
            inside.touch()
        Path(f"{made}/root").rename(root)


def copy_checkout(root: Path) -> None:
    """What git knows or would add, as it is here; the environment in the root stays."""
    inside = Path(f"{root}{INSIDE}")
    inside.mkdir(exist_ok=True)
    for old in inside.iterdir():
        if old.name != ".venv":
            shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"],
        cwd=CHECKOUT,
        capture_output=True,
        check=True,
    )
    for name in map(os.fsdecode, filter(None, listed.stdout.split(b"\0"))):
        if os.path.lexists(CHECKOUT / name):  # what was deleted and not committed is listed too
            (inside / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, inside / name, follow_symlinks=False)
    # Tests ask git what is tracked.
    git = ["git", "-c", "user.name=lane", "-c", "user.email=lane@localhost"]
    for step in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "Lane B"]):
        subprocess.run([*git, *step], cwd=inside, check=True)


MOUNTS = """
set -e
mount --make-rprivate /
root=$1; shift
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
until [ "$1" = -- ]; do
  mkdir -p "$(dirname "$root$1")"
  if [ -d "$1" ]; then mkdir -p "$root$1"; else touch "$root$1"; fi
  mount --bind "$1" "$root$1"
  shift
done
shift
exec chroot "$root" "$@"
"""


def run(
    root: Path, command: Sequence[str], shared: Sequence[Path], environ: Mapping[str, str]
) -> int:
    """In the root and its copy of the checkout; `shared` folders are at the same place inside."""
    places = [place for place in OF_THE_MACHINE if Path(place).is_file()]
    places += [str(path) for path in shared]
    handed = {name: value for name, value in environ.items() if name.startswith(HANDED_DOWN)}
    handed |= {"HOME": "/root", "LANG": "C.UTF-8", "PATH": f"{INSIDE}/.venv/bin:/usr/bin:/usr/sbin"}
    script = f'cd {INSIDE} && make --silent install-dev && exec "$@"'
    inside = ["sh", "-c", script, "sh", *command]
    return subprocess.run(
        [*ENTER, "sh", "-c", MOUNTS, "sh", str(root), *places, "--", *inside],
        env=handed,
        check=False,
    ).returncode


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One at a time: the copy of the checkout is the root's own."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def lane_b(command: Sequence[str], shared: Sequence[Path] = ()) -> int:
    """The command's exit code; UnavailableError where this machine cannot run it."""
    if lacking := missing(NEEDS):
        raise UnavailableError(f"needs {', '.join(lacking)}: {remedy(lacking)}")
    root = cache() / SUITE
    with locked(cache()):
        if not root.exists():
            print(f"lane B: a Debian {SUITE} root in {cache()}, once", file=sys.stderr)
            make_root(root)
        copy_checkout(root)
        return run(root, command, shared, os.environ)


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args(argv)
    if tuple(map(int, platform.libc_ver()[1].split("."))) >= tuple(map(int, GLIBC.split("."))):
        print("lane B: it is this machine's own lane; every test here ran on it")
        return 0
    try:
        return lane_b(args.command, args.share)
    except UnavailableError as why:
        required = os.environ.get(REQUIRE_ALL) == "1"
        print(f"lane B: {'FAILED' if required else 'skipped'}: {why}", file=sys.stderr)
        return int(required)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
