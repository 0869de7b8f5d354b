"""ExampleGen: YT8M TFRecords in, an Examples artifact with a manifest out."""
