"""What TensorFlow and its companions say of themselves while they are imported, kept quiet."""

from __future__ import annotations

import os
import warnings


def silence_tensorflow(*, but_errors: bool = False) -> None:
    """For commands that answer on the terminal; to be called before TensorFlow is imported.

    `but_errors` is for processes of a cluster, where TensorFlow says of a lost peer what it knows.
    Set TF_CPP_MIN_LOG_LEVEL=0 to hear TensorFlow's own messages.
    """
    # 3: on a machine without a GPU TensorFlow calls that an error, three times.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2" if but_errors else "3")
    warnings.filterwarnings("ignore", category=FutureWarning)
