"""Metrics that a configuration names by dotted paths."""

import pytest

from yt8m.components.metrics import METRICS
from yt8m.components.metrics.own import with_own
from yt8m.schemas.errors import ConfigError

MODULE = """
from yt8m.components.metrics import mean_metric

def figures(rows):
    return rows.label_counts

labels = mean_metric("labels", "Labels", figures, is_share=False)
gap = mean_metric("gap", "GAP", figures)
spaced = mean_metric("two words", "Two words", figures)
"""


@pytest.fixture(autouse=True, scope="module")
def module(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    (folder / "named_metrics.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield


def test_own_metrics_come_after_ours():
    metrics = with_own(["named_metrics.labels"], "evaluator.metrics")
    assert [metric.name for metric in metrics] == [*(m.name for m in METRICS), "labels"]


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (["named_metrics.figures"], "named_metrics.figures is a function; turn it into a Metric"),
        (["named_metrics.gap"], "named_metrics.gap has the name 'gap': must be small letters"),
        (["named_metrics.spaced"], "has the name 'two words'"),
        (["named_metrics.labels"] * 2, "not one of gap"),
        (["named_metrics.none"], "cannot be imported"),
        (["no_such_module.labels"], "cannot be imported"),
    ],
)
def test_what_is_no_metric_or_has_no_name_of_its_own_is_refused(paths, words):
    with pytest.raises(ConfigError) as caught:
        with_own(paths, "evaluator.metrics")
    assert str(caught.value).startswith("evaluator.metrics: ")
    assert words in str(caught.value)
