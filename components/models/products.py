"""Products of rows with a layer's kernel, each in the order of factors that suits its shape.

The rule and its measurement are in docs/decisions/0036-products-by-shape.md.
"""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

_FEW_ROWS = 256  # up to so many the kernel costs more to lay out anew than the result does

_Gradient = Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]


def product_by_shape(rows: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """`rows [n, size] @ kernel [size, units]`; its gradient by `rows` follows `turned_if_few`."""
    if kernel.dtype != tf.float32 or tf.config.list_logical_devices("GPU"):
        return tf.matmul(rows, kernel)
    product: tf.Tensor = _with_gradient(rows, kernel)
    return product


@tf.custom_gradient
def _with_gradient(rows: tf.Tensor, kernel: tf.Tensor) -> tuple[tf.Tensor, _Gradient]:
    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return turned_if_few(upstream, kernel), tf.matmul(rows, upstream, transpose_a=True)

    return tf.matmul(rows, kernel), gradient


def turned_if_few(upstream: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """`upstream [n, units] @ kernel^T`, for few rows as `(kernel @ upstream^T)^T`."""

    def turned() -> tf.Tensor:
        return tf.transpose(tf.matmul(kernel, upstream, transpose_b=True))

    def straight() -> tf.Tensor:
        return tf.matmul(upstream, kernel, transpose_b=True)

    count = upstream.shape[0]
    if count is None:  # of frame-level batches known at run time alone
        return tf.cond(tf.shape(upstream)[0] <= _FEW_ROWS, turned, straight)
    return turned() if count <= _FEW_ROWS else straight()
