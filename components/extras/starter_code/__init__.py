"""Models of google/youtube-8m's starter code, imported as exports of this project."""
