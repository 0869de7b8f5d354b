"""The curated tf.Metadata schemas, adapted to a configuration's names, sizes and classes."""

from __future__ import annotations

from importlib import resources

from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2

from yt8m.schemas.features import (
    ID,
    LABELS,
    SEGMENT_LABELS,
    FeatureConfig,
    Level,
    record_key,
)

SEQUENCE = "##SEQUENCE##"  # what tfx_bsl calls the struct of a SequenceExample's feature lists


def load_schema(level: Level, features: FeatureConfig | None = None) -> schema_pb2.Schema:
    """The schema of records of `level` that hold `features` (by default: as published)."""
    features = features or FeatureConfig()
    text = resources.files("yt8m.schemas").joinpath(f"{level.value}.pbtxt").read_text("utf-8")
    schema = text_format.Parse(text, schema_pb2.Schema())
    for feature in schema.feature:
        if feature.name in (LABELS, SEGMENT_LABELS):
            feature.int_domain.max = features.num_classes - 1
    if level.is_sequence:
        _adapt_sequence(schema, features)
    else:
        _adapt_vectors(schema, features)
    return schema


def _adapt_vectors(schema: schema_pb2.Schema, features: FeatureConfig) -> None:
    """One fixed-size FLOAT feature for each configured name, made after the first in the text."""
    vectors = [f for f in schema.feature if f.type == schema_pb2.FLOAT]
    others = [f for f in schema.feature if f.type != schema_pb2.FLOAT]
    pattern = vectors[0]
    adapted = []
    for name, size in features.size_by_name.items():
        feature = schema_pb2.Feature()
        feature.CopyFrom(pattern)
        feature.name = record_key(name, Level.VIDEO)
        feature.shape.dim[0].size = size
        adapted.append(feature)
    del schema.feature[:]
    schema.feature.extend([*others, *adapted])


def _adapt_sequence(schema: schema_pb2.Schema, features: FeatureConfig) -> None:
    """One BYTES list and one ragged representation for each configured name.

    Where a schema names representations, Transform sees these tensors and no others, so the
    context's features are named too.
    """
    (struct,) = [f for f in schema.feature if f.name == SEQUENCE]
    members = struct.struct_domain.feature
    pattern = schema_pb2.Feature()
    pattern.CopyFrom(members[0])
    del members[:]
    representations = schema.tensor_representation_group[""].tensor_representation
    representations.clear()
    for name in features.names:
        pattern.name = name
        members.add().CopyFrom(pattern)
        path = representations[name].ragged_tensor.feature_path
        path.step.extend([SEQUENCE, name])
    for feature in schema.feature:
        if feature.name == ID:
            representations[ID].dense_tensor.column_name = ID
            representations[ID].dense_tensor.shape.SetInParent()
        elif feature.type != schema_pb2.STRUCT:
            representations[feature.name].varlen_sparse_tensor.column_name = feature.name
