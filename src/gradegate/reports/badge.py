"""badge.json: the result of a run for a badge that shields.io draws.

Format: https://shields.io/badges/endpoint-badge
"""

import json

from gradegate.reports.delivery.report import REPORTS, Document, Links, Report, data_file
from gradegate.reports.view.wording import headline, short_result
from gradegate.results.run_result import Decision, GateOutcome

_COLORS = {
    GateOutcome.PASS: "brightgreen",
    GateOutcome.ADVISORY: "yellowgreen",
    GateOutcome.BLOCKED: "red",
    GateOutcome.INCONCLUSIVE: "orange",
    GateOutcome.NOT_RUN: "lightgrey",
}


def render(decision: Decision, links: Links) -> Document:
    """Render one JSON object: the words on both sides of the badge, and its color."""
    message = short_result(decision) or headline(decision).lower()
    badge = {
        "schemaVersion": 1,
        "label": "evals",
        "message": message,
        "color": _COLORS[decision.outcome],
    }
    return data_file([json.dumps(badge) + "\n"])


REPORTS.register("badge")(Report("badge", ".badge.json", render))
