"""`make audit`: every pinned version against the advisory database that pip-audit asks.

Run by the environment's Python and told where pip-audit is. Exit codes: 0, nothing is known beyond
what advisories.json admits; 1, something is; 3, the database could not be asked.
pip-audit alone says "No known vulnerabilities" where it reaches nothing. So a version with old and
well-known advisories is asked for first: a database that knows of none was not reached.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

LOCK = Path(__file__).parent
ADMITTED = LOCK / "advisories.json"
KNOWN_TO_BE_BAD = "urllib3==1.24.1"  # CVE-2019-11324 and a dozen since
FOUND, NOT_REACHED = 1, 3


class NotReachedError(Exception):
    """pip-audit has no answer; says what it said."""


def ask(pip_audit, requirements, *options):
    """pip-audit's rows, one a pinned version."""
    command = [pip_audit, "--disable-pip", *options, "--requirement", str(requirements)]
    command += ["--format", "json", "--progress-spinner", "off"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)["dependencies"]
    except ValueError:
        said = done.stderr.strip().splitlines() or ["pip-audit said nothing"]
        raise NotReachedError(said[-1]) from None


def check_reached(pip_audit):
    """NotReachedError where the database does not know what everybody knows."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(f"{KNOWN_TO_BE_BAD}\n")
        file.flush()
        rows = ask(pip_audit, file.name, "--no-deps")
    if not any(row.get("vulns") for row in rows):
        raise NotReachedError(f"it knows of no advisory for {KNOWN_TO_BE_BAD}")


def admitted(lock):
    """(package, advisory) of those that stay in this lock, whatever name the advisory goes by."""
    entries = json.loads(ADMITTED.read_text(encoding="utf-8"))
    return {(e["package"], e["advisory"]) for e in entries if lock in e["locks"]}


def judge(rows, stays):
    """What is new, and what the database has nothing on: lines for a person."""
    for row in rows:
        name = row["name"].lower().replace("_", "-")
        if "skip_reason" in row:
            yield f"{name}: not known to the database: {row['skip_reason']}"
        for vuln in row.get("vulns", ()):
            names = {vuln["id"], *vuln.get("aliases", ())}
            if not any((name, one) in stays for one in names):
                fixed = ", ".join(vuln.get("fix_versions") or ["no version"])
                yield f"{name} {row['version']}: {'/'.join(sorted(names))}, fixed in {fixed}"


def main(argv):
    pip_audit, *locks = argv
    found = False
    try:
        check_reached(pip_audit)
        for lock in locks:
            lines = list(
                judge(ask(pip_audit, LOCK / f"{lock}.txt", "--require-hashes"), admitted(lock))
            )
            found = found or bool(lines)
            print(*(f"{lock}: {line}" for line in lines or ["nothing new"]), sep="\n")
    except NotReachedError as why:
        print(
            f"audit: the advisory database could not be asked ({why}); nothing was checked. "
            "Run it where the package index and its advisories are reached.",
            file=sys.stderr,
        )
        return NOT_REACHED
    return FOUND if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
