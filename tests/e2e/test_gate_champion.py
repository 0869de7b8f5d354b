"""Nights in turn: a candidate is held against the newest version and against the best so far."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from evaluator_run import Outcome, World, create_world, run_evaluator, write_examples
from records import read_all

from yt8m.components.artifacts.decision import champion_lines
from yt8m.components.artifacts.export_info import FILE_NAME, ExportInfo
from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.components.baseline.config import BaselineConfig
from yt8m.components.baseline.select import (
    copy_champion,
    copy_to_artifact,
    passed_over,
    select_baseline,
    select_champion,
)
from yt8m.components.evaluator import executor
from yt8m.components.evaluator.score_table import ScoreTable
from yt8m.components.export.load import LoadedModel, load_model
from yt8m.components.pusher.record import create_record
from yt8m.components.registry.baseline_artifact import write_passed_over
from yt8m.components.registry.champion import find_champion
from yt8m.components.registry.digests import model_digest
from yt8m.components.registry.push import push, rollback, set_champion
from yt8m.components.registry.versions import Version, load_version
from yt8m.schemas.errors import DataError, Yt8mError
from yt8m.schemas.features import Level

pytestmark = pytest.mark.e2e

# Noises of models. Each of the first three is less than 0.03 of GAP below the one before.
GOOD, LESS, LEAST, BAD = 0.0, 0.3, 0.45, 1.1
GATE = {"gap_threshold": 0.1, "gap_change_threshold": -0.06}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return create_world(tmp_path_factory.mktemp("world"))


class Nights:
    """A registry, and one evaluation after the other."""

    def __init__(self, world: World, root: Path) -> None:
        self.world, self.root, self.count = world, root, 0
        self.registry = str(root / "push")

    def model(self, noise: float, **how: float) -> Path:
        path = self.world.model(f"noise-{noise}-{how}", noise=noise, **how)
        info = ExportInfo(
            level=self.world.level,
            features=self.world.features,
            head="entities",
            heads={"entities": self.world.features.num_classes},
            top_k=20,
            has_class_names=False,
            has_transform_graph=False,
        )
        file = path / "Format-Serving" / FILE_NAME
        file.parent.mkdir(exist_ok=True)
        file.write_text(info.to_json())
        return path

    def run(self, noise: float, **how: object) -> Outcome:
        """Baseline, Evaluator, Pusher."""
        self.count += 1
        place, config = self.root / f"night-{self.count}", BaselineConfig()
        version = select_baseline(config, self.registry, "")
        champion = select_champion(config, self.registry, "", baseline=version)
        copy_to_artifact(version, str(place / "baseline"))
        copy_champion(champion, str(place / "champion"), baseline=version)
        if problems := passed_over(config, self.registry, version, champion):
            write_passed_over(str(place / "baseline"), problems)
        model = self.model(noise)
        outcome = run_evaluator(
            self.world,
            place,
            model=model,
            baseline=place / "baseline",
            champion=place / "champion",
            **{"gate": GATE, **how},  # type: ignore[arg-type]
        )
        if outcome.blessed:
            self.push(model, outcome, place)
        return outcome

    def push(self, model: Path, outcome: Outcome, place: Path) -> None:
        directory = str(model / "Format-Serving")
        uris = {"model_blessing": str(outcome.blessing_dir), "baseline": str(place / "baseline")}
        record = create_record(
            model_dir=directory,
            outputs=RunOutputs(uris),
            configuration={},
            blessed=True,
            run_key=f"night {self.count}",
            code="code",
        )
        push(directory, self.registry, record)

    def push_as(self, number: int, model: Path) -> Version:
        """Push `model` with the record of version `number`, as if it had been judged so."""
        judged = load_version(self.registry, number).record
        decision = {**judged.decision, "model_digest": model_digest(str(model))}
        record = dataclasses.replace(judged, run_key=model.parent.name, decision=decision)
        return push(str(model), self.registry, record)

    @property
    def champion(self) -> int:
        found = find_champion(self.registry)
        return found.number if found is not None else 0


@pytest.fixture
def nights(world: World, tmp_path: Path) -> Nights:
    return Nights(world, tmp_path)


@pytest.fixture
def roles(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The role of the model that scores, once for each batch."""
    roles: list[str] = []
    score = LoadedModel.score_records

    def counted(self: LoadedModel, records: object) -> object:
        roles.append(self.role)
        return score(self, records)

    monkeypatch.setattr(LoadedModel, "score_records", counted)
    return roles


def test_small_losses_do_not_add_up(nights: Nights) -> None:
    first, second = nights.run(GOOD), nights.run(LESS)
    assert first.blessed
    assert second.blessed
    assert nights.champion == 1
    third = nights.run(LEAST)
    assert third.decision.champion is not None
    assert third.decision.champion.name == "version 1"
    newest, best = (
        change["gap"].value or 0.0
        for change in (third.decision.differences, third.decision.champion.differences)
    )
    assert best < -0.03 < newest < 0
    assert not third.blessed
    [failed] = [c for c in third.decision.checks if not c.passed]
    assert failed.needed == "change of gap against the champion >= -0.03"
    # The same rows, so the champion's figures are those of the night when it was the candidate.
    assert third.decision.champion.metrics == first.decision.metrics
    # Where the newest is the champion, it is scored once.
    assert second.decision.champion is not None
    assert second.decision.champion.differences == second.decision.differences


def test_only_a_better_model_becomes_the_champion(nights: Nights) -> None:
    nights.run(LEAST)
    nights.run(GOOD)
    assert nights.champion == 2
    assert nights.run(GOOD, gate=GATE | {"gap_change_threshold": None}).blessed  # this very model
    assert nights.champion == 2
    assert nights.run(BAD, gate=GATE | {"gap_change_threshold": None}).blessed  # any loss
    assert nights.champion == 2
    assert not nights.run(LEAST).blessed


def test_the_champion_survives_a_rollback_and_goes_by_choice(nights: Nights) -> None:
    for noise in (GOOD, LESS):
        nights.run(noise)
    rollback(nights.registry, 2)
    assert not nights.run(LEAST).blessed
    set_champion(nights.registry, 2)
    assert nights.run(LEAST).blessed


def test_a_change_of_the_vocabulary_retires_the_champion_and_is_said(
    nights: Nights, tmp_path: Path
) -> None:
    def vocabulary(*names: str) -> dict[str, str]:
        rows = [f"{i},1,/m/{i},{name},,,," for i, name in enumerate(names)]
        header = "Index,TrainVideoCount,KnowledgeGraphId,Name,WikiUrl,Vertical1,Vertical2,Vertical3"
        file = tmp_path / f"{names[0]}.csv"
        file.write_text("\n".join([f"{header},WikiDescription", *(f"{r}," for r in rows)]))
        return {"vocabulary": str(file)}

    one = vocabulary(*(f"a{i}" for i in range(20)))
    other = vocabulary(*(f"b{i}" for i in range(20)))
    for noise in (GOOD, LESS):
        nights.run(noise, config=one)
    rejected = nights.run(LEAST, config=one)
    assert not rejected.blessed
    after = nights.run(LEAST, config=other)
    assert after.blessed
    assert after.decision.champion is None
    assert (
        "version 1 is no longer the champion: the vocabulary" in champion_lines(after.decision)[0]
    )
    assert nights.champion == 3


@pytest.mark.parametrize("classes", [20, 21])
def test_a_change_of_the_number_of_classes_retires_it(nights: Nights, classes: int) -> None:
    nights.run(LEAST)
    nights.run(GOOD)
    changed = nights.root / "changed"
    shutil.copytree(nights.model(GOOD) / "Format-Serving", changed)
    file = changed / FILE_NAME
    info = ExportInfo.from_json(file.read_text())
    features = dataclasses.replace(info.features, num_classes=classes)
    file.write_text(dataclasses.replace(info, features=features).to_json())
    set_champion(nights.registry, nights.push_as(2, changed).number)
    model = nights.model(LESS)
    place, baseline = nights.root / "next", select_baseline(BaselineConfig(), nights.registry, "")
    copy_to_artifact(baseline, str(place / "baseline"))
    copy_champion(find_champion(nights.registry), str(place / "champion"), baseline=baseline)
    outcome = run_evaluator(
        nights.world,
        place,
        model=model,
        baseline=place / "baseline",
        champion=place / "champion",
        gate=GATE,
    )
    assert (outcome.decision.champion is None) == (classes == 21)
    assert ("it scores 21 classes" in outcome.decision.champion_retired) == (classes == 21)


def test_harder_videos_are_told_from_a_worse_model(
    nights: Nights, world: World, tmp_path_factory: pytest.TempPathFactory
) -> None:
    nights.run(GOOD)
    same = nights.run(LESS)
    assert same.decision.champion is not None
    assert same.decision.champion.drift.value == 0.0
    harder = create_world(tmp_path_factory.mktemp("harder"), Level.VIDEO, videos=400)
    rotated = dataclasses.replace(harder, weights=world.weights)
    nights.world = dataclasses.replace(rotated, root=world.root)
    other = nights.run(LESS)
    champion = other.decision.champion
    assert champion is not None
    drift, change = champion.drift, champion.differences["gap"]
    assert drift.value == pytest.approx(
        (champion.metrics["gap"].value or 0) - (same.decision.champion.metrics["gap"].value or 0)
    )
    assert drift.lower is not None
    assert drift.upper is not None
    assert change.lower is not None
    assert change.upper is not None
    assert drift.upper - drift.lower > change.upper - change.lower
    model, data = champion_lines(other.decision)
    assert model.startswith("the model: GAP -0.0")
    assert data.startswith("the data: version 1 has GAP 0.")


def test_a_damaged_champion_is_named_and_the_one_before_takes_its_place(nights: Nights) -> None:
    nights.run(LEAST)
    nights.run(GOOD)
    (Path(nights.registry) / "2" / FILE_NAME).write_text("other")
    outcome = nights.run(LEAST)
    assert outcome.decision.champion is not None
    assert outcome.decision.champion.name == "version 1"
    (problem,) = outcome.decision.not_compared
    assert problem.startswith("version 2 in ")
    assert "yt8m_export.json has 5 bytes" in problem
    assert outcome.decision.reason.endswith(f"; not compared with {problem}")


def test_a_champion_that_gives_no_numbers_stops_the_run_by_its_name(
    nights: Nights, tmp_path: Path
) -> None:
    nights.run(LEAST)
    nights.run(LESS)
    broken = nights.model(GOOD, broken_from=0.0)
    nights.push_as(2, broken / "Format-Serving")
    set_champion(nights.registry, 3)
    place = tmp_path / "broken"
    version = find_champion(nights.registry)
    assert version is not None
    copy_to_artifact(version, str(place))
    with pytest.raises(Yt8mError, match="version 3, the champion, predicts no finite numbers"):
        run_evaluator(
            nights.world,
            tmp_path / "out",
            model=nights.model(LESS),
            champion=place,
            gate=GATE,
        )


def test_the_champion_is_scored_once_on_the_same_videos(
    nights: Nights, tmp_path: Path, roles: list[str]
) -> None:
    kept = {"cache_dir": str(tmp_path / "scores")}
    for noise in (GOOD, LESS):
        nights.run(noise)
    first = nights.run(LEAST, **kept)
    assert first.decision.champion is not None
    assert "the champion" in roles
    roles.clear()
    again = nights.run(LEAST, **kept)
    assert set(roles) == {"the model", "the baseline"}
    # The baseline's name is its directory, of which each night has its own.
    assert dataclasses.replace(again.decision, baseline=first.decision.baseline) == first.decision
    assert again.evaluation == first.evaluation
    roles.clear()
    assert nights.run(BAD, **kept).decision.champion is not None  # another candidate
    assert set(roles) == {"the model", "the baseline"}


def test_on_other_videos_the_champion_is_scored_again(
    nights: Nights, world: World, tmp_path: Path, roles: list[str]
) -> None:
    kept = {"cache_dir": str(tmp_path / "scores")}
    for noise in (GOOD, LESS):
        nights.run(noise)
    nights.run(LEAST, **kept)
    roles.clear()
    shards = sorted(world.data.glob("validate*.tfrecord"))
    fewer = write_examples(tmp_path / "fewer", shards[:-1], world.level)
    nights.run(LEAST, examples=fewer, **kept)
    assert "the champion" in roles
    roles.clear()
    nights.run(LEAST, config={"top_k": 5}, **kept)
    assert "the champion" in roles


def test_another_champion_is_scored_on_videos_that_the_last_one_was_scored_on(
    nights: Nights, tmp_path: Path, roles: list[str]
) -> None:
    kept = {"cache_dir": str(tmp_path / "scores")}
    for noise in (GOOD, LESS):
        nights.run(noise)
    nights.run(LEAST, **kept)
    set_champion(nights.registry, 2)
    assert nights.run(LEAST, gate=GATE | {"gap_change_threshold": None}).blessed
    roles.clear()
    outcome = nights.run(BAD, **kept)
    assert outcome.decision.champion is not None
    assert outcome.decision.champion.name == "version 2"
    assert "the champion" in roles


def test_kept_scores_of_other_videos_or_damaged_ones_are_replaced(
    nights: Nights, world: World, tmp_path: Path, roles: list[str]
) -> None:
    kept = {"cache_dir": str(tmp_path / "scores")}
    for noise in (GOOD, LESS):
        nights.run(noise)
    shards = sorted(world.data.glob("validate*.tfrecord"))
    nights.run(LEAST, examples=write_examples(tmp_path / "fewer", shards[:-1], world.level), **kept)
    [of_fewer] = (tmp_path / "scores").glob("*.npz")
    others = of_fewer.read_bytes()
    expected = nights.run(LEAST, **kept)
    [of_all] = set((tmp_path / "scores").glob("*.npz")) - {of_fewer}
    right = of_all.read_bytes()
    for wrong in (others, b"damaged", right[:-100]):
        of_all.write_bytes(wrong)
        roles.clear()
        outcome = nights.run(LEAST, **kept)
        assert "the champion" in roles
        assert outcome.evaluation == expected.evaluation
        assert of_all.read_bytes() == right


def test_videos_that_the_baseline_cannot_score_are_left_out_of_the_kept_scores_too(
    nights: Nights, tmp_path: Path, roles: list[str]
) -> None:
    kept = {"cache_dir": str(tmp_path / "scores")}
    for noise in (GOOD, LESS):
        nights.run(noise)
    nights.run(LEAST, **kept)
    shards = sorted(nights.world.data.glob("validate*.tfrecord"))
    records = tf.constant([record for shard in shards for record in read_all(shard)])
    scores = load_model(str(nights.model(LESS) / "Format-Serving")).score_records(records).scores
    broken = nights.model(LESS, broken_from=float(np.sort(scores.numpy().max(axis=1))[-3]))
    nights.push_as(2, broken / "Format-Serving")
    roles.clear()
    outcome = nights.run(LEAST, **kept)
    assert "the champion" in roles
    assert outcome.evaluation == nights.run(LEAST).evaluation
    assert any("the baseline predicts no finite numbers" in n for n in outcome.evaluation.notes)


def test_scores_of_a_champion_that_changed_while_it_was_scored_are_not_kept(
    nights: Nights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for noise in (GOOD, LESS):
        nights.run(noise)
    kept, merge = tmp_path / "scores", executor.collect

    def change_and_merge(*args: Any) -> ScoreTable:
        file = nights.root / "night-3" / "champion" / "Format-Serving" / "fingerprint.pb"
        content = file.read_bytes() + b"newer"
        file.unlink()  # it may be the registry's, too
        file.write_bytes(content)
        return merge(*args)

    monkeypatch.setattr(executor, "collect", change_and_merge)
    with pytest.raises(DataError, match="champion/Format-Serving: its files changed while"):
        nights.run(LEAST, cache_dir=str(kept))
    assert not kept.exists()
