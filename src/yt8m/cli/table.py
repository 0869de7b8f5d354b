"""The table of commands. Modules are named as text, so that listing them imports nothing.

A command module has `add_arguments(parser)`, `run(args, console) -> int | None` and a docstring,
which is its `--help`: first line, explanation, then examples. It may import only light modules at
its top; whatever is heavy (TensorFlow, TFX, kfp, pandas) is imported inside `run`.
"""

from __future__ import annotations

from yt8m.cli.command import Command

GROUPS = {
    "data": "generate, download, pack and inspect YouTube-8M records",
    "config": "list, show and compare configurations",
    "models": "the registry of pushed models",
    "kubeflow": "compile, upload and schedule on Kubeflow Pipelines",
}


COMMANDS = (
    Command("run", "run the pipeline here, from records to a pushed model", "yt8m.cli.run"),
    Command("retrain", "run it when there is new data, once or on a schedule", "yt8m.cli.retrain"),
    Command("sweep", "run every combination of some values", "yt8m.cli.sweep"),
    Command("history", "the runs so far: spans, GAP, pushed or why not", "yt8m.cli.history"),
    Command("status", "a run's components, artifacts and properties", "yt8m.cli.status"),
    Command("compare", "two runs or versions: settings, metrics, classes", "yt8m.cli.compare"),
    Command("report", "where a run's report is; --open shows it", "yt8m.cli.report"),
    Command("gc", "remove artifacts of old runs that nothing needs", "yt8m.cli.gc"),
    Command("train", "train alone, in one process or a local cluster", "yt8m.cli.train"),
    Command("evaluate", "score an exported model on records", "yt8m.cli.evaluate"),
    Command("predict", "competition files, JSON, Parquet from a model", "yt8m.cli.predict"),
    Command("score", "score a competition file against records", "yt8m.cli.score"),
    Command("ensemble", "make one model of several", "yt8m.cli.ensemble"),
    Command("export", "a model in another program's form", "yt8m.cli.export"),
    Command("metrics", "score predictions and labels in an .npz file", "yt8m.cli.metrics"),
    Command("data generate", "write learnable YT8M-like records", "yt8m.cli.data_generate"),
    Command("data download", "fetch YouTube-8M, verified", "yt8m.cli.data_download"),
    Command("data pack", "records from your own features", "yt8m.cli.data_pack"),
    Command("data inspect", "what a set of shards holds", "yt8m.cli.data_inspect"),
    Command("config list", "the presets, one line each", "yt8m.cli.config_list"),
    Command("config show", "a configuration, resolved", "yt8m.cli.config_show"),
    Command("config diff", "what differs between two", "yt8m.cli.config_diff"),
    Command("config explain", "a value: type, limits, meaning", "yt8m.cli.config_explain"),
    Command("models list", "the pushed versions", "yt8m.cli.models_list"),
    Command("models show", "one version: metrics, data, lineage", "yt8m.cli.models_show"),
    Command("models rollback", "make an older version the newest", "yt8m.cli.models_rollback"),
    Command("models shadow", "a candidate beside what serves", "yt8m.cli.models_shadow"),
    Command("models import", "register a SavedModel from elsewhere", "yt8m.cli.models_import"),
    Command("models verify", "compare versions with their records", "yt8m.cli.models_verify"),
    Command("models extend", "more videos in an exported index", "yt8m.cli.models_extend"),
    Command("models manifest", "a version as KServe serves it", "yt8m.cli.models_manifest"),
    Command("models prune", "remove damaged versions", "yt8m.cli.models_prune"),
    Command("kubeflow compile", "write the pipeline as KFP YAML", "yt8m.cli.kubeflow_compile"),
    Command("kubeflow check", "does the cluster have what it needs", "yt8m.cli.kubeflow_check"),
    Command("kubeflow upload", "upload it as a version", "yt8m.cli.kubeflow_upload"),
    Command("kubeflow run", "start a run with parameters", "yt8m.cli.kubeflow_run"),
    Command("kubeflow schedule", "start runs on a schedule", "yt8m.cli.kubeflow_schedule"),
    Command("kubeflow unschedule", "stop doing so", "yt8m.cli.kubeflow_unschedule"),
    Command("kubeflow list", "pipelines, versions, runs, schedules", "yt8m.cli.kubeflow_list"),
    Command("kubeflow wait", "follow a run to its end", "yt8m.cli.kubeflow_wait"),
    Command("help", "explain a command", "yt8m.cli.help"),
    Command("version", "which version is installed", "yt8m.cli.version"),
    Command("completion", "a script for bash, zsh or fish", "yt8m.cli.completion"),
)
