"""The networks that can be trained, each with its sizes; defaults are the starter code's."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Annotated, Literal

from yt8m.schemas.config_tree import ConfigNode, require
from yt8m.schemas.limits import (
    Fraction,
    FractionBelowOne,
    Limit,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    matches,
    not_empty,
)


class Pooling(enum.Enum):
    """Pooling of frames into one vector."""

    MAX = "max"
    AVERAGE = "average"


class Sampling(enum.Enum):
    """Frames of a video that the model sees during training."""

    RANDOM_FRAMES = "random_frames"
    RANDOM_SEQUENCE = "random_sequence"


class Activation(enum.Enum):
    """Activation function of a layer."""

    RELU6 = "relu6"
    SIGMOID = "sigmoid"
    RELU = "relu"
    TANH = "tanh"


class Cell(enum.Enum):
    """The recurrent unit."""

    LSTM = "lstm"
    GRU = "gru"


class Sharing(enum.Enum):
    """Layers that several heads share."""

    ALL = "all"  # one output over the classes; every head takes its classes from it
    TRUNK = "trunk"  # one trunk, and an output per head
    NOTHING = "nothing"  # a network per head


class SequencePooling(enum.Enum):
    """Pooling of the transformer's frames into one vector."""

    MEAN = "mean"  # the mean over the real frames
    CLS = "cls"  # the output at a learned token


class LossName(enum.Enum):
    """Loss to minimise; `losses.py` defines them."""

    CROSS_ENTROPY = "cross_entropy"
    HINGE = "hinge"
    SOFTMAX = "softmax"
    OWN = "own"  # the custom network's loss


@dataclass(frozen=True, kw_only=True)
class LossConfig(ConfigNode):
    """The loss of one head."""

    name: LossName = LossName.CROSS_ENTROPY
    # Smoothing s of the labels: a target y becomes y (1 - s) + s / 2.
    label_smoothing: FractionBelowOne = 0.0
    margin: PositiveFloat = 1.0  # Margin of the hinge loss; other losses ignore it


@dataclass(frozen=True, kw_only=True)
class LogisticConfig(ConfigNode):
    """One sigmoid per class: a model, or the classifier of another model."""

    name: Literal["logistic"] = "logistic"
    l2: NonNegativeFloat = 1e-8  # Strength of the L2 regularisation of the weights
    # Units of a second layer, which corrects each class by the probabilities of all; 0: none.
    co_occurrence: NonNegativeInt = 0


@dataclass(frozen=True, kw_only=True)
class MoeConfig(ConfigNode):
    """A mixture of sigmoids per class, with a gate that may choose none of them."""

    name: Literal["moe"] = "moe"
    # Number of sigmoids per class; the gate may also choose none of them.
    num_mixtures: PositiveInt = 2
    l2: NonNegativeFloat = 1e-8  # Strength of the L2 regularisation of the weights
    context_gating: bool = False  # Gate the class probabilities by themselves (Miech et al. 2017)


ClassifierConfig = LogisticConfig | MoeConfig


@dataclass(frozen=True, kw_only=True)
class MlpConfig(ConfigNode):
    """Residual blocks on the video's vector."""

    name: Literal["mlp"] = "mlp"
    # Number of networks trained in parallel, each with its own loss, and averaged as an ensemble.
    members: PositiveInt = 1
    width: PositiveInt = 2048  # Units of each block
    blocks: NonNegativeInt = 1  # Number of residual blocks; 0: the classifier alone
    dropout: FractionBelowOne = 0.3  # Share of the units dropped during training
    input_dropout: FractionBelowOne = 0.0  # Share of the input features dropped during training
    batch_norm: bool = False  # Normalise each layer by the batch
    modality_norm: bool = False  # L2-normalise rgb and audio separately as well as together
    context_gating: bool = False  # Gate the vector by itself (Miech et al. 2017)
    # Classifier that turns the vector into class probabilities.
    classifier: ClassifierConfig = field(default_factory=LogisticConfig)


# What may follow a trunk of frames: any model of a video's vector.
TrunkClassifierConfig = LogisticConfig | MoeConfig | MlpConfig


@dataclass(frozen=True, kw_only=True)
class FrameLogisticConfig(ConfigNode):
    """The mean over the frames, then one sigmoid per class."""

    name: Literal["frame_logistic"] = "frame_logistic"
    l2: NonNegativeFloat = 1e-8  # Strength of the L2 regularisation of the weights


@dataclass(frozen=True, kw_only=True)
class DbofConfig(ConfigNode):
    """Deep bag of frames: codes each frame over clusters, then pools some frames."""

    name: Literal["dbof"] = "dbof"
    clusters: PositiveInt = 8192  # Number of clusters that each frame is coded over
    hidden: PositiveInt = 1024  # Units of the layer after the pooling
    frames: PositiveInt = 30  # Number of frames per video that are pooled
    sampling: Sampling = Sampling.RANDOM_FRAMES
    batch_norm: bool = True  # Normalise each layer by the batch
    pooling: Pooling = Pooling.MAX
    activation: Activation = Activation.RELU6  # Activation of the clusters and of the hidden layer
    context_gating: bool = False  # Gate the vector by itself (Miech et al. 2017)
    # Classifier that turns the vector into class probabilities.
    classifier: TrunkClassifierConfig = field(default_factory=MoeConfig)


@dataclass(frozen=True, kw_only=True)
class RnnConfig(ConfigNode):
    """Stacked recurrent layers; the state after the last real frame goes to the classifier."""

    name: Literal["rnn"] = "rnn"
    cell: Cell = Cell.LSTM
    cells: PositiveInt = 1024  # Units of each recurrent layer
    layers: PositiveInt = 2  # Number of stacked recurrent layers
    # Read the frames in both directions, with separate weights; doubles the vector's length.
    bidirectional: bool = False
    # Classifier that turns the vector into class probabilities.
    classifier: TrunkClassifierConfig = field(default_factory=MoeConfig)


@dataclass(frozen=True, kw_only=True)
class NetVladConfig(ConfigNode):
    """Softly assigned differences of frames to learned centres (Miech et al. 2017)."""

    name: Literal["netvlad"] = "netvlad"
    clusters: PositiveInt = 64  # Number of learned centres that frames are compared with
    hidden: PositiveInt = 1024  # Units of the layer after the pooling
    batch_norm: bool = True  # Normalise each layer by the batch
    context_gating: bool = False  # Gate the vector by itself (Miech et al. 2017)
    dropout: FractionBelowOne = 0.0  # Share of the units dropped during training
    # Classifier that turns the vector into class probabilities.
    classifier: TrunkClassifierConfig = field(default_factory=MoeConfig)


@dataclass(frozen=True, kw_only=True)
class NextVladConfig(ConfigNode):
    """NetVLAD on groups of an expanded frame vector, with attention (Lin et al. 2018)."""

    name: Literal["nextvlad"] = "nextvlad"
    clusters: PositiveInt = 128  # Number of learned centres that frames are compared with
    hidden: PositiveInt = 2048  # Units of the layer after the pooling
    expansion: PositiveInt = 2  # Factor by which a frame vector is widened
    groups: PositiveInt = 8  # Number of groups of the widened vector, each with its own attention
    # Pool rgb and audio separately, as published; audio has half the clusters and groups.
    apart: bool = False
    batch_norm: bool = True  # Normalise each layer by the batch
    context_gating: bool = True  # Gate the vector by itself (Miech et al. 2017)
    gating_reduction: PositiveInt = 8  # Factor by which the gate's vector is smaller
    dropout: FractionBelowOne = 0.0  # Share of the units dropped during training
    # Classifier that turns the vector into class probabilities.
    classifier: TrunkClassifierConfig = field(default_factory=LogisticConfig)


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(ConfigNode):
    """A transformer encoder over the frames (Vaswani et al. 2017)."""

    name: Literal["transformer"] = "transformer"
    layers: PositiveInt = 2  # Number of attention layers
    heads: PositiveInt = 4  # Number of attention heads per layer, which share the width
    # Length of a frame's vector inside the encoder; an even multiple of `heads`.
    width: PositiveInt = 256
    # Units of the feed-forward layer that each frame passes through.
    feed_forward: PositiveInt = 1024
    pooling: SequencePooling = SequencePooling.MEAN
    dropout: FractionBelowOne = 0.1  # Share of the units dropped during training
    # Classifier that turns the vector into class probabilities.
    classifier: TrunkClassifierConfig = field(default_factory=MoeConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        fits = self.width % self.heads == 0 and self.width % 2 == 0
        require(fits, "width", self.width, f"even, and a multiple of heads = {self.heads}")


VideoModelConfig = LogisticConfig | MoeConfig | MlpConfig
FrameModelConfig = (
    FrameLogisticConfig
    | DbofConfig
    | RnnConfig
    | NetVladConfig
    | NextVladConfig
    | TransformerConfig
)
ModelConfig = VideoModelConfig | FrameModelConfig
# Models that need the frames; all others look at their mean.
LOOKS_AT_FRAMES = (DbofConfig, RnnConfig, NetVladConfig, NextVladConfig, TransformerConfig)


class KeyStorage(enum.Enum):
    """Number format of an index's vectors."""

    INT8 = "int8"
    FLOAT32 = "float32"


# Of a polynomial of degree two in six quantities (`combination.QUANTITIES`).
COEFFICIENTS = 28


def _is_polynomial(coefficients: tuple[float, ...]) -> bool:
    return len(coefficients) in (0, COEFFICIENTS)


@dataclass(frozen=True, kw_only=True)
class RetrievalConfig(ConfigNode):
    """Nearest-neighbour index of training videos in the export; blends in their labels."""

    weight: Fraction = 0.2  # Weight of the neighbours' labels; the network has the rest
    # Exponent applied to the network's probabilities before the blend.
    exponent: PositiveFloat = 1.0
    # The coefficients of a polynomial that is used instead of `weight` and `exponent`
    # (docs/models.md); empty: none.
    combination: Annotated[tuple[float, ...], Limit("28 numbers or none", _is_polynomial)] = ()
    count: PositiveInt = 20  # Number of neighbours per query
    # Temperature of the neighbours' weights exp(cosine / temperature).
    temperature: PositiveFloat = 0.07
    # Number of videos in the index, at most; from more, evenly spaced ones are taken
    # (docs/models.md).
    max_videos: PositiveInt = 200_000
    storage: KeyStorage = KeyStorage.INT8  # Number format of the vectors in the index

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("weight", "exponent"):
            value, default = getattr(self, name), getattr(RetrievalConfig, name)
            unused = value != default and bool(self.combination)
            allowed = "omitted with combination, which takes its place; combination: [] omits that"
            require(not unused, name, value, allowed)


@dataclass(frozen=True, kw_only=True)
class EntitiesHeadConfig(ConfigNode):
    """Head for the classes of the vocabulary."""

    name: Literal["entities"] = "entities"
    weight: NonNegativeFloat = 1.0  # Weight of the head's loss in the total loss
    loss: LossConfig = field(default_factory=LossConfig)
    # Splits whose rows train the head, of `train_split` and the mixture; empty: all.
    splits: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class VerticalsHeadConfig(ConfigNode):
    """Head for the vocabulary's groups of classes, 25 in the published one."""

    name: Literal["verticals"] = "verticals"
    weight: NonNegativeFloat = 0.1  # Weight of the head's loss in the total loss
    loss: LossConfig = field(default_factory=LossConfig)
    # Splits whose rows train the head, of `train_split` and the mixture; empty: all.
    splits: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SegmentsHeadConfig(ConfigNode):
    """Head for the vocabulary's classes on rated segments (segment level only)."""

    name: Literal["segments"] = "segments"
    weight: NonNegativeFloat = 1.0  # Weight of the head's loss in the total loss
    loss: LossConfig = field(default_factory=LossConfig)
    # Splits whose rows train the head, of `train_split` and the mixture; empty: all.
    splits: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class OwnHeadConfig(ConfigNode):
    """Head for custom classes, stored in a column of the records beside the labels."""

    name: Literal["own"] = "own"
    # Name of the head in metrics, weights and exports.
    task: Annotated[
        str,
        matches(
            r"(?!(own|entities|verticals|segments|video_id)$)[a-z][a-z0-9_]*",
            "a name of small letters, digits and underscores that no other head has",
        ),
    ]
    # Feature of each record that lists its class ids, integers from 0 to num_classes - 1. A record
    # without the feature has no classes.
    labels: Annotated[str, not_empty("the name of a feature of the records")]
    num_classes: PositiveInt  # Number of classes of the column
    weight: NonNegativeFloat = 1.0  # Weight of the head's loss in the total loss
    loss: LossConfig = field(default_factory=LossConfig)
    # Splits whose rows train the head, of `train_split` and the mixture; empty: all.
    splits: tuple[str, ...] = ()


HeadConfig = EntitiesHeadConfig | VerticalsHeadConfig | SegmentsHeadConfig | OwnHeadConfig


def head_name(config: HeadConfig) -> str:
    """The head's name in metrics, weights and exports."""
    return config.task if isinstance(config, OwnHeadConfig) else config.name
