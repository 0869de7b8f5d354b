"""One process of a training: `python -m yt8m.components.trainer.backends --config JOB.json`.

TF_CONFIG says which part of the cluster it is; without it the process trains alone. The same code
runs here as in TFX's Trainer. Exit codes: 0 done, 1 failed, 2 a mistake in TF_CONFIG or in the
job, 143 ended by SIGTERM after a checkpoint.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from yt8m.components.console.quiet import silence_tensorflow
from yt8m.components.trainer.backends.in_process import run_job
from yt8m.components.trainer.backends.local import WITH_PARENT
from yt8m.components.trainer.job import TrainingJob, parse_job, training_code
from yt8m.schemas.config_layers import overlay, parse_overrides
from yt8m.schemas.errors import EXIT_DONE, EXIT_INTERRUPTED, UserError, Yt8mError
from yt8m.schemas.json_file import fields_of, reading, to_text
from yt8m.schemas.plain_text import plain

_LOOK_S = 0.5  # at the parent


def main(argv: Sequence[str] | None = None) -> int:
    """Run one process; the return value is its exit code."""
    args = _parser().parse_args(argv)
    sys.path.append(str(Path.cwd()))  # for code of the user's own, as in the console script
    silence_tensorflow(but_errors=True)
    # `import tensorflow` brings a Keras of its choice; ours is tf_keras, so it need not bring both.
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%Y-%m-%d %H:%M:%S"
    )
    for noisy in ("tensorflow", "absl"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    if parent := os.environ.get(WITH_PARENT):
        end_with_parent(int(parent))
    try:
        with reading(f"--config {args.config}"):
            job = parse_job(_read(args.config, args.set))
        _check_code(job)
        run_job(job, os.environ)
    except Yt8mError as error:
        if args.debug:
            raise
        print(plain(f"error: {error}"), file=sys.stderr, flush=True)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return EXIT_DONE


def end_with_parent(parent: int) -> None:
    """This process gets SIGTERM once `parent`, which started it, is gone, killed perhaps.

    Nobody would follow it any more, and the same command starts others on the same checkpoints.
    It may be gone by now: to ask for the parent here would find whoever has taken its place.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_S)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="end-with-parent", daemon=True).start()


def _check_code(job: TrainingJob) -> None:
    """UserError where this is not the code that the job was described by, and is known by."""
    here = training_code(job.trainer, job.transform)
    if job.code_version not in ("", here):
        raise UserError(
            f"this process has other code ({here}) than the process that started the training "
            f"({job.code_version}): the image behind its tag was replaced in between; name images "
            "by tags that stay, or by digest, and start the run again"
        )


def _read(path: str, settings: Sequence[str]) -> str:
    """The job's JSON, with `settings` on top."""
    try:
        text = _read_text(path)
    except OSError as error:
        raise UserError(f"--config {path}: {error.strerror or error}") from error
    if not settings:
        return text
    try:
        return to_text(overlay(TrainingJob, fields_of(text), parse_overrides(settings)))
    except ValueError as error:
        raise UserError(f"--config {path}: not JSON ({error})") from error


def _read_text(path: str) -> str:
    if "://" not in path:
        return Path(path).read_text(encoding="utf-8")
    from yt8m.components import storage

    return storage.read_text(path)


def _parser() -> argparse.ArgumentParser:
    first, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="python -m yt8m.components.trainer.backends", description=first, epilog=rest
    )
    parser.add_argument("--config", required=True, metavar="JOB.json", help="the training job")
    parser.add_argument(
        "--set", action="append", default=[], metavar="A.B=VALUE", help="change a value of the job"
    )
    parser.add_argument("--debug", action="store_true", help="a traceback with every error")
    return parser


if __name__ == "__main__":
    sys.exit(main())
