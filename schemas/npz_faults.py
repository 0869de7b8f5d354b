"""What reading a damaged .npz file raises, of all the libraries that take part in it."""

import zipfile
import zlib

# numpy's and zipfile's own; a flag or a method that never was (a RuntimeError); packed arrays.
NPZ_FAULTS = (
    ValueError,
    KeyError,
    OSError,
    EOFError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
