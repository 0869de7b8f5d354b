#!/usr/bin/env bash
# Write the locks anew: hashes and exact versions alone, no index and no host. Three (runtime, with
# what the tests need, with CUDA) for each lane and Python.
set -euo pipefail
cd "$(dirname "$0")/.."
resolve() { # TFX's version, Python's, the oldest glibc, then what uv takes
  local tfx=$1 python=$2 glibc=$3
  shift 3
  .venv/uv/bin/uv pip compile setup.py "$@" \
    --config-file lock/uv.toml --constraint "lock/tfx-$tfx-pins.txt" --override lock/overrides.txt \
    --python-version "$python" --python-platform "x86_64-manylinux_$glibc" \
    --generate-hashes --no-header --no-annotate --no-emit-index-url --quiet
}
locks() {
  local name=lock/tfx-$1-py${2/./}
  resolve "$@" --upgrade --output-file "$name.txt"
  # What a file holds already is kept: the same versions, and more packages.
  for extra in dev cuda; do
    cp "$name.txt" "$name-$extra.txt"
    resolve "$@" --extra $extra --output-file "$name-$extra.txt"
  done
}
locks 1.16 3.11 2_28
for python in 3.11 3.12 3.13; do locks 1.21 $python 2_39; done
# What `make audit`, `make check-types`, `make notebook` and `make mlflow-ui` run, for every Python.
program() {
  echo "$1" | .venv/uv/bin/uv pip compile - --universal --python-version 3.11 --upgrade \
    --generate-hashes --no-header --no-annotate --no-emit-index-url --quiet --output-file "lock/$2.txt"
}
program pip-audit audit
program basedpyright pyright
program jupyterlab jupyter
program mlflow mlflow
