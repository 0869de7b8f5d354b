"""Write the manifest that makes KServe serve one version, for `kubectl apply -f`.

An InferenceService of TensorFlow Serving that fetches this version alone, joins requests as the
version says, and asks for half as much memory again as the infra check measured. A version in a
local registry is named where the cluster finds it. KServe 0.16 or newer.

examples:
  yt8m models manifest 3 --push s3://bucket/models --service-account models-reader
  yt8m models manifest 3 --push /srv/models --storage-uri pvc://models/3 --out service.yaml
"""

from __future__ import annotations

import argparse

from yt8m.cli.shared_arguments import add_push_argument
from yt8m.components.console.console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("version", type=int, metavar="V", help="the version to serve")
    add_push_argument(parser)
    parser.add_argument("--name", default="yt8m", help="of the service (default: %(default)s)")
    parser.add_argument("--namespace", default="", metavar="NAME", help="of the service")
    parser.add_argument(
        "--storage-uri", default="", metavar="URI", help="where the cluster finds the version"
    )
    parser.add_argument(
        "--service-account", default="", metavar="NAME", help="that may read it there"
    )
    parser.add_argument(
        "--serving-version", default="", metavar="TAG", help="of TensorFlow Serving's image"
    )
    parser.add_argument(
        "--min-replicas", type=int, default=1, metavar="N", help="0 scales to none (default: 1)"
    )
    parser.add_argument("--out", default="", metavar="FILE", help="instead of printing it")


def run(args: argparse.Namespace, console: Console) -> None:
    """Print or write the manifest."""
    import yaml

    from yt8m.components import storage
    from yt8m.components.registry.kserve import ServiceRequest, inference_service
    from yt8m.components.registry.versions import load_version, require_version
    from yt8m.schemas.errors import UserError

    if args.min_replicas < 0:
        raise UserError(f"--min-replicas {args.min_replicas}: must be 0 or more")
    require_version(args.push, args.version)
    manifest = inference_service(
        load_version(args.push, args.version, verify=True),
        ServiceRequest(
            name=args.name,
            namespace=args.namespace,
            storage_uri=args.storage_uri,
            service_account=args.service_account,
            runtime_version=args.serving_version,
            min_replicas=args.min_replicas,
        ),
    )
    text = yaml.safe_dump(manifest, sort_keys=False)
    if args.out:
        storage.write_text(args.out, text)
    console.result(manifest, f"written to {args.out}" if args.out else text.rstrip())
