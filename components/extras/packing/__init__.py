"""Features and labels of one's own videos, from arrays and tables to records of each level."""
