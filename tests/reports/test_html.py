"""The page for a browser holds everything, and nothing in it runs or is fetched."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

from gradegate.reporting.report import REPORTS, Links
from gradegate.result import Decision
from support import samples


class Reader(HTMLParser):
    """Collects the elements with their attributes, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(decision: Decision, links: Links = samples.LINKS) -> tuple[str, Reader]:
    report = REPORTS.find("html")
    assert report is not None
    text, reader = report.render(decision, links).text, Reader()
    reader.feed(text)
    return text, reader


def test_every_case_can_be_unfolded() -> None:
    text, reader = read(samples.blocked())
    cases = [attributes for tag, attributes in reader.elements if tag == "details"]
    assert [case["class"] for case in cases] == ["fail", "error", "error", "error", "advisory", "pass"]
    assert ["open" in case for case in cases] == [True, True, True, True, False, False]
    for word in ("Blocked", "New York", samples.failing().grades[0].reason, "could not tell", "cost unknown"):
        assert word in "".join(reader.words)
    assert f'href="https://github.com/octo/shop/blob/0123abc/{samples.CONFIG}#L21"' in text


def test_nothing_runs_and_nothing_is_fetched() -> None:
    text, reader = read(samples.odd())
    allowed = {"html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "small", "p", "strong", "a"}
    allowed |= {
        "table",
        "tr",
        "th",
        "td",
        "details",
        "summary",
        "span",
        "div",
        "dl",
        "dt",
        "dd",
        "pre",
        "br",
        "ul",
        "li",
    }
    assert {tag for tag, _ in reader.elements} <= allowed
    names = {name for _, attributes in reader.elements for name in attributes}
    assert names <= {"lang", "charset", "http-equiv", "content", "name", "class", "open", "href", "rel"}
    addresses = [attributes["href"] for _, attributes in reader.elements if "href" in attributes]
    assert all(address and address.startswith("https://github.com/octo/shop/") for address in addresses)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in text


def test_outside_of_github_there_are_no_links() -> None:
    _, reader = read(samples.blocked(), Links())
    assert "a" not in {tag for tag, _ in reader.elements}


def test_a_page_that_no_browser_bears_is_cut_with_a_count() -> None:
    text, _ = read(samples.decision(samples.passed().outcome, "", *[samples.passing()] * 2500))
    assert text.count("<details") == 2000
    assert "500 more cases; results.json has all of them." in text
