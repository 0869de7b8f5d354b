"""The batching parameters beside an export, read as TensorFlow Serving reads them."""

import numpy as np
import pytest
import tensorflow as tf
from batches import MODELS, create_network
from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    text_format,
    wrappers_pb2,
)
from sources import FEATURES

from yt8m.components.artifacts.saved_model import BATCHING_FILE
from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.export.tf_serving import batching_parameters
from yt8m.components.models.heads import create_heads
from yt8m.schemas.features import Level

# session_bundle_config.proto, message BatchingParameters: name, number, type.
FIELDS = (
    ("max_batch_size", 1, "Int64Value"),
    ("batch_timeout_micros", 2, "Int64Value"),
    ("max_enqueued_batches", 3, "Int64Value"),
    ("num_batch_threads", 4, "Int64Value"),
    ("thread_pool_name", 5, "StringValue"),
    ("enable_large_batch_splitting", 8, "BoolValue"),
    ("max_execution_batch_size", 9, "Int64Value"),
)


def _batching_parameters_class():
    file = descriptor_pb2.FileDescriptorProto(
        name="batching.proto", package="serving", syntax="proto3"
    )
    file.dependency.append("google/protobuf/wrappers.proto")
    message = file.message_type.add(name="BatchingParameters")
    kind = descriptor_pb2.FieldDescriptorProto
    for name, number, wrapper in FIELDS:
        message.field.add(
            name=name,
            number=number,
            label=kind.LABEL_OPTIONAL,
            type=kind.TYPE_MESSAGE,
            type_name=f".google.protobuf.{wrapper}",
        )
    message.field.add(
        name="allowed_batch_sizes", number=6, label=kind.LABEL_REPEATED, type=kind.TYPE_INT64
    )
    message.field.add(
        name="pad_variable_length_inputs", number=7, label=kind.LABEL_OPTIONAL, type=kind.TYPE_BOOL
    )
    pool = descriptor_pool.DescriptorPool()
    wrappers = descriptor_pb2.FileDescriptorProto()
    wrappers_pb2.DESCRIPTOR.CopyToProto(wrappers)
    pool.Add(wrappers)
    pool.Add(file)
    found = pool.FindMessageTypeByName("serving.BatchingParameters")
    newer = getattr(message_factory, "GetMessageClass", None)  # protobuf 3.20 has not
    return newer(found) if newer else message_factory.MessageFactory(pool).GetPrototype(found)


def _export(place, level, model):
    heads = create_heads((), features=FEATURES, level=level)
    network = create_network(MODELS[model], features=FEATURES, level=level, heads=heads)
    export_model(network, str(place), ExportSpec(level=level, features=FEATURES))


@pytest.mark.parametrize(("level", "largest"), [(Level.VIDEO, 128), (Level.FRAME, 16)])
def test_the_file_is_a_message_that_serving_accepts(tmp_path, level, largest):
    _export(tmp_path / "model", level, {Level.VIDEO: "moe", Level.FRAME: "dbof"}[level])
    text = (tmp_path / "model" / BATCHING_FILE).read_text()
    parsed = text_format.Parse(text, _batching_parameters_class()())
    assert parsed.max_execution_batch_size.value == largest
    # With splitting, what SharedBatchScheduler checks of a queue.
    assert parsed.enable_large_batch_splitting.value
    assert parsed.max_batch_size.value >= parsed.max_execution_batch_size.value
    assert parsed.batch_timeout_micros.value >= 0
    assert parsed.pad_variable_length_inputs is (level is Level.FRAME)
    # Of the whole server, not of a model: another model's file would say otherwise.
    assert not parsed.HasField("num_batch_threads")
    assert not parsed.HasField("thread_pool_name")


def test_requests_for_a_model_of_segments_are_not_joined(tmp_path):
    """Its answers have more rows than records, and the server could not tell whose they are."""
    assert batching_parameters(Level.SEGMENT) is None
    _export(tmp_path / "model", Level.SEGMENT, "frame_logistic")
    assert not (tmp_path / "model" / BATCHING_FILE).exists()


@pytest.mark.parametrize("model", ["frame_logistic", "dbof", "netvlad_gated", "lstm"])
def test_videos_that_serving_pads_for_a_batch_score_as_alone(tmp_path, model):
    """It pads with the tensor's first number, whatever that is."""
    _export(tmp_path / "model", Level.FRAME, model)
    score = tf.saved_model.load(str(tmp_path / "model")).signatures["features"]
    rng = np.random.default_rng(0)
    frames = {
        n: rng.integers(0, 256, (1, 9, s), np.uint8) for n, s in FEATURES.size_by_name.items()
    }
    short = {n: v[:, :4] for n, v in frames.items()}
    alone = score(
        **{n: tf.constant(v) for n, v in short.items()}, num_frames=tf.constant([4], tf.int32)
    )["scores"].numpy()
    padded = {n: v.copy() for n, v in frames.items()}
    for value in padded.values():
        value[:, 4:] = value[0, 0, 0]
    joined = {n: np.concatenate([padded[n], frames[n]]) for n in frames}
    together = score(
        **{n: tf.constant(v) for n, v in joined.items()}, num_frames=tf.constant([4, 9], tf.int32)
    )["scores"].numpy()
    np.testing.assert_allclose(together[:1], alone, atol=2e-6)
