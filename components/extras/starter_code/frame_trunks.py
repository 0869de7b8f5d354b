"""DBoF and LSTM of the starter code: their variables as the weights of the same trunk here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from yt8m.components.models.config import Activation, Cell, DbofConfig, Pooling, RnnConfig
from yt8m.schemas.errors import UserError

_CLUSTERS, _HIDDEN = "cluster_weights", "hidden1_weights"
_NORMS = ("input_bn", "cluster_bn", "hidden1_bn")
_LSTM = re.compile(r"rnn/multi_rnn_cell/cell_(\d+)/basic_lstm_cell/(kernel|weights|bias|biases)")
_SCALES, _MEANS = ("gamma", "beta"), ("moving_mean", "moving_variance")
_FORGET_BIAS = 1.0  # which its cell adds while it runs
_ACTIVATION, _POOLING, _ITERATIONS = "dbof_activation", "dbof_pooling_method", "iterations"


@dataclass(frozen=True, kw_only=True, eq=False)
class Trunk:
    """A trunk and its weights, in the order of the network's."""

    model: DbofConfig | RnnConfig
    inputs: int
    names: frozenset[str]  # of the variables
    trained: tuple[np.ndarray, ...] = field(repr=False)
    means: tuple[np.ndarray, ...] = field(repr=False, default=())  # moving means and variances


def check_flags(said: Mapping[str, str]) -> None:
    """UserError where a flag of the starter code decides nothing here, or has no such value."""
    known = {
        _ACTIVATION: [activation.value for activation in Activation],
        _POOLING: [pooling.value for pooling in Pooling],
        _ITERATIONS: [],
    }
    for name, value in said.items():
        if name not in known:
            raise UserError(f"--flag {name}: must be NAME=VALUE, NAME one of {', '.join(known)}")
        if known[name] and value not in known[name]:
            raise UserError(f"--flag {name}={value}: must be one of {', '.join(known[name])}")
    frames = said.get(_ITERATIONS, "1")
    if not (frames.isdecimal() and int(frames)):
        raise UserError(f"--flag {_ITERATIONS}={frames}: must be a whole number, 1 or more")


def has_trunk(weights: Mapping[str, np.ndarray]) -> bool:
    """Whether some of the variables are of a model that reads frames."""
    return {_CLUSTERS, _HIDDEN} <= set(weights) or any(map(_LSTM.fullmatch, weights))


def find_trunk(
    source: str, weights: Mapping[str, np.ndarray], said: Mapping[str, str]
) -> Trunk | None:
    """The trunk that some of the variables are of, whole; None where there is none.

    `said` are flags of the starter code. UserError where one decides what the weights mean.
    """
    if {_CLUSTERS, _HIDDEN} <= set(weights):
        return _dbof(source, weights, said)
    return _lstm(weights) if has_trunk(weights) else None


def _dbof(source: str, weights: Mapping[str, np.ndarray], said: Mapping[str, str]) -> Trunk | None:
    clusters, hidden = weights[_CLUSTERS], weights[_HIDDEN]
    if clusters.ndim != 2 or hidden.ndim != 2:
        return None
    has_norms = any(name.partition("/")[0] in _NORMS for name in weights)
    norms = _NORMS if has_norms else ()
    biases = [] if has_norms else ["cluster_biases", "hidden1_biases"]
    scales, means = (
        [f"{norm}/{name}" for norm in norms for name in names] for names in (_SCALES, _MEANS)
    )
    if not set(weights) >= {*scales, *means, *biases}:
        return None
    if _ACTIVATION not in said:
        known = [activation.value for activation in Activation]
        raise UserError(
            f"{source}: a DbofModel, whose checkpoint does not say the activation: give --flag "
            f"{_ACTIVATION}=relu6 (the starter code's first releases), sigmoid (its later "
            f"default), or what it was trained with (one of {', '.join(known)})"
        )
    model = DbofConfig(
        clusters=clusters.shape[1],
        hidden=hidden.shape[1],
        frames=int(said.get(_ITERATIONS, "30")),
        batch_norm=has_norms,
        pooling=Pooling(said.get(_POOLING, "max")),
        activation=Activation(said[_ACTIVATION]),
    )
    if has_norms:
        order = (*scales[:2], _CLUSTERS, *scales[2:4], _HIDDEN, *scales[4:])
    else:
        order = (_CLUSTERS, biases[0], _HIDDEN, biases[1])
    return Trunk(
        model=model,
        inputs=clusters.shape[0],
        names=frozenset([*order, *means]),
        trained=tuple(weights[name] for name in order),
        means=tuple(weights[name] for name in means),
    )


def _lstm(weights: Mapping[str, np.ndarray]) -> Trunk | None:
    """The cells of every layer; None where one lacks a weight.

    TensorFlow 1 has the gates in the order write, candidate, keep, show; Keras keeps before the
    candidate, and has what multiplies the state in a matrix of its own.
    """
    layers: dict[int, dict[str, np.ndarray]] = {}
    names = set()
    for name, value in weights.items():
        if match := _LSTM.fullmatch(name):
            kind = "bias" if match[2] in ("bias", "biases") else "kernel"
            layers.setdefault(int(match[1]), {})[kind] = value
            names.add(name)
    if set(layers) != set(range(len(layers))) or not all(map(_is_cell, layers.values())):
        return None
    trained: list[np.ndarray] = []
    cells = layers[0]["bias"].size // 4
    for number in sorted(layers):
        kernel, bias = (_gates(layers[number][kind]) for kind in ("kernel", "bias"))
        bias[cells : 2 * cells] += _FORGET_BIAS
        trained += [kernel[:-cells], kernel[-cells:], bias]
    return Trunk(
        model=RnnConfig(cell=Cell.LSTM, cells=cells, layers=len(layers)),
        inputs=trained[0].shape[0],
        names=frozenset(names),
        trained=tuple(trained),
    )


def _is_cell(weights: Mapping[str, np.ndarray]) -> bool:
    if set(weights) != {"kernel", "bias"}:
        return False
    kernel, bias = weights["kernel"], weights["bias"]
    return kernel.ndim == 2 and kernel.shape[1:] == bias.shape and bias.size % 4 == 0


def _gates(values: np.ndarray) -> np.ndarray:
    write, candidate, keep, show = np.split(values, 4, axis=-1)
    return np.concatenate([write, keep, candidate, show], axis=-1)
