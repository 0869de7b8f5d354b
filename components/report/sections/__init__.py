"""The parts of the page; each is None where the run has nothing to show."""
