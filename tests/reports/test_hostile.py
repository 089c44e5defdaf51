"""Thousands of hostile texts through every report: each stays text, and every document stays whole.

The readers are others' or follow them: GitHub's Markdown renderer, a port of the runner, parsers of XML, HTML and JSON.
"""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
from junitparser import JUnitXml

from gradegate.cli import main as cli
from gradegate.cli.commands import schema
from gradegate.core.settings import ActionSettings, Settings
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.github import publish
from gradegate.github import step_files as workflow
from gradegate.github.client import connect
from gradegate.github.comment import Stamp
from gradegate.reports.delivery.report import Links
from gradegate.reports.format.escape import harmless, workflow_command
from gradegate.results.run_result import Decision
from gradegate.security.event import Event
from support import samples
from support.each import each
from support.hostile import Hostile
from support.pages import Page, hiding, on_github
from support.runner import ANNOTATIONS, commands, read_outputs

ROWS = 8  # of one decision: as many as a comment has room for, so that none is left out
QUICK, ALL = range(12), range(12, 1262)  # decisions: 100 model outputs, and 10,000
OURS = "https://github.com/octo/shop/"
MARKDOWN = {
    **{tag: set() for tag in "h3 h4 p blockquote table thead tbody tr th td ul li strong sub br details summary span".split()},
    "code": {"class"},
    "pre": {"lang"},
    "a": {"href"},
}
DATA = {f"data-{name}" for name in "outcome rule metric provider prompt beside".split()}
HTML = {
    **{tag: set() for tag in "head title style script body main footer h1 h2 small strong table thead tbody th".split()},
    **{tag: set() for tag in "summary dt dd pre br del ins label".split()},
    **{tag: {"class"} for tag in "header p span tr div ul ol li section dl".split()},
    "p": {"class", "id", "role"},
    "td": {"class", "data-label"},
    "html": {"lang"},
    "meta": {"charset", "http-equiv", "content", "name"},
    "details": {"class", "open", "id", *DATA},
    "a": {"href", "rel"},
    "form": {"id", "hidden"},
    "input": {"type", "name", "placeholder"},
    "select": {"name"},
    "option": {"value"},
    "button": {"type", "id"},
    "svg": {"role", "aria-label", "width", "height", "viewbox"},
    "rect": {"class", "x", "y", "width", "height"},
    "line": {"x1", "x2", "y1", "y2"},
}


def rendered(name: str, decision: Decision, links: Links = samples.LINKS) -> str:
    text = samples.render_report(name, decision, links)
    assert text == text.encode().decode()  # no lone surrogate
    return text


def check_markdown(text: str) -> None:
    page = on_github(f"{Stamp().line}\n{text}")
    assert page.comments == [" gradegate: "]
    assert page.others(MARKDOWN) == []
    assert page.unbalanced == []
    assert [address for address in page.addresses if not address.startswith(OURS)] == []
    assert [attributes for tag, attributes in page.elements if tag == "pre" and attributes.get("lang") not in ("text", "sh")] == []
    assert page.live == []
    assert hiding(text) == []


def check_console(text: str) -> None:
    assert commands(text) == []
    assert hiding(text) == []


def check_annotations(text: str) -> None:
    found = commands(text)
    assert len(found) == len(text.splitlines()) == text.count("\n")
    assert {each.name for each in found} <= set(ANNOTATIONS)
    assert all(set(each.properties) <= {"file", "line", "title"} for each in found)
    assert hiding("".join((each.data + "".join(each.properties.values())) for each in found)) == []


def check_junit(text: str) -> None:
    root = ET.fromstring(text.encode())
    assert {element.tag for element in root.iter()} <= set(
        "testsuites testsuite testcase failure error skipped system-out properties property".split()
    )
    names = [case.get("name") for case in root.findall("./testsuite/testcase")]
    assert len([name for name in names if name != "the run"]) == ROWS  # where no row says why the run is blocked, the run does
    assert sum(len(suite) for suite in JUnitXml.fromstring(text.encode())) == len(names)
    assert hiding(text, "\n\t") == []


def check_html(text: str) -> None:
    page = Page(text)
    assert page.others(HTML) == []
    assert page.unbalanced == []
    assert page.comments == []
    assert [address for address in page.addresses if not address.startswith(OURS)] == []
    assert [tag for tag, _ in page.elements].count("style") == 1
    assert [tag for tag, _ in page.elements].count("script") == 1
    numbers = "".join(attributes.get(name) or "" for _, attributes in page.elements for name in DATA - {"data-beside"})
    assert re.fullmatch(r"[0-9 a-z]*", numbers)  # no text of a case is part of what the script compares
    assert text.count("default-src 'none'; style-src 'sha256-") == 1
    assert hiding(text, "\n\t") == []


def check_json(text: str) -> None:
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


CHECKS: dict[str, Callable[[str], None]] = {
    "console": check_console,
    "comment": check_markdown,
    "summary": check_markdown,
    "agent": check_markdown,
    "annotations": check_annotations,
    "junit": check_junit,
    "html": check_html,
    "json": check_json,
    "aegis": check_json,
}


@each("name", CHECKS)
def test_a_hostile_text_stays_text(name: str) -> None:
    for seed in QUICK:
        CHECKS[name](rendered(name, Hostile(seed).decision(ROWS)))


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("name", CHECKS)
def test_ten_thousand_model_outputs_stay_text(name: str) -> None:
    for seed in ALL:
        CHECKS[name](rendered(name, Hostile(seed).decision(ROWS)))


def test_a_hostile_text_is_no_output_that_a_shell_could_run() -> None:
    for seed in QUICK:
        texts = Hostile(seed).texts(40)
        safe, unsafe = workflow.split_outputs({f"o{number}": text for number, text in enumerate(texts)})
        assert read_outputs(workflow.format_outputs(safe)) == safe
        assert len(safe) + len(unsafe) == len(texts)
        assert not any(sign in value for value in safe.values() for sign in " \n\r$`'\";&|<>(){}\\*?!~")


def mistakes(hostile: Hostile) -> ConfigError:
    """As they are said of a config whose every word is hostile."""
    return ConfigError(*(Mistake(hostile.text(), Origin(hostile.text(), 3), hostile.text()) for _ in range(20)))


def test_hostile_mistakes_command_no_runner_and_start_no_second_comment(tmp_path: Path) -> None:
    for seed in QUICK:
        said: list[str] = []
        summary = tmp_path / str(seed)
        error = mistakes(Hostile(seed))
        step = publish.Step(
            ActionSettings(Settings(), comment="off"), Event(), {"GITHUB_STEP_SUMMARY": str(summary)}, connect({}, ""), said.append
        )
        publish.publish_mistakes(step, error)
        found = commands("\n".join(said))
        assert [each.name for each in found] == ["error"] * 20 + ["warning"]  # no file for outputs
        assert hiding("".join(each.data for each in found)) == []
        assert hiding("\n".join(said)) == []
        check_markdown(summary.read_text(encoding="utf-8"))


def test_hostile_mistakes_are_harmless_on_the_command_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in QUICK:
        monkeypatch.setattr(schema, "run", Mock(side_effect=mistakes(Hostile(seed))))
        assert cli.main(["schema"]) == 2
        check_console(capsys.readouterr().err)


def test_hostile_words_in_a_line_or_a_command_stay_words() -> None:
    for text in Hostile(1).texts(2000):
        check_console(harmless(text))
        line = workflow_command("warning", text, file=text, title=text)
        (found,) = commands(line)
        assert (found.name, hiding(line)) == ("warning", [])
