"""Several models as one: a weighted mean of their probabilities, in one SavedModel."""
