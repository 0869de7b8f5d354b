#!/usr/bin/env bash
# Write the two locks anew: hashes and exact versions alone, no index and no host.
set -euo pipefail
cd "$(dirname "$0")/.."
resolve() {
  .venv/uv/bin/uv pip compile setup.py "$@" --constraint lock/pins.txt --quiet --upgrade \
    --python-version 3.10 --python-platform x86_64-manylinux_2_28 \
    --generate-hashes --no-header --no-annotate --no-emit-index-url
}
resolve --output-file lock/py310.txt
resolve --extra dev --output-file lock/py310-dev.txt
