"""What TensorFlow says of an error, without where in its graph it says so."""

import pytest
import tensorflow as tf

from yt8m.components.inputs.shards import tf_reason

REASON = "mean_rgb (rgb) must hold finite numbers alone : Tensor had NaN values"


@pytest.mark.parametrize(
    "text",
    [
        REASON,
        f"{{{{function_node __inference__score_12}}}} {{{{node CheckNumerics}}}} {REASON} [Op:X]",
        f"{REASON}\n\t [[{{{{node CheckNumerics}}}}]]",
        "Graph execution error:\n\nDetected at node CheckNumerics defined at (most recent call "
        f"last):\n<stack traces unavailable>\n{REASON}\n\t [[{{{{node CheckNumerics}}}}]] [Op:X]",
    ],
    ids=["bare", "in a function", "with its node", "in a loaded graph"],
)
def test_the_reason_is_found_however_the_error_came(text):
    assert tf_reason(tf.errors.InvalidArgumentError(None, None, text)) == REASON


def test_an_error_without_words_has_the_name_of_its_type():
    assert tf_reason(ValueError()) == "ValueError"
