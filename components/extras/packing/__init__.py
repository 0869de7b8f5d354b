"""Custom features and labels of videos, from arrays and tables to records of each level."""
