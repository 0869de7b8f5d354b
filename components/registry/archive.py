"""A model as one .tgz file, as Kaggle took them; the same model gives the same bytes."""

from __future__ import annotations

import gzip
import io
import tarfile
import tempfile
import zlib
from pathlib import PurePosixPath

from yt8m.components import storage
from yt8m.schemas.errors import DataError, UserError

ENDINGS = (".tgz", ".tar.gz")
_READ_AT_ONCE = 1 << 20
_archives: dict[str, str] = {}  # by the temporary directories that this process unpacked them to


def is_archive(path: str) -> bool:
    """Whether `path` is named as an archive of a model is."""
    return path.endswith(ENDINGS)


def pack_model(directory: str, out: str) -> int:
    """Write all files below `directory` to the archive `out`; its size in bytes."""
    if not is_archive(out):
        raise UserError(f"--out {out}: name a file that ends with {' or '.join(ENDINGS)}")
    if storage.is_dir(out):
        raise UserError(f"--out {out}: is a directory, not a file")
    if storage.is_within(out, directory):  # it would be packed as well
        raise UserError(f"--out {out}: belongs to the model; write to another directory")
    with (
        storage.atomic_write(out) as file,
        # No time and no name of a file in the header: the bytes follow from the model's alone.
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in sorted(storage.walk_files(directory)):
            data = storage.read_bytes(storage.join(directory, name))
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return storage.stat(out).size


def unpack_model(path: str) -> str:
    """Unpack the archive `path`; where its model is, in a temporary directory."""
    try:
        data = storage.read_bytes(path)
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file") from error
    place = tempfile.mkdtemp(prefix="yt8m-model-")
    _archives[place] = path
    try:
        _check_sum(data)
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            for entry in archive:
                _write(archive, entry, place)
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise DataError(f"{path}: not a readable .tgz archive ({error})") from error
    names = list(storage.walk_files(place))
    folders = {name.partition("/")[0] for name in names}
    shared = len(folders) == 1 and all("/" in name for name in names)
    return storage.join(place, folders.pop()) if shared else place


def by_archives(message: str) -> str:
    """The message with the archives' names in place of the directories that they are unpacked to.

    A user knows nothing of these, and they are gone when the message is read.
    """
    for place, archive in _archives.items():
        message = message.replace(place, archive)
    return message


def _check_sum(data: bytes) -> None:
    """Read to the end, where gzip compares its checksum: tarfile stops before it."""
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
        while packed.read(_READ_AT_ONCE):
            pass


def _write(archive: tarfile.TarFile, entry: tarfile.TarInfo, place: str) -> None:
    """One file; links, devices and names that lead elsewhere are refused."""
    name = PurePosixPath(entry.name)
    if entry.isdir():
        return
    if not entry.isfile() or name.is_absolute() or ".." in name.parts:
        raise tarfile.TarError(f"{entry.name} is not a file of the model")
    content = archive.extractfile(entry)
    assert content is not None
    storage.write_bytes(storage.join(place, str(name)), content.read())
