"""What may go and what stays, on a root with real metadata and real files."""

import dataclasses
import json
import os
import shutil
from pathlib import Path

import pytest
from memory_store import memory_store
from ml_metadata import MetadataStore
from ml_metadata.proto import metadata_store_pb2 as mlmd
from registry_models import blessed_record, fake_model, push_fake

from yt8m.cli.main import run
from yt8m.components import storage
from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.components.registry.push import push, rollback
from yt8m.components.registry.versions import list_versions
from yt8m.components.trainer.state.done_marker import Done, mark_done
from yt8m.pipeline.config import MetadataConfig, RetentionConfig
from yt8m.pipeline.metadata import RUN_CONTEXT, MlmdLineage, connection_config
from yt8m.pipeline.run.garbage_collection import find_waste, remove
from yt8m.pipeline.run_record import begin_record
from yt8m.pipeline.workspace import Layout, run_lock

DAY = 86400.0
NOW = 100 * DAY


class Root:
    """A root whose runs the test makes up; each trains a model, or reuses one."""

    def __init__(self, folder):
        self.layout = Layout(folder)
        folder.mkdir(exist_ok=True)
        self.store = MetadataStore(connection_config(MetadataConfig(), self.layout.database))
        self.lineage = MlmdLineage(self.store)
        self.kinds = {
            "run": self.store.put_context_type(mlmd.ContextType(name=RUN_CONTEXT)),
            "node": self.store.put_execution_type(mlmd.ExecutionType(name="Trainer")),
            "model": self.store.put_artifact_type(mlmd.ArtifactType(name="Model")),
        }

    def run(
        self,
        run_id,
        *,
        days_old,
        reuse=None,
        verdict=Verdict.REJECTED,
        state=mlmd.Execution.COMPLETE,
        retraining=True,
        push_dir="",
    ):
        """Returns the artifact's folder and id."""
        started = NOW - days_old * DAY
        record = RunRecord(run_id=run_id, started=started, verdict=verdict, retraining=retraining)
        begin_record(self.layout, dataclasses.replace(record, push_dir=push_dir, run_key=run_id))
        Path(self.layout.logs(run_id)).mkdir(parents=True)
        execution = mlmd.Execution(type_id=self.kinds["node"], last_known_state=state)
        context = mlmd.Context(type_id=self.kinds["run"], name=run_id)
        number, _, _ = self.store.put_execution(execution, [], [context])
        node = Path(self.layout.artifacts, "Trainer")
        (node / ".system" / "executor_execution" / str(number)).mkdir(parents=True)
        path = node / "model_run" / str(number)
        if reuse is None:
            path.mkdir(parents=True)
            (path / "weights").write_bytes(b"w" * 1000)
            artifact = mlmd.Artifact(
                type_id=self.kinds["model"], uri=str(path), state=mlmd.Artifact.LIVE
            )
        else:
            (artifact,) = self.store.get_artifacts_by_id([reuse])
        if state != mlmd.Execution.COMPLETE:
            return path, None  # TFX publishes what an execution left when it ends well
        (execution,) = self.store.get_executions_by_id([number])
        event = mlmd.Event(type=mlmd.Event.OUTPUT)
        event.path.steps.add().key = "model_run"
        _, ids, _ = self.store.put_execution(execution, [(artifact, event)], [])
        return path, ids[0]

    def checkpoints(self, key, *, exported_to=None):
        """Checkpoints of a training that has ended where its model was `exported_to` a folder."""
        path = Path(self.layout.checkpoints, key)
        path.mkdir(parents=True)
        (path / "ckpt-10.index").write_bytes(b"c" * 100)
        if exported_to is not None:
            done = Done(step=10, stopping_criteria="")
            mark_done(str(path), done, log_dir=str(exported_to))
        return path

    def moved(self, folder, *, copied):
        """This root at another place, with the metadata that it had."""
        move = shutil.copytree if copied else shutil.move
        move(self.layout.root, folder)
        return Root(folder)

    def waste(self, *, keep_runs=1, keep_days=10.0):
        policy = RetentionConfig(keep_runs=keep_runs, keep_days=keep_days)
        return find_waste(self.layout, self.lineage, policy, now=NOW)


@pytest.fixture
def root(tmp_path):
    return Root(tmp_path / "root")


def test_old_runs_beyond_the_number_go_with_all_they_left(root):
    old, artifact = root.run("1-old", days_old=20)
    root.run("2-new", days_old=1)
    waste = root.waste()
    assert waste.runs == ("1-old",)
    assert waste.artifact_ids == (artifact,)
    system = old.parents[1] / ".system" / "executor_execution" / old.name
    assert set(waste.paths) == {
        str(old),
        str(system),
        root.layout.run("1-old"),
        root.layout.logs("1-old"),
    }
    assert waste.bytes >= 1000
    remove(waste, root.lineage)
    assert not old.exists()
    (forgotten,) = root.store.get_artifacts_by_id([artifact])
    assert forgotten.state == mlmd.Artifact.DELETED
    assert root.waste().runs == ()


def test_what_a_run_with_a_damaged_record_took_from_the_cache_stays(root):
    path, artifact = root.run("1-old", days_old=20)
    root.run("2-damaged", days_old=15, reuse=artifact)
    root.run("3-new", days_old=1)
    assert str(path) in root.waste().paths
    Path(root.layout.run("2-damaged"), "run.json").write_text("{")
    waste = root.waste()
    assert waste.runs == ("1-old",)
    assert str(path) not in waste.paths
    (note,) = waste.notes
    assert note.startswith("the record of run 2-damaged cannot be used")


def test_both_limits_must_be_passed(root):
    root.run("1", days_old=20)
    root.run("2", days_old=5)
    root.run("3", days_old=1)
    assert root.waste(keep_runs=1).runs == ("1",)  # 2 is beyond the number, and young
    assert root.waste(keep_runs=2).runs == ("1",)
    assert root.waste(keep_runs=3).runs == ()  # 1 is old, and within the number


def test_the_newest_run_stays_however_old_it_is(root):
    root.run("1", days_old=90)
    assert root.waste(keep_days=0).runs == ()


def test_an_artifact_that_a_kept_run_reused_stays(root):
    shared, artifact = root.run("1-old", days_old=20)
    root.run("2-new", days_old=1, reuse=artifact)
    waste = root.waste()
    assert waste.runs == ("1-old",)
    assert str(shared) not in waste.paths
    assert waste.artifact_ids == ()
    remove(waste, root.lineage)
    assert (shared / "weights").exists()


def test_a_reused_artifact_goes_with_the_last_run_that_used_it(root):
    """It has the number of the run that made it, which is gone by then."""
    shared, artifact = root.run("1-made", days_old=30)
    root.run("2-used", days_old=20, reuse=artifact)
    remove(root.waste(), root.lineage)
    assert shared.exists()
    root.run("3-new", days_old=1)
    waste = root.waste()
    assert waste.runs == ("2-used",)
    assert str(shared) in waste.paths
    assert waste.artifact_ids == (artifact,)


def test_links_are_removed_and_what_they_lead_to_stays(root, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "record").write_text("precious")
    path, _ = root.run("1-old", days_old=20)
    (path / "file").symlink_to(source / "record")
    (path / "folder").symlink_to(source)
    root.run("2-new", days_old=1)
    remove(root.waste(), root.lineage)
    assert not path.exists()
    assert (source / "record").read_text() == "precious"


def test_a_run_under_way_stays(root):
    root.run("1", days_old=20, verdict=Verdict.RUNNING)
    root.run("2", days_old=1)
    assert root.waste().runs == ()


def test_artifacts_outside_the_root_are_never_touched(root, tmp_path):
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    _, artifact = root.run("1-old", days_old=20)
    (stored,) = root.store.get_artifacts_by_id([artifact])
    stored.uri = str(outside)
    root.store.put_artifacts([stored])
    root.run("2-new", days_old=1)
    assert str(outside) not in root.waste().paths


def test_what_a_failed_or_killed_run_left_goes_with_it(root):
    failed, _ = root.run("1", days_old=20, verdict=Verdict.FAILED, state=mlmd.Execution.FAILED)
    killed, _ = root.run("2", days_old=19, verdict=Verdict.KILLED, state=mlmd.Execution.RUNNING)
    kept, _ = root.run("3", days_old=1)
    remove(root.waste(), root.lineage)
    assert not failed.exists()
    assert not killed.exists()
    assert kept.exists()


def test_checkpoints_go_when_their_training_has_ended_and_its_model_is_an_artifact(root):
    exported, _ = root.run("1", days_old=2)
    failed, _ = root.run("2", days_old=1, state=mlmd.Execution.FAILED)
    finished = root.checkpoints("finished", exported_to=exported)
    interrupted = root.checkpoints("interrupted")
    unpublished = root.checkpoints("unpublished", exported_to=failed)
    waste = root.waste(keep_runs=5)
    assert waste.runs == ()
    assert waste.paths == (str(finished),)
    remove(waste, root.lineage)
    assert exported.exists()
    assert interrupted.exists()
    assert unpublished.exists()


@pytest.mark.parametrize(("retraining", "goes"), [(True, True), (False, False)])
def test_the_newest_run_keeps_its_checkpoints_where_a_person_started_it(root, retraining, goes):
    exported, _ = root.run("1", days_old=1, retraining=retraining)
    finished = root.checkpoints("finished", exported_to=exported)
    assert (str(finished) in root.waste().paths) == goes


def test_what_is_older_than_all_runs_within_the_limits_goes_whatever_the_champion_keeps(root):
    """A version may be in service for years; failed trainings must not be kept as long."""
    registry = Path(root.layout.root, "push")
    root.run("1-champion", days_old=90, verdict=Verdict.PUSHED, push_dir=str(registry))
    push(fake_model(registry.parent / "m"), str(registry), blessed_record(run_key="1-champion"))
    root.run("2-new", days_old=1)
    failed, interrupted = root.checkpoints("failed"), root.checkpoints("interrupted")
    unused, used = (Path(root.layout.verified, "ab", f"{name}.npz") for name in ("unused", "used"))
    for path, days_old in ((failed, 60), (interrupted, 0.5), (unused, 60), (used, 0.5)):
        if path.suffix:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        for each in (*path.rglob("*"), path):
            os.utime(each, (NOW - days_old * DAY,) * 2)
    waste = root.waste()
    assert waste.runs == ()
    assert set(waste.paths) == {str(failed), str(unused)}
    remove(waste, root.lineage)
    assert not failed.exists()
    assert interrupted.exists()
    assert used.exists()
    assert not unused.exists()


def test_a_training_that_went_on_after_its_export_is_interrupted(root):
    exported, _ = root.run("1", days_old=1)
    again = root.checkpoints("again", exported_to=exported)
    (again / "DONE").unlink()  # as the Trainer does where more steps are to come
    assert root.waste().paths == ()


@pytest.mark.parametrize("copied", [True, False])
def test_a_root_that_was_moved_or_copied_is_cleaned_and_its_original_is_not(root, tmp_path, copied):
    old, artifact = root.run("1-old", days_old=20)
    reused, again = root.run("2-older", days_old=15)
    root.run("3-new", days_old=1, reuse=again)
    there = root.moved(tmp_path / "there", copied=copied)
    waste = there.waste()
    assert waste.runs == ("1-old", "2-older")
    assert all(path.startswith(f"{there.layout.root}/") for path in waste.paths)
    remove(waste, there.lineage)
    place = Path(there.layout.artifacts, "Trainer", "model_run")
    assert [path.name for path in place.iterdir()] == [reused.name]
    assert old.exists() == copied
    (stored,) = there.store.get_artifacts_by_id([artifact])
    # The copy's cache may go on using the original.
    assert stored.state == (mlmd.Artifact.LIVE if copied else mlmd.Artifact.DELETED)


def test_runs_that_pushed_to_a_registry_that_is_not_there_stay(root, tmp_path):
    registry = str(tmp_path / "models")
    root.run("1", days_old=20, verdict=Verdict.PUSHED, push_dir=registry)
    root.run("2", days_old=15, push_dir=registry)  # rejected: nothing of it is there
    root.run("3", days_old=1)
    waste = root.waste()
    assert waste.runs == ("2",)
    assert registry in waste.notes[0]


def test_the_run_of_a_model_that_was_rolled_back_to_stays(root, tmp_path):
    registry = tmp_path / "models"
    for key in ("1", "2", "3"):
        root.run(key, days_old=20, verdict=Verdict.PUSHED, push_dir=str(registry))
        push_fake(tmp_path, registry, run_key=key)
    rollback(str(registry), 1)
    rollback(str(registry), 3)  # and that twice
    rollback(str(registry), 4)
    for number in list_versions(str(registry))[:-2]:
        shutil.rmtree(registry / str(number))
    root.run("4", days_old=1)
    assert root.waste().runs == ("2",)


def test_a_second_name_of_a_file_takes_no_space(root, tmp_path):
    path, _ = root.run("1-old", days_old=20)
    version = tmp_path / "version"
    version.write_bytes(b"v" * 100_000)
    (path / "linked").hardlink_to(version)
    root.run("2-new", days_old=1)
    waste = root.waste()
    assert 1000 <= waste.bytes < 100_000
    remove(waste, root.lineage)
    assert version.read_bytes() == b"v" * 100_000


def test_during_a_run_only_a_dry_run_is_possible(root, capsys):
    root.run("1-old", days_old=20)
    root.run("2-now", days_old=0, verdict=Verdict.RUNNING)
    words = ["gc", "--root", root.layout.root, "--keep-runs=1", "--keep-days=0"]
    with run_lock(root.layout.lock):
        assert run([*words, "--dry-run", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["runs"] == ["1-old"]
        assert run(words) == 1
    assert "is in use" in capsys.readouterr().err
    assert Path(root.layout.run("1-old")).is_dir()


def test_a_root_in_an_object_store_is_cleaned_too(root, tmp_path):
    old, artifact = root.run("1-old", days_old=20)
    new, _ = root.run("2-new", days_old=1)
    finished = root.checkpoints("finished", exported_to=new)
    going_on = root.checkpoints("going-on")
    with memory_store():
        remote = Layout("mem://bucket/root", {"XDG_STATE_HOME": str(tmp_path)})
        storage.copy_tree(root.layout.root, remote.root)
        shutil.rmtree(root.layout.artifacts)
        kept = RetentionConfig(keep_runs=1, keep_days=10.0)
        waste = find_waste(remote, root.lineage, kept, now=NOW)
        assert waste.runs == ("1-old",)
        assert waste.artifact_ids == (artifact,)
        assert set(waste.paths) == {
            f"{remote.artifacts}/Trainer/model_run/{old.name}",
            f"{remote.checkpoints}/{finished.name}",
            f"{remote.runs}/1-old",
        }
        assert waste.bytes >= 1000
        remove(waste, root.lineage)
        assert not any(storage.exists(path) for path in waste.paths)
        assert storage.exists(f"{remote.artifacts}/Trainer/model_run/{new.name}/weights")
        assert storage.exists(f"{remote.checkpoints}/{going_on.name}")
        assert find_waste(remote, root.lineage, kept, now=NOW).paths == ()
