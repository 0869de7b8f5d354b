"""How the model is served: what the infra check measured."""

from __future__ import annotations

from yt8m.components.artifacts.infra_check import InfraCheckResult, ServingCheck
from yt8m.components.report.parts.markup import Markup, element
from yt8m.components.report.parts.tables import Column, description_list, table

_LATENCIES = (
    Column(title="Records a request"),
    Column(title="p50", numeric=True),
    Column(title="p99", numeric=True),
    Column(title="Requests", numeric=True, optional=True),
)
_LIMITS = (
    Column(title="Limit"),
    Column(title="Observed", numeric=True),
    Column(title="Result"),
)


def serving(check: InfraCheckResult | None) -> Markup | None:
    """Load time, memory, latency by batch size, and the limits on them."""
    if check is None:
        return None
    found = check.serving
    parts = [element("h2", "Serving"), element("p", check.reason, class_="about")]
    if found is not None:
        parts += [
            description_list(
                {
                    "Loaded in": f"{found.load_s:.2f} s",
                    "First answer": f"{found.first_answer_s:.2f} s",
                    "Memory": f"{found.memory_mb:.0f} MB at its peak, "
                    f"{found.tensorflow_mb:.0f} MB of it TensorFlow's",
                    "Rows compared": f"{check.rows}, at most {check.largest_difference:.1g} apart",
                    "Process": f"TensorFlow {found.tensorflow}, {found.processors} processors",
                }
            ),
            table(
                _LATENCIES,
                [
                    (one.batch_size, f"{one.p50_ms:.2f} ms", f"{one.p99_ms:.2f} ms", one.requests)
                    for one in found.latencies
                ],
                caption="Latency of requests one after the other",
            ),
        ]
    if check.checks:
        parts.append(table(_LIMITS, [_row(one) for one in check.checks], caption="Limits"))
    return element("section", *parts, id="serving")


def _row(check: ServingCheck) -> tuple[object, ...]:
    result = (
        element("span", "✓ passed", class_="pass")
        if check.passed
        else element("span", "✗ failed", class_="fail")
    )
    return (f"{check.name} = {check.limit:g}", f"{check.observed:.4g}", result)
