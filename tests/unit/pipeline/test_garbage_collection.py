"""What may go and what stays, on a root with real metadata and real files."""

import dataclasses

import pytest
from ml_metadata import MetadataStore
from ml_metadata.proto import metadata_store_pb2 as mlmd

from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.pipeline.config import MetadataConfig, RetentionConfig
from yt8m.pipeline.metadata import RUN_CONTEXT, Lineage, connection_config
from yt8m.pipeline.run.garbage_collection import find_waste, remove
from yt8m.pipeline.run_record import begin_record
from yt8m.pipeline.workspace import Layout

DAY = 86400.0
NOW = 100 * DAY


class Root:
    """A root whose runs the test makes up; each puts out one artifact, or reuses one."""

    def __init__(self, folder):
        self.layout = Layout(folder)
        folder.mkdir()
        self.store = MetadataStore(connection_config(MetadataConfig(), self.layout.database))
        self.lineage = Lineage(self.store)
        self.kinds = {
            "run": self.store.put_context_type(mlmd.ContextType(name=RUN_CONTEXT)),
            "node": self.store.put_execution_type(mlmd.ExecutionType(name="Trainer")),
            "model": self.store.put_artifact_type(mlmd.ArtifactType(name="Model")),
        }

    def run(self, run_id, *, days_old, reuse=None, verdict=Verdict.HELD_BACK):
        """Returns the artifact's folder and id."""
        record = RunRecord(run_id=run_id, started=NOW - days_old * DAY, verdict=verdict)
        begin_record(self.layout, dataclasses.replace(record, push_dir="", run_key=run_id))
        self.layout.logs(run_id).mkdir(parents=True)
        path = self.layout.artifacts / "Trainer" / run_id
        if reuse is None:
            path.mkdir(parents=True)
            (path / "weights").write_bytes(b"w" * 1000)
            artifact = mlmd.Artifact(
                type_id=self.kinds["model"], uri=str(path), state=mlmd.Artifact.LIVE
            )
        else:
            (artifact,) = self.store.get_artifacts_by_id([reuse])
        execution = mlmd.Execution(
            type_id=self.kinds["node"], last_known_state=mlmd.Execution.COMPLETE
        )
        context = mlmd.Context(type_id=self.kinds["run"], name=run_id)
        event = mlmd.Event(type=mlmd.Event.OUTPUT)
        event.path.steps.add().key = "model"
        _, ids, _ = self.store.put_execution(execution, [(artifact, event)], [context])
        return path, ids[0]

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
    assert set(waste.paths) == {old, root.layout.run("1-old"), root.layout.logs("1-old")}
    assert waste.bytes >= 1000
    remove(waste, root.lineage)
    assert not old.exists()
    (forgotten,) = root.store.get_artifacts_by_id([artifact])
    assert forgotten.state == mlmd.Artifact.DELETED
    assert root.waste().runs == ()


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
    assert shared not in waste.paths
    assert waste.artifact_ids == ()
    remove(waste, root.lineage)
    assert (shared / "weights").exists()


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
    assert outside not in root.waste().paths
