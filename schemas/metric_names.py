"""The metrics that rules name; the others stand in the catalogue alone, which needs numpy."""

GAP = "gap"  # decides what ships
LOSS = "loss"  # what training minimises
