"""The dataset as Google publishes it: which files there are, and how they come here."""
