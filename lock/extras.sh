#!/usr/bin/env bash
# Add extras of setup.py to .venv (extras.sh mlflow sign) without changing installed packages, because
# TFX limits the versions of those that they share with it. lock/install.sh adds them again after it
# has replaced packages, because uv removes what the lock does not have.
set -euo pipefail
cd "$(dirname "$0")/.."
chosen=.venv/extras
python=.venv/bin/python uv=.venv/uv/bin/uv
touch $chosen
$uv pip freeze --quiet --python $python --exclude-editable >.venv/installed.txt
for extra in "$@"; do
  $python -c 'import sys; from importlib.metadata import requires; name = sys.argv[1]
print(*(r.partition(";")[0] for r in requires("yt8m-pipeline") if name in r.partition(";")[2]))' "$extra" |
    xargs $uv pip install --quiet --python $python --constraint .venv/installed.txt
  grep -qx "$extra" $chosen || echo "$extra" >>$chosen
done
