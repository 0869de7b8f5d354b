"""One item is made while the one before is used; nothing is lost, reordered or hidden."""

import threading

import pytest

from yt8m.components.inputs.prefetch import prefetch_one


def test_items_come_in_order_and_all_of_them():
    assert list(prefetch_one(iter(range(100)))) == list(range(100))
    assert list(prefetch_one(iter([]))) == []
    assert list(prefetch_one(iter([None, None]))) == [None, None]


def test_the_next_item_is_made_while_one_is_used_and_no_other():
    begun = [threading.Event() for _ in range(4)]

    def items():
        for number, event in enumerate(begun):
            event.set()
            yield number

    for number in prefetch_one(items()):
        if number + 1 < len(begun):
            assert begun[number + 1].wait(timeout=10)
        assert not any(event.is_set() for event in begun[number + 2 :])


def test_an_error_comes_where_its_item_would_have_come():
    def items():
        yield 1
        raise ValueError("no second one")

    found = prefetch_one(items())
    assert next(found) == 1
    with pytest.raises(ValueError, match="no second one"):
        next(found)
