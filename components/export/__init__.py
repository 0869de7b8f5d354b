"""Exported models: SavedModels that need plain TensorFlow only."""
