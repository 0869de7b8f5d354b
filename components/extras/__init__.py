"""Tools that no run needs: generated data, downloads, other tools' files, ensembles."""
