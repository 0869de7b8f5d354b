"""What `import yt8m` gives to Python and notebooks; pandas and TensorFlow only when needed."""
