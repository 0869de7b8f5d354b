"""The table of commands. Modules are named as text, so that listing them imports nothing.

A command module has `add_arguments(parser)`, `run(args, console) -> int | None` and a docstring,
which is its `--help`: first line, explanation, then examples. It may import only light modules at
its top; whatever is heavy (TensorFlow, TFX, kfp, pandas) is imported inside `run`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One command: the words that call it, a one-line help, and the module that does it."""

    words: str
    summary: str
    module: str


GROUPS = {
    "data": "generate, download, pack and inspect YouTube-8M records",
    "config": "list, show and compare configurations",
    "models": "the registry of pushed models",
    "kubeflow": "compile, upload and schedule on Kubeflow Pipelines",
}

_COMPONENTS = "yt8m.components.commands."
_PIPELINE = "yt8m.pipeline.commands."
_KUBEFLOW = "yt8m.kubeflow.commands."

COMMANDS = (
    Command("run", "run the pipeline here, from records to a pushed model", f"{_PIPELINE}run"),
    Command(
        "retrain", "run it when there is new data, once or on a schedule", f"{_PIPELINE}retrain"
    ),
    Command("sweep", "run every combination of some values", f"{_PIPELINE}sweep"),
    Command("history", "the runs so far: spans, GAP, pushed or why not", f"{_PIPELINE}history"),
    Command("status", "a run's components, artifacts and properties", f"{_PIPELINE}status"),
    Command("compare", "two runs or versions: settings, metrics, classes", f"{_PIPELINE}compare"),
    Command("report", "where a run's report is; --open shows it", f"{_PIPELINE}report"),
    Command("gc", "remove artifacts of old runs that nothing needs", f"{_PIPELINE}gc"),
    Command("train", "train alone, in one process or a local cluster", f"{_PIPELINE}train"),
    Command("evaluate", "score an exported model on records", f"{_COMPONENTS}evaluate"),
    Command("predict", "competition files, JSON, Parquet from a model", f"{_PIPELINE}predict"),
    Command("score", "score a competition file against records", f"{_COMPONENTS}score"),
    Command("ensemble", "make one model of several", f"{_COMPONENTS}ensemble"),
    Command("export", "a model in another program's form", f"{_COMPONENTS}export"),
    Command("metrics", "score predictions and labels in an .npz file", f"{_COMPONENTS}metrics"),
    Command("data generate", "write learnable YT8M-like records", f"{_COMPONENTS}data_generate"),
    Command("data download", "fetch YouTube-8M, verified", f"{_COMPONENTS}data_download"),
    Command("data pack", "records from your own features", f"{_COMPONENTS}data_pack"),
    Command("data inspect", "what a set of shards holds", f"{_COMPONENTS}data_inspect"),
    Command("config list", "the presets, one line each", f"{_PIPELINE}config_list"),
    Command("config show", "a configuration, resolved", f"{_PIPELINE}config_show"),
    Command("config diff", "what differs between two", f"{_PIPELINE}config_diff"),
    Command("config explain", "a value: type, limits, meaning", f"{_PIPELINE}config_explain"),
    Command("models list", "the pushed versions", f"{_COMPONENTS}models_list"),
    Command("models show", "one version: metrics, data, lineage", f"{_COMPONENTS}models_show"),
    Command("models rollback", "make an older version the newest", f"{_COMPONENTS}models_rollback"),
    Command("models shadow", "a candidate beside what serves", f"{_COMPONENTS}models_shadow"),
    Command("models import", "register a SavedModel from elsewhere", f"{_COMPONENTS}models_import"),
    Command("models verify", "compare versions with their records", f"{_COMPONENTS}models_verify"),
    Command("models extend", "more videos in an exported index", f"{_COMPONENTS}models_extend"),
    Command("models manifest", "a version as KServe serves it", f"{_COMPONENTS}models_manifest"),
    Command("models prune", "remove damaged versions", f"{_COMPONENTS}models_prune"),
    Command("kubeflow compile", "write the pipeline as KFP YAML", f"{_KUBEFLOW}compile"),
    Command("kubeflow check", "does the cluster have what it needs", f"{_KUBEFLOW}check"),
    Command("kubeflow upload", "upload it as a version", f"{_KUBEFLOW}upload"),
    Command("kubeflow run", "start a run with parameters", f"{_KUBEFLOW}run"),
    Command("kubeflow schedule", "start runs on a schedule", f"{_KUBEFLOW}schedule"),
    Command("kubeflow unschedule", "stop doing so", f"{_KUBEFLOW}unschedule"),
    Command("kubeflow list", "pipelines, versions, runs, schedules", f"{_KUBEFLOW}list"),
    Command("kubeflow wait", "follow a run to its end", f"{_KUBEFLOW}wait"),
    Command("help", "explain a command", f"{_COMPONENTS}help"),
    Command("version", "which version is installed", f"{_COMPONENTS}version"),
    Command("completion", "a script for bash, zsh or fish", f"{_COMPONENTS}completion"),
)
