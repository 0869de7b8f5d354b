"""The versions that were pushed, and what is known of each.

`<push dir>/<version>/` is a SavedModel as TensorFlow Serving loads it; its record is inside,
`assets.extra/yt8m_record.json`, and the statistics of the data it was made from beside that.
"""
