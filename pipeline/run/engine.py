"""Hands the graph to a TFX runner, and watches each component start, end or fail.

TFX's runners tell nobody how far they are. Both of them start a component through one class, the
launcher, so for the time of a run that class is replaced by one of ours which reports.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, Protocol

from apache_beam.options.pipeline_options import StandardOptions
from tfx.dsl.compiler import compiler, constants
from tfx.orchestration.beam.beam_dag_runner import BeamDagRunner
from tfx.orchestration.local.local_dag_runner import LocalDagRunner
from tfx.orchestration.pipeline import Pipeline
from tfx.orchestration.portable import launcher, runtime_parameter_utils

import yt8m.components.storage.tfx_plugin  # noqa: F401  (roots in object stores)
from yt8m.components.allocator import share_arenas
from yt8m.pipeline.beam import IN_PROCESS_RUNNER
from yt8m.pipeline.config import EngineName
from yt8m.pipeline.run.signals import Interrupted
from yt8m.pipeline.run.staging import Staging
from yt8m.schemas.errors import Yt8mError


class Observer(Protocol):
    """Hears of every component, in the thread that runs it."""

    def started(self, node: str) -> None: ...

    def finished(self, node: str, *, execution_id: int, cached: bool) -> None: ...

    def failed(self, node: str, error: BaseException) -> None: ...


# TFX's own, which walk through the graph.
_RUNNERS = {"beam": BeamDagRunner, "local": LocalDagRunner}


def run_pipeline(
    pipeline: Pipeline,
    *,
    run_id: str,
    engine: EngineName,
    observer: Observer,
    staging: Staging | None = None,
) -> None:
    """Run every component of `pipeline`; the error of the one that fails is raised.

    With `staging` they get local copies of what is in an object store.
    """
    share_arenas()
    compiled = compiler.Compiler().compile(pipeline)
    runtime_parameter_utils.substitute_runtime_parameter(
        compiled, {constants.PIPELINE_RUN_ID_PARAMETER_NAME: run_id}
    )
    with _observed(observer, staging), _beam_in_this_process():
        _RUNNERS[engine]().run_with_ir(compiled)


@contextlib.contextmanager
def _observed(observer: Observer, staging: Staging | None) -> Iterator[None]:
    class Launcher(_ObservedLauncher):
        observer_, staging_ = observer, staging

    stock = launcher.Launcher
    launcher.Launcher = Launcher
    try:
        yield
    finally:
        launcher.Launcher = stock


@contextlib.contextmanager
def _beam_in_this_process() -> Iterator[None]:
    """Where nobody tells Beam its engine, as BeamDagRunner does not, it is the one in this process.

    Beam and absl read `sys.argv` as theirs, too, and guess at shortened names: ours are hidden.
    """
    ours, default = sys.argv, StandardOptions.DEFAULT_RUNNER
    sys.argv = [ours[0], f"--runner={IN_PROCESS_RUNNER}", "--direct_running_mode=in_memory"]
    # Beam's type of it is its value.
    StandardOptions.DEFAULT_RUNNER = IN_PROCESS_RUNNER  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        sys.argv, StandardOptions.DEFAULT_RUNNER = ours, default


class _ObservedLauncher(launcher.Launcher):
    observer_: Observer
    staging_: Staging | None
    _executed = False

    def _run_executor(self, execution_info: Any) -> Any:
        self._executed = True
        self._executor_operator: Any = _Interruptible(self._executor_operator, self.staging_)
        return super()._run_executor(execution_info)

    def launch(self) -> Any:
        node = self._pipeline_node.node_info.id
        self.observer_.started(node)
        try:
            info = super().launch()
            if not self._executed and (info is None or not info.output_dict):
                raise Yt8mError(f"{node} did not get its inputs; its log says which")
        except BaseException as error:
            self.observer_.failed(node, error)
            raise
        self.observer_.finished(node, execution_id=info.execution_id, cached=not self._executed)
        return info


class _Interruptible:
    """An executor operator under which Ctrl-C is a failure like others, cleaned up after."""

    def __init__(self, operator: Any, staging: Staging | None) -> None:
        self._operator, self._staging = operator, staging

    def run_executor(self, execution_info: Any) -> Any:
        try:
            if self._staging is None:
                return self._operator.run_executor(execution_info)
            return self._staging.run(execution_info, self._operator.run_executor)
        except KeyboardInterrupt as error:
            raise Interrupted("interrupted; the same command continues") from error
