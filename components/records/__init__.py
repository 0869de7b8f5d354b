"""TFRecord files and the manifest that lists them."""
