"""Products whose gradient is taken turned round: the same numbers, where it is quicker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from batches import FEATURES, level_of, make_batch, make_network
from training import trainer_config

from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.models import products
from yt8m.components.models.layers import Linear, Recipe
from yt8m.components.models.products import product_by_shape
from yt8m.components.trainer.loop.step import Replicas, TrainStep
from yt8m.components.trainer.optimizers import create_optimizer

SIZE, UNITS = 40, 24
FEW, MANY = 256, 257


def operands(rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(rows)
    shapes = ((rows, SIZE), (SIZE, UNITS), (rows, UNITS))
    inputs, kernel, upstream = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    return inputs, kernel, upstream


def differentiated(
    inputs: tf.Tensor, kernel: tf.Tensor, upstream: tf.Tensor
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    with tf.GradientTape() as tape:
        tape.watch([inputs, kernel])
        product = product_by_shape(inputs, kernel)
    return product, tape.gradient(product, [inputs, kernel], output_gradients=upstream)


def graph(rows: int | None, dtype: tf.DType, *, jit_compile: bool = False) -> Any:
    signature = [
        tf.TensorSpec(shape, dtype) for shape in ([rows, SIZE], [SIZE, UNITS], [rows, UNITS])
    ]
    return tf.function(differentiated, input_signature=signature, jit_compile=jit_compile)


@pytest.mark.parametrize("way", ["eager", "known rows", "any rows", "compiled"])
@pytest.mark.parametrize("rows", [1, 3, FEW, MANY])
def test_product_and_gradients_are_those_of_float64(rows: int, way: str) -> None:
    function = {
        "eager": differentiated,
        "known rows": graph(rows, tf.float32),
        "any rows": graph(None, tf.float32),
        "compiled": graph(None, tf.float32, jit_compile=True),
    }[way]
    arrays = operands(rows)
    product, gradients = function(*map(tf.constant, arrays))
    inputs, kernel, upstream = (array.astype(np.float64) for array in arrays)
    wanted = (inputs @ kernel, upstream @ kernel.T, inputs.T @ upstream)
    for found, exact in zip((product, *gradients), wanted, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-6 * np.abs(exact).max())


@pytest.mark.parametrize(
    ("rows", "dtype", "is_turned"),
    [(FEW, tf.float32, True), (MANY, tf.float32, False), (FEW, tf.bfloat16, False)],
)
def test_few_rows_of_float32_are_turned(rows: int, dtype: tf.DType, is_turned: bool) -> None:
    types = [op.type for op in graph(rows, dtype).get_concrete_function().graph.get_operations()]
    assert ("Transpose" in types) is is_turned


def test_a_layer_in_bfloat16_has_the_gradients_of_plain_products() -> None:
    layer = Linear(UNITS, name="layer", recipe=Recipe(seed=1, compute_dtype="bfloat16"))
    inputs, _, upstream = map(tf.constant, operands(8))
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        values = layer(inputs)
    found = tape.gradient(values, [inputs, layer.kernel], output_gradients=upstream)
    half = [tf.cast(part, tf.bfloat16) for part in (upstream, layer.kernel, inputs)]
    wanted = [
        tf.matmul(half[0], half[1], transpose_b=True),
        tf.matmul(half[2], half[0], transpose_a=True),
    ]
    for gradient, plain in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(gradient, tf.cast(plain, tf.float32))


def trained(model: str, monkeypatch: pytest.MonkeyPatch, *, few: int) -> dict[str, np.ndarray]:
    """The weights after three steps, up to `few` rows turned."""
    monkeypatch.setattr(products, "_FEW_ROWS", few)
    network = make_network(model)
    config = trainer_config(optimizer={"name": "sgd", "learning_rate": 0.1})
    optimizer = create_optimizer(config.optimizer)
    optimizer.build(network.trainable_variables)
    step = TrainStep(
        config,
        network=network,
        optimizer=optimizer,
        strategy=tf.distribute.get_strategy(),
        replicas=Replicas(total=1, local=1),
        use_xla=False,
    )
    batches = iter(tf.data.Dataset.from_tensors(make_batch(level_of(model), rows=16)).repeat())
    for _ in range(3):
        step.run(batches, tf.constant([0.1]))
    return {weight.name: weight.numpy() for weight in network.weights}


@pytest.mark.parametrize("model", ["mlp_gated_moe", "netvlad_gated", "transformer"])
def test_three_whole_steps_end_in_the_same_weights(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By SGD, whose steps are as large as gradients: Adam's of rounding alone are full steps."""
    turned = trained(model, monkeypatch, few=FEW)
    straight = trained(model, monkeypatch, few=0)
    for name, weight in straight.items():
        np.testing.assert_allclose(turned[name], weight, rtol=1e-4, atol=1e-6, err_msg=name)


def test_an_export_has_no_gradient_of_our_own_and_scores_as_the_network(tmp_path: Path) -> None:
    network = make_network("netvlad")
    batch = make_batch(level_of("netvlad"))
    head = network.heads[0].name
    traced = tf.function(network.copy(compute_dtype="float32")).get_concrete_function(batch)
    attributes = [op.node_def.attr for op in traced.graph.get_operations()]
    assert not any("_gradient_op_type" in attribute for attribute in attributes)
    np.testing.assert_allclose(traced(batch)[head], network(batch)[head], rtol=1e-5, atol=1e-7)
    spec = ExportSpec(level=level_of("netvlad"), features=FEATURES)
    export_model(network, str(tmp_path / "export"), spec)
    loaded = tf.saved_model.load(str(tmp_path / "export"))
    assert "serving_default" in loaded.signatures
