"""Runs from Python: start, list, inspect, compare."""

from __future__ import annotations

import contextlib
import datetime
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import pandas as pd

from yt8m.components.artifacts.estimate import estimate_columns
from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.components.artifacts.run_record import RunRecord
from yt8m.components.report.collect_training import curves_of
from yt8m.components.report.markup import element
from yt8m.components.report.model import RunReport
from yt8m.components.report.page import render_section
from yt8m.pipeline import presets
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.python.models import Model, load_model
from yt8m.pipeline.python.show import frame
from yt8m.pipeline.results.comparison import ResultsComparison
from yt8m.pipeline.results.comparison import compare as compare_results
from yt8m.pipeline.results.comparison_views import as_section, as_text
from yt8m.pipeline.results.model_results import ModelResults, executions_of, results_of_run
from yt8m.pipeline.run_record import display_status, list_runs, record_named, unreadable_runs
from yt8m.pipeline.workspace import Layout, layout_of
from yt8m.schemas.config_layers import overrides_of
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import (
    EXIT_DONE,
    EXIT_REJECTED,
    EXIT_TERMINATED,
    EXIT_USER,
    Terminated,
    UserError,
    Yt8mError,
)
from yt8m.schemas.metric_names import GAP


def load_config(
    presets_or_files: str | Sequence[str] = presets.DEFAULTS,
    settings: Mapping[str, Any] | Iterable[str] = (),
    *,
    data: str = "",
    root: str = "",
    push: str = "",
) -> PipelineConfig:
    """A preset or a YAML file with `settings` on top, by dotted path or as `a.b=value`.

    Of several presets or files each is on top of the one before.

    `data`, `root` and `push` are the options of `yt8m run`.
    """
    texts = overrides_of(settings) if isinstance(settings, Mapping) else settings
    places = {"data.root": data, "root": root, "pusher.push_dir": push}
    given = {path: str(place) for path, place in places.items() if place}
    return presets.load_config(presets_or_files, [*texts, *overrides_of(given)])


def run(config: PipelineConfig, *, quiet: bool = False, wait: float = 0.0) -> Run:
    """Run the pipeline as `yt8m run` does, in a process of its own; what it says goes to stderr.

    Rejected by the gate is an outcome as much as pushed is; any other raises what the command
    says. Interrupted, the run ends in order, and the same call continues it. `wait` is the option
    of `yt8m run`: seconds to wait for another run on the same root.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "config.json")
        file.write_text(json.dumps(to_dict(config)), encoding="utf-8")
        # -P: as in the console script, no module of the working directory hides one of Python's.
        command = [sys.executable, "-P", "-m", "yt8m", "run", str(file), "--json"]
        options = ["--wait", str(wait), *(["--quiet"] if quiet else [])]
        said, code = _follow([*command, *options])
    try:
        answer = json.loads(said)
    except ValueError:
        answer = {"error": f"the run ended with exit code {code}"}
    if code in (EXIT_DONE, EXIT_REJECTED):
        return runs(config.root)[str(answer["run_id"])]
    kinds: dict[int, type[Yt8mError]] = {EXIT_USER: UserError, EXIT_TERMINATED: Terminated}
    raise kinds.get(code, Yt8mError)(str(answer.get("error") or answer.get("reason")))


def _follow(command: Sequence[str]) -> tuple[str, int]:
    """Standard output and exit code; each line of standard error is shown as it comes."""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as answer,
        subprocess.Popen(
            command, stdout=answer, stderr=subprocess.PIPE, encoding="utf-8", errors="replace"
        ) as process,
    ):
        assert process.stderr is not None
        try:
            for line in process.stderr:
                sys.stderr.write(line)
        except (KeyboardInterrupt, Terminated):
            with contextlib.suppress(ProcessLookupError):
                process.terminate()  # a terminal's Ctrl-C has reached it, a notebook's has not
            for line in process.stderr:  # it ends in order, and holds its root until then
                sys.stderr.write(line)
            process.wait()
            raise
        code = process.wait()
        answer.seek(0)
        return answer.read(), code


def runs(root: str | Path) -> Runs:
    """The runs of a root, the newest first."""
    layout = layout_of(root)
    records = list_runs(layout)
    for problem in unreadable_runs(layout, records):
        warnings.warn(problem, stacklevel=2)
    return Runs(layout, [Run(layout, record) for record in records])


def compare(a: Run, b: Run) -> RunComparison:
    """`b` against `a`: configuration, metrics, classes, curves."""
    for name, one in (("a", a), ("b", b)):
        if not isinstance(one, Run):
            raise UserError(f"{name} = {one!r}: must be a run, such as yt8m.runs(root)[0]")
    return RunComparison(compare_results(a.results, b.results))


class Run:
    """One run. Frames are read when asked for; what the run did not come to is empty."""

    def __init__(self, layout: Layout, record: RunRecord) -> None:
        self._layout, self.record = layout, record

    @property
    def id(self) -> str:
        return self.record.run_id

    @property
    def verdict(self) -> str:
        """`pushed`, `rejected`, `running`, `failed`, ..."""
        return self.record.verdict.value

    @property
    def version(self) -> int | None:
        """The version that it pushed."""
        return self.record.version or None

    @property
    def started(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self.record.started, datetime.UTC)

    @property
    def config(self) -> PipelineConfig:
        return from_dict(PipelineConfig, self.record.config)

    @property
    def report(self) -> Path | None:
        """Its page, where it has one on this machine."""
        path = Path(self.record.report)
        return path if self.record.report and path.is_file() else None

    @cached_property
    def results(self) -> ModelResults:
        """The metrics and files that `compare` reads."""
        return results_of_run(self._layout, self.record)

    @property
    def outputs(self) -> RunOutputs:
        """The components' files: `decision`, `evaluation`, `push`, ..., read on first use."""
        return self.results.outputs

    @property
    def metrics(self) -> pd.DataFrame:
        """By metric: value, lower, upper; with a baseline its value, and the difference."""
        decision = self.outputs.decision
        rows = {}
        for name, estimate in self.results.metrics.items():
            rows[name] = estimate_columns(estimate)
            if decision and name in decision.baseline_metrics:
                rows[name]["baseline"] = decision.baseline_metrics[name].value
                rows[name] |= estimate_columns(decision.differences.get(name), "difference")
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("metric")

    @property
    def classes(self) -> pd.DataFrame:
        """Average precision by class."""
        evaluation = self.outputs.evaluation
        frame = pd.DataFrame([to_dict(one) for one in evaluation.classes] if evaluation else [])
        return frame.set_index("class_id") if len(frame) else frame

    @property
    def slices(self) -> pd.DataFrame:
        """GAP by slice."""
        evaluation = self.outputs.evaluation
        rows = [
            {
                "slice": f"{part.column}={part.value}",
                "videos": part.videos,
                **estimate_columns(part.candidate["gap"]),
            }
            for part in (evaluation.slices if evaluation else ())
            if "gap" in part.candidate
        ]
        return pd.DataFrame(rows)

    @property
    def curves(self) -> pd.DataFrame:
        """The training curve: a row for each `kind` (train, validation, evaluation) and step."""
        return pd.DataFrame(self.outputs.curve)

    @property
    def artifacts(self) -> pd.DataFrame:
        """The components' output artifacts."""
        return pd.DataFrame(
            [
                {"component": e.node, "output": o.key, "type": o.type_name, "uri": o.uri}
                for e in executions_of(self._layout, self.record)
                for o in e.outputs
            ]
        )

    @property
    def model(self) -> Model:
        """The model that it trained, pushed or not."""
        if not (place := self.outputs.uri("model")):
            raise UserError(f"run {self.id} has no model: {self._outcome()}")
        return load_model(place)

    def _outcome(self) -> str:
        return display_status(self.verdict, self.record.reason)

    def __repr__(self) -> str:
        gap = "" if self.record.gap is None else f", GAP {self.record.gap:.4f}"
        return f"<Run {self.id}: {self.verdict}{gap}>"

    def _repr_html_(self) -> str:
        report = RunReport(
            decision=self.outputs.decision,
            evaluation=self.outputs.evaluation,
            training=curves_of(self.outputs.curve),
        )
        head = element("h2", f"Run {self.id}"), element("p", self._outcome())
        sections = (render_section(name, report) for name in ("metrics", "training"))
        return frame(*head, *sections, height=640)


class Runs(Sequence[Run]):
    """Runs by place (0 is the newest) or by id."""

    def __init__(self, layout: Layout, runs: Sequence[Run]) -> None:
        self._layout, self._found = layout, runs

    @overload
    def __getitem__(self, key: int | str) -> Run: ...
    @overload
    def __getitem__(self, key: slice) -> Runs: ...
    def __getitem__(self, key: int | str | slice) -> Run | Runs:
        if isinstance(key, slice):
            return Runs(self._layout, self._found[key])
        if isinstance(key, int):
            if not -len(self) <= key < len(self):
                raise IndexError(f"no run {key}: {self._layout.root} has {len(self)}")
            return self._found[key]
        if not isinstance(key, str):
            raise UserError(f"run {key!r}: must be a number (0 is the newest) or a run's id")
        return Run(self._layout, record_named(self._layout, key))

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._found)

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each run."""
        return pd.DataFrame(
            [
                {
                    "run": one.id,
                    "started": one.started,
                    "seconds": one.record.seconds,
                    "verdict": one.verdict,
                    "version": one.version,
                    **dict.fromkeys((GAP, f"{GAP}_difference")),
                    **one.record.figures,
                }
                for one in self
            ]
        )

    def __repr__(self) -> str:
        return "\n".join(map(repr, self)) or "no runs"

    def _repr_html_(self) -> str:
        return str(self.frame.to_html(index=False, float_format="{:.4f}".format, na_rep=""))


class RunComparison:
    """Two runs; a gain is the second's over the first's."""

    def __init__(self, comparison: ResultsComparison) -> None:
        self._comparison = comparison

    @property
    def settings(self) -> pd.DataFrame:
        """Configured values that differ."""
        rows = [(key, a, b) for key, (a, b) in self._comparison.settings.items()]
        return pd.DataFrame(rows, columns=["setting", "a", "b"])

    @property
    def metrics(self) -> pd.DataFrame:
        rows = {
            metric.name: {
                "a": metric.a.value,
                "b": metric.b.value,
                **estimate_columns(metric.difference, "difference"),
            }
            for metric in self._comparison.metrics
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("metric")

    @property
    def classes(self) -> pd.DataFrame:
        """Classes that both have, those that gained most first."""
        return pd.DataFrame([{**vars(one), "gain": one.gain} for one in self._comparison.classes])

    def __repr__(self) -> str:
        return as_text(self._comparison)

    def _repr_html_(self) -> str:
        return frame(as_section(self._comparison), height=720)
