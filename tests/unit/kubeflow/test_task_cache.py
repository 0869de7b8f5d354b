"""Which tasks are the same task again, and what they are given in the place of running."""

import json
import shutil
from pathlib import Path

import pytest

from yt8m.kubeflow.container.task_cache import digest_tree, find_cached_result

TRAINER = "tfx.components.trainer.executor.GenericExecutor"


@pytest.fixture
def task(tmp_path):
    """A Trainer's task in a new pod of run `run`; what the task is, by the keywords."""

    def make(
        run, *, executor=TRAINER, data="data", base="base", config=None, work="work", **custom
    ):
        pod = tmp_path / run
        inputs = {"examples": data, "base_model": base}
        for name, content in inputs.items():
            (pod / name).mkdir(parents=True, exist_ok=True)
            (pod / name / "file").write_text(content)
        custom["config"] = config or {"start_from_base": False}
        executor_input = {
            "inputs": {
                "parameterValues": {"custom_config": json.dumps(custom)},
                "artifacts": {k: {"artifacts": [{"uri": str(pod / k)}]} for k in inputs},
            },
            "outputs": {
                "artifacts": {"model": {"artifacts": [{"uri": str(pod / "model")}]}},
                "outputFile": str(pod / "out" / "output_metadata.json"),
            },
        }
        environ = {"YT8M_WORK_DIR": str(tmp_path / work)} if work else {}
        return pod, find_cached_result(executor, executor_input, environ)

    return make


def _run(pod, remembered):
    (pod / "model" / "sub").mkdir(parents=True)
    (pod / "model" / "sub" / "weights").write_text("made in " + pod.name)
    artifact = {"uri": str(pod / "model"), "metadata": {"of": str(pod / "examples" / "file")}}
    (pod / "out").mkdir()
    report = {"artifacts": {"model": {"artifacts": [artifact]}}}
    (pod / "out" / "output_metadata.json").write_text(json.dumps(report))
    remembered.keep()


def test_the_same_task_in_another_pod_gets_the_files_and_the_report_with_its_own_paths(task):
    pod, remembered = task("one")
    assert not remembered.restore()
    _run(pod, remembered)
    other, again = task("two")
    assert again.restore()
    assert (other / "model" / "sub" / "weights").read_text() == "made in one"
    report = json.loads((other / "out" / "output_metadata.json").read_text())
    (artifact,) = report["artifacts"]["model"]["artifacts"]
    assert artifact["uri"] == str(other / "model")
    assert artifact["metadata"]["of"] == str(other / "examples" / "file")


def test_a_result_that_a_newer_yt8m_kept_is_made_again(task, caplog, tmp_path):
    _run(*task("one"))
    (result,) = tmp_path.glob("work/results/*/*/result.json")
    result.write_text(json.dumps({**json.loads(result.read_text()), "format": 2}))
    assert not task("two")[1].restore()
    assert f"{result}: yt8m" in caplog.text


@pytest.mark.parametrize(
    ("changed", "is_same"),
    [
        ({"data": "other data"}, False),
        ({"config": {"start_from_base": False, "seed": 2}}, False),
        ({"base": "another model in service"}, True),
    ],
)
def test_what_the_task_depends_on_decides_whether_it_is_the_same(task, changed, is_same):
    _run(*task("one"))
    assert task("two", **changed)[1].restore() is is_same


def test_what_is_in_service_counts_where_training_starts_from_it(task):
    config = {"start_from_base": True}
    _run(*task("one", config=config))
    assert task("two", config=config)[1].restore()
    assert not task("three", config=config, base="another model in service")[1].restore()


def test_files_that_the_configuration_names_count_by_their_content(task, tmp_path):
    (tmp_path / "vocabulary.csv").write_text("1")
    named = {"vocabulary": str(tmp_path / "vocabulary.csv")}
    _run(*task("one", **named))
    assert task("two", **named)[1].restore()
    copy = shutil.copy(tmp_path / "vocabulary.csv", tmp_path / "elsewhere.csv")
    assert task("three", vocabulary=str(copy))[1].restore()
    (tmp_path / "vocabulary.csv").write_text("2")
    assert not task("four", **named)[1].restore()


def test_a_teacher_that_changed_makes_the_task_run(task, tmp_path):
    (tmp_path / "teacher").mkdir()
    (tmp_path / "teacher" / "saved_model.pb").write_text("1")
    config = {"teacher": {"saved_model": str(tmp_path / "teacher"), "weight": 0.5}}
    _run(*task("one", config=config))
    assert task("two", config=config)[1].restore()
    (tmp_path / "teacher" / "saved_model.pb").write_text("2")
    assert not task("three", config=config)[1].restore()


@pytest.mark.parametrize(
    "how",
    [
        {"work": ""},
        {"executor": "yt8m.components.example_gen.executor.Executor"},
        {"config": {"start_new_model": True}},
    ],
)
def test_some_tasks_are_never_remembered(task, how):
    assert task("one", **how)[1] is None


def test_a_half_kept_or_damaged_result_is_made_again(task, tmp_path):
    _run(*task("one"))
    (result,) = Path(tmp_path / "work").rglob("result.json")
    result.write_text("{")
    assert not task("two")[1].restore()
    result.unlink()
    assert not task("three")[1].restore()


def test_what_is_kept_is_on_the_disk_before_it_counts_as_kept(task, tmp_path, synced):
    _run(*task("one"))
    kept = [path for path in (tmp_path / "work").rglob("*") if path.is_file()]
    assert {path.name for path in kept} == {"weights", "result.json"}
    assert {path.stat().st_ino for path in kept} <= synced


def test_an_output_without_files_is_kept_as_well(task):
    pod, remembered = task("one")
    _run(pod, remembered)
    shutil.rmtree(pod / "model")
    (pod / "model").mkdir()
    remembered.keep()
    other, again = task("two")
    assert again.restore()
    assert not list((other / "model").iterdir())


def test_the_last_five_results_of_a_component_are_kept(task, tmp_path):
    for number in range(7):
        _run(*task(f"run{number}", data=str(number)))
    assert len(list(Path(tmp_path / "work").rglob("result.json"))) == 5
    assert task("again", data="6")[1].restore()
    assert not task("and-again", data="0")[1].restore()


def test_an_artifact_without_files_is_the_same_whether_it_has_a_directory(tmp_path):
    (tmp_path / "there").mkdir()
    assert digest_tree(tmp_path / "there") == digest_tree(tmp_path / "from an object store")
    (tmp_path / "there" / "file").touch()
    assert digest_tree(tmp_path / "there") != digest_tree(tmp_path / "from an object store")
