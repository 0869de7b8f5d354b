"""The compiled specs that tests compare with. As a script it writes them again (`make golden`)."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import yaml

from yt8m.kubeflow.parameter_text import restored

GOLDEN = Path(__file__).parent.parent / "golden" / "kubeflow"
_CLUSTER = """\
kubeflow:
  work_dir: /mnt/yt8m/work
  image_pull_policy: IfNotPresent
  resources:
    default: {cpu: "2", memory: 8Gi}
    Trainer: {cpu: "8", memory: 32Gi, gpus: 1}
  volumes:
    - {claim: yt8m-data, path: /mnt/yt8m}
    - {secret: ca, path: /etc/ca, components: [Pusher]}
  secrets:
    - {secret: s3, key: id, variable: AWS_ACCESS_KEY_ID}
  config_maps:
    - {config_map: settings, key: zone, variable: ZONE}
  node_selector:
    Trainer: {pool: gpu}
  labels:
    Trainer: {kueue.x-k8s.io/queue-name: nightly}
  annotations:
    default: {cost/team: videos}
  timeout_s:
    Trainer: 86400
  security: {run_as_user: 10001}
"""
# Name of the file -> preset, platform file, settings.
CASES = {
    "smoke.yaml": ("smoke", "", ()),
    "frame_dbof.yaml": (
        "frame_dbof",
        _CLUSTER,
        ("trainer.backend.name=jobset", "gate.gap_threshold=0.5"),
    ),
}


def compile_case(name: str) -> str:
    """The YAML of a case, with what changes by itself taken out."""
    from yt8m.cli.main import run

    preset, platform, settings = CASES[name]
    with tempfile.TemporaryDirectory() as directory:
        out, file = Path(directory) / "out.yaml", Path(directory) / "cluster.yaml"
        words = ["kubeflow", "compile", preset, "--image", "registry/yt8m:1", "--quiet"]
        words += ["--root", "s3://bucket/yt8m", "--out", str(out)]
        for setting in settings:
            words += ["--set", setting]
        if platform:
            file.write_text(platform, encoding="utf-8")
            words += ["--platform", str(file)]
        if run(words):
            raise RuntimeError(f"{name} does not compile")
        return normalise(readable(out.read_text(encoding="utf-8")))


def readable(text: str) -> str:
    """Restore the long parameters of compiled documents, so that a diff of them can be read."""
    head, documents = text[: text.index("components:")], list(yaml.safe_load_all(text))
    for task in documents[0]["root"]["dag"]["tasks"].values():
        for given in task.get("inputs", {}).get("parameters", {}).values():
            constant = given.get("runtimeValue", {}).get("constant")
            if isinstance(constant, str):
                given["runtimeValue"]["constant"] = restored(constant)
    return head + yaml.safe_dump_all(documents, sort_keys=True, width=100)


def normalise(text: str) -> str:
    """Versions of TFX and digests of code change without the pipeline changing."""
    text = re.sub(r"tfx-\d+\.\d+\.\d+\S*", "tfx-VERSION", text)
    return re.sub(r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])", "DIGEST", text)


if __name__ == "__main__":
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        (GOLDEN / case).write_text(compile_case(case), encoding="utf-8")
        print(f"wrote {GOLDEN / case}")
