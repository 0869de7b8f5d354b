"""Private names of TensorFlow and tf_keras that this project needs, in one place.

Everything here was looked up in the versions that setup.py allows (docs/decisions/0001).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any  # TensorFlow and tf_keras publish no types

_answering: dict[str, Callable[..., Any]] = {}  # TensorFlow itself holds them weakly


def weight_losses(model: Any) -> list[Any]:
    """The regularisers of the weights of a tf_keras model, computed again."""
    losses = [loss() for layer in model._flatten_layers() for loss in layer._callable_losses]
    return [loss for loss in losses if loss is not None]


def layer_losses(model: Any) -> list[Any]:
    """Losses that layers added by `add_loss` in the newest call: tensors that belong to its tape.

    `losses`, the public list, gives them and the weights' in one.
    """
    return [loss for layer in model._flatten_layers() for loss in layer._eager_losses]


def averages_of(optimizer: Any) -> list[Any]:
    """The moving averages that a built tf_keras optimiser keeps, in its weights' order."""
    return list(optimizer._model_variables_moving_average) if optimizer.use_ema else []


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


def translate_worker_errors(
    coordinator: Any, translate: Callable[[BaseException], BaseException]
) -> None:
    """Let a ClusterCoordinator judge `translate(error)`, where it asks if a worker has failed."""
    handler = coordinator._cluster.failure_handler
    judge = handler._validate_preemption_failure
    handler._validate_preemption_failure = lambda error: judge(translate(error))


def limit_waiting(jobs: Mapping[str, int], *, start_s: float, silence_s: float) -> None:
    """Limit how long TensorFlow waits for processes in step to start, and to show signs of life.

    `jobs` has the number of each job's tasks. The strategy would configure the same service itself,
    with an hour for the start and ten seconds of silence; it keeps what is there.
    """
    from tensorflow.python.eager import context

    leader = "chief" if "chief" in jobs else "worker"
    context.context().configure_coordination_service(
        service_type="standalone",
        service_leader=f"/job:{leader}/replica:0/task:0",
        cluster_register_timeout_in_ms=round(1000 * start_s),
        heartbeat_timeout_in_ms=round(1000 * silence_s),
        coordinated_jobs=[
            context.coordination_config_pb2.CoordinatedJob(name=name, num_tasks=count)
            for name, count in jobs.items()
        ],
    )


def call_where_it_runs(token: str, arguments: Sequence[Any], types: Sequence[Any]) -> list[Any]:
    """An operation that calls the Python function which answers `token`, in whatever process.

    `tf.numpy_function` is found in the process alone that built the graph.
    """
    import tensorflow as tf

    results: list[Any] = tf.raw_ops.PyFunc(input=list(arguments), token=token, Tout=list(types))
    return results


def answer_calls(token: str, function: Callable[..., Any]) -> None:
    """Let `function`, from numpy arrays to a list of them, answer `token` in this process."""
    from tensorflow.python.ops import script_ops

    _answering[token] = function
    script_ops._py_funcs._funcs[token] = function


def assign_in_replicas(variables: Sequence[Any], values: Sequence[Any]) -> None:
    """Assign within a replica's step, as tf_keras's optimisers do under every strategy."""
    import tensorflow as tf

    def assign(strategy: Any, *values: Any) -> None:
        for variable, value in zip(variables, values, strict=True):
            strategy.extended.update(variable, _assign, args=(value,), group=False)

    tf.__internal__.distribute.interim.maybe_merge_call(
        assign, tf.distribute.get_strategy(), *values
    )


def _assign(variable: Any, value: Any) -> Any:
    return variable.assign(value)
