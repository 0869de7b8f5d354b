"""Files between steps and on disk: one module has the name, dataclass and parser of each."""
