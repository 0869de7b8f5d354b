"""Messages of TensorFlow and its companions during their import, suppressed."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator

from yt8m.components.console.native_log import filtered_native_log


@contextlib.contextmanager
def quiet_tensorflow(*, but_errors: bool = False) -> Iterator[None]:
    """For a command that imports TensorFlow, around all of it.

    TensorFlow 2.21 logs through absl while it is imported, and XLA whenever it compiles, whatever
    TF_CPP_MIN_LOG_LEVEL says.
    """
    silence_tensorflow(but_errors=but_errors)
    with filtered_native_log():
        yield


def silence_tensorflow(*, but_errors: bool = False) -> None:
    """Silence TensorFlow by that variable and Python's warnings, before it is imported.

    `but_errors` is for processes of a cluster, where TensorFlow says of a lost peer what it knows.
    Set TF_CPP_MIN_LOG_LEVEL=0 to hear TensorFlow's own messages.
    """
    # 3: on a machine without a GPU TensorFlow calls that an error, three times.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2" if but_errors else "3")
    silence_warnings()


def silence_warnings() -> None:
    """Silence what packages say of their own future, while they are imported."""
    warnings.filterwarnings("ignore", category=FutureWarning)
