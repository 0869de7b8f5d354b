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
_FORGET_BIAS = 1.0  # which its cell adds while it runs


@dataclass(frozen=True, kw_only=True, eq=False)
class Trunk:
    """A trunk and its weights, in the order of the network's."""

    model: DbofConfig | RnnConfig
    inputs: int
    names: frozenset[str]  # of the variables
    trained: tuple[np.ndarray, ...] = field(repr=False)
    means: tuple[np.ndarray, ...] = field(repr=False, default=())  # moving means and variances


def find_trunk(
    source: str, weights: Mapping[str, np.ndarray], said: Mapping[str, str]
) -> Trunk | None:
    """The trunk that some of the variables `found` are of; None where there is none.

    `said` are flags of the starter code. UserError where one decides what the weights mean.
    """
    if {_CLUSTERS, _HIDDEN} <= set(weights):
        return _dbof(source, weights, said)
    if any(_LSTM.fullmatch(name) for name in weights):
        return _lstm(weights)
    return None


def _dbof(source: str, weights: Mapping[str, np.ndarray], said: Mapping[str, str]) -> Trunk | None:
    clusters, hidden = weights[_CLUSTERS], weights[_HIDDEN]
    if clusters.ndim != 2 or hidden.ndim != 2:
        return None
    known = [activation.value for activation in Activation]
    if said.get("dbof_activation") not in known:
        raise UserError(
            f"{source}: a DbofModel, whose checkpoint does not say the activation: give --flag "
            "dbof_activation=relu6 (the starter code's first releases), sigmoid (its later "
            f"default), or what it was trained with (one of {', '.join(known)})"
        )
    norms = [name for norm in _NORMS for name in weights if name.startswith(f"{norm}/")]
    biases = [name for name in ("cluster_biases", "hidden1_biases") if name in weights]
    model = DbofConfig(
        clusters=clusters.shape[1],
        hidden=hidden.shape[1],
        frames=int(said.get("iterations", "30")),
        batch_norm=bool(norms),
        pooling=Pooling(said.get("dbof_pooling_method", "max")),
        activation=Activation(said["dbof_activation"]),
    )
    trained: tuple[np.ndarray, ...]
    means: tuple[np.ndarray, ...] = ()
    if norms:
        scales = {norm: (weights[f"{norm}/gamma"], weights[f"{norm}/beta"]) for norm in _NORMS}
        trained = (
            *scales["input_bn"],
            clusters,
            *scales["cluster_bn"],
            hidden,
            *scales["hidden1_bn"],
        )
        means = tuple(
            weights[f"{norm}/{name}"]
            for norm in _NORMS
            for name in ("moving_mean", "moving_variance")
        )
    else:
        trained = (clusters, weights["cluster_biases"], hidden, weights["hidden1_biases"])
    return Trunk(
        model=model,
        inputs=clusters.shape[0],
        names=frozenset([_CLUSTERS, _HIDDEN, *norms, *biases]),
        trained=trained,
        means=means,
    )


def _lstm(weights: Mapping[str, np.ndarray]) -> Trunk | None:
    """TensorFlow 1 has the gates in the order write, candidate, keep, show; Keras keeps before the
    candidate, and has what multiplies the state in a matrix of its own."""
    layers: dict[int, dict[str, np.ndarray]] = {}
    names = set()
    for name, value in weights.items():
        if match := _LSTM.fullmatch(name):
            kind = "bias" if match[2] in ("bias", "biases") else "kernel"
            layers.setdefault(int(match[1]), {})[kind] = value
            names.add(name)
    trained: list[np.ndarray] = []
    cells = layers[0]["bias"].shape[0] // 4
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


def _gates(values: np.ndarray) -> np.ndarray:
    write, candidate, keep, show = np.split(values, 4, axis=-1)
    return np.concatenate([write, keep, candidate, show], axis=-1)
