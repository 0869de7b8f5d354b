"""yt8m: train on YouTube-8M, or on any video set in its format, and ship the models.

The code lies in four layers, linked here from the top of the repository: `schemas`,
`components`, `pipeline`, `kubeflow`.
"""

import os

# Before anything loads HDF5, which otherwise loads code from a folder that others may write to
# (CVE-2026-2492). TensorFlow 2.21 does the same.
os.environ.setdefault("HDF5_PLUGIN_PATH", "disable")
