"""Where finished parts wait, and which of them another run may take."""

import dataclasses

import pytest

from yt8m.components.artifacts.manifest import Shard
from yt8m.components.predictions.plan import Format, PredictionPlan
from yt8m.components.predictions.work import WorkDirectory, work_key
from yt8m.schemas.features import Level


@pytest.mark.parametrize(
    ("out", "path"),
    [
        ("/data/sub.csv", "/data/.sub.csv.parts/key"),
        ("/sub.csv", "/.sub.csv.parts/key"),
        ("sub.csv", ".sub.csv.parts/key"),
        ("s3://bucket/sub.csv", "s3://bucket/.sub.csv.parts/key"),
        ("gs://bucket/a/sub.csv", "gs://bucket/a/.sub.csv.parts/key"),
    ],
)
def test_the_parts_lie_beside_the_output(out, path):
    assert WorkDirectory(out, "key", 3).path == path


def test_parts_are_missing_until_they_are_there_and_those_of_another_key_go(tmp_path):
    old = WorkDirectory(str(tmp_path / "out"), "old", 2)
    old.open()
    new = WorkDirectory(str(tmp_path / "out"), "new", 3)
    new.open()
    assert new.missing() == [0, 1, 2]
    for path in (new.part(1), new.error(2)):
        with open(path, "wb"):  # noqa: PTH123
            pass
    assert new.missing() == [0, 2]
    new.open()
    assert [path.name for path in (tmp_path / ".out.parts" / "new").iterdir()] == ["00001.part"]
    assert [path.name for path in (tmp_path / ".out.parts").iterdir()] == ["new"]
    new.remove()
    assert not list((tmp_path / ".out.parts").iterdir())


def test_the_key_follows_model_data_and_options(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "saved_model.pb").write_bytes(b"one")
    plan = PredictionPlan(
        model=str(tmp_path / "model"), level=Level.VIDEO, format=Format.VIDEO, top_k=20
    )
    shard = Shard(uri="a", split="eval", records=0, bytes=3, digest="3 1.0")
    keys = [
        work_key(plan, [[shard]]),
        work_key(dataclasses.replace(plan, top_k=5), [[shard]]),
        work_key(dataclasses.replace(plan, format=Format.JSONL), [[shard]]),
        work_key(dataclasses.replace(plan, classes=(1, 2)), [[shard]]),
        work_key(plan, [[dataclasses.replace(shard, digest="3 2.0")]]),
        work_key(plan, [[shard], [shard]]),
    ]
    (tmp_path / "model" / "saved_model.pb").write_bytes(b"two")
    keys.append(work_key(plan, [[shard]]))
    assert len(set(keys)) == len(keys)
