"""The command of every container: what TFX's own entry point lacks on open-source Kubeflow.

TFX's was written for Vertex; what is different here is put right by `launcher.py` before and after
TFX's own code, which runs the executor. Compiled specs name this module and these arguments.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from yt8m.components.console.leaving import Exit
from yt8m.components.storage.errors import StorageError
from yt8m.kubeflow.config import OWN_MODULES_VARIABLE
from yt8m.kubeflow.container.code_identity import identify_code
from yt8m.kubeflow.container.failure_page import leave_failure_page
from yt8m.kubeflow.container.flags import SHORT_FLAGS, TFX_TYPES
from yt8m.kubeflow.container.launcher import finish_output, prepare_input
from yt8m.kubeflow.container.needs_check import check_cluster
from yt8m.kubeflow.container.references import follow, leave_on_volume
from yt8m.kubeflow.container.run_parameters import check_gate_parameters, with_texts
from yt8m.kubeflow.container.task_cache import find_cached_result
from yt8m.kubeflow.container.training_job_trial import try_training_job
from yt8m.kubeflow.container.visualizations import draw
from yt8m.kubeflow.container.volume_access import check_volumes_writable
from yt8m.kubeflow.parameter_text import restored_all
from yt8m.pipeline.beam import with_engine
from yt8m.schemas.errors import EXIT_FAILED, ConfigError, Yt8mError
from yt8m.schemas.own_code import missing_module

# Kubernetes keeps what is written there with the pod's status, up to this size.
_TERMINATION_LOG = "/dev/termination-log"
_LONGEST_TERMINATION_MESSAGE = 4096
# After the retries of the storage layer itself, which take a minute.
_RETRY_WAITS_S = (30, 120, 300)
_log = logging.getLogger(__name__)
# Artifact types of our own: TFX would take the schema's title for the path of the class.
_OWN_TYPES = {"yt8m.Report": "yt8m.components.report.component.ReportArtifact"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the executor that the arguments name; the value is the exit code."""
    args, beam_args = _parse(sys.argv[1:] if argv is None else argv)
    logging.basicConfig(level=logging.INFO)
    # Moves the launcher's directories, for one that may not write to the root (in the tests).
    root = os.environ.get("YT8M_LAUNCHER_ROOT", "")
    started = time.time()
    try:
        _execute(args, beam_args, root)
    except Exception as error:
        known = _explained(error)
        said = f"error: {known}" if known else f"{type(error).__name__}: {error}"
        invocation = args.json_serialized_invocation_args
        page = leave_failure_page(str(known or said), invocation, os.environ, started=started)
        where = f"\nthe report of this run: {page}" if page else ""
        _leave_message(Path(f"{root}{_TERMINATION_LOG}"), said + where)
        if page:
            _log.info("the report of this run is %s", page)
        if known is None:
            raise
        print(said, file=sys.stderr, flush=True)
        return known.exit_code
    return 0


def _execute(args: argparse.Namespace, beam_args: list[str], root: str) -> None:
    executor_input = json.loads(args.json_serialized_invocation_args)
    task_inputs = executor_input.setdefault("inputs", {})
    parameters = task_inputs["parameterValues"] = with_texts(
        restored_all(task_inputs.get("parameterValues", {}))
    )
    _check_own_modules(os.environ.get(OWN_MODULES_VARIABLE, "[]"))
    identify_code(args.executor_class_path, executor_input)
    check_gate_parameters(parameters)
    check_volumes_writable(parameters, os.environ)
    check_cluster(os.environ)
    try_training_job(os.environ)
    given_outputs = executor_input.get("outputs", {}).get("artifacts", {})
    inputs, outputs = _titles(args.inputs), _titles(args.outputs)
    places = prepare_input(executor_input, inputs, outputs, launcher_root=root)
    follow(executor_input, places)
    args.json_serialized_invocation_args = json.dumps(executor_input)
    args.json_serialized_inputs_spec_args = _inputs_spec(args.integers)
    outputs_in_pod = [
        artifact["uri"]
        for listed in executor_input["outputs"]["artifacts"].values()
        for artifact in listed["artifacts"]
    ]
    earlier = find_cached_result(args.executor_class_path, executor_input, os.environ)
    if earlier is None or not earlier.restore():
        _run_patiently(lambda: _run(args, beam_args), outputs_in_pod)
        if earlier is not None:
            earlier.keep()
    leave_on_volume(args.executor_class_path, executor_input, os.environ)
    report = Path(executor_input["outputs"]["outputFile"])
    draw(given_outputs, report, launcher_root=root)
    finish_output(report, places, [key for key in outputs if outputs[key] not in _OWN_TYPES])


def _titles(text: str) -> dict[str, str]:
    """Of `model=Model report=yt8m.Report` the types, by key."""
    types = dict(word.split("=", 1) for word in text.split())
    return {key: kind if "." in kind else TFX_TYPES + kind for key, kind in types.items()}


def _inputs_spec(integers: str) -> str:
    """The types of inputs that TFX needs: which numbers are whole ones."""
    whole = {name: {"parameterType": "NUMBER_INTEGER"} for name in integers.split()}
    return json.dumps({"parameters": whole})


def _check_own_modules(named: str) -> None:
    """Found before the first task's work, not when the training wants one."""
    problems = [
        f"{where}: {problem}"
        for where, module in json.loads(named)
        if (problem := missing_module(module))
    ]
    if problems:
        raise ConfigError(problems)


def _run_patiently(run: Callable[[], None], outputs: Sequence[str]) -> None:
    """`run`, again after a fault of the infrastructure, with its outputs wiped.

    Kubeflow would retry a user error as well, since its launcher turns every exit
    code into 1; so its retries stay off, and what may pass is waited for here.
    """
    for wait_s in _RETRY_WAITS_S:
        try:
            run()
        except Exception as error:
            if not _may_pass(error):
                raise
            _log.warning("%s; the task restarts in %d s", error, wait_s)
        else:
            return
        time.sleep(wait_s)
        for path in map(Path, outputs):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    run()


def _may_pass(error: BaseException) -> bool:
    """Whether a storage or a network failed, and nothing that was given."""
    return any(isinstance(e, StorageError | ConnectionError | TimeoutError) for e in _chain(error))


def _run(args: argparse.Namespace, beam_args: list[str]) -> None:
    from tfx.orchestration.kubeflow.v2 import compiler_utils
    from tfx.orchestration.kubeflow.v2.container import kubeflow_v2_run_executor

    compiler_utils.TITLE_TO_CLASS_PATH.update(_OWN_TYPES)
    kubeflow_v2_run_executor.main((args, with_engine(beam_args)))


def _leave_message(file: Path, said: str) -> None:
    """Why the pod ended, where Kubernetes shows it; outside of a pod there is no such file."""
    if not file.exists():
        return
    text = said.encode()[:_LONGEST_TERMINATION_MESSAGE].decode(errors="ignore")
    try:
        file.write_text(text, encoding="utf-8")
    except OSError:
        _log.warning("cannot write %s", file, exc_info=True)


def _explained(error: BaseException) -> Yt8mError | None:
    """Our own error, if Beam or TFX wrapped one into its own."""
    return next((e for e in _chain(error) if isinstance(e, Yt8mError)), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _parse(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(prog="yt8m.kubeflow.container.entrypoint", allow_abbrev=False)
    for name, short in SHORT_FLAGS.items():  # of older specs the long ones, too
        parser.add_argument(short, name, dest=name.removeprefix("--"), required=True)
    for name in ("inputs", "outputs", "integers"):  # types of artifacts; names of parameters
        parser.add_argument(f"--{name}", default="")
    return parser.parse_known_args(list(argv))


if __name__ == "__main__":
    leave = Exit()
    try:
        leave(main())
    except Exception:
        _log.exception("the component failed")
        sys.exit(EXIT_FAILED)
