"""The processes of one training: who they are, whether they are there."""
