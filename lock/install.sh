#!/usr/bin/env bash
# Make or refresh .venv from a lock. Does nothing, quickly, when nothing changed; safe to interrupt.
# `install.sh` installs what users need, `install.sh dev` the developers' tools too, which then stay.
# Everything goes into .venv: uv into .venv/uv, a Python that uv had to fetch into .venv/python.
# PYTHON=/path/to/python chooses the interpreter, and with it the lock (lock/choose.py).
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv
tools=${1:-}
stamp=$venv/.installed # what was installed, for which PYTHON, and "dev" where with tools
# Only what .venv itself is made from: another program's lock changes nothing here.
wanted=$(cat lock/{tfx-*,overrides,uv}.txt lock/uv.toml lock/install.sh setup.py | sha256sum | cut -d' ' -f1)-$PWD

if { read -r was && read -r was_python && read -r was_tools; } 2>/dev/null <$stamp; then
  tools=${tools:-$was_tools}
  if [ "$was $was_tools" = "$wanted $tools" ] && [ "${PYTHON:-$was_python}" = "$was_python" ] &&
    $venv/bin/python -c '' 2>/dev/null; then
    exit 0
  fi
fi
rm -f $stamp
# Also for a new lock the choice of before stays, as long as it runs.
if [ -z "${PYTHON:-}" ] && [ -n "${was_python:-}" ] && "$was_python" -c '' 2>/dev/null; then
  export PYTHON=$was_python
fi

say() { echo "install: $*" >&2; }
# uv tells of each large download and of what it builds; the list of 200 packages says nothing.
without_list() { sed -u '/^ [-+~] /d' >&2; }
give_up() {
  cat >&2 <<END
error: no Python to build the environment with$1.
  Install Python 3.11 or newer (your distribution's python3 and python3-venv packages, python.org,
  or pyenv), or set PYTHON=/path/to/python, and run the same command again.
END
  exit 1
}
first_that_runs() { # any Python 3, to choose with; what it lacks, choose.py says
  for candidate in "${PYTHON:-}" /usr/bin/python3 python3 python python3.{13,12,11} \
    "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1*/bin/python; do
    if [ -n "$candidate" ] && "$candidate" -c 'import sys; assert sys.version_info >= (3, 6)' 2>/dev/null; then
      echo "$candidate"
      return 0
    fi
  done
  return 1
}
# A company's own authority is in the machine's store, which uv reads (lock/uv.toml); an older pip
# brings its own list.
for bundle in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
  if [ -z "${PIP_CERT:-${REQUESTS_CA_BUNDLE:-}}" ] && [ -r "$bundle" ]; then
    export PIP_CERT=$bundle
  fi
done

any=$(first_that_runs) || give_up ": no Python 3.6 or newer runs here"
chosen=$("$any" lock/choose.py)
{ read -r lock && read -r version && read -r python && read -r maker; } <<<"$chosen"
"${python:-$any}" lock/check_machine.py "$version"
if ! $venv/uv/bin/uv --version >/dev/null 2>&1; then
  say "uv"
  rm -rf $venv/uv
  "$maker" -m venv $venv/uv
  $venv/uv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r lock/uv.txt
fi
uv=$PWD/$venv/uv/bin/uv
export VIRTUAL_ENV=$PWD/$venv UV_PYTHON_INSTALL_DIR=$PWD/$venv/python UV_CONFIG_FILE=$PWD/lock/uv.toml

if [ "$($venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" != "$version" ]; then
  if [ -z "$python" ]; then
    say "no Python $version here, uv fetches one"
    "$uv" python install "$version" || give_up ", and uv could not fetch one"
    python=$("$uv" python find --managed-python "$version") || give_up ", and uv could not fetch one"
  fi
  # uv replaces what a link of another Python would leave behind.
  rm -rf $venv/bin $venv/lib $venv/lib64 $venv/pyvenv.cfg
  "$uv" venv --quiet --allow-existing --python "$python" $venv
fi
lock=lock/$lock${tools:+-$tools}.txt
say "packages from $lock (3 GB in .venv; what uv's cache has is not downloaded)"
"$uv" pip sync --require-hashes "$lock" 2>&1 | without_list
"$uv" pip install --quiet --no-deps --no-build-isolation --editable .
if [ -s $venv/extras ]; then
  extras=$(<$venv/extras) && extras=${extras//$'\n'/ }
  say "extras of before: $extras"
  # shellcheck disable=SC2086
  bash lock/extras.sh $extras || say "these extras are missing now; when the network works: make $extras"
fi
# Compiled once here, a process that imports TFX starts in a third of the time. Packages' own tests
# and the largest test tools, a third of all, are compiled by whoever imports them first.
say "bytecode, once (half a minute)"
$venv/bin/python -m compileall -q -j 0 -x '/(tests|sympy|moto|networkx|selenium|mypy)/' $venv/lib \
  >/dev/null 2>&1 || true
printf '%s\n' "$wanted" "${PYTHON:-}" "$tools" >$stamp
say "done"
