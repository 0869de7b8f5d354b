"""A hundred slips of the hand: each is answered before TensorFlow is loaded, with what is right."""

import json
import subprocess
import sys

import pytest

from yt8m.schemas.errors import EXIT_USER

# One process for all of them: what one leaves loaded would show in the next.
PROBE = """
import contextlib, io, json, shlex, sys
from yt8m.cli.main import run
sys.path.append(".")
for line in json.loads(sys.stdin.read()):
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            code = run(shlex.split(line))
        except SystemExit as end:
            code = end.code
    print(json.dumps([code, said.getvalue(), "tensorflow" in sys.modules]))
"""
PARTS = """
import tensorflow as tf
from yt8m.components.models.network import Network

class MyNetwork(Network):
    pass

class MyHook:
    def __init__(self, strength):
        self.strength = strength

def my_vectors(features, scale=1.0): ...
def two_vectors(look, sound): ...
def my_batches(batches): ...
def keep_all(): ...
def my_policy(history): ...
def my_exporter(step, metrics): ...
my_metric = object()
"""
COMMANDS = {
    "rnu": "did you mean `yt8m run`?",
    "retrian smoke": "did you mean `yt8m retrain`?",
    "evalute": "did you mean `yt8m evaluate`?",
    "predcit": "did you mean `yt8m predict`?",
    "ensembel": "did you mean `yt8m ensemble`?",
    "histroy --root root": "did you mean `yt8m history`?",
    "stats --root root": "did you mean `yt8m status`?",
    "reprot --root root": "did you mean `yt8m report`?",
    "config shwo smoke": "did you mean `yt8m config show`?",
    "config explain batch": "did you mean trainer.batch_size?",
    "config explian": "did you mean `yt8m config explain`?",
    "data generat": "did you mean `yt8m data generate`?",
    "data inspct data": "did you mean `yt8m data inspect`?",
    "models lst": "did you mean `yt8m models list`?",
    "models rolback 3": "did you mean `yt8m models rollback`?",
    "kubeflow complie smoke": "did you mean `yt8m kubeflow compile`?",
    "kubeflow shedule": "did you mean `yt8m kubeflow schedule`?",
    "smoke": "no command `smoke`",
    "help rnu": "did you mean `yt8m run`?",
}
OPTIONS = {
    "run smoke --dta data": "did you mean --data?",
    "run smoke --rot root": "did you mean --root?",
    "run smoke --psh models": "did you mean --push?",
    "run smoke --sett trainer.seed=1": "did you mean --set?",
    "run smoke --confg mine.yaml": "did you mean --config?",
    "run smoke --runner bean": "invalid choice: 'bean'",
    "run smoke --beam-runner flnk": "invalid choice: 'flnk'",
    "run smoke --wait soon": "--wait: soon: must be a number",
    "run smoke video_mlp": "unrecognized arguments: video_mlp",
    "retrain smoke --crn '0 3 * * *'": "did you mean --cron?",
    "history": "required: --root",
    "history --root root --metrc map": "did you mean --metric?",
    "history --root root --experiment e": "needs --mlflow",
    "status --root root --wach": "did you mean --watch?",
    "gc --root root --keep-runs few": "--keep-runs: few: must be a whole number",
    "gc --root root --dryrun": "did you mean --dry-run?",
    "gc --root root --keep-days=x": "--keep-days: x: must be a number",
    "train smoke --data data --outt out": "required: --out",
    "train smoke --data data --out out --processes wrker=1": "wrker=1",
    "evaluate --model models --data data --top-k 0": "must be a whole number, 1 or more",
    "evaluate --model models --data data --no-interval": "did you mean --no-intervals?",
    "predict --model models --data data --out o --format jsnl": "invalid choice: 'jsnl'",
    "predict --model models --data data --out o": "required: --format",
    "predict --model models --data data --out o --format jsonl --batchsize 4": "--batch-size",
    "predict --model models --data data --out o --format jsonl --bacth 4": "mean --batch-size?",
    "predict --model models --data data --out o --format jsonl --bacth=4": "mean --batch-size?",
    "run smoke --bacth 4": "unrecognized arguments: --bacth 4\n",
    "predict --model models --data data --out o --format jsonl --workers none": "--workers: none",
    "ensemble --models models models --out o --weights 1,2,3": "one for each of --models",
    "ensemble --models models models --out o --weights 1 3": "without blanks: --weights 1,3",
    "ensemble --models models models --out o --weights fit": "needs labelled records",
    "export --model models --format tar --out o": "invalid choice: 'tar'",
    "data generate --level vidoe --out o --train 1 --eval 1": "invalid choice: 'vidoe'",
    "data generate --level video --out o --train many --eval 1": "--train: many: must be",
    "data generate --level video --out o --eval 1": "required: --train",
    "data generate --level frame --out o --train 1 --eval 1 --frames 9-x": "--frames",
    "data download --level video --split trian --out o": "invalid choice: 'trian'",
    "data download --level video --split train --out o --shard 5/3": "--shard",
    "data pack --level video --input data --out o --split train --zero audio": "--zero audio",
    "data pack --level video --input data --out o --split train --range 2,-2": "--range",
    "models list": "required: --push",
    "models show three --push models": "V: three: must be a whole number",
    "models champion --push models --set=-1": "must be a whole number, 0 or more",
    "kubeflow compile smoke": "required: --root",
    "kubeflow wait R --every 0": "--every: 0: must be a number, above 0",
    "kubeflow wait R --every nan": "--every: nan: must be a number, above 0",
    "kubeflow wait R --patience=-5": "--patience: -5: must be a number, 0 or more",
    "kubeflow run smoke --timeout=-1": "--timeout: -1: must be a number, 0 or more",
    "kubeflow list runs --limit 0": "--limit: 0: must be a whole number, 1 or more",
    "kubeflow logs R --tail=-5": "--tail: -5: must be a whole number, 1 or more",
    "completion basch": "invalid choice: 'basch'",
}
VALUES = {
    "run smok": "did you mean smoke?",
    "run vido_mlp": "did you mean video_mlp?",
    "run absent.yaml": "absent.yaml: the configuration cannot be read (No such file",
    "run data": "no preset 'data'",
    "run ./data": "the configuration must be a regular file",
    "run smoke --config absent.yaml": "absent.yaml: the configuration cannot be read",
    "run smoke --set trainer.max_stpes=3": "did you mean max_steps?",
    "run smoke --set trainr.seed=3": "did you mean trainer?",
    "run smoke --set max_steps=3": "did you mean trainer.max_steps?",
    "run smoke --set trainer.max_steps": "write it as a.b=value",
    "run smoke --set trainer.max_steps=tree": "must be a whole number",
    "run smoke --set trainer.model.name=mpl": "did you mean mlp?",
    "run smoke --set trainer.optimizer.name=adm": "did you mean adam?",
    "run smoke --set trainer.optimizer.learning_rate=-1": "must be above 0",
    "run smoke --set gate.gap_threshold=2": "must be between 0 and 1",
    "run smoke --set data.level=frames": "did you mean frame?",
    "run smoke --set data.span=newest": "data.span = 'newest': must be",
    "run smoke --set trainer.heads=[{name: entities}]": "with each bracket closed; quote it",
    "run smoke --set trainer.steps=[1, 2]": "with each bracket closed; quote it",
    "run smoke --set gate.thresholds=[metric:gap] gate.thresholds=[min:0.5]": "quote a value with",
    "run smoke --set 'trainer.schedule={name:cosine}'": "write a space after the colon",
    "run smoke --set evaluator.metrics=[a.b": "with each bracket closed; quote it",
    "retrain smoke --set retrain.windw=2": "did you mean window?",
    "train smoke --data data --out out --set trainer.sed=1": "did you mean seed?",
    "sweep smoke --set trainer.sed=1,2": "did you mean seed?",
    "sweep smoke --set trainer.seed=1": "nothing to sweep over",
    "config show smoke --set name=3": "must be a text (quote it in YAML)",
    "config show wrong.yaml": "wrong.yaml: trainer.sed: unknown key; did you mean seed?",
    "config show based.yaml": "did you mean video_mlp?",
    "kubeflow compile smoke --root s3://b/r --set trainer.sed=1": "did you mean seed?",
}
OWN_CODE = {
    "run smoke --set trainer.network=part.MyNetwork": "there is no module part",
    "run smoke --set trainer.network=parts.MyNetwrok": "did you mean parts.MyNetwork?",
    "run smoke --set trainer.hooks=[parts.MyHok]": "did you mean parts.MyHook?",
    "run smoke --set trainer.hooks=[parts.MyHook]": "line 8: MyHook(self, strength) cannot be",
    "run smoke --set transform.function=parts.my_vector": "did you mean parts.my_vectors?",
    "run smoke --set transform.function=parts.two_vectors": "cannot be called with features",
    "run smoke --set trainer.input=parts.my_batches": "cannot be called with batches, rows",
    "run smoke --set data.ingest=rewrite --set data.rewrite.keep=parts.keep_all": "with record",
    "run smoke --set evaluator.metrics=[parts.my_metrics]": "did you mean parts.my_metric?",
    "run smoke --set trainer.early_stopping='{name: own, policy: parts.polcy}'": "my_policy?",
    "train smoke --data data --out o --set trainer.network=parts.Net": "defines no Net",
    "sweep smoke --set trainer.seed=1,2 --set trainer.network=parts.MyNet": "MyNetwork?",
    "run smoke --set trainer.network=broken.Net": "broken.py, line 1: invalid syntax",
    "run smoke --set trainer.network=parts.keep_all": "keep_all must be a subclass of Network",
    "run smoke --set trainer.network=parts.MyHook": "MyHook must be a subclass of Network",
    "run smoke --set trainer.network=json.decoder.JSONDecoder": "must be a subclass of Network",
    "run smoke --set trainer.optimizer='{name: own, optimizer: parts.keep_all}'": "Optimizer",
    "run smoke --set trainer.network=MyNetwork": "a dotted path such as package.module.name",
}
PATHS = {
    "evaluate --model modles --data data": "did you mean",
    "evaluate --model models --data data/a.tfrecord file.txt": "quote a pattern of files",
    "evaluate --model models --data dta/train*": "no such file or directory; did you mean",
    "evaluate --model models --data data --log-dir file.txt": "is a file, not a directory",
    "predict --model models/3/x --data data --out o --format jsonl": "no such file or directory",
    "predict --model models --data data --out data --format jsonl": "is a directory, not a file",
    "predict --model models --data data --out /dev/null --format jsonl": "is a device, not a file",
    "export --model models --format tgz --out /dev/stdout": "is a device, not a file",
    "predict --model models --data data --out file.txt/o --format jsonl": "file.txt is a file",
    "predict --model models --data data --out /proc/o --format jsonl": "cannot be written",
    "score --submission sub.csv --data data": "--submission sub.csv: no such file or directory\n",
    "train smoke --data data --out file.txt": "--out file.txt: is a file, not a directory",
    "ensemble --models model model --out root": "root: holds other files (runs)",
    "ensemble --models model model --out model": "model: belongs to the model model",
    "models extend --model model --data data --out root": "root: holds other files (runs)",
    "models extend --model model --data data --out model/2": "belongs to the model model",
    "export --model model --format mediapipe --out root": "root: holds other files (runs)",
    "export --model model --format mediapipe --out model": "belongs to the model model",
    "train smoke --data data --out trained": "trained/export: holds other files (notes.txt)",
    "train smoke --data data --out 'out[1]'": "out[1]/export: TensorFlow searches weights by a",
    "train smoke --data data --out /proc/out": "cannot be written",
    "train smoke --data data --out out --vocabulary data": "is a directory, not a file",
    "run smoke --data data --root file.txt": "--root file.txt: is a file, not a directory",
    "run smoke --data data --root root --push file.txt/models": "file.txt is a file",
    "data generate --level video --out file.txt --train 1 --eval 1": "is a file, not a directory",
    "data generate --level video --out s3://b/d --train 1 --eval 1": "is in an object store",
    "data pack --level video --input file.txt --out s3://b/d --split train": "object store",
    "data download --level video --split train --out gs://b/d": "choose a local directory",
    "data inspect dta": "did you mean",
    "metrics scores.npz": "scores.npz: no such file or directory",
    "history --root roto": "did you mean",
    "history --root data": "no run was started there",
    "status 20260101-000000-000000 --root root": "no run 20260101-000000-000000 in",
    "compare a b --root rot": "--root rot: no such file or directory; did you mean",
    "models list --push file.txt": "--push file.txt: is a file, not a directory",
    "kubeflow compile smoke --root s3://b/r --out file.txt/p.yaml": "file.txt is a file",
    "kubeflow compile smoke --root s3://b/r --platform cluster.yaml": "no such file or directory",
}
SLIPS = {**COMMANDS, **OPTIONS, **VALUES, **OWN_CODE, **PATHS}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    here = tmp_path_factory.mktemp("typos")
    for folder in ("data", "models", "model", "root/runs", "trained/export"):
        (here / folder).mkdir(parents=True)
    (here / ".sub.csv.parts").mkdir()  # of `yt8m predict`: never what was meant
    for file in ("file.txt", "model/saved_model.pb", "trained/export/notes.txt"):
        (here / file).write_text("")
    (here / "parts.py").write_text(PARTS)
    (here / "broken.py").write_text("def (:\n")
    (here / "wrong.yaml").write_text("trainer: {sed: 1}\n")
    (here / "based.yaml").write_text("base: video_mpl\n")
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        input=json.dumps(list(SLIPS)),
        capture_output=True,
        text=True,
        timeout=300,
        cwd=here,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(lines) == len(SLIPS), done.stderr
    return dict(zip(SLIPS, lines, strict=True))


def test_there_are_a_hundred_of_them():
    assert len(SLIPS) >= 100


@pytest.mark.parametrize("line", SLIPS)
def test_a_slip_is_answered_with_what_is_right_before_tensorflow_is_loaded(answers, line):
    code, said, has_tensorflow = answers[line]
    assert (code, has_tensorflow) == (EXIT_USER, False), said
    assert SLIPS[line] in said
    assert "Errno" not in said
    assert "Traceback" not in said
