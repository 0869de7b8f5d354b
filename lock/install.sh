#!/usr/bin/env bash
# Make or refresh .venv from the lock. Does nothing, quickly, when nothing changed; safe to interrupt.
# Everything goes into .venv: uv into .venv/uv, a Python that uv had to fetch into .venv/python.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv
lock=lock/py310-dev.txt
stamp=$venv/.installed
# An editable install by its file list notices a new top folder only when setup.py changes.
wanted=$(cat "$lock" lock/uv.txt lock/install.sh setup.py | sha256sum | cut -d' ' -f1)-$PWD

if [ "$(cat $stamp 2>/dev/null)" = "$wanted" ] && $venv/bin/python -c '' 2>/dev/null; then
  exit 0
fi
rm -f $stamp

runs() { # does this candidate run, is it a 3.10 (or any 3, with "any"), and can it make environments?
  "$1" -c "import sys, venv, ensurepip; sys.exit(not ('$2' == 'any' or sys.version_info[:2] == (3, 10)))" 2>/dev/null
}
first_that_runs() { # executes each candidate: a pyenv shim or a broken link exists and still does not run
  for candidate in "${PYTHON310:-}" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.10*/bin/python \
    python3.10 python3 python; do
    if [ -n "$candidate" ] && runs "$candidate" "$1"; then echo "$candidate"; return 0; fi
  done
  return 1
}
give_up() {
  cat >&2 <<EOF
error: no Python 3.10 to build the environment with, and uv could not fetch one.
  Install Python 3.10 (python.org, pyenv install 3.10, or your distribution's python3.10 and
  python3.10-venv packages), or set PYTHON310=/path/to/python3.10, and run the same command again.
EOF
  exit 1
}

say() { echo "install: $*" >&2; }
# uv tells of each large download and of what it builds; the list of 300 packages says nothing.
without_list() { sed -u '/^ [-+~] /d' >&2; }

any=$(first_that_runs 3.10 || first_that_runs any) || give_up
"$any" lock/check_machine.py
if ! $venv/uv/bin/uv --version >/dev/null 2>&1; then
  say "uv"
  rm -rf $venv/uv
  "$any" -m venv $venv/uv
  $venv/uv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r lock/uv.txt
fi
uv=$PWD/$venv/uv/bin/uv
export VIRTUAL_ENV=$PWD/$venv UV_PYTHON_INSTALL_DIR=$PWD/$venv/python

if ! runs $venv/bin/python 3.10; then
  if ! python=$(first_that_runs 3.10); then
    say "no Python 3.10 here, uv fetches one"
    "$uv" python install 3.10 || give_up
    python=$("$uv" python find --managed-python 3.10) || give_up
  fi
  say "environment with $("$python" --version)"
  "$uv" venv --quiet --allow-existing --python "$python" $venv
fi
say "packages from $lock (3.6 GB in .venv; what uv's cache has is not downloaded)"
"$uv" pip sync --require-hashes "$lock" 2>&1 | without_list
"$uv" pip install --quiet --no-deps --no-build-isolation --editable .
# Compiled once here, a process that imports TFX starts in a third of the time.
say "bytecode, once (half a minute)"
$venv/bin/python -m compileall -q -j 0 $venv/lib >/dev/null 2>&1 || true
echo "$wanted" >$stamp
say "done"
