"""Vocabulary files: what is read from them, and which line is to blame."""

import pytest

from yt8m.schemas.errors import DataError
from yt8m.schemas.vocabulary import VERTICALS, parse_vocabulary

SHORT = "Index,TrainVideoCount,KnowledgeGraphId,Name,Vertical1,Vertical2,Vertical3\n"
HEADER = SHORT.replace("Name,", "Name,WikiUrl,").replace("\n", ",WikiDescription\n")
GAME = "0,788288,/m/03bt1gh,Game,https://x,Games,,,A game\n"
NIKE = '1,5752,/m/0lwkh,"Nike, Inc.",,Shopping,Sports,,"Shoes,\nand ""more"""\n'


def test_published_columns_are_read():
    vocabulary = parse_vocabulary(HEADER + GAME + NIKE)
    assert vocabulary.names == ("Game", "Nike, Inc.")
    groups = [[VERTICALS[v] for v in group] for group in vocabulary.verticals_of_class]
    assert groups == [["Games"], ["Shopping", "Sports"]]
    assert len(vocabulary) == 2


def test_rows_may_stand_in_any_order():
    assert parse_vocabulary(HEADER + NIKE + GAME) == parse_vocabulary(HEADER + GAME + NIKE)


def test_the_short_form_is_read():
    assert parse_vocabulary(SHORT + "0,1,/m/0,Game,Games,,\n").names == ("Game",)


def test_class_without_vertical_belongs_to_unknown():
    vocabulary = parse_vocabulary(HEADER + "0,1,/m/0,Thing,,,,,\n")
    assert vocabulary.verticals_of_class == ((VERTICALS.index("(Unknown)"),),)


def test_the_25_verticals_are_distinct_and_in_order():
    assert len(VERTICALS) == len(set(VERTICALS)) == 25
    assert list(VERTICALS) == sorted(VERTICALS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "v.csv, line 1: no column Index, Name, Vertical1"),
        ("Index,Name\n0,x\n", "v.csv, line 1: no column Vertical1, Vertical2, Vertical3"),
        (HEADER, "v.csv: holds no class"),
        (HEADER + GAME + "x,1,/m/1,Name,,Games,,,\n", "v.csv, line 3: Index is 'x'"),
        (HEADER + GAME + "-1,1,/m/1,Name,,Games,,,\n", "v.csv, line 3: Index is '-1'"),
        (HEADER + GAME + GAME, "v.csv, line 3: Index 0 is that of line 2"),
        (HEADER + GAME + "1,1,/m/1,Name\n", "v.csv, line 3: does not have the 9 fields"),
        (HEADER + GAME + "1,1,/m/1,a,b,Games,,,,,\n", "v.csv, line 3: does not have the 9 fields"),
        (HEADER + GAME + "1,1,/m/1,Name,,Gamez,,,\n", "line 3: 'Gamez' is not one of the 25"),
        (HEADER + NIKE, "v.csv: no line for class 0"),
    ],
)
def test_wrong_file_is_refused_with_its_line(text, message):
    with pytest.raises(DataError) as error:
        parse_vocabulary(text, source="v.csv")
    assert message in str(error.value)


def test_wrong_number_of_classes_is_refused():
    with pytest.raises(DataError, match=r"has 2 classes, but features\.num_classes is 3862"):
        parse_vocabulary(HEADER + GAME + NIKE, num_classes=3862)
