"""Beam runners outside this process: distribution of work, cancellation, named failures."""
