"""``gradegate list``: what there is to choose from, by the registries."""

import argparse
import sys
from typing import Any

from gradegate.gate.exit_codes import PASS

ABOUT = "list assertions, providers, dialects and reports"


def add(parser: argparse.ArgumentParser) -> None:
    """It takes no arguments."""


def run(args: argparse.Namespace) -> int:
    sys.stdout.write(listing())
    return PASS


def listing() -> str:
    """Assertions, providers, dialects, shapes of answers and reports, a line each."""
    from gradegate.assertions.grading.evaluator import GRADERS
    from gradegate.config.dialect import DIALECTS
    from gradegate.providers.api.provider import PROVIDERS
    from gradegate.recordings.parsing.recorded_answer import SHAPES
    from gradegate.reports.delivery.report import REPORTS

    sections = {
        "assertions (each also with not-)": [(name, summary(kind)) for name, kind in GRADERS],
        "providers": [(name, summary(build)) for name, build in PROVIDERS],
        "dialects": [(dialect.name, dialect.summary) for _, dialect in DIALECTS],
        "answers made elsewhere": [(shape.name, shape.summary) for _, shape in SHAPES],
        "reports": [(report.suffix or report.name, report.summary) for _, report in REPORTS],
    }
    lines = []
    for title, rows in sections.items():
        width = max(len(name) for name, _ in rows)
        lines += [title, *(f"  {name:{width}}  {text}" for name, text in rows), ""]
    return "\n".join(lines)


def summary(plugin: Any) -> str:
    """What a plug-in says of itself, else the first line of its docstring."""
    text = str(plugin.__doc__).strip().splitlines()[0].replace("``", "`") if plugin.__doc__ else ""
    return own if isinstance(own := getattr(plugin, "summary", None), str) else text
