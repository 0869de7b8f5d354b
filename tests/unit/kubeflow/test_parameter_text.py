"""Parameters in fewer bytes, and the same again."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yt8m.kubeflow.parameter_text import restored, shortened

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.text(), below),
    max_leaves=8,
)
LONG = {"": "x" * 300}  # shorter texts are left alone


@settings(max_examples=40)
@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_what_was_shortened_is_restored_to_the_letter(value):
    text = json.dumps(LONG | value)
    assert restored(shortened(text)) == text


@settings(max_examples=40)
@given(st.text().filter(lambda text: not text.startswith(("yaml: ", "zlib: "))))
def test_any_other_text_stays(text):
    assert restored(text) == text


@pytest.mark.parametrize("value", ["no", "1e-3", "0.80", "2024-01-02", "a: b", "{x}", "~", "#"])
def test_what_yaml_would_read_otherwise_keeps_its_type(value):
    text = json.dumps({"key": value, **LONG})
    assert shortened(text).startswith("yaml: ")
    assert restored(shortened(text)) == text


def test_a_long_configuration_has_no_quotes_left():
    config = {"trainer": {f"value_{i}": {"name": "adam", "rate": 1e-3 * i} for i in range(10)}}
    text = json.dumps(config)
    assert shortened(text).startswith("yaml: ")
    assert shortened(text).count('"') == 0
    assert len(shortened(text)) < 0.9 * len(text)


@pytest.mark.parametrize("start", ['{"key": ', "feature {\n", "ä"])
def test_a_very_long_text_of_any_format_is_compressed(start):
    text = start + "name: value, " * 200
    assert shortened(text).startswith("zlib: ")
    assert len(shortened(text)) < 0.5 * len(text)
    assert restored(shortened(text)) == text


@pytest.mark.parametrize(("length", "start"), [(600, "x"), (601, "zlib: ")])
def test_a_text_that_people_still_read_is_not_compressed(length, start):
    assert shortened("x" * length).startswith(start)


def test_what_is_compressed_has_no_character_that_kubernetes_or_argo_replace():
    text = json.dumps([str(number) for number in range(1000)])
    assert re.fullmatch("zlib: [A-Za-z0-9+/=]*", shortened(text))


def test_short_texts_and_other_formats_are_left_alone():
    for text in ('{"classes": 12}', "feature {\n" + "x" * 300 + "}", "[" + "1, " * 100 + "1]"):
        assert shortened(text) == text
