"""Exports with an index: every signature blends the same neighbours in, at every level."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from batches import MODELS, create_network
from records import read_all
from sources import FEATURES, batches, make_source, source_of_files
from transform_graphs import make_transform_graph

from yt8m.cli.main import run
from yt8m.components.export.load import load_export
from yt8m.components.export.retrieval_index import build_index, check_retrieval
from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.inputs.config import FrameChoice, FrameSampling, Source
from yt8m.components.inputs.dataset import dataset_for_scoring
from yt8m.components.models.combination import combine
from yt8m.components.models.config import (
    COEFFICIENTS,
    DbofConfig,
    KeyStorage,
    MlpConfig,
    ModelConfig,
    RetrievalConfig,
)
from yt8m.components.models.heads import Head, create_heads
from yt8m.components.models.network import Network
from yt8m.components.models.retrieval import Neighbours
from yt8m.components.models.trunks import Signal
from yt8m.components.records.tfrecord import write_records
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.errors import ConfigError, DataError
from yt8m.schemas.features import FeatureConfig, Level

CASES: dict[str, tuple[Level, ModelConfig]] = {
    "video": (Level.VIDEO, MODELS["mlp_apart"]),
    "averaged frames": (Level.FRAME, MODELS["mlp"]),
    "frames": (Level.FRAME, MODELS["netvlad"]),
    "sampled frames": (Level.FRAME, DbofConfig(clusters=32, hidden=16, frames=4)),
}
FLOATS = RetrievalConfig(weight=0.5, count=5, storage=KeyStorage.FLOAT32)


def _sampling(model: ModelConfig) -> FrameSampling | None:
    if isinstance(model, DbofConfig):
        return FrameSampling(choice=FrameChoice.RANDOM_FRAMES, frames=model.frames)
    return None


@pytest.mark.parametrize("case", CASES)
def test_every_signature_blends_the_neighbours_in(case: str, tmp_path: Path) -> None:
    level, model = CASES[case]
    source = make_source(tmp_path / "data", level, train=24, shards=2)
    heads = create_heads((), features=FEATURES, level=level)
    network = create_network(model, features=FEATURES, level=level, heads=heads, seed=3)
    neighbours = Neighbours(
        FLOATS,
        build_index(source, FLOATS),
        sizes=FEATURES.sizes,
        num_classes=FEATURES.num_classes,
    )
    graph = None
    if not network.averages_frames:  # else it has no use for one
        pattern = str(tmp_path / "data" / "train*")
        graph = str(make_transform_graph(pattern, tmp_path, level=level, features=FEATURES))
    directory = str(tmp_path / "model")
    spec = ExportSpec(level=level, features=FEATURES, transform_graph=graph, neighbours=neighbours)
    export_model(network, directory, spec)
    (batch,) = batches(dataset_for_scoring(source, batch_size=1000, sampling=_sampling(model)), 2)
    arrays = {k: tf.constant(v) for k, v in batch.items()}
    alone = network(arrays)["entities"].numpy()
    said = neighbours.probabilities(_mean_vectors(network, arrays)).numpy()
    loaded = load_export(directory)
    records = tf.constant([r for shard in source.shards for r in read_all(Path(shard.uri))])
    scores = loaded.score(examples=records)["scores"].numpy()
    np.testing.assert_allclose(scores, 0.5 * alone + 0.5 * said, atol=2e-5)
    best = loaded.serve(examples=records)
    np.testing.assert_allclose(best["scores"].numpy()[:, 0], scores.max(axis=1), atol=2e-5)
    names = [*FEATURES.names, *(["num_frames"] if level.is_sequence else [])]
    by_arrays = loaded.loaded.signatures["features"](**{n: arrays[n] for n in names})["scores"]
    np.testing.assert_allclose(by_arrays.numpy(), scores, atol=2e-5)


def test_an_export_asks_each_member_where_a_polynomial_combines_them(tmp_path: Path) -> None:
    source = make_source(tmp_path / "data", Level.VIDEO, train=40, shards=2)
    model = MlpConfig(members=3, width=16, blocks=0)
    groups = tuple((i // 2,) for i in range(FEATURES.num_classes))
    (entities,) = create_heads((), features=FEATURES, level=Level.VIDEO)
    verticals = Head(name="verticals", num_classes=10, groups_of_class=groups)
    heads = (entities, verticals)
    network = create_network(model, features=FEATURES, level=Level.VIDEO, heads=heads, seed=3)
    for weight in network.weights:  # as made, all members give what is frequent
        weight.assign(
            weight + 0.5 * tf.random.stateless_normal(weight.shape, [7, len(weight.name)])
        )
    coefficients = tuple(np.random.default_rng(5).normal(size=COEFFICIENTS).round(2).tolist())
    config = RetrievalConfig(count=5, combination=coefficients, storage=KeyStorage.FLOAT32)
    index = build_index(source, config)
    neighbours = Neighbours(config, index, sizes=FEATURES.sizes, num_classes=FEATURES.num_classes)
    directory = str(tmp_path / "model")
    spec = ExportSpec(level=Level.VIDEO, features=FEATURES, neighbours=neighbours)
    export_model(network, directory, spec)
    (batch,) = batches(dataset_for_scoring(source, batch_size=1000), 2)
    signal = network.signal({k: tf.constant(v) for k, v in batch.items()})
    members = tf.stack(  # each alone: its trunk and its classifier
        [
            classifier(trunk(signal))
            for trunk, classifier in zip(
                network._trunks[0]._members, network._classifiers[0]._members, strict=True
            )
        ]
    )
    counts = np.bincount(batch["labels"][batch["labels"] >= 0], minlength=FEATURES.num_classes)
    said = neighbours.said(signal.vectors, members)
    np.testing.assert_allclose(said.frequency, counts / 40, rtol=1e-6)
    np.testing.assert_allclose(said.neighbours, neighbours.probabilities(signal.vectors))
    wanted = combine(said, coefficients).numpy()
    loaded = load_export(directory)
    records = tf.constant([r for shard in source.shards for r in read_all(Path(shard.uri))])
    scores = loaded.score(examples=records)["scores"].numpy()
    np.testing.assert_allclose(scores, wanted, rtol=1e-3, atol=2e-5)
    same = combine(said._replace(members=tf.stack([said.network] * 3)), coefficients).numpy()
    assert np.abs(wanted - same).max() > 0.01  # that they differ matters
    by_head = loaded.loaded.signatures["heads"](examples=records)
    np.testing.assert_allclose(by_head["entities"], scores, atol=2e-5)
    alone = network({k: tf.constant(v) for k, v in batch.items()})["verticals"]
    np.testing.assert_allclose(by_head["verticals"], alone, atol=2e-5)


def test_a_network_that_does_not_tell_its_members_apart_is_refused_a_polynomial() -> None:
    heads = create_heads((), features=FEATURES, level=Level.VIDEO)
    config = RetrievalConfig(combination=(0.0,) * COEFFICIENTS)

    class Own(Network):
        def scores(self, signal: Signal, training: bool = False) -> dict[str, tf.Tensor]:
            return super().scores(signal, training=training)

    check_retrieval(config, heads, transform="")
    check_retrieval(RetrievalConfig(), heads, transform="", network=Own)
    with pytest.raises(ConfigError, match=r"set trainer\.retrieval\.combination=\[\]"):
        check_retrieval(config, heads, transform="", network=Own)


def _mean_vectors(network, arrays):
    signal = network.signal(arrays)
    if signal.num_frames is None:
        return signal.vectors
    return tf.reduce_sum(signal.vectors, 1) / tf.cast(signal.num_frames, tf.float32)[:, None]


def test_more_videos_than_allowed_are_thinned_out_evenly_and_the_memory_is_bounded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = make_source(tmp_path / "data", Level.VIDEO, train=50, shards=5)
    whole = build_index(source, RetrievalConfig())
    with caplog.at_level("INFO"):
        index = build_index(source, RetrievalConfig(max_videos=20))
    assert "an index of 20 of the 50 videos" in caplog.text
    taken = [i for i in range(50) if (i + 1) * 20 // 50 > i * 20 // 50]
    # A batch of another size is summed in other vectors: the last bit may differ, and with it
    # a key that lies between two.
    np.testing.assert_allclose(index.scales, whole.scales[taken], rtol=4 * np.finfo("f4").eps)
    assert np.abs(index.keys.astype(int) - whole.keys[taken]).max() <= 1
    assert np.mean(index.keys == whole.keys[taken]) > 0.99
    assert index.keys.nbytes == 20 * FEATURES.total_size
    again = build_index(source, RetrievalConfig(max_videos=20))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(index, again, strict=True))


def test_a_head_without_the_labels_of_videos_is_refused() -> None:
    groups = Head(name="verticals", num_classes=2, groups_of_class=((0,), (1,)))
    segments = create_heads((), features=FEATURES, level=Level.SEGMENT)
    check_retrieval(None, segments, transform="")
    for heads in ((groups,), segments):
        with pytest.raises(ConfigError, match=r"trainer\.retrieval: .* put `entities` first"):
            check_retrieval(RetrievalConfig(), heads, transform="")


def test_a_label_that_is_no_class_is_told(tmp_path: Path) -> None:
    source = make_source(tmp_path / "data", Level.VIDEO, train=24, shards=2)
    few = FeatureConfig(sizes=(16, 8), num_classes=3)
    with pytest.raises(DataError, match=r"label \d+ is not below features.num_classes = 3"):
        build_index(Source(shards=source.shards, level=Level.VIDEO, features=few), FLOATS)


def test_neighbours_are_refused_where_a_transform_of_ones_own_makes_the_vectors():
    heads = create_heads((), features=FEATURES, level=Level.VIDEO)
    with pytest.raises(ConfigError, match="omit one of the two"):
        check_retrieval(RetrievalConfig(), heads, transform="mine.scaled")
    check_retrieval(None, heads, transform="mine.scaled")


def test_a_class_that_training_has_not_seen_is_predicted_once_its_videos_are_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = make_source(tmp_path / "data", Level.VIDEO, train=60, shards=1, classes=20)
    (rows,) = batches(dataset_for_scoring(source, batch_size=100), 2)
    records = read_all(Path(source.shards[0].uri))
    counts = np.bincount(rows["labels"][rows["labels"] >= 0], minlength=20)
    withheld = int(counts.argmax())
    has_it = (rows["labels"] == withheld).any(axis=1)
    known = _write(
        tmp_path / "known.tfrecord", [r for r, h in zip(records, has_it, strict=True) if not h]
    )
    _write(tmp_path / "new.tfrecord", [r for r, h in zip(records, has_it, strict=True) if h])
    heads = create_heads((), features=FEATURES, level=Level.VIDEO)
    network = create_network(
        MODELS["mlp"], features=FEATURES, level=Level.VIDEO, heads=heads, seed=3
    )
    config = RetrievalConfig(weight=1.0, count=3)
    index = build_index(source_of_files([known], Level.VIDEO, FEATURES), config)
    neighbours = Neighbours(config, index, sizes=FEATURES.sizes, num_classes=20)
    spec = ExportSpec(
        level=Level.VIDEO,
        features=FEATURES,
        neighbours=neighbours,
        config={"retrieval": to_dict(config)},
    )
    export_model(network, str(tmp_path / "model"), spec)
    command = ["models", "extend", "--model", str(tmp_path / "model")]
    command += ["--data", str(tmp_path / "new.tfrecord"), "--out"]
    for out, why in ((tmp_path, "holds other files"), (tmp_path / "model", "belongs to the model")):
        assert run([*command, str(out)]) == 2
        assert why in capsys.readouterr().err
    command.append(str(tmp_path / "more"))
    assert run(command) == 0
    told = f"with {has_it.sum()} more videos in its index, {len(records)} in all"
    assert told in capsys.readouterr().out
    scores = {
        name: load_export(str(tmp_path / name)).score(examples=tf.constant(records))["scores"]
        for name in ("model", "more")
    }
    assert (scores["model"].numpy()[:, withheld] == 0).all()
    assert scores["more"].numpy()[has_it, withheld].min() > 0.3
    # What the index had before is there as before.
    others = [c for c in range(20) if c != withheld]
    assert scores["more"].numpy()[:, others].sum() > 0
    again = ["--data", str(known), "--out", str(tmp_path / "third")]
    few = {"retrieval": to_dict(RetrievalConfig(max_videos=1))}
    monkeypatch.setattr("yt8m.components.export.extend.load_info", lambda _: _info(few))
    assert run([*command[:4], *again]) == 2
    monkeypatch.setattr("yt8m.components.export.extend.load_info", lambda _: _info({}))
    assert run([*command[:4], *again]) == 2
    assert not (tmp_path / "third").exists()


def _info(config):
    return SimpleNamespace(config=config, level=Level.VIDEO, features=FEATURES)


def _write(path: Path, records: list[bytes]) -> Path:
    with path.open("wb") as file:
        write_records(file, records)
    return path


def test_videos_that_the_index_does_not_take_are_not_read(tmp_path: Path) -> None:
    source = make_source(tmp_path / "data", Level.VIDEO, train=50, shards=5)
    few = RetrievalConfig(max_videos=2)  # numbers 24 and 49, of the third and the fifth shard
    before = build_index(source, few)
    for shard in (source.shards[0], source.shards[2]):
        path = Path(shard.uri)
        data = bytearray(path.read_bytes())
        data[40] ^= 0xFF  # within the first record
        path.write_bytes(data)
    after = build_index(source, few)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(before, after, strict=True))
    with pytest.raises(DataError, match=r"train.*: .*damaged|checksum"):
        build_index(source, RetrievalConfig())
