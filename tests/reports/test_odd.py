"""No report fails on odd data, and none lets it through as anything but text."""

from collections.abc import Callable
from dataclasses import replace

from gradegate.reporting.report import REPORTS, Links
from gradegate.values.account import AskedModel
from gradegate.values.result import Decision
from support import samples
from support.each import each

NAMES = ["aegis", "agent", "annotations", "comment", "console", "html", "json", "junit", "summary"]


def test_every_report_is_registered() -> None:
    assert REPORTS.names() == NAMES
    suffixes = {name: report.suffix for name, report in REPORTS if report.suffix}
    others = {"comment": ".md", "html": ".html", "json": ".json", "junit": ".xml"}
    assert suffixes == {"aegis": ".aegis.json", "agent": ".agent.md", **others}


@each("name", NAMES)
@each("make", [samples.odd, samples.blocked, samples.passed, samples.advisory, samples.inconclusive])
@each("links", [samples.LINKS, Links()])
def test_a_report_is_text_that_can_be_written(name: str, make: Callable[[], Decision], links: Links) -> None:
    report = REPORTS.find(name)
    assert report is not None
    document = report.render(make(), links)
    assert document.sink is report.sink
    document.text.encode()


@each("name", NAMES)
def test_an_empty_run_is_reported(name: str) -> None:
    report = REPORTS.find(name)
    assert report is not None
    empty = samples.decision(samples.passed().outcome, "", models=())
    report.render(replace(empty, rules=()), Links()).text.encode()


@each("name", [name for name in NAMES if name not in ("aegis", "json", "annotations")])
def test_an_error_is_never_called_a_failure(name: str) -> None:
    report = REPORTS.find(name)
    assert report is not None
    text = report.render(samples.inconclusive(), samples.LINKS).text.lower()
    assert "failed" not in text
    assert "<failure" not in text
    assert "error" in text


@each("name", ["comment", "summary", "console", "html"])
def test_replies_from_a_file_are_said_to_be_so(name: str) -> None:
    report = REPORTS.find(name)
    assert report is not None
    scripted = samples.decision(
        samples.passed().outcome,
        "",
        samples.passing(),
        models=(AskedModel("a", replies_from="file"), AskedModel("b", replies_from="prompt")),
    )
    assert "No model was asked: replies came from a file" in report.render(scripted, Links()).text
    assert "No model was asked" not in report.render(samples.passed(), Links()).text
