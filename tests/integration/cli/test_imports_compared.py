"""An import is scored beside the version in service, and a worse one needs a word of the user's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tensorflow as tf
from evaluator_run import World, create_world

from yt8m.cli.arguments.models import ModelsImportArguments
from yt8m.cli.models_import import run
from yt8m.components.console.console import Console
from yt8m.components.registry.versions import in_service, list_versions, load_record
from yt8m.schemas.errors import EXIT_USER, UserError


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return create_world(tmp_path_factory.mktemp("world"))


class Imports:
    """A registry that models are taken into."""

    def __init__(self, world: World, registry: Path) -> None:
        self.world, self.registry = world, str(registry)

    def take(
        self, noise: float, *, yes: bool = False, data: Path | None = None, **how: float
    ) -> None:
        model = self.world.model(f"noise-{noise}-{how}", noise=noise, **how)
        arguments = ModelsImportArguments(
            model=str(model / "Format-Serving"),
            push=self.registry,
            data=f"{data or self.world.data}/validate*.tfrecord",
            yes=yes,
            json=True,
        )
        run(arguments, Console(as_json=True))


@pytest.fixture
def imports(world: World, tmp_path: Path) -> Imports:
    return Imports(world, tmp_path / "push")


def test_a_better_one_states_the_paired_difference_and_a_worse_one_is_refused(
    imports: Imports, capsys: pytest.CaptureFixture[str]
) -> None:
    imports.take(1.0)
    assert json.loads(capsys.readouterr().out)["compared_with"] is None
    imports.take(0.0)
    said = json.loads(capsys.readouterr().out)
    assert said["compared_with"] == 1
    change = said["gap_difference"]
    assert 0 < change["lower"] < change["value"] < change["upper"]
    record = load_record(imports.registry, 2)
    assert record.baseline_version == 1
    assert f"{change['value']:+.4f}" in record.reason
    with pytest.raises(UserError, match=r"is worse than version 2.*-0\.1.*--yes") as refused:
        imports.take(1.1)
    assert refused.value.exit_code == EXIT_USER
    assert list_versions(imports.registry) == (1, 2)
    imports.take(1.1, yes=True)
    assert in_service(imports.registry).version == 3
    assert "against version 2" in load_record(imports.registry, 3).reason


def test_what_is_in_service_and_cannot_be_scored_is_not_replaced_without_a_word(
    imports: Imports,
) -> None:
    imports.take(0.5)
    (Path(imports.registry) / "1" / "variables" / "variables.index").write_bytes(b"")
    with pytest.raises(UserError, match="version 1 in service cannot be scored"):
        imports.take(0.0)
    assert list_versions(imports.registry) == (1,)
    imports.take(0.0, yes=True)
    assert in_service(imports.registry).version == 2


@pytest.mark.parametrize("yes", [False, True])
def test_records_without_labels_put_no_model_into_service(
    yes: bool, imports: Imports, tmp_path: Path
) -> None:
    """All GAPs are 0 on them, so that a worse model seems as good as the one in service."""
    unlabelled = tmp_path / "unlabelled"
    unlabelled.mkdir()
    for shard in Path(imports.world.data).glob("validate*.tfrecord"):
        with tf.io.TFRecordWriter(str(unlabelled / shard.name)) as file:
            for record in tf.data.TFRecordDataset(str(shard)).as_numpy_iterator():
                example = tf.train.Example.FromString(record)
                del example.features.feature["labels"]
                file.write(example.SerializeToString())
    with pytest.raises(UserError, match=r"no record of .*unlabelled.* has a label.*without --data"):
        imports.take(0.0, data=unlabelled, yes=yes)
    assert list_versions(imports.registry) == ()
    imports.take(0.0)
    with pytest.raises(UserError, match="has a label"):
        imports.take(1.1, data=unlabelled, yes=yes)
    assert list_versions(imports.registry) == (1,)


def test_what_was_touched_and_loads_is_still_what_an_import_is_compared_with(
    imports: Imports,
) -> None:
    imports.take(0.0)
    with (Path(imports.registry) / "1" / "fingerprint.pb").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(UserError, match="is worse than version 1"):
        imports.take(1.0)
