"""What a caller's shell hands down and tests must not depend on, set as tests expect it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

_SOURCE = Path(__file__).resolve().parents[2] / "src"
# What our commands, boto3, kfp, Kubernetes' client, TensorFlow and Python read.
_FOREIGN = (
    "AWS_",
    "CLOUDSDK_",
    "GOOGLE_",
    "KFP_",
    "KF_PIPELINES_",
    "KUBE",
    "PYTHONDONTWRITEBYTECODE",
    "TF_CONFIG",
    "TF_USE_LEGACY_KERAS",
    "YT8M_",
)
# By these a caller speaks to the tests.
_FOR_TESTS = (
    "KFP_DRIVER",
    "KFP_ENDPOINT",
    "KFP_LAUNCHER",
    "KFP_RECORD",
    "KFP_SOURCE",
    "YT8M_IMAGE",
    "YT8M_REAL_DATA",
    "YT8M_REAL_SPECS",
    "YT8M_REQUIRE_ALL",
)
_LOGIN = "YT8M_KUBEFLOW_"  # at the KFP_ENDPOINT; without one there is nothing to log in to


def settle() -> None:
    """For this process and those that it starts, before any of them imports yt8m."""
    # A shell's background job ignores Ctrl-C, and so would every process that it starts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # So does what `nohup` starts with the end of its terminal.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.umask(0o022)
    # bash warns of a locale that is not installed, and programs speak the language of one that is.
    for name in [name for name in os.environ if name == "LANGUAGE" or name.startswith("LC_")]:
        del os.environ[name]
    os.environ["LANG"] = "C.UTF-8"
    del sys.argv[1:]  # pytest has read them; TFX would, and stops at `-v`
    _forget_other_checkouts()
    for name in list(os.environ):
        if name.startswith(_FOREIGN) and not _is_for_tests(name):
            del os.environ[name]


def _is_for_tests(name: str) -> bool:
    is_login = name.startswith(_LOGIN) and bool(os.environ.get("KFP_ENDPOINT"))
    return is_login or name in _FOR_TESTS


def _forget_other_checkouts() -> None:
    """Python has put PYTHONPATH before everything; the installed yt8m is the one to test.

    A worker of xdist has been given the paths, and the variable no longer.
    """
    sys.path[:] = filter(_is_no_other_checkout, sys.path)
    given = os.environ.pop("PYTHONPATH", "").split(os.pathsep)
    if kept := [folder for folder in given if folder and _is_no_other_checkout(folder)]:
        os.environ["PYTHONPATH"] = os.pathsep.join(kept)


def _is_no_other_checkout(folder: str) -> bool:
    is_installed = Path(folder).name == "site-packages" or Path(folder).resolve() == _SOURCE
    return is_installed or not Path(folder, "yt8m").is_dir()
