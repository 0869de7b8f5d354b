"""Which shards of a window of spans are scored."""

import pytest

from yt8m.components.artifacts.manifest import Shard
from yt8m.components.evaluator.config import EvaluatorConfig
from yt8m.components.evaluator.shard_selection import choose_shards
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import DataError


def shard(span, split="eval"):
    uri = f"{split}-{span}"
    return Shard(uri=uri, split=split, records=10, bytes=1, digest=uri, span=span)


def chosen(*shards, **config):
    return choose_shards(from_dict(EvaluatorConfig, config), shards)


WINDOW = (shard(6), shard(7), shard(8), shard(8, "train"), shard(7, "train"))


def test_of_a_window_the_newest_span_is_scored_and_it_is_said():
    found = chosen(*WINDOW)
    assert [one.uri for one in found.shards] == ["eval-8"]
    assert (found.spans, found.left_out) == ((8,), (6, 7))
    assert "span 8, the newest, only; not on 6, 7" in found.notes[0]


def test_all_spans_are_scored_where_that_is_asked():
    found = chosen(*WINDOW, spans="all")
    assert found.spans == (6, 7, 8)
    assert found.notes == ()


@pytest.mark.parametrize("spans", [(None, None), (3, 3)], ids=["no spans", "one span"])
def test_where_there_is_nothing_older_everything_is_scored_and_nothing_said(spans):
    found = chosen(*map(shard, spans))
    assert len(found.shards) == 2
    assert found.notes == ()


def test_shards_without_a_span_are_of_no_age_and_stay():
    found = chosen(shard(None), shard(1), shard(2))
    assert [one.uri for one in found.shards] == ["eval-None", "eval-2"]


def test_a_newest_span_that_cannot_be_judged_is_refused():
    with pytest.raises(DataError, match=r"span 9, the newest, has no shard in split eval.*=all"):
        chosen(*WINDOW, shard(9, "train"))
    assert len(chosen(*WINDOW, shard(9, "train"), spans="all").shards) == 3
