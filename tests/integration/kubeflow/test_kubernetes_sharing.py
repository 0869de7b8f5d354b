"""What other pods are given to see, and what comes back from them."""

from pathlib import Path

import pytest

from yt8m.components.trainer.backends.kubernetes import (
    Kubernetes,
    check_export,
    patient_job,
    share,
)
from yt8m.components.trainer.job import TrainingJob, parse_job
from yt8m.components.trainer.kubernetes_config import TFJobBackend
from yt8m.schemas.errors import UserError, Yt8mError


@pytest.fixture
def job(tmp_path):
    """A job whose inputs lie in the launcher's directory of this pod alone."""
    pod = tmp_path / "s3"
    for name in ("transform/saved_model.pb", "base/variables/v", "manifest.json", "v.csv"):
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
    )


def test_every_path_of_the_shared_job_is_seen_by_all_and_filled(job, tmp_path):
    work = tmp_path / "work"
    shared = share(job, str(work / "jobs" / "run1"))
    assert parse_job((work / "jobs" / "run1" / "job.json").read_text()) == shared
    paths = [v for v in vars(shared).values() if isinstance(v, str) and v.startswith("/")]
    assert len(paths) == 8
    assert all(path.startswith(f"{work}/") for path in paths)
    assert Path(shared.base_model, "variables", "v").read_text() == "base/variables/v"
    assert Path(shared.vocabulary).read_text() == "v.csv"
    # Checkpoints on the shared volume stay where a run without Kubernetes would look for them.
    assert shared.checkpoint_dir == job.checkpoint_dir


def test_inputs_that_pods_of_an_earlier_attempt_read_are_left_alone(job, tmp_path):
    directory = tmp_path / "work" / "jobs" / "run1"
    share(job, str(directory))
    before = (directory / "base_model" / "variables" / "v").stat()
    share(job, str(directory))
    after = (directory / "base_model" / "variables" / "v").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_the_same_content_at_a_new_place_is_read_there(job, tmp_path):
    """The run key is that of the content; the manifest names the files."""
    directory = tmp_path / "work" / "jobs" / "run1"
    share(job, str(directory))
    Path(job.manifest).write_text("the new place")
    share(job, str(directory))
    assert (directory / "manifest.json").read_text() == "the new place"


def test_a_damaged_manifest_of_an_earlier_attempt_is_replaced(job, tmp_path):
    directory = tmp_path / "work" / "jobs" / "run1"
    share(job, str(directory))
    (directory / "manifest.json").write_bytes(b"\xff\x00")
    share(job, str(directory))
    assert (directory / "manifest.json").read_text() == "manifest.json"


def test_pods_wait_for_their_peers_as_long_as_a_node_may_take(job):
    waiting = patient_job(job, 900)
    assert waiting.trainer.distribution.peer_timeout_s == 900
    assert patient_job(waiting, 10) == waiting


def test_a_half_copied_share_is_copied_anew(job, tmp_path):
    directory = tmp_path / "work" / "jobs" / "run1"
    (directory / "base_model").mkdir(parents=True)
    (directory / "base_model" / "left-over").write_text("x")
    share(job, str(directory))
    assert not (directory / "base_model" / "left-over").exists()


def test_a_job_that_left_no_model_has_failed(tmp_path):
    with pytest.raises(Yt8mError, match=r"left no saved_model\.pb"):
        check_export(str(tmp_path))
    (tmp_path / "saved_model.pb").write_bytes(b"not a model")
    with pytest.raises(Yt8mError):
        check_export(str(tmp_path))


def test_what_the_job_lacks_is_asked_for_before_anything_is_sent(job):
    with pytest.raises(UserError, match="work_dir"):
        Kubernetes(TFJobBackend()).run(job, {"YT8M_IMAGE": "i"})
    with pytest.raises(UserError, match="image"):
        Kubernetes(TFJobBackend()).run(job, {"YT8M_WORK_DIR": "/tmp/x"})
