"""What passes between steps or lies on disk: file name, dataclass and parser of each, once."""
