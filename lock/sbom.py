"""A lock as a software bill of materials (CycloneDX 1.6, JSON): `sbom.py LOCK.txt > LOCK.cdx.json`.

The same lock gives the same bytes: no time, and a serial number from the lock's own digest. Run
with any Python 3, in the image's build too.
"""

import hashlib
import json
import re
import sys
import uuid
from pathlib import Path

NAME = "yt8m-pipeline"
ENTRY = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def components(text):
    """Each pinned package, with the digests of the files that an installation may take."""
    for entry in text.replace("\\\n", " ").splitlines():
        pinned = ENTRY.match(entry)
        if pinned is None:
            continue
        name, version = pinned[1].lower().replace("_", "-").replace(".", "-"), pinned[2]
        purl = f"pkg:pypi/{name}@{version}"
        digests = [{"alg": "SHA-256", "content": digest} for digest in HASH.findall(entry)]
        yield {
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": version,
            "purl": purl,
            "externalReferences": [{"type": "distribution", "url": purl, "hashes": digests}],
        }


def bill(lock):
    text = lock.read_text(encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()
    root = f"{NAME}@{lock.stem}"
    parts = sorted(components(text), key=lambda part: part["bom-ref"])
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, lock.name + digest)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": NAME,
                "properties": [
                    {"name": "yt8m:lock", "value": lock.name},
                    {"name": "yt8m:lock:sha256", "value": digest},
                ],
            }
        },
        "components": parts,
        "dependencies": [{"ref": root, "dependsOn": [part["bom-ref"] for part in parts]}],
    }


if __name__ == "__main__":
    json.dump(bill(Path(sys.argv[1])), sys.stdout, indent=1, sort_keys=True)
    print()
