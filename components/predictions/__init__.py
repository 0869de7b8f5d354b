"""What a model says of records: predictions, competition files, and their scores."""
