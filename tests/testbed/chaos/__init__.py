"""Kills, cuts, fills and corrupts, and looks what was lost. `python -m chaos --help`; `make chaos`.

Every kind of blow has its module, which yields a `Trial` for each blow: what was hit, with what,
and what was lost by it. Nothing here knows how yt8m protects itself; it compares what can be seen
from outside: registries, outcomes, exit codes, what was said.
"""
