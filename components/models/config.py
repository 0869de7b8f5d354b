"""The networks that can be trained, each with its sizes; defaults are the starter code's."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Annotated, Literal

from yt8m.schemas.config_tree import ConfigNode, require
from yt8m.schemas.limits import (
    Fraction,
    FractionBelowOne,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    matches,
    not_empty,
)


class Pooling(enum.Enum):
    """How frames become one vector."""

    MAX = "max"
    AVERAGE = "average"


class Sampling(enum.Enum):
    """Which frames of a video a model sees while it trains."""

    RANDOM_FRAMES = "random_frames"
    RANDOM_SEQUENCE = "random_sequence"


class Activation(enum.Enum):
    """What follows a layer's sums."""

    RELU6 = "relu6"
    SIGMOID = "sigmoid"
    RELU = "relu"
    TANH = "tanh"


class Cell(enum.Enum):
    """The recurrent unit."""

    LSTM = "lstm"
    GRU = "gru"


class Sharing(enum.Enum):
    """What several heads have in common."""

    ALL = "all"  # one output over the classes, from which every head takes its own
    TRUNK = "trunk"  # one trunk, an output for each head
    NOTHING = "nothing"  # a network for each head


class SequencePooling(enum.Enum):
    """How frames that have seen one another become one vector."""

    MEAN = "mean"  # of those that are there
    CLS = "cls"  # what a learned token beside them has seen


class LossName(enum.Enum):
    """What is minimised; the definitions are in `losses.py`."""

    CROSS_ENTROPY = "cross_entropy"
    HINGE = "hinge"
    SOFTMAX = "softmax"
    OWN = "own"  # the model's own


@dataclass(frozen=True, kw_only=True)
class LossConfig(ConfigNode):
    """The loss of one head."""

    name: LossName = LossName.CROSS_ENTROPY
    label_smoothing: FractionBelowOne = 0.0  # a target y becomes y (1 - s) + s / 2
    margin: PositiveFloat = 1.0  # hinge only


@dataclass(frozen=True, kw_only=True)
class LogisticConfig(ConfigNode):
    """A sigmoid for each class; with it a model ends, or it is the model."""

    name: Literal["logistic"] = "logistic"
    l2: NonNegativeFloat = 1e-8  # strength of the L2 regularisation of the weights


@dataclass(frozen=True, kw_only=True)
class MoeConfig(ConfigNode):
    """For each class a mixture of sigmoids, with a gate that may choose none of them."""

    name: Literal["moe"] = "moe"
    num_mixtures: PositiveInt = 2  # sigmoids for each class, beside the gate that chooses none
    l2: NonNegativeFloat = 1e-8  # strength of the L2 regularisation of the weights
    context_gating: bool = False  # of the class probabilities, as in Miech et al. 2017


ClassifierConfig = LogisticConfig | MoeConfig


@dataclass(frozen=True, kw_only=True)
class MlpConfig(ConfigNode):
    """Residual blocks on the video's vector."""

    name: Literal["mlp"] = "mlp"
    members: PositiveInt = 1  # networks side by side, each with its loss, averaged: an ensemble
    width: PositiveInt = 2048  # units of each block
    blocks: NonNegativeInt = 1  # residual blocks; 0 leaves the classifier alone
    dropout: FractionBelowOne = 0.3  # share of the units that are dropped while training
    input_dropout: FractionBelowOne = 0.0  # the same of the features
    batch_norm: bool = False  # normalise each layer by the batch
    modality_norm: bool = False  # L2-normalise rgb and audio each by itself, not only together
    context_gating: bool = False  # gate the vector by itself (Miech et al. 2017)
    # What makes probabilities of the vector.
    classifier: ClassifierConfig = field(default_factory=LogisticConfig)


# What may follow a trunk of frames: any model of a video's vector.
TrunkClassifierConfig = LogisticConfig | MoeConfig | MlpConfig


@dataclass(frozen=True, kw_only=True)
class FrameLogisticConfig(ConfigNode):
    """The mean over the frames, then a sigmoid for each class."""

    name: Literal["frame_logistic"] = "frame_logistic"
    l2: NonNegativeFloat = 1e-8  # strength of the L2 regularisation of the weights


@dataclass(frozen=True, kw_only=True)
class DbofConfig(ConfigNode):
    """Deep bag of frames: each frame to many clusters, pooled over some frames."""

    name: Literal["dbof"] = "dbof"
    clusters: PositiveInt = 8192  # that each frame is coded over
    hidden: PositiveInt = 1024  # units of the layer after the pooling
    frames: PositiveInt = 30  # frames of each video that are pooled
    sampling: Sampling = Sampling.RANDOM_FRAMES
    batch_norm: bool = True  # normalise each layer by the batch
    pooling: Pooling = Pooling.MAX
    activation: Activation = Activation.RELU6  # of clusters and of the hidden layer
    context_gating: bool = False  # gate the vector by itself (Miech et al. 2017)
    # What makes probabilities of the vector.
    classifier: TrunkClassifierConfig = field(default_factory=MoeConfig)


@dataclass(frozen=True, kw_only=True)
class RnnConfig(ConfigNode):
    """Stacked recurrent layers; the state after the last real frame goes to the classifier."""

    name: Literal["rnn"] = "rnn"
    cell: Cell = Cell.LSTM
    cells: PositiveInt = 1024  # units of each layer
    layers: PositiveInt = 2  # recurrent layers, one on the other
    # Each layer reads the frames from both ends, with weights for each; a vector twice as long.
    bidirectional: bool = False
    # What makes probabilities of the vector.
    classifier: TrunkClassifierConfig = field(default_factory=MoeConfig)


@dataclass(frozen=True, kw_only=True)
class NetVladConfig(ConfigNode):
    """Differences of the frames to learned centres, softly assigned (Miech et al. 2017)."""

    name: Literal["netvlad"] = "netvlad"
    clusters: PositiveInt = 64  # learned centres that frames are compared with
    hidden: PositiveInt = 1024  # units of the layer after the pooling
    batch_norm: bool = True  # normalise each layer by the batch
    context_gating: bool = False  # true makes it the gated NetVLAD
    dropout: FractionBelowOne = 0.0  # share of the units that are dropped while training
    # What makes probabilities of the vector.
    classifier: TrunkClassifierConfig = field(default_factory=MoeConfig)


@dataclass(frozen=True, kw_only=True)
class NextVladConfig(ConfigNode):
    """NetVLAD on groups of an expanded frame vector, with attention (Lin et al. 2018)."""

    name: Literal["nextvlad"] = "nextvlad"
    clusters: PositiveInt = 128  # learned centres that frames are compared with
    hidden: PositiveInt = 2048  # units of the layer after the pooling
    expansion: PositiveInt = 2  # a frame vector is widened so many times
    groups: PositiveInt = 8  # parts of the widened vector, each with an attention of its own
    # Pool rgb and audio each by itself, as published; audio with half the clusters and groups.
    apart: bool = False
    batch_norm: bool = True  # normalise each layer by the batch
    context_gating: bool = True  # gate the vector by itself (Miech et al. 2017)
    gating_reduction: PositiveInt = 8  # the gate works on a vector so many times smaller
    dropout: FractionBelowOne = 0.0  # share of the units that are dropped while training
    # What makes probabilities of the vector.
    classifier: TrunkClassifierConfig = field(default_factory=LogisticConfig)


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(ConfigNode):
    """A transformer's encoder: frames that look at one another (Vaswani et al. 2017)."""

    name: Literal["transformer"] = "transformer"
    layers: PositiveInt = 2  # of attention, one on the other
    heads: PositiveInt = 4  # of the attention in each layer; they share the width
    width: PositiveInt = 256  # of a frame's vector within; an even multiple of heads
    feed_forward: PositiveInt = 1024  # units of the layer that each frame goes through
    pooling: SequencePooling = SequencePooling.MEAN
    dropout: FractionBelowOne = 0.1  # share of the units that are dropped while training
    # What makes probabilities of the vector.
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


class KeyStorage(enum.Enum):
    """In what an index holds the vectors of its videos."""

    INT8 = "int8"
    FLOAT32 = "float32"


@dataclass(frozen=True, kw_only=True)
class RetrievalConfig(ConfigNode):
    """An index of the training videos in the export: the nearest ones' labels are blended in."""

    weight: Fraction = 0.2  # of what the neighbours say; the network has the rest
    exponent: PositiveFloat = 1.0  # the network's probabilities are raised to it before
    count: PositiveInt = 20  # neighbours that are asked
    temperature: PositiveFloat = 0.07  # each weighs exp(cosine / temperature)
    max_videos: PositiveInt = 200_000  # of more, evenly spaced ones are taken; see docs/models.md
    storage: KeyStorage = KeyStorage.INT8  # of the vectors


@dataclass(frozen=True, kw_only=True)
class EntitiesHeadConfig(ConfigNode):
    """The classes of the vocabulary."""

    name: Literal["entities"] = "entities"
    weight: NonNegativeFloat = 1.0  # of the head's loss in the sum
    loss: LossConfig = field(default_factory=LossConfig)
    # Splits whose rows it learns from, of train_split and the mixture; empty: all.
    splits: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class VerticalsHeadConfig(ConfigNode):
    """The groups of classes that the vocabulary names, 25 in the published one."""

    name: Literal["verticals"] = "verticals"
    weight: NonNegativeFloat = 0.1  # of the head's loss in the sum
    loss: LossConfig = field(default_factory=LossConfig)
    # Splits whose rows it learns from, of train_split and the mixture; empty: all.
    splits: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SegmentsHeadConfig(ConfigNode):
    """The classes of the vocabulary, judged on each segment's rated ones (segment level only)."""

    name: Literal["segments"] = "segments"
    weight: NonNegativeFloat = 1.0  # of the head's loss in the sum
    loss: LossConfig = field(default_factory=LossConfig)
    # Splits whose rows it learns from, of train_split and the mixture; empty: all.
    splits: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class OwnHeadConfig(ConfigNode):
    """Classes of your own, whose numbers are in a column of the records beside the labels."""

    name: Literal["own"] = "own"
    task: Annotated[
        str,
        matches(
            r"(?!(own|entities|verticals|segments|video_id)$)[a-z][a-z0-9_]*",
            "a name of small letters, digits and underscores that no other head has",
        ),
    ]  # what the head is called in metrics, weights and exports
    # A feature of each record, of integers from 0 to num_classes - 1, any number of them. A record
    # without it has none of the classes.
    labels: Annotated[str, not_empty("the name of a feature of the records")]
    num_classes: PositiveInt  # how many classes the column has
    weight: NonNegativeFloat = 1.0  # of the head's loss in the sum
    loss: LossConfig = field(default_factory=LossConfig)
    # Splits whose rows it learns from, of train_split and the mixture; empty: all.
    splits: tuple[str, ...] = ()


HeadConfig = EntitiesHeadConfig | VerticalsHeadConfig | SegmentsHeadConfig | OwnHeadConfig


def head_name(config: HeadConfig) -> str:
    """What the head is called in metrics, weights and exports."""
    return config.task if isinstance(config, OwnHeadConfig) else config.name
