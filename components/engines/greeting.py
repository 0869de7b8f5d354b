"""A check that a gRPC server listens at an address, and no other program."""

from __future__ import annotations

from queue import Empty, SimpleQueue

import grpc

GREETING_S = 4.0
_READY = grpc.ChannelConnectivity.READY
_FAILED = grpc.ChannelConnectivity.TRANSIENT_FAILURE


class NoGreetingError(Exception):
    """No gRPC server answers; the message says what is known."""


def greet(channel: grpc.Channel) -> None:
    """NoGreetingError where the channel's other end does not speak gRPC, or stands still.

    The greeting is gRPC's own, which a busy server sends too: what it is asked for may take longer.
    """
    decided: SimpleQueue[grpc.ChannelConnectivity] = SimpleQueue()

    def see(state: grpc.ChannelConnectivity) -> None:
        if state in (_READY, _FAILED):
            decided.put(state)

    channel.subscribe(see, try_to_connect=True)
    try:
        state = decided.get(timeout=GREETING_S)
    except Empty:
        raise NoGreetingError(f"no gRPC server answers there within {GREETING_S:.0f} s") from None
    finally:
        channel.unsubscribe(see)
    if state is _FAILED:  # gRPC would try again for ever
        raise NoGreetingError("no gRPC server answers there")
