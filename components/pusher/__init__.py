"""Pusher: an atomic push of a blessed model, with its record."""
