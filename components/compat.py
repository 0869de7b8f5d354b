"""What TensorFlow and tf_keras do not publish and this project needs, in one place.

Everything here was looked up in the versions that setup.py allows (docs/decisions/0001).
"""

from __future__ import annotations

from typing import Any  # TensorFlow and tf_keras publish no types


def weight_losses(model: Any) -> list[Any]:
    """The regularisers of the weights of a tf_keras model, computed again."""
    found = [loss() for layer in model._flatten_layers() for loss in layer._callable_losses]
    return [loss for loss in found if loss is not None]


def layer_losses(model: Any) -> list[Any]:
    """What layers gave to `add_loss` in the newest call: tensors that belong to its tape.

    `losses`, the public list, gives them and the weights' in one.
    """
    return [loss for layer in model._flatten_layers() for loss in layer._eager_losses]


def count_parameter_servers(strategy: Any) -> int:
    """Servers of a ParameterServerStrategy."""
    count: int = strategy.extended._num_ps
    return count


def count_asynchronous_workers(strategy: Any) -> int:
    """Workers of a ParameterServerStrategy."""
    count: int = strategy.extended._num_workers
    return count


def place_next_variable(strategy: Any, server: int) -> None:
    """Let a ParameterServerStrategy create its next variable on the server of that number.

    It takes server number `_variable_count % servers`, and has no other handle.
    """
    strategy.extended._variable_count = server
