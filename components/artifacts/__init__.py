"""Files that pass between steps or lie on disk: file name, dataclass and parser of each, once."""
