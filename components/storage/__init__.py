"""Files by URI (local paths, gs://, s3://) through one set of functions: `storage.read_text(uri)`.

Writing is atomic everywhere: a file is complete or absent. Nothing here follows a symbolic link
when it removes. `tf.data` reads local paths itself; for the others see `cache.py`.
"""

from yt8m.components.storage.backend import Stat
from yt8m.components.storage.files import (
    atomic_write,
    copy,
    copy_tree,
    escape,
    exists,
    find,
    glob,
    is_dir,
    is_local,
    join,
    list_dir,
    make_dirs,
    open_file,
    read_bytes,
    read_range,
    read_tagged,
    read_text,
    remove,
    remove_tree,
    rename,
    stat,
    walk_files,
    write_bytes,
    write_if,
    write_text,
)

__all__ = [
    "Stat",
    "atomic_write",
    "copy",
    "copy_tree",
    "escape",
    "exists",
    "find",
    "glob",
    "is_dir",
    "is_local",
    "join",
    "list_dir",
    "make_dirs",
    "open_file",
    "read_bytes",
    "read_range",
    "read_tagged",
    "read_text",
    "remove",
    "remove_tree",
    "rename",
    "stat",
    "walk_files",
    "write_bytes",
    "write_if",
    "write_text",
]
