"""Dequantising and L2-normalising: the one place with the arithmetic."""
