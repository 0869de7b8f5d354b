"""The optional step that predicts a split by the blessed model."""
