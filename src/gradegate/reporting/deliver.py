"""Finds the report for each path that the user names, and writes it there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from gradegate.access.hiding import Hide
from gradegate.errors import ConfigError, Mistake
from gradegate.files.plain_files import Place, replacing
from gradegate.reporting.report import REPORTS, Document, Links, Report
from gradegate.values.result import Decision


def check_outputs(outputs: Iterable[str]) -> dict[str, Report]:
    """The report for each path that -o names, by the longest suffix. Raises ConfigError."""
    reports, mistakes = {}, []
    for path in outputs:
        report = report_of(path)
        if report is None:
            cure = "end it with " + ", ".join(sorted({report.suffix for _, report in REPORTS if report.suffix}))
            mistakes.append(Mistake(f"no report format has the suffix of `{path}`", None, cure))
        else:
            reports[path] = report
    if mistakes:
        raise ConfigError(*mistakes)
    return reports


def report_of(path: str) -> Report | None:
    """The report that is written to a path of that name: the longest suffix decides, None where no report has it."""
    return next((it for suffix in _suffixes(path) for it in REPORTS.mentioning(suffix) if it.suffix == suffix), None)


def _suffixes(path: str) -> Iterator[str]:
    """``.agent.md``, then ``.md``: the longest that is a report's decides. ``agent.md`` ends so, too, without a dot before."""
    name = path.rpartition("/")[2]
    named = [f".{name}"] if "." in name.strip(".") else []
    return iter([*named, *(name[position:] for position, character in enumerate(name) if character == ".")])


def render(name: str, decision: Decision, links: Links, hide: Hide) -> Document:
    """The report of that name, secrets hidden."""
    report = REPORTS.find(name)
    assert report is not None, name
    return _hidden(report.render(decision, links), hide)


def write(reports: Mapping[str, Report], places: Mapping[str, Place], decision: Decision, links: Links, hide: Hide) -> dict[str, str]:
    """Write the files; gives why each that could not be written was not, which never changes the verdict."""
    return write_documents({path: partial(it.render, decision, links) for path, it in reports.items()}, places, hide)


def write_documents(documents: Mapping[str, Callable[[], Document]], places: Mapping[str, Place], hide: Hide) -> dict[str, str]:
    """Write documents to their paths, each rendered when its turn comes; gives why one could not be written."""
    failures = {}
    for path, rendered in documents.items():
        try:
            with replacing(places[path]) as file:
                file.writelines(_hidden(rendered(), hide).parts)
        except OSError as e:
            failures[path] = f"{path} could not be written: {e.strerror or e}"
    return failures


def _hidden(document: Document, hide: Hide) -> Document:
    return Document(document.sink, (hide(part) for part in document.parts))
