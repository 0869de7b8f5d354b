"""The same steps give the same bits, whatever the model: what resuming exactly rests on."""

import pytest
import tensorflow as tf
from batches import level_of, make_batch, make_network
from training import trainer_config

from yt8m.components.trainer.loop.step import Replicas, TrainStep
from yt8m.components.trainer.optimizers import create_optimizer

pytestmark = pytest.mark.slow

# Of each kind of arithmetic one: mixtures, gates, pooling, recurrence, assignment to clusters.
MODELS = ["moe", "mlp_gated_moe", "mlp_members", "dbof", "lstm", "netvlad_gated", "nextvlad"]


@pytest.mark.parametrize("use_xla", [True, False], ids=["xla", "no xla"])
@pytest.mark.parametrize("model", MODELS)
def test_a_training_that_is_done_again_ends_with_the_same_bits(model, use_xla):
    network = make_network(model, fuse=use_xla)
    config = trainer_config()
    optimizer = create_optimizer(config.optimizer)
    optimizer.build(network.trainable_variables)
    step = TrainStep(
        config,
        network=network,
        optimizer=optimizer,
        strategy=tf.distribute.get_strategy(),
        replicas=Replicas(total=1, local=1),
        use_xla=use_xla,
    )
    batch = make_batch(level_of(model), rows=16)
    batches = iter(tf.data.Dataset.from_tensors(batch).repeat())
    state = [*network.weights, *optimizer.variables]
    start, ends = [v.numpy() for v in state], set()
    for _ in range(4):
        for variable, value in zip(state, start, strict=True):
            variable.assign(value)
        for _ in range(20):
            step.run(batches, tf.constant([0.01]))
        ends.add(b"".join(v.numpy().tobytes() for v in state))
    assert len(ends) == 1
