"""The search: KerasTuner's oracle chooses values, and processes of the trainer try them."""

from __future__ import annotations

import fcntl
import logging
import os
import socket
import time
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import keras_tuner
from keras_tuner.engine.trial import TrialStatus

from yt8m.components import storage
from yt8m.components.artifacts.tuner_results import tuned_values
from yt8m.components.console.signals import handling_signals
from yt8m.components.storage.lock import LockedError, file_lock
from yt8m.components.trainer.backends.local import (
    Member,
    end_processes,
    failure_of,
    send_signal,
    start_process,
)
from yt8m.components.trainer.cluster import heartbeat
from yt8m.components.trainer.job import FILE_NAME, TrainingJob
from yt8m.components.trainer.tf_config import VARIABLE, Role
from yt8m.components.tuner.config import TunerConfig
from yt8m.components.tuner.oracles import create_oracle
from yt8m.components.tuner.space import trial_config
from yt8m.components.tuner.trial import (
    continue_from,
    continued_trial,
    remove_checkpoints,
    score_of,
    trial_job,
)
from yt8m.schemas.errors import EXIT_ABANDONED, Terminated, UserError, Yt8mError

_PROJECT = "search"  # the oracle's directory, as KerasTuner calls it
_SEARCH_LOCK, _LOCK = "search.lock", "trial.lock"
_POLL_S = 0.2
_HEARTBEAT_S = 2.0
_ABANDONED_S = 20.0  # a trial whose search was killed saves its state and ends
_ENDING_S = 300.0  # for which the next search waits for it
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class _Running:
    """A trial under way."""

    trial: Any  # KerasTuner publishes no types
    job: TrainingJob
    member: Member


class TrialSearch(keras_tuner.engine.base_tuner.BaseTuner):
    """A tuner in KerasTuner's sense, as TFX's Tuner runs one.

    Each trial is one process, which ends with the memory that TensorFlow takes, and which may be
    killed without the search; it continues from its checkpoint as every training does.
    """

    def __init__(self, config: TunerConfig, job: TrainingJob, *, directory: str) -> None:
        """`directory`: of this very search, which continues one that is there."""
        self._config = config
        trainer = trial_config(config, job.trainer)
        super().__init__(create_oracle(config, trainer), directory=directory, project_name=_PROJECT)
        self.oracle.verbose = 0  # it would print a table of its own for each trial
        self._job = replace(
            job,
            trainer=trainer,
            heartbeat=str(Path(directory) / f"{heartbeat.FILE_NAME}-{uuid.uuid4().hex[:12]}"),
            abandoned_after_s=_ABANDONED_S,
        )
        self._begins_anew = job.trainer.start_new_model
        self._signal: int | None = None

    def search(self) -> None:
        """Try values until the oracle has seen enough; Yt8mError where no trial came to its end."""
        lock = Path(self.directory) / _SEARCH_LOCK  # before its state is read, or removed
        holder = f"process {os.getpid()} on {socket.gethostname()}"
        try:
            with file_lock(lock, holder=holder):
                self._search()
        except LockedError as error:
            raise Yt8mError(
                f"{self.directory} is in use: {error.holder or 'another process'} runs this very "
                "search; wait for it, or stop it"
            ) from None

    def _search(self) -> None:
        if self._begins_anew:
            storage.remove_tree(str(self.project_dir))
        self.oracle.continue_search()
        running: dict[str, _Running] = {}
        try:
            with (
                handling_signals(self._note_signal),
                heartbeat.sending_heartbeats(self._job.heartbeat, every_s=_HEARTBEAT_S),
            ):
                try:
                    self._run_trials(running)
                finally:
                    end_processes([each.member for each in running.values()])
        finally:
            Path(self._job.heartbeat).unlink(missing_ok=True)
        self._finish()

    def _run_trials(self, running: dict[str, _Running]) -> None:
        slots = [f"tuner{number}" for number in range(self._config.num_parallel_trials)]
        is_exhausted = is_told = False
        while True:
            for slot in slots:
                if slot in running or is_exhausted or self._signal is not None:
                    continue
                trial = self.oracle.create_trial(slot)
                is_exhausted = trial.status == TrialStatus.STOPPED
                if trial.status == TrialStatus.RUNNING:
                    running[slot] = self._start(trial)
            if self._signal is not None and not is_told:  # they save and end, and so do we
                is_told = True
                for each in running.values():
                    send_signal(each.member, self._signal)
            for slot, each in list(running.items()):
                if each.member.process.poll() is not None:
                    del running[slot]
                    self._end(each)
                    is_exhausted = False  # it may be one to try again
            if self._signal is not None and not running:
                raise Terminated("the search was ended by a signal; the same command continues it")
            if not running and is_exhausted:
                return
            time.sleep(_POLL_S)

    def _note_signal(self, number: int, frame: object) -> None:
        self._signal = number

    def _start(self, trial: Any) -> _Running:
        values = trial.hyperparameters.values
        directory = self._directory_of(trial.trial_id)
        job = trial_job(self._job, str(directory), values)
        path = directory / FILE_NAME
        # Of a search that was killed the process may still be saving: two would write one state.
        try:
            with file_lock(directory / _LOCK, holder="", wait_s=_ENDING_S):
                if earlier := continued_trial(values):
                    continue_from(str(directory), str(self._directory_of(earlier)))
                path.write_text(job.to_json(), encoding="utf-8")
        except LockedError as error:
            raise Yt8mError(
                f"{directory}: a process of an earlier search still trains here, and has not ended "
                f"for {_ENDING_S:.0f} s; end it, and run the command again"
            ) from error
        environ = {name: text for name, text in os.environ.items() if name != VARIABLE}
        with (directory / _LOCK).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # held by the process until it ends, however it ends
            member = start_process(path, Role.CHIEF, 0, environ, pass_fds=(lock.fileno(),))
        _log.info("trial %s: %s", trial.trial_id, _text(values))
        return _Running(trial=trial, job=job, member=member)

    def _end(self, done: _Running) -> None:
        trial, code = done.trial, done.member.process.returncode
        if code == 0:
            name = self._config.objective
            score = score_of(done.job, self._config.objective)
            self.oracle.update_trial(trial.trial_id, {name: score})
            trial.status = TrialStatus.COMPLETED
            _log.info("trial %s: %s %.4f", trial.trial_id, name, score)
        else:
            failure = failure_of(done.member)
            if self._signal is not None or isinstance(failure, UserError):
                raise failure
            # What a signal ended, or a heartbeat that came late, goes on from its checkpoint.
            ended = code < 0 or code == EXIT_ABANDONED or isinstance(failure, Terminated)
            trial.status = TrialStatus.INVALID if ended else TrialStatus.FAILED
            trial.message = str(failure)
            _log.warning("trial %s: %s", trial.trial_id, failure)
        storage.remove_tree(done.job.export_dir)  # nothing but its score is wanted
        try:
            self.oracle.end_trial(trial)
        except RuntimeError as error:  # KerasTuner's, after three failures in a row
            raise Yt8mError(f"the search ends because trials keep failing: {error}") from error

    def _finish(self) -> None:
        completed = [t for t in self.oracle.trials.values() if t.status == TrialStatus.COMPLETED]
        if not completed:
            messages = [t.message for t in self.oracle.trials.values() if t.message]
            raise Yt8mError(
                f"no trial of the search in {self.project_dir} finished; the last error: "
                f"{messages[-1] if messages else 'none is known'}"
            )
        # TFX asks for as many trials as there are at most, which Hyperband does not say.
        self.oracle.max_trials = len(self.oracle.trials)
        for trial_id in self.oracle.trials:
            remove_checkpoints(str(self._directory_of(trial_id)))
        (best,) = self.oracle.get_best_trials(1)
        _log.info(
            "the best of %d trials is %s, %s %.4f: %s",
            len(self.oracle.trials),
            best.trial_id,
            self._config.objective,
            best.score,
            _text(best.hyperparameters.values),
        )

    def _directory_of(self, trial_id: str) -> Path:
        return Path(self.get_trial_dir(trial_id))


def _text(values: Any) -> str:
    return ", ".join(f"{path} = {value}" for path, value in tuned_values(values).items())
