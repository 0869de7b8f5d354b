"""Exported models: what they answer, with and without Transform's graph, and in any process."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from batches import MODELS, create_network
from memory_store import memory_store
from records import edit_record, read_all, set_frames
from sources import FEATURES, batches, make_source
from transform_graphs import make_transform_graph

from yt8m.components import storage
from yt8m.components.artifacts.export_info import FEATURES as FEATURES_SIGNATURE
from yt8m.components.artifacts.export_info import load_info
from yt8m.components.export.freeze import freeze_signature
from yt8m.components.export.load import load_export, load_model
from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.inputs.config import FrameChoice, FrameSampling, Source
from yt8m.components.inputs.dataset import dataset_for_scoring
from yt8m.components.models.config import DbofConfig, ModelConfig
from yt8m.components.models.heads import create_heads
from yt8m.components.models.network import Network
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.vocabulary import Vocabulary

DBOF = DbofConfig(clusters=32, hidden=16, frames=4)
CASES: dict[str, tuple[Level, ModelConfig]] = {
    "video": (Level.VIDEO, MODELS["moe"]),
    "frame": (Level.FRAME, MODELS["netvlad_gated"]),
    "sampled": (Level.FRAME, DBOF),
    "segment": (Level.SEGMENT, MODELS["nextvlad"]),
    "transformer": (Level.FRAME, MODELS["transformer_token"]),
    "averaged": (Level.FRAME, MODELS["frame_logistic"]),
    "averaged segment": (Level.SEGMENT, MODELS["mlp"]),
}
NAMES = tuple(f"class {i}" for i in range(FEATURES.num_classes))
VOCABULARY = Vocabulary(names=NAMES, verticals_of_class=((0,),) * len(NAMES))


def _network(level: Level, model: ModelConfig, **values: str) -> Network:
    heads = create_heads((), features=FEATURES, level=level)
    return create_network(model, features=FEATURES, level=level, heads=heads, seed=3, **values)


def _records(source: Source) -> list[bytes]:
    return [record for shard in source.shards for record in read_all(Path(shard.uri))]


def _batch(source: Source, model: ModelConfig) -> dict[str, np.ndarray]:
    """All rows as the input pipeline gives them."""
    sampling = (
        FrameSampling(choice=FrameChoice.RANDOM_FRAMES, frames=model.frames)
        if isinstance(model, DbofConfig)
        else None
    )
    (batch,) = batches(dataset_for_scoring(source, batch_size=1000, sampling=sampling), 2)
    return batch


@pytest.mark.parametrize("with_graph", [False, True], ids=["arithmetic", "transform graph"])
@pytest.mark.parametrize("case", CASES)
def test_an_export_answers_as_the_network_does(case: str, with_graph: bool, tmp_path: Path) -> None:
    level, model = CASES[case]
    source = make_source(tmp_path / "data", level, train=16, shards=2)
    network = _network(level, model)
    graph = None
    if with_graph:
        pattern = str(tmp_path / "data" / "train*")
        graph = str(make_transform_graph(pattern, tmp_path, level=level, features=FEATURES))
    spec = ExportSpec(
        level=level, features=FEATURES, top_k=5, vocabulary=VOCABULARY, transform_graph=graph
    )
    export_model(network, str(tmp_path / "model"), spec)

    batch = _batch(source, model)
    head = network.heads[0].name
    expected = network({k: tf.constant(v) for k, v in batch.items()})[head].numpy()
    loaded = load_export(str(tmp_path / "model"))
    records = tf.constant(_records(source))
    found = {k: v.numpy() for k, v in loaded.score(examples=records).items()}
    np.testing.assert_allclose(found["scores"], expected, atol=2e-6)
    assert found["video_id"].tolist() == batch["id"].tolist()
    if level is Level.SEGMENT:
        assert found["segment_start"].tolist() == batch["segment_start"].tolist()

    best = {k: v.numpy() for k, v in loaded.serve(examples=records).items()}
    order = np.argsort(-found["scores"], axis=1, kind="stable")[:, :5]
    assert best["class_ids"].dtype == np.int64
    np.testing.assert_array_equal(best["class_ids"], order)
    # TensorFlow may add three numbers in another order in another graph.
    np.testing.assert_allclose(
        best["scores"], np.take_along_axis(found["scores"], order, axis=1), rtol=1e-6
    )
    assert best["class_names"][0].tolist() == [NAMES[i].encode() for i in order[0]]
    # What averages frames does so without making them, and needs no graph that does.
    assert loaded.info.has_transform_graph is (with_graph and not network.averages_frames)


@pytest.mark.parametrize(
    "case", [case for case, (level, _) in CASES.items() if level is Level.FRAME]
)
def test_videos_without_a_frame_have_rows_too(case: str, tmp_path: Path) -> None:
    level, model = CASES[case]
    source = make_source(tmp_path / "data", level, train=4, shards=1)
    shard = Path(source.shards[0].uri)
    for name in FEATURES.names:
        edit_record(shard, 0, set_frames(name, ()))
    network = _network(level, model)
    export_model(network, str(tmp_path / "model"), ExportSpec(level=level, features=FEATURES))
    loaded = load_export(str(tmp_path / "model"))
    empty, other, *_ = _records(source)
    one, two = (loaded.score(examples=tf.constant([empty, *more])) for more in ([], [other]))
    assert one["scores"].shape == (1, FEATURES.num_classes)
    np.testing.assert_allclose(one["scores"][0], two["scores"][0], atol=2e-6)
    (read,) = batches(dataset_for_scoring(source, batch_size=1), 5)[:1]
    assert read["num_frames"].tolist() == [0]
    scores = network({k: tf.constant(v) for k, v in read.items()})[network.heads[0].name]
    np.testing.assert_allclose(scores, one["scores"], atol=2e-6)


@pytest.mark.parametrize("case", ["frame", "sampled", "averaged", "segment"])
def test_no_frame_is_made_of_two_records(case: str, tmp_path: Path) -> None:
    """The one has a frame too few of a feature, and the next one too many."""
    level, model = CASES[case]
    source = make_source(tmp_path / "data", level, train=4, shards=1)
    first, *_, last = FEATURES.size_by_name
    for number, counts in enumerate(({first: 6, last: 5}, {first: 6, last: 7})):
        for name, count in counts.items():
            frames = np.full((count, FEATURES.size_by_name[name]), number, np.uint8)
            edit_record(Path(source.shards[0].uri), number, set_frames(name, frames))
    spec = ExportSpec(level=level, features=FEATURES)
    export_model(_network(level, model), str(tmp_path / "model"), spec)
    loaded = load_export(str(tmp_path / "model"))
    for answer in (loaded.score_records, loaded.serve_records):
        with pytest.raises(DataError, match="differ in their number of frames"):
            answer(tf.constant(_records(source)))


@pytest.mark.parametrize("case", ["frame", "averaged", "segment"])
def test_numbers_of_frames_that_rows_cannot_have_are_refused(case: str, tmp_path: Path) -> None:
    level, model = CASES[case]
    spec = ExportSpec(level=level, features=FEATURES)
    export_model(_network(level, model), str(tmp_path / "model"), spec)
    signature = tf.saved_model.load(str(tmp_path / "model")).signatures["features"]
    arrays = {n: tf.ones([2, 5, size], tf.uint8) for n, size in FEATURES.size_by_name.items()}
    assert signature(**arrays, num_frames=tf.constant([5, 0]))["scores"].shape[0] == 2
    for counts, reason in (
        ([6, 5], "from 0 to the number of frames"),
        ([5, -1], "from 0 to the number of frames"),
        ([5], "one number for each row"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"num_frames must .*{reason}"):
            signature(**arrays, num_frames=tf.constant(counts))


@pytest.mark.parametrize("case", CASES)
def test_raw_features_score_as_their_records_do(case: str, tmp_path: Path) -> None:
    level, model = CASES[case]
    source = make_source(tmp_path / "data", level, train=8, shards=1)
    export_model(
        _network(level, model), str(tmp_path / "model"), ExportSpec(level=level, features=FEATURES)
    )
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    batch = _batch(source, model)
    names = [*FEATURES.names, *(["num_frames"] if level.is_sequence else [])]
    arrays = {name: tf.constant(batch[name]) for name in names}
    by_arrays = loaded.signatures["features"](**arrays)["scores"].numpy()
    by_records = loaded.signatures["scores"](examples=tf.constant(_records(source)))
    np.testing.assert_allclose(by_arrays, by_records["scores"].numpy(), atol=2e-6)


_PLAIN = """
import json, sys
FOREIGN = ("tfx", "tensorflow_transform", "tfx_bsl", "tf_keras", "yt8m")
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in FOREIGN:
            raise ImportError("refused: " + name)
sys.meta_path.insert(0, Refuse())
import tensorflow as tf
loaded = tf.saved_model.load(sys.argv[1])
records = tf.constant([r.numpy() for r in tf.data.TFRecordDataset(sys.argv[2])])
out = loaded.signatures["serving_default"](examples=records)
print(json.dumps({"ids": out["class_ids"].numpy().tolist()}))
"""


@pytest.mark.parametrize("case", ["video", pytest.param("segment", marks=pytest.mark.slow)])
def test_plain_tensorflow_serves_an_export_with_its_transform_graph(
    case: str, tmp_path: Path
) -> None:
    level, model = CASES[case]
    source = make_source(tmp_path / "data", level, train=8, shards=1)
    pattern = str(tmp_path / "data" / "train*")
    graph = make_transform_graph(pattern, tmp_path, level=level, features=FEATURES)
    spec = ExportSpec(level=level, features=FEATURES, top_k=3, transform_graph=str(graph))
    export_model(_network(level, model), str(tmp_path / "model"), spec)
    # TensorFlow Transform sets this one for its own process.
    plain = {k: v for k, v in os.environ.items() if k != "TF_USE_LEGACY_KERAS"}
    done = subprocess.run(
        [sys.executable, "-c", _PLAIN, str(tmp_path / "model"), source.shards[0].uri],
        env=plain, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    loaded = load_export(str(tmp_path / "model"))
    expected = loaded.serve(examples=tf.constant(_records(source)))
    assert answer["ids"] == expected["class_ids"].numpy().tolist()


@pytest.mark.parametrize("with_graph", [False, True], ids=["arithmetic", "transform graph"])
def test_an_export_in_a_store_scores_as_on_a_disk(with_graph: bool, tmp_path: Path) -> None:
    """TensorFlow has no such scheme: it reads a copy, which is gone when the model scores."""
    level, model = CASES["video"]
    source = make_source(tmp_path / "data", level, train=5, shards=1)
    graph = None
    if with_graph:
        pattern = str(tmp_path / "data" / "train*")
        graph = str(make_transform_graph(pattern, tmp_path, level=level, features=FEATURES))
    spec = ExportSpec(level=level, features=FEATURES, vocabulary=VOCABULARY, transform_graph=graph)
    export_model(_network(level, model), str(tmp_path / "model"), spec)
    expected = load_model(str(tmp_path / "model")).score_records(_records(source)).scores
    with memory_store():
        storage.copy_tree(str(tmp_path / "model"), "mem://bucket/model")
        shutil.rmtree(tmp_path / "model")
        loaded = load_model("mem://bucket/model")
        assert loaded.directory == "mem://bucket/model"
        found = loaded.score_records(_records(source)).scores
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        storage.write_bytes("mem://bucket/model/saved_model.pb", b"damaged")
        with pytest.raises(DataError, match="mem://bucket/model is damaged"):
            load_model("mem://bucket/model")


def test_what_was_trained_in_bfloat16_serves_in_float32(tmp_path: Path) -> None:
    source = make_source(tmp_path / "data", Level.VIDEO, train=8, shards=1)
    low = _network(Level.VIDEO, MODELS["moe"], compute_dtype="bfloat16")
    spec = ExportSpec(level=Level.VIDEO, features=FEATURES)
    export_model(low, str(tmp_path / "model"), spec)
    batch = {k: tf.constant(v) for k, v in _batch(source, MODELS["moe"]).items()}
    expected = _network(Level.VIDEO, MODELS["moe"])(batch)["entities"]
    found = load_export(str(tmp_path / "model")).score(examples=tf.constant(_records(source)))
    np.testing.assert_allclose(found["scores"], expected, atol=1e-6)


def test_an_export_says_what_it_is(tmp_path: Path) -> None:
    spec = ExportSpec(level=Level.VIDEO, features=FEATURES, config={"model": {"name": "moe"}})
    info = export_model(_network(Level.VIDEO, MODELS["moe"]), str(tmp_path / "model"), spec)
    assert load_info(str(tmp_path / "model")) == info
    assert (info.head, info.heads, info.level) == ("entities", {"entities": 20}, Level.VIDEO)
    assert info.config == {"model": {"name": "moe"}}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_an_export_replaces_the_one_before(tmp_path: Path) -> None:
    spec = ExportSpec(level=Level.VIDEO, features=FEATURES, top_k=3)
    for model in ("moe", "logistic"):
        export_model(_network(Level.VIDEO, MODELS[model]), str(tmp_path / "model"), spec)
    stored = tf.train.list_variables(str(tmp_path / "model" / "variables" / "variables"))
    assert len([name for name, _ in stored if name.startswith("weights/")]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_a_failing_export_leaves_nothing(tmp_path: Path) -> None:
    spec = ExportSpec(
        level=Level.VIDEO, features=FEATURES, transform_graph=str(tmp_path / "nosuch")
    )
    with pytest.raises(OSError, match="nosuch"):
        export_model(_network(Level.VIDEO, MODELS["moe"]), str(tmp_path / "out" / "model"), spec)
    assert not (tmp_path / "out" / "model").exists()


def _exported(directory: Path) -> Path:
    spec = ExportSpec(level=Level.VIDEO, features=FEATURES)
    export_model(_network(Level.VIDEO, MODELS["logistic"]), str(directory), spec)
    return directory


def test_no_model_a_foreign_model_and_a_damaged_one_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no saved_model\.pb"):
        load_export(str(tmp_path))

    model = _exported(tmp_path / "foreign")
    (model / "assets.extra" / "yt8m_export.json").unlink()
    with pytest.raises(UserError, match="not a model that yt8m exported"):
        load_export(str(model))

    model = _exported(tmp_path / "description")
    (model / "assets.extra" / "yt8m_export.json").write_text('{"level": "video"}')
    with pytest.raises(UserError, match=r"damaged .*features: missing"):
        load_export(str(model))

    for damaged in ("saved_model.pb", "variables/variables.data-00000-of-00001"):
        model = _exported(tmp_path / damaged.replace("/", "-"))
        (model / damaged).write_bytes(b"\x00\x01")
        with pytest.raises(UserError, match="is damaged, it cannot be loaded"):
            load_export(str(model))


@pytest.mark.parametrize("name", ["models [1]", "models\\1"])
def test_a_model_where_tensorflow_does_not_find_it_is_not_called_damaged(
    tmp_path: Path, name: str
) -> None:
    directory = str(shutil.copytree(_exported(tmp_path / "model"), tmp_path / name))
    for load in (load_export, partial(freeze_signature, name=FEATURES_SIGNATURE)):
        with pytest.raises(UserError, match=r"searches weights by a pattern.* move the model"):
            load(directory)


def test_an_export_without_room_is_an_error_of_the_system_that_names_it(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, before[1]))
    try:
        with pytest.raises(OSError, match=str(tmp_path / "model")) as error:
            _exported(tmp_path / "model")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert error.value.errno == errno.EFBIG
    assert list(tmp_path.iterdir()) == []


def test_a_model_for_other_data_is_refused(tmp_path: Path) -> None:
    model = load_export(str(_exported(tmp_path / "model")))
    model.require(level=Level.VIDEO, features=FEATURES)
    with pytest.raises(UserError, match="exported for level video, but the data has frame"):
        model.require(level=Level.FRAME, features=FEATURES)
    with pytest.raises(UserError, match="exported for features"):
        model.require(level=Level.VIDEO, features=FeatureConfig(num_classes=20))
