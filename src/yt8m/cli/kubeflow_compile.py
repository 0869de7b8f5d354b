"""Action of `yt8m kubeflow compile`."""

from __future__ import annotations

from yt8m.cli.arguments.kubeflow import CompileArguments
from yt8m.cli.output import check_output
from yt8m.components.console.console import Console
from yt8m.kubeflow.config import load_platform
from yt8m.kubeflow.spec.compile import Target, compile_config, write_spec
from yt8m.kubeflow.spec.platform import platform_fields
from yt8m.kubeflow.spec.workflow_size import LIMIT_BYTES, status_bytes
from yt8m.kubeflow.spec_file import Spec


def run(args: CompileArguments, console: Console) -> None:
    config = args.load()
    platform = load_platform(args.platform)
    check_output(args.out, [args.config, *args.layers, args.platform])

    image = args.image or platform.image
    spec = compile_config(config, Target(image=image, root=args.root, platform=platform))
    if not platform.work_dir:
        console.warn(
            "no work_dir in --platform: checkpoints are lost with their pod, and every shard is "
            "verified again in every run"
        )
    if args.one_document and spec.platform:
        lost = ", ".join(sorted(platform_fields(spec.platform)))
        console.warn(f"--one-document: the file omits {lost}; pods start without them")
        spec = Spec(pipeline=spec.pipeline)
    if not args.dry_run:
        write_spec(spec, args.out)
    tasks = list(spec.pipeline["root"]["dag"]["tasks"])
    size = status_bytes(spec.pipeline, spec.platform)
    value = {
        "pipeline": spec.name,
        "version": spec.version_name,
        "file": "" if args.dry_run else args.out,
        "root": spec.root,
        "image": image,
        "parameters": sorted(spec.parameters),
        "tasks": tasks,
        "service_account": platform.service_account,
        "status_bytes": size,
        "dry_run": args.dry_run,
    }
    account = platform.service_account
    hint = f"\nstart its runs with --run-as {account}" if account else ""
    verb = "would write" if args.dry_run else "wrote"
    console.result(
        value,
        f"{verb} {args.out}: {spec.name}, {len(tasks)} components, content {spec.version_name}\n"
        f"runs take {', '.join(sorted(spec.parameters))}{hint}\n"
        f"a run's Workflow has about {size / 1024:.0f} KB of status, of {LIMIT_BYTES // 1024}",
    )
