"""Number of the lock's packages that are installed here, and their size without bytecode.

.venv/bin/python lock/size.py                  # of the lock that .venv was made from
.venv/bin/python lock/size.py lock/tfx-1.21-py313.txt
"""

import re
import sys
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

PIN = re.compile(r"^([\w.-]+)(?:\[.*?\])?==([^\s\\;]+)", re.MULTILINE)


def lock_of_this_environment():
    """The runtime lock of the installed TFX and of this Python."""
    tfx = ".".join(version("tfx").split(".")[:2])
    return Path(__file__).with_name(f"tfx-{tfx}-py{sys.version_info[0]}{sys.version_info[1]}.txt")


def size(name):
    """Bytes of a package's files; bytecode is written by whoever runs it, and is not counted."""
    files = distribution(name).files or []
    paths = [Path(file.locate()) for file in files if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in paths if path.is_file())


def main(words):
    lock = Path(words[0]) if words else lock_of_this_environment()
    pins = dict(PIN.findall(lock.read_text(encoding="utf-8")))
    try:
        other = [name for name, pin in pins.items() if version(name) != pin]
    except PackageNotFoundError as missing:
        other = [missing.name]
    if other:
        sys.exit(f"error: {lock} is not what is installed here: {other[0]} is missing or another")
    sizes = {name: size(name) for name in pins}
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:5]
    print(f"{lock.stem}: {len(sizes)} packages, {sum(sizes.values()) / 1e9:.2f} GB; of it")
    print(", ".join(f"{name} {bytes_ / 1e9:.2f}" for name, bytes_ in largest))


if __name__ == "__main__":
    main(sys.argv[1:])
