"""What other pods are given to see, and what comes back from them."""

from dataclasses import replace
from pathlib import Path

import pytest

from yt8m.components.trainer.backends.kubernetes import (
    Kubernetes,
    check_export,
    patient_job,
    share,
    shared_job,
)
from yt8m.components.trainer.config import TeacherConfig, TrainerConfig
from yt8m.components.trainer.job import TrainingJob, parse_job
from yt8m.components.trainer.kubernetes_config import TFJobBackend
from yt8m.components.trainer.state.warm_start import find_checkpoint, weights_digest
from yt8m.schemas.errors import UserError, Yt8mError
from yt8m.schemas.roles import SourcePath, fields_with


@pytest.fixture
def job(tmp_path):
    """A job whose inputs lie in the launcher's directory of this pod alone."""
    pod = tmp_path / "s3"
    for name in (
        "transform/saved_model.pb",
        "base/variables/v",
        "manifest.json",
        "v.csv",
        "earlier/ckpt-3.index",
        "earlier/ckpt-3.data-00000-of-00001",
        "earlier/ckpt-1.index",
        "teacher/saved_model.pb",
    ):
        (pod / name).parent.mkdir(parents=True, exist_ok=True)
        (pod / name).write_text(name)
    return TrainingJob(
        manifest=str(pod / "manifest.json"),
        transform_graph=str(pod / "transform"),
        base_model=str(pod / "base"),
        vocabulary=str(pod / "v.csv"),
        checkpoint_dir=str(tmp_path / "work" / "checkpoints" / "run1"),
        log_dir=str(pod / "logs"),
        export_dir=str(pod / "export"),
        trainer=TrainerConfig(
            warm_start=str(pod / "earlier"),
            teacher=TeacherConfig(saved_model=str(pod / "teacher")),
        ),
    )


def test_every_path_of_the_shared_job_is_seen_by_all_and_filled(job, tmp_path):
    work = tmp_path / "work"
    share(job, str(work / "jobs" / "run1"))
    shared = shared_job(job, str(work / "jobs" / "run1"))
    assert parse_job((work / "jobs" / "run1" / "job.json").read_text()) == shared
    paths = [v for v in vars(shared).values() if isinstance(v, str) and v.startswith("/")]
    assert len(paths) == 8
    paths += [source.value for source in fields_with(shared, SourcePath)]
    assert len(paths) == 14
    assert all(path.startswith(f"{work}/") for path in paths)
    assert Path(shared.base_model, "variables", "v").read_text() == "base/variables/v"
    assert Path(shared.vocabulary).read_text() == "v.csv"
    # Checkpoints on the shared volume stay where a run without Kubernetes would look for them.
    assert shared.checkpoint_dir == job.checkpoint_dir


def test_of_weights_to_start_from_the_newest_checkpoint_is_shared(job, tmp_path):
    share(job, str(tmp_path / "work" / "jobs" / "run1"))
    shared = shared_job(job, str(tmp_path / "work" / "jobs" / "run1"))
    copied = Path(find_checkpoint(shared.trainer.warm_start) + ".index")
    assert copied.read_text() == "earlier/ckpt-3.index"
    assert sorted(p.name for p in copied.parent.iterdir()) == [
        "variables.data-00000-of-00001",
        "variables.index",
    ]
    assert weights_digest(shared.trainer.warm_start) == weights_digest(job.trainer.warm_start)
    teacher = shared.trainer.teacher.saved_model
    assert Path(teacher, "saved_model.pb").read_text() == "teacher/saved_model.pb"


def test_a_job_that_only_logs_in_another_way_reads_the_same_inputs(job, tmp_path):
    directory = tmp_path / "work" / "jobs" / "run1"
    share(job, str(directory))
    left_over = directory / "inputs" / "base_model" / "left-over"
    left_over.write_text("x")
    log = replace(job.trainer.log, every_steps=3)
    share(replace(job, trainer=replace(job.trainer, log=log)), str(directory))
    assert left_over.exists()
    assert parse_job((directory / "job.json").read_text()).trainer.log.every_steps == 3
    share(replace(job, trainer=replace(job.trainer, seed=3)), str(directory))
    assert not left_over.exists()


def test_inputs_that_pods_of_an_earlier_attempt_read_are_left_alone(job, tmp_path):
    directory = tmp_path / "work" / "jobs" / "run1"
    share(job, str(directory))
    before = (directory / "inputs" / "base_model" / "variables" / "v").stat()
    share(job, str(directory))
    after = (directory / "inputs" / "base_model" / "variables" / "v").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_the_same_content_at_a_new_place_is_read_there(job, tmp_path):
    """The run key is that of the content; the manifest names the files."""
    directory = tmp_path / "work" / "jobs" / "run1"
    share(job, str(directory))
    Path(job.manifest).write_text("the new place")
    share(job, str(directory))
    assert (directory / "inputs" / "manifest").read_text() == "the new place"


def test_a_damaged_manifest_of_an_earlier_attempt_is_replaced(job, tmp_path):
    directory = tmp_path / "work" / "jobs" / "run1"
    share(job, str(directory))
    (directory / "inputs" / "manifest").write_bytes(b"\xff\x00")
    share(job, str(directory))
    assert (directory / "inputs" / "manifest").read_text() == "manifest.json"


def test_pods_wait_for_their_peers_as_long_as_a_node_may_take(job):
    waiting = patient_job(job, 900)
    assert waiting.trainer.distribution.peer_timeout_s == 900
    assert patient_job(waiting, 10) == waiting


def test_a_half_copied_share_is_copied_anew(job, tmp_path):
    directory = tmp_path / "work" / "jobs" / "run1"
    (directory / "inputs" / "base_model").mkdir(parents=True)
    (directory / "inputs" / "base_model" / "left-over").write_text("x")
    share(job, str(directory))
    assert not (directory / "inputs" / "base_model" / "left-over").exists()


def test_a_job_that_left_no_model_has_failed(tmp_path):
    with pytest.raises(Yt8mError, match=r"wrote no saved_model\.pb"):
        check_export(str(tmp_path))
    (tmp_path / "saved_model.pb").write_bytes(b"not a model")
    with pytest.raises(Yt8mError):
        check_export(str(tmp_path))


def test_what_the_job_lacks_is_asked_for_before_anything_is_sent(job):
    with pytest.raises(UserError, match="work_dir"):
        Kubernetes(TFJobBackend()).run(job, {"YT8M_IMAGE": "i"})
    with pytest.raises(UserError, match="image"):
        Kubernetes(TFJobBackend()).run(job, {"YT8M_WORK_DIR": "/tmp/x"})
