"""A teacher says of a batch what its model says, and is refused where it cannot."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from batches import FEATURES, make_batch, make_network

from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.trainer.config import TeacherConfig
from yt8m.components.trainer.teacher import load_teacher, teacher_digest
from yt8m.schemas.batch import TEACHER
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import Level


def exported(place, model, seed=0, level=None):
    network = make_network(model, level, seed=seed)
    export_model(network, str(place), ExportSpec(level=level or Level.VIDEO, features=FEATURES))
    return network, TeacherConfig(saved_model=str(place))


@pytest.mark.parametrize(
    ("model", "level"),
    [("moe", Level.VIDEO), ("mlp_members", Level.VIDEO), ("frame_logistic", Level.FRAME)],
)
def test_it_says_what_its_network_says_and_holds_no_variable(tmp_path, model, level):
    network, config = exported(tmp_path / "model", model, level=level)
    batch = make_batch(level)
    teacher = load_teacher(config, features=FEATURES, level=level)
    step = tf.function(lambda batch: teacher(batch), autograph=False)
    expected = network(batch)["entities"].numpy()
    np.testing.assert_allclose(step(batch).numpy(), expected, rtol=2e-5, atol=1e-7)
    assert step.get_concrete_function(batch).variables == ()
    assert TEACHER not in batch


def test_its_digest_follows_its_weights(tmp_path):
    configs = [exported(tmp_path / str(n), "logistic", seed=n // 2)[1] for n in range(3)]
    digests = [teacher_digest(config.saved_model) for config in configs]
    assert digests[0] != digests[2]
    assert teacher_digest("") == ""


def test_without_one_there_is_nothing_to_load():
    assert load_teacher(None, features=FEATURES, level=Level.VIDEO) is None


def test_what_cannot_teach_is_refused_by_name(tmp_path):
    def refusal(config, features=FEATURES, level=Level.VIDEO):
        with pytest.raises(UserError) as caught:
            load_teacher(config, features=features, level=level)
        return str(caught.value)

    nowhere = TeacherConfig(saved_model=str(tmp_path / "nowhere"))
    assert "neither a SavedModel" in refusal(nowhere)
    _, video = exported(tmp_path / "video", "logistic")
    message = refusal(video, level=Level.FRAME)
    assert "takes audio float32 [8], rgb float32 [16]" in message
    assert "num_frames int32 [rows]" in message
    classes = dataclasses.replace(FEATURES, num_classes=FEATURES.num_classes + 1)
    assert f"scores {FEATURES.num_classes} classes" in refusal(video, features=classes)
    for file in (tmp_path / "video" / "variables").glob("*.data*"):
        file.unlink()
    assert "is damaged" in refusal(video)
