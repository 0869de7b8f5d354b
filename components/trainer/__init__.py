"""Distributed Keras training from TF_CONFIG."""
