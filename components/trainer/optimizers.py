"""The optimisers that may be named, each with its parameters; defaults are Keras's own.

The rate 0.01 is the starter code's. Keras's clipping and decay are left out on purpose: the step
clips after the replicas' gradients are summed, and rates come from the schedule.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from yt8m.schemas.config_tree import require


@dataclass(frozen=True, kw_only=True)
class _Rated:
    learning_rate: float = 0.01

    def __post_init__(self) -> None:
        require(self.learning_rate > 0, "learning_rate", self.learning_rate, "above 0")


@dataclass(frozen=True, kw_only=True)
class AdamConfig(_Rated):
    """Adam."""

    name: Literal["adam"] = "adam"
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-7


@dataclass(frozen=True, kw_only=True)
class AdamWConfig(_Rated):
    """Adam with decoupled weight decay."""

    name: Literal["adamw"] = "adamw"
    weight_decay: float = 0.004
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-7


@dataclass(frozen=True, kw_only=True)
class NadamConfig(_Rated):
    """Adam with Nesterov's momentum."""

    name: Literal["nadam"] = "nadam"
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-7


@dataclass(frozen=True, kw_only=True)
class AdamaxConfig(_Rated):
    """Adam by the infinity norm."""

    name: Literal["adamax"] = "adamax"
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-7


@dataclass(frozen=True, kw_only=True)
class SgdConfig(_Rated):
    """Gradient descent, with momentum on request."""

    name: Literal["sgd"] = "sgd"
    momentum: float = 0.0
    nesterov: bool = False


@dataclass(frozen=True, kw_only=True)
class RmsPropConfig(_Rated):
    """RMSprop."""

    name: Literal["rmsprop"] = "rmsprop"
    rho: float = 0.9
    momentum: float = 0.0
    epsilon: float = 1e-7


@dataclass(frozen=True, kw_only=True)
class AdagradConfig(_Rated):
    """Adagrad."""

    name: Literal["adagrad"] = "adagrad"
    initial_accumulator_value: float = 0.1
    epsilon: float = 1e-7


@dataclass(frozen=True, kw_only=True)
class AdadeltaConfig(_Rated):
    """Adadelta."""

    name: Literal["adadelta"] = "adadelta"
    rho: float = 0.95
    epsilon: float = 1e-7


@dataclass(frozen=True, kw_only=True)
class FtrlConfig(_Rated):
    """Follow the regularised leader."""

    name: Literal["ftrl"] = "ftrl"
    l1_regularization_strength: float = 0.0
    l2_regularization_strength: float = 0.0


@dataclass(frozen=True, kw_only=True)
class LionConfig(_Rated):
    """Lion: the sign of the momentum; its rate is a tenth of Adam's."""

    name: Literal["lion"] = "lion"
    learning_rate: float = 0.001
    beta_1: float = 0.9
    beta_2: float = 0.99


OptimizerConfig = (
    AdamConfig
    | AdamWConfig
    | NadamConfig
    | AdamaxConfig
    | SgdConfig
    | RmsPropConfig
    | AdagradConfig
    | AdadeltaConfig
    | FtrlConfig
    | LionConfig
)


def create_optimizer(config: OptimizerConfig) -> Any:
    """The tf_keras optimiser that `config` describes."""
    from tf_keras import optimizers

    by_config: dict[type, Any] = {
        AdamConfig: optimizers.Adam,
        AdamWConfig: optimizers.AdamW,
        NadamConfig: optimizers.Nadam,
        AdamaxConfig: optimizers.Adamax,
        SgdConfig: optimizers.SGD,
        RmsPropConfig: optimizers.RMSprop,
        AdagradConfig: optimizers.Adagrad,
        AdadeltaConfig: optimizers.Adadelta,
        FtrlConfig: optimizers.Ftrl,
        LionConfig: optimizers.Lion,
    }
    arguments = {
        field.name: getattr(config, field.name)
        for field in dataclasses.fields(config)
        if field.name != "name"
    }
    return by_config[type(config)](jit_compile=False, **arguments)
