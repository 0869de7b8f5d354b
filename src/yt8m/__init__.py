"""yt8m: train on YouTube-8M, or on any video set in its format, and ship the models.

The code lies in four layers, linked here from the top of the repository: `schemas`,
`components`, `pipeline`, `kubeflow`.
"""
