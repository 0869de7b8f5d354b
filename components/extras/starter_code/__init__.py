"""Models that google/youtube-8m's starter code left, as exports of this project."""
