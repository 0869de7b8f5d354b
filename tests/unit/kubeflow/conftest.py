"""What tests of files on the shared volume have in common."""

import os

import pytest


@pytest.fixture
def synced(monkeypatch):
    """The inodes of the files that were written through to the disk."""
    inodes, flush = set(), os.fsync

    def fsync(descriptor):
        flush(descriptor)
        inodes.add(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", fsync)
    return inodes
