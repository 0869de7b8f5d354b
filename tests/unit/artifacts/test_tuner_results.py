"""The trials of a search, as TFX's Tuner writes them."""

from yt8m.components.artifacts.tuner_results import TrialResult, parse_trials


def test_values_are_told_from_the_notes_of_the_search():
    text = '[{"trial_id": "0", "score": 0.5, "trainer.batch_size": 8, "tuner/epochs": 2}]'
    assert parse_trials(text) == (
        TrialResult(trial_id="0", score=0.5, values={"trainer.batch_size": 8}),
    )
