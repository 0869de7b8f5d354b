"""Write a pipeline as Kubeflow Pipelines YAML (schema 2.1).

Needs no network and no cluster. The same `create_pipeline` is compiled as `yt8m run` runs. What
a run may set without compiling anew: data_root, span, push_dir, gap_threshold,
gap_change_threshold, and the pipeline root. What the open-source backend would refuse is refused
here, with its place in the YAML.

examples:
  yt8m kubeflow compile smoke --image registry/yt8m:1 --root s3://bucket/yt8m --out pipeline.yaml
  yt8m kubeflow compile frame_dbof --image registry/yt8m:1 --root minio://mlpipeline/yt8m \\
      --platform cluster.yaml --set gate.gap_threshold=0.5 --out pipeline.yaml
  yt8m kubeflow compile smoke --image registry/yt8m:1 --root gs://bucket/yt8m --dry-run --json

A --platform file says what the pods get (everything in it is optional):

  kubeflow:
    work_dir: /mnt/yt8m/work          # on a shared volume: checkpoints outlive a run there
    resources:
      default: {cpu: "2", memory: 8Gi}
      Trainer: {cpu: "8", memory: 32Gi, gpus: 1}
    volumes:
      - {claim: yt8m-data, path: /mnt/yt8m}
    secrets:
      - {secret: s3, key: access-key, variable: AWS_ACCESS_KEY_ID}
    node_selector:
      Trainer: {pool: gpu}
"""

from __future__ import annotations

import argparse

from yt8m.cli.arguments import add_config_argument
from yt8m.components.console.console import Console
from yt8m.components.console.quiet import quiet_tensorflow


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config_argument(parser, required=True)
    parser.add_argument("--image", default="", help="container image, pinned by tag or digest")
    parser.add_argument(
        "--root", required=True, metavar="URI", help="artifacts: s3:// gs:// minio://"
    )
    parser.add_argument("--out", default="pipeline.yaml", help="file to write (pipeline.yaml)")
    parser.add_argument("--platform", default="", metavar="FILE", help="what the pods get")
    parser.add_argument("--dry-run", action="store_true", help="compile and check, write nothing")


@quiet_tensorflow()
def run(args: argparse.Namespace, console: Console) -> None:
    from yt8m.kubeflow.config import load_platform
    from yt8m.pipeline.presets import load_config

    config = load_config(args.config, args.set)
    platform = load_platform(args.platform)

    from yt8m.kubeflow.spec.compile import Target, compile_config, write_spec

    image = args.image or platform.image
    spec = compile_config(config, Target(image=image, root=args.root, platform=platform))
    if not platform.work_dir:
        console.warn(
            "no work_dir in --platform: checkpoints are lost when a pod is, and every shard is "
            "verified again in every run"
        )
    if not args.dry_run:
        write_spec(spec, args.out)
    tasks = list(spec.pipeline["root"]["dag"]["tasks"])
    value = {
        "pipeline": spec.name,
        "version": spec.version_name,
        "file": "" if args.dry_run else args.out,
        "root": spec.root,
        "image": image,
        "parameters": sorted(spec.parameters),
        "tasks": tasks,
        "service_account": platform.service_account,
        "dry_run": args.dry_run,
    }
    account = platform.service_account
    hint = f"\nstart its runs with --run-as {account}" if account else ""
    verb = "would write" if args.dry_run else "wrote"
    console.result(
        value,
        f"{verb} {args.out}: {spec.name}, {len(tasks)} components, content {spec.version_name}\n"
        f"runs take {', '.join(sorted(spec.parameters))}{hint}",
    )
