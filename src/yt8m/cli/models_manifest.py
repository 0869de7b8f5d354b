"""Action of `yt8m models manifest`."""

from __future__ import annotations

import yaml

from yt8m.cli.arguments.models import ModelsManifestArguments
from yt8m.components import storage
from yt8m.components.console.console import Console
from yt8m.components.registry.kserve import ServiceRequest, inference_service
from yt8m.components.registry.versions import load_version, require_version


def run(args: ModelsManifestArguments, console: Console) -> None:
    """Print or write the manifest."""
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
