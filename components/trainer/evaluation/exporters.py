"""Choice of the evaluated checkpoints to export, and of the exports to keep (Estimator's)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from yt8m.components import storage
from yt8m.components.artifacts.read import read_if_present
from yt8m.components.metrics.catalogue import MetricInfo, is_better
from yt8m.components.trainer.config import (
    BestExporterConfig,
    ExporterConfig,
    FinalExporterConfig,
    LatestExporterConfig,
    OwnExporterConfig,
)
from yt8m.schemas.json_file import fields_of, to_text
from yt8m.schemas.own_code import load_named

# Writes the evaluated model into a directory, complete or not at all.
Write = Callable[[str], None]
_BEST_FILE = "best.json"


class Exporter:
    """One configured exporter; its exports are `<directory>/<step>`."""

    def __init__(self, config: ExporterConfig, root: str, known: Sequence[MetricInfo] = ()) -> None:
        """`known` are the metrics of the user's own."""
        self._config, self.name, self._known = config, config.directory, known
        self.directory = f"{root}/{config.directory}"

    def export(
        self,
        step: int,
        metrics: Mapping[str, Any],
        write: Write,
        *,
        final: bool,
        overwrite: bool = False,
    ) -> bool:
        """Export what was evaluated at `step` if it deserves it; True if that was done.

        What is exported already stays, unless `overwrite`: the step was saved again, with other
        weights.
        """
        if not self._wants(step, metrics, final=final) or (step in self._steps() and not overwrite):
            return False
        write(f"{self.directory}/{step}")
        if isinstance(self._config, BestExporterConfig):
            self._remember(step, metrics)
        self._forget_old(step)
        return True

    def _wants(self, step: int, metrics: Mapping[str, Any], *, final: bool) -> bool:
        match self._config:
            case LatestExporterConfig():
                return True
            case FinalExporterConfig():
                return final
            case BestExporterConfig(metric=metric):
                return is_better(metric, metrics[metric], self._best(), self._known)
            case OwnExporterConfig(exporter=path):
                wants = load_named(path, f"trainer.evaluation.exporters: {path}")
                return bool(wants(step, metrics, self._steps(), final))

    def _best(self) -> float | None:
        return read_if_present(
            self.directory,
            _BEST_FILE,
            lambda text: float(fields_of(text)["value"]),
            advice="remove it, and the next export counts as the best so far",
        )

    def _remember(self, step: int, metrics: Mapping[str, Any]) -> None:
        assert isinstance(self._config, BestExporterConfig)
        metric = self._config.metric
        text = to_text({"step": step, "metric": metric, "value": metrics[metric]})
        storage.write_text(f"{self.directory}/{_BEST_FILE}", text)

    def _forget_old(self, newest: int) -> None:
        if isinstance(self._config, FinalExporterConfig):
            return
        for step in self._steps()[: -self._config.keep]:
            if step != newest:
                storage.remove_tree(f"{self.directory}/{step}")

    def _steps(self) -> list[int]:
        return exported_steps(self.directory)


def exported_steps(directory: str) -> list[int]:
    """The steps whose exports are in an exporter's directory."""
    names = storage.list_dir(directory) if storage.is_dir(directory) else []
    return sorted(int(name) for name in names if name.isdigit())
