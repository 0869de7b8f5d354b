"""A check that a gRPC server listens at an address, and no other program."""

from __future__ import annotations

import grpc

GREETING_S = 4.0


class NoGreetingError(Exception):
    """No gRPC server answers; the message says what is known."""


def greet(channel: grpc.Channel) -> None:
    """NoGreetingError where the channel's other end does not speak gRPC, or stands still.

    The greeting is gRPC's own, which a busy server sends too: what it is asked for may take longer.
    """
    try:
        grpc.channel_ready_future(channel).result(timeout=GREETING_S)
    except grpc.FutureTimeoutError:
        raise NoGreetingError(f"no gRPC server answers there within {GREETING_S:.0f} s") from None
