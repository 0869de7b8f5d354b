"""The table of commands: the words that call each, and what it takes.

A command's action is `run(arguments, console) -> int | None` of the module that its words name:
`yt8m config show` is done by `yt8m.cli.config_show`. That module is imported when the command runs,
so it may import TensorFlow, TFX and kfp at its top; what is imported here must be light.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from yt8m.cli.arguments import about, config, data, kubeflow, models, runs, scoring
from yt8m.cli.arguments.options import Arguments

GROUPS = {
    "data": "generate, download, pack and inspect YouTube-8M records",
    "config": "list, show and compare configurations",
    "models": "the registry of pushed models",
    "kubeflow": "compile, upload and schedule on Kubeflow Pipelines",
}

COMMANDS: Mapping[str, type[Arguments]] = {
    "run": runs.RunArguments,
    "retrain": runs.RetrainArguments,
    "sweep": runs.SweepArguments,
    "history": runs.HistoryArguments,
    "status": runs.StatusArguments,
    "compare": runs.CompareArguments,
    "report": runs.ReportArguments,
    "gc": runs.GcArguments,
    "train": runs.TrainArguments,
    "evaluate": scoring.EvaluateArguments,
    "predict": scoring.PredictArguments,
    "score": scoring.ScoreArguments,
    "convert": scoring.ConvertArguments,
    "ensemble": scoring.EnsembleArguments,
    "export": scoring.ExportArguments,
    "metrics": scoring.MetricsArguments,
    "data generate": data.GenerateArguments,
    "data download": data.DownloadArguments,
    "data pack": data.PackArguments,
    "data inspect": data.InspectArguments,
    "config list": config.ConfigListArguments,
    "config show": config.ConfigShowArguments,
    "config diff": config.ConfigDiffArguments,
    "config explain": config.ConfigExplainArguments,
    "models list": models.ModelsListArguments,
    "models show": models.ModelsShowArguments,
    "models rollback": models.ModelsRollbackArguments,
    "models champion": models.ModelsChampionArguments,
    "models shadow": models.ModelsShadowArguments,
    "models import": models.ModelsImportArguments,
    "models verify": models.ModelsVerifyArguments,
    "models extend": models.ModelsExtendArguments,
    "models manifest": models.ModelsManifestArguments,
    "models prune": models.ModelsPruneArguments,
    "kubeflow compile": kubeflow.CompileArguments,
    "kubeflow check": kubeflow.CheckArguments,
    "kubeflow upload": kubeflow.UploadArguments,
    "kubeflow run": kubeflow.KubeflowRunArguments,
    "kubeflow schedule": kubeflow.ScheduleArguments,
    "kubeflow unschedule": kubeflow.UnscheduleArguments,
    "kubeflow list": kubeflow.KubeflowListArguments,
    "kubeflow wait": kubeflow.WaitArguments,
    "kubeflow logs": kubeflow.LogsArguments,
    "kubeflow cancel": kubeflow.CancelArguments,
    "kubeflow retry": kubeflow.RetryArguments,
    "kubeflow archive": kubeflow.ArchiveArguments,
    "kubeflow delete": kubeflow.DeleteArguments,
    "help": about.HelpArguments,
    "version": about.VersionArguments,
    "completion": about.CompletionArguments,
}


def action_module(words: str) -> str:
    """The module whose `run` is the command's action."""
    return f"yt8m.cli.{words.replace(' ', '_')}"


def members(group: str = "") -> list[str]:
    """The commands of a group; without one, those of none."""
    return [words for words in COMMANDS if words.rpartition(" ")[0] == group]


def summary(words: str) -> str:
    """The first line of the command's help, as a list shows it."""
    line = (inspect.getdoc(COMMANDS[words]) or "").partition("\n")[0]
    return line[:1].lower() + line[1:].removesuffix(".")
