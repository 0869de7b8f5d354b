"""How often something is tried again, which errors end it at once, and how long the waits are."""

from __future__ import annotations

import pytest

from yt8m.components.storage.retry import Backoff


class Flaky:
    """Fails so often, then answers."""

    def __init__(self, failures: int) -> None:
        self.failures, self.calls = failures, 0

    def __call__(self) -> str:
        self.calls += 1
        if self.calls <= self.failures:
            raise TimeoutError(f"failure {self.calls}")
        return "answer"


def is_temporary(error: Exception) -> bool:
    return isinstance(error, TimeoutError)


@pytest.mark.parametrize("attempts", [1, 2, 3, 7])
def test_the_last_attempt_may_succeed_and_no_other_follows_it(attempts: int) -> None:
    waits: list[float] = []
    backoff = Backoff(attempts=attempts, sleep=waits.append)
    late, never = Flaky(attempts - 1), Flaky(attempts)
    assert backoff.call(late, again=is_temporary) == "answer"
    assert len(waits) == attempts - 1
    with pytest.raises(TimeoutError, match=f"failure {attempts}"):
        backoff.call(never, again=is_temporary)
    assert late.calls == never.calls == attempts


def test_what_does_not_pass_is_not_tried_again() -> None:
    flaky = Flaky(1)
    with pytest.raises(TimeoutError, match="failure 1"):
        Backoff(sleep=pytest.fail).call(flaky, again=lambda error: False)
    assert flaky.calls == 1


def test_waits_double_up_to_the_longest() -> None:
    shortest, longest = (
        Backoff(first_wait_s=1.0, longest_wait_s=5.0, jitter=lambda part=part: part)
        for part in (0.0, 1.0)
    )
    assert [longest.wait_s(attempt) for attempt in range(5)] == [1, 2, 4, 5, 5]
    assert [shortest.wait_s(attempt) for attempt in range(5)] == [0.5, 1, 2, 2.5, 2.5]
    assert longest.wait_s(0, asked=3.0) == 3.0
    assert longest.wait_s(0, asked=99.0) == 5.0  # no server makes a client wait for ever
    assert longest.wait_s(2, asked=3.0) == 4.0
