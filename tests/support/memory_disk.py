"""Print where tests write: in memory where there is room, for they make and remove directories by
the ten thousand, and a disk lets them wait for it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_PLACE = "/dev/shm"
_ROOM_BYTES = 8 << 30
_MEMORY_BYTES = 14 << 30  # of which the tests' processes need their part


def memory_disk(place: str = _PLACE) -> str:
    """The directory; "" where it lacks room, may not hold programs, or is none."""
    try:
        disk = os.statvfs(place)
        fields = Path("/proc/meminfo").read_text(encoding="utf-8").split()
    except OSError:  # not Linux
        return ""
    available = int(fields[fields.index("MemAvailable:") + 1]) << 10
    has_room = disk.f_bavail * disk.f_frsize >= _ROOM_BYTES and available >= _MEMORY_BYTES
    runs_programs = not disk.f_flag & os.ST_NOEXEC
    return place if has_room and runs_programs and os.access(place, os.W_OK) else ""


if __name__ == "__main__":
    print(os.environ.get("TMPDIR") or memory_disk() or tempfile.gettempdir())
