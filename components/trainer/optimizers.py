"""The optimisers that may be named, each with its arguments; defaults are Keras's own.

The rate 0.01 is the starter code's. Keras's clipping and decay are left out on purpose: the step
clips after the replicas' gradients are summed, and rates come from the schedule.
"""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from yt8m.schemas.config_docs import MEANING
from yt8m.schemas.config_tree import ConfigNode, type_hints
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.limits import DottedPath, PositiveFloat
from yt8m.schemas.own_code import load_named
from yt8m.schemas.roles import OwnCode

_ADAM = {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
# By the names of tf_keras's classes, in lower case the configuration's; a test compares both with
# Keras's signatures, which would take seconds to import here.
_ARGUMENTS: dict[str, dict[str, float]] = {
    "Adam": _ADAM,
    "AdamW": {"weight_decay": 0.004, **_ADAM},
    "Nadam": _ADAM,
    "Adamax": _ADAM,
    "SGD": {"momentum": 0.0, "nesterov": False},
    "RMSprop": {"rho": 0.9, "momentum": 0.0, "epsilon": 1e-7},
    "Adagrad": {"initial_accumulator_value": 0.1, "epsilon": 1e-7},
    "Adadelta": {"rho": 0.95, "epsilon": 1e-7},
    "Ftrl": {"l1_regularization_strength": 0.0, "l2_regularization_strength": 0.0},
    # It follows the sign of the momentum: its rate is a tenth of Adam's.
    "Lion": {"learning_rate": 0.001, "beta_1": 0.9, "beta_2": 0.99},
}
_MEANINGS = {
    "learning_rate": "Base learning rate, which the schedule multiplies",
    "beta_1": "Decay rate of the first-moment estimate",
    "beta_2": "Decay rate of the second-moment estimate",
    "epsilon": "Small constant that keeps denominators above 0",
    "weight_decay": "Strength of the decoupled weight decay",
    "momentum": "Momentum of the updates",
    "nesterov": "Use Nesterov momentum",
    "rho": "Decay rate of the average of squared gradients",
    "initial_accumulator_value": "Initial value of the gradient accumulators",
    "l1_regularization_strength": "Strength of FTRL's L1 regularisation",
    "l2_regularization_strength": "Strength of FTRL's L2 regularisation",
}
# Where a class's argument means something else.
_OTHER_MEANINGS = {
    ("Lion", "beta_1"): "Weight of the momentum in the direction of an update",
    ("Lion", "beta_2"): "Decay rate of the momentum",
}


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig(ConfigNode):
    """The optimiser: its name, its learning rate, and the arguments that Keras's class takes."""

    name: str
    learning_rate: PositiveFloat = 0.01  # Base learning rate, which the schedule multiplies


@dataclass(frozen=True, kw_only=True)
class OwnOptimizerConfig(OptimizerConfig):
    """A custom optimiser class."""

    name: Literal["own"] = "own"
    # Dotted path of a subclass of tf_keras.optimizers.Optimizer.
    optimizer: Annotated[DottedPath, OwnCode(subclass_of="tf_keras.optimizers.Optimizer")]
    # Arguments of the custom class, by name.
    arguments: dict[str, Any] = field(default_factory=dict)


def _with_arguments(keras_name: str, defaults: dict[str, float]) -> type[OptimizerConfig]:
    name = keras_name.lower()
    fields: list[tuple[str, Any, Any]] = [("name", Literal[name], dataclasses.field(default=name))]
    for argument, default in defaults.items():
        # A rate of its own keeps the limits of every rate.
        hint = type_hints(OptimizerConfig).get(argument, type(default))
        meaning = _OTHER_MEANINGS.get((keras_name, argument), _MEANINGS[argument])
        metadata = {MEANING: meaning}
        fields.append((argument, hint, dataclasses.field(default=default, metadata=metadata)))
    made = dataclasses.make_dataclass(
        f"{keras_name}Config",
        fields,
        bases=(OptimizerConfig,),
        namespace={"__doc__": f"The optimiser {keras_name} of tf_keras.", "__module__": __name__},
        frozen=True,
        kw_only=True,
    )
    return typing.cast("type[OptimizerConfig]", made)


_BY_NAME = {name.lower(): _with_arguments(name, given) for name, given in _ARGUMENTS.items()}

if typing.TYPE_CHECKING:
    NamedOptimizer = OptimizerConfig
else:  # so that the configuration knows which keys go with which name
    NamedOptimizer = typing.Union[(*_BY_NAME.values(), OwnOptimizerConfig)]


def default_optimizer() -> OptimizerConfig:
    """Adam, as in the starter code."""
    return _BY_NAME["adam"](name="adam")


def create_optimizer(config: OptimizerConfig, *, ema_momentum: float | None = None) -> Any:
    """The tf_keras optimiser that `config` describes; with a momentum it averages the weights."""
    from tf_keras import optimizers

    from yt8m.components.trainer.averaging import averaging

    if isinstance(config, OwnOptimizerConfig):
        keras_type = _own_type(config.optimizer)
        arguments = {"learning_rate": config.learning_rate, **config.arguments}
    else:
        (keras_name,) = (name for name in _ARGUMENTS if name.lower() == config.name)
        arguments = {f.name: getattr(config, f.name) for f in dataclasses.fields(config)}
        del arguments["name"]
        keras_type = getattr(optimizers, keras_name)
    if ema_momentum is None:
        return keras_type(jit_compile=False, **arguments)
    arguments |= {"use_ema": True, "ema_momentum": ema_momentum}
    return averaging(keras_type)(jit_compile=False, **arguments)


def _own_type(path: str) -> type[Any]:
    from tf_keras import optimizers

    where = f"trainer.optimizer.optimizer: {path}"
    named = load_named(path, where)
    if not (isinstance(named, type) and issubclass(named, optimizers.Optimizer)):
        raise ConfigError(f"{where} must be a subclass of tf_keras.optimizers.Optimizer")
    return named
