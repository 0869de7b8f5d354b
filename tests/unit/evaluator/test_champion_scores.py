"""The champion's kept scores: how many files, and what reads them."""

import os

import numpy as np
import pytest

from yt8m.components.evaluator.champion_scores import ChampionScores, with_champion
from yt8m.components.evaluator.score_table import CANDIDATE, CHAMPION, ScoreTable, Unscorable
from yt8m.components.metrics import Batch, MetricAccumulator, values_of

VIDEOS, CLASSES = 6, 4


def scores_of(videos=VIDEOS, seed=0):
    rng = np.random.default_rng(seed)
    metrics = MetricAccumulator(CLASSES)
    labels = np.arange(videos)[:, None] % CLASSES
    predictions = rng.random((videos, CLASSES)).astype(np.float32)
    ids = [f"v{i}" for i in range(videos)]
    metrics.update(Batch(predictions=predictions, labels=labels, ids=ids))
    return metrics


def scored(**values):
    return ScoreTable(models={CANDIDATE: scores_of(), CHAMPION: scores_of(seed=1)}, **values)


def test_what_is_stored_is_loaded_and_joined_to_the_same_videos(tmp_path):
    kept = ChampionScores(str(tmp_path / "scores"), "a" * 64)
    assert kept.load() is None
    kept.store(scored())
    champion = kept.load()
    assert values_of(champion) == values_of(scores_of(seed=1))
    joined = with_champion(ScoreTable(models={CANDIDATE: scores_of()}), champion)
    assert list(joined.models) == [CANDIDATE, CHAMPION]
    assert with_champion(ScoreTable(models={CANDIDATE: scores_of(5)}), champion) is None


@pytest.mark.parametrize(
    "values",
    [
        {"broken": {CANDIDATE: "NaN"}},
        {"unscorable": Unscorable(rows=1, first="v0", model=CHAMPION)},
    ],
)
def test_scores_that_lack_a_video_are_not_kept(tmp_path, values):
    kept = ChampionScores(str(tmp_path), "a" * 64)
    kept.store(scored(**values))
    assert kept.load() is None


def test_the_files_that_were_used_last_stay(tmp_path):
    for number in range(4):
        kept = ChampionScores(str(tmp_path), f"{number}" * 64)
        kept.store(scored())
        os.utime(tmp_path / f"{str(number) * 32}.npz", (number, number))
    ChampionScores(str(tmp_path), "0" * 64).load()
    for number in (4, 5):
        ChampionScores(str(tmp_path), f"{number}" * 64).store(scored())
    assert {path.name[0] for path in tmp_path.iterdir()} == {"0", "3", "4", "5"}


def test_a_file_of_a_newer_yt8m_is_left_out_and_said(tmp_path, caplog):
    kept = ChampionScores(str(tmp_path), "a" * 64)
    kept.store(scored())
    file = tmp_path / f"{'a' * 32}.npz"
    arrays = dict(np.load(file))
    np.savez(file, **{**arrays, "format": np.array(2), "yt8m": np.array("1.4.0")})
    assert kept.load() is None
    assert "Use yt8m 1.4.0 or newer" in caplog.text
