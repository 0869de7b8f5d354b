"""What no run needs: made data, downloads, other makers' files, several models as one."""
