"""`python -m yt8m` is the command `yt8m`."""

from yt8m.cli.main import main

main()
