#!/usr/bin/env bash
# Write the locks anew: hashes and exact versions alone, no index and no host. One pair (runtime,
# and with what the tests need) for each lane and Python; that of Python 3.10 stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
resolve() { # TFX's version, Python's, the oldest glibc, then what uv takes
  local tfx=$1 python=$2 glibc=$3
  shift 3
  .venv/uv/bin/uv pip compile setup.py "$@" \
    --config-file lock/uv.toml --constraint "lock/tfx-$tfx-pins.txt" --override lock/overrides.txt \
    --python-version "$python" --python-platform "x86_64-manylinux_$glibc" \
    --generate-hashes --no-header --no-annotate --no-emit-index-url --quiet --upgrade
}
pair() {
  local name=lock/tfx-$1-py${2/./}
  resolve "$@" --output-file "$name.txt"
  resolve "$@" --extra dev --output-file "$name-dev.txt"
}
pair 1.16 3.11 2_28
for python in 3.11 3.12 3.13; do pair 1.21 $python 2_39; done
