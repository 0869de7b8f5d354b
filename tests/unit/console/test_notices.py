"""Notices reach whoever listens, for as long as they do."""

from yt8m.components.console.notices import notice, notices_heard_by


def test_a_listener_hears_every_notice_of_its_block_and_no_later_one():
    heard, also = [], []
    with notices_heard_by(heard.append):
        notice("one")
        with notices_heard_by(also.append):
            notice("50% of two")
    notice("three")
    assert heard == ["one", "50% of two"]
    assert also == ["50% of two"]
