"""Networks, their heads and their losses."""
