"""The Python interface, `import yt8m`; pandas and TensorFlow are loaded only when needed."""
