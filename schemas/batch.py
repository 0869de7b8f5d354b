"""The keys of a batch, shared by readers and metrics.

Beside these a batch holds each feature under its name, and `id` and `labels` under the keys that
they have in a record (`schemas/features.py`).
"""

from __future__ import annotations

NUM_FRAMES = "num_frames"  # [rows] int32, at frame and segment level
MEAN_FRAMES = "mean_frames"  # [rows, total] float32, of normalised frames, and in place of them
POSITION = "position"  # [rows] int64, of the row in the training stream; decides dropout
RATED = "rated"  # [rows, any] int64, at segment level: the classes somebody rated
VIDEO_LABELS = "video_labels"  # at segment level, where `labels` are the segment's
SEGMENT_START = "segment_start"  # [rows] int64, in frames

SPLIT = "split"  # [rows] int32, of a mixture: 0 the training split, then the others in their order
TEACHER = "teacher"  # [rows, classes] float32, what another model says; made in the step, not read

BATCH_KEYS = (NUM_FRAMES, MEAN_FRAMES, POSITION, RATED, VIDEO_LABELS, SEGMENT_START, SPLIT, TEACHER)

NO_LABEL = -1  # fills up rows of class numbers
NO_VALUE = "none"  # of a record without the feature that an evaluation is sliced by
