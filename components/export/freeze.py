"""One signature of a SavedModel as a graph whose weights are constants.

Such a graph belongs to no process and no strategy: it is saved again, or sent to workers, as it is.
Models of TensorFlow 1 keep their weights in variables that TensorFlow 2 loads, but cannot save.
"""

from __future__ import annotations

import contextlib
import logging
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from yt8m.components.export.load import check_findable
from yt8m.components.inputs.shards import tf_reason
from yt8m.schemas.errors import DataError

_TAG = "serve"


@dataclass(frozen=True, kw_only=True, eq=False)
class FrozenSignature:
    """The whole graph, and its ends by what the signature calls them."""

    graph: Any  # a tf.Graph
    inputs: dict[str, tf.Tensor]
    outputs: dict[str, tf.Tensor]
    prune: Any  # from inputs and outputs to a function between them


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    """In the block, TensorFlow does not warn of functions that it has no others for."""
    logger = tf.get_logger()
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


@_without_warnings()
def freeze_signature(directory: str, name: str, *, role: str = "the model") -> FrozenSignature:
    """The signature `name` of the SavedModel in `directory`; DataError where it is damaged."""
    check_findable(directory, role)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        try:
            loaded = tf.compat.v1.saved_model.load(session, [_TAG], directory)
        except Exception as error:  # TensorFlow raises whatever it happens to meet in broken files
            raise DataError(
                f"{role} {directory} is damaged, it cannot be loaded: {tf_reason(error)}"
            ) from error
        signature = loaded.signature_def[name]
        inputs = {key: info.name for key, info in signature.inputs.items()}
        outputs = {key: info.name for key, info in signature.outputs.items()}
        constant = tf.compat.v1.graph_util.convert_variables_to_constants(
            session, session.graph_def, sorted({_op_of(end) for end in outputs.values()})
        )
    _rename_functions(constant, f"frozen_{uuid.uuid4().hex[:12]}_")
    whole = tf.compat.v1.wrap_function(
        lambda: tf.graph_util.import_graph_def(constant, name=""), []
    )
    element = whole.graph.as_graph_element
    return FrozenSignature(
        graph=whole.graph,
        inputs={key: element(end) for key, end in inputs.items()},
        outputs={key: element(end) for key, end in outputs.items()},
        prune=whole.prune,
    )


def _rename_functions(graph: Any, prefix: str) -> None:
    """Give the functions in the GraphDef names of their own.

    TensorFlow 2 numbers functions in each process, and knows one of a name: another process's may
    have the name of one of ours.
    """
    names = {f.signature.name: f"{prefix}{f.signature.name}" for f in graph.library.function}
    del graph.library.gradient[:]
    for function in graph.library.function:
        function.signature.name = names[function.signature.name]
    bodies = [function.node_def for function in graph.library.function]
    for node in (node for nodes in [graph.node, *bodies] for node in nodes):
        node.op = names.get(node.op, node.op)
        for value in node.attr.values():
            for called in [value.func] if value.HasField("func") else value.list.func:
                called.name = names.get(called.name, called.name)


def _op_of(tensor: str) -> str:
    return tensor.partition(":")[0]
