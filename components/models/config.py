"""The networks that can be trained, each with its sizes; defaults are the starter code's."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Literal

from yt8m.schemas.config_tree import require


class Pooling(enum.Enum):
    """How frames become one vector."""

    MAX = "max"
    AVERAGE = "average"


class Sampling(enum.Enum):
    """Which frames of a video a model sees while it trains."""

    RANDOM_FRAMES = "random_frames"
    RANDOM_SEQUENCE = "random_sequence"


class Cell(enum.Enum):
    """The recurrent unit."""

    LSTM = "lstm"
    GRU = "gru"


class Sharing(enum.Enum):
    """What several heads have in common."""

    ALL = "all"  # one output over the classes, from which every head takes its own
    TRUNK = "trunk"  # one trunk, an output for each head
    NOTHING = "nothing"  # a network for each head


class LossName(enum.Enum):
    """What is minimised; the definitions are in `losses.py`."""

    CROSS_ENTROPY = "cross_entropy"
    HINGE = "hinge"
    SOFTMAX = "softmax"
    OWN = "own"  # the model's own


@dataclass(frozen=True, kw_only=True)
class LossConfig:
    """The loss of one head."""

    name: LossName = LossName.CROSS_ENTROPY
    label_smoothing: float = 0.0  # a target y becomes y (1 - s) + s / 2
    margin: float = 1.0  # hinge only

    def __post_init__(self) -> None:
        _require_share("label_smoothing", self.label_smoothing)
        require(self.margin > 0, "margin", self.margin, "above 0")


@dataclass(frozen=True, kw_only=True)
class LogisticConfig:
    """A sigmoid for each class; with it a model ends, or it is the model."""

    name: Literal["logistic"] = "logistic"
    l2: float = 1e-8

    def __post_init__(self) -> None:
        _require_at_least_zero("l2", self.l2)


@dataclass(frozen=True, kw_only=True)
class MoeConfig:
    """For each class a mixture of sigmoids, with a gate that may choose none of them."""

    name: Literal["moe"] = "moe"
    num_mixtures: int = 2
    l2: float = 1e-8
    context_gating: bool = False  # of the class probabilities, as in Miech et al. 2017

    def __post_init__(self) -> None:
        _require_positive("num_mixtures", self.num_mixtures)
        _require_at_least_zero("l2", self.l2)


ClassifierConfig = LogisticConfig | MoeConfig


@dataclass(frozen=True, kw_only=True)
class MlpConfig:
    """Residual blocks on the video's vector."""

    name: Literal["mlp"] = "mlp"
    members: int = 1  # networks side by side whose probabilities are averaged: an ensemble
    width: int = 2048
    blocks: int = 1
    dropout: float = 0.3
    input_dropout: float = 0.0
    batch_norm: bool = False
    context_gating: bool = False
    classifier: ClassifierConfig = field(default_factory=LogisticConfig)

    def __post_init__(self) -> None:
        _require_positive("members", self.members)
        _require_positive("width", self.width)
        require(self.blocks >= 0, "blocks", self.blocks, "0 or more")
        _require_share("dropout", self.dropout)
        _require_share("input_dropout", self.input_dropout)


@dataclass(frozen=True, kw_only=True)
class FrameLogisticConfig:
    """The mean over the frames, then a sigmoid for each class."""

    name: Literal["frame_logistic"] = "frame_logistic"
    l2: float = 1e-8

    def __post_init__(self) -> None:
        _require_at_least_zero("l2", self.l2)


@dataclass(frozen=True, kw_only=True)
class DbofConfig:
    """Deep bag of frames: each frame to many clusters, pooled over some frames."""

    name: Literal["dbof"] = "dbof"
    clusters: int = 8192
    hidden: int = 1024
    frames: int = 30
    sampling: Sampling = Sampling.RANDOM_FRAMES
    batch_norm: bool = True
    pooling: Pooling = Pooling.MAX
    context_gating: bool = False
    classifier: ClassifierConfig = field(default_factory=MoeConfig)

    def __post_init__(self) -> None:
        for name in ("clusters", "hidden", "frames"):
            _require_positive(name, getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class RnnConfig:
    """Stacked recurrent layers; the state after the last real frame goes to the classifier."""

    name: Literal["rnn"] = "rnn"
    cell: Cell = Cell.LSTM
    cells: int = 1024
    layers: int = 2
    classifier: ClassifierConfig = field(default_factory=MoeConfig)

    def __post_init__(self) -> None:
        _require_positive("cells", self.cells)
        _require_positive("layers", self.layers)


@dataclass(frozen=True, kw_only=True)
class NetVladConfig:
    """Differences of the frames to learned centres, softly assigned (Miech et al. 2017)."""

    name: Literal["netvlad"] = "netvlad"
    clusters: int = 64
    hidden: int = 1024
    batch_norm: bool = True
    context_gating: bool = False  # true makes it the gated NetVLAD
    dropout: float = 0.0
    classifier: ClassifierConfig = field(default_factory=MoeConfig)

    def __post_init__(self) -> None:
        _require_positive("clusters", self.clusters)
        _require_positive("hidden", self.hidden)
        _require_share("dropout", self.dropout)


@dataclass(frozen=True, kw_only=True)
class NextVladConfig:
    """NetVLAD on groups of an expanded frame vector, with attention (Lin et al. 2018)."""

    name: Literal["nextvlad"] = "nextvlad"
    clusters: int = 128
    hidden: int = 2048
    expansion: int = 2
    groups: int = 8
    batch_norm: bool = True
    context_gating: bool = True
    gating_reduction: int = 8
    dropout: float = 0.0
    classifier: ClassifierConfig = field(default_factory=LogisticConfig)

    def __post_init__(self) -> None:
        for name in ("clusters", "hidden", "expansion", "groups", "gating_reduction"):
            _require_positive(name, getattr(self, name))
        _require_share("dropout", self.dropout)


VideoModelConfig = LogisticConfig | MoeConfig | MlpConfig
FrameModelConfig = FrameLogisticConfig | DbofConfig | RnnConfig | NetVladConfig | NextVladConfig
ModelConfig = (
    LogisticConfig
    | MoeConfig
    | MlpConfig
    | FrameLogisticConfig
    | DbofConfig
    | RnnConfig
    | NetVladConfig
    | NextVladConfig
)


@dataclass(frozen=True, kw_only=True)
class EntitiesHeadConfig:
    """The classes of the vocabulary."""

    name: Literal["entities"] = "entities"
    weight: float = 1.0
    loss: LossConfig = field(default_factory=LossConfig)

    def __post_init__(self) -> None:
        _require_at_least_zero("weight", self.weight)


@dataclass(frozen=True, kw_only=True)
class VerticalsHeadConfig:
    """The groups of classes that the vocabulary names, 25 in the published one."""

    name: Literal["verticals"] = "verticals"
    weight: float = 0.1
    loss: LossConfig = field(default_factory=LossConfig)

    def __post_init__(self) -> None:
        _require_at_least_zero("weight", self.weight)


@dataclass(frozen=True, kw_only=True)
class SegmentsHeadConfig:
    """The classes of the vocabulary, judged on each segment's rated ones (segment level only)."""

    name: Literal["segments"] = "segments"
    weight: float = 1.0
    loss: LossConfig = field(default_factory=LossConfig)

    def __post_init__(self) -> None:
        _require_at_least_zero("weight", self.weight)


HeadConfig = EntitiesHeadConfig | VerticalsHeadConfig | SegmentsHeadConfig


def _require_positive(name: str, value: int) -> None:
    require(value >= 1, name, value, "1 or more")


def _require_at_least_zero(name: str, value: float) -> None:
    require(value >= 0, name, value, "0 or more")


def _require_share(name: str, value: float) -> None:
    require(0 <= value < 1, name, value, "at least 0 and below 1")
