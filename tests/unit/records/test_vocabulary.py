"""Vocabulary files: read from where they lie, and distinguished by their content."""

import pytest

from yt8m.components.records.vocabulary import load_vocabulary, vocabulary_digest
from yt8m.schemas.errors import DataError

TEXT = """\
Index,TrainVideoCount,KnowledgeGraphId,Name,Vertical1,Vertical2,Vertical3
0,1,/m/0,Game,Games,,
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "vocabulary.csv"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_the_file_is_read_with_a_byte_order_mark_and_without(path, encoding):
    path.write_text(TEXT, encoding=encoding)
    assert load_vocabulary(str(path), num_classes=1).names == ("Game",)


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"], ids=["absent", "not text"])
def test_a_file_that_cannot_be_read_is_the_users_mistake(path, content):
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=r"vocabulary\.csv: cannot be read as a vocabulary"):
        load_vocabulary(str(path))


def test_the_digest_is_of_the_content_and_of_nothing_else(path, tmp_path):
    path.write_text(TEXT)
    copy = tmp_path / "copy.csv"
    copy.write_text(TEXT)
    assert vocabulary_digest(str(copy)) == vocabulary_digest(str(path))
    path.write_text(TEXT.replace("Game,", "Play,"))
    assert vocabulary_digest(str(copy)) != vocabulary_digest(str(path))
    assert vocabulary_digest("") == ""
