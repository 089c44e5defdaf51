"""The comment and the summary: the verdict first, everything in its place, and never too long."""

import re
from collections.abc import Callable, Iterator
from xml.etree import ElementTree as ET

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given
from hypothesis import strategies as st

from gradegate.core.policy import Note, Rule
from gradegate.reports.delivery.report import Links
from gradegate.reports.format.markdown import utf8_length, utf16_length
from gradegate.results.accounts import AskedModel
from gradegate.results.grades import Outcome
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision, RuleResult
from gradegate.structs import replace
from support import samples
from support.each import each

PAGE = "https://github.com/octo/shop/actions/runs/7#artifacts"
LIMITS = {"comment": (20_000 - 400, utf16_length), "summary": (1024 * 1024, utf8_length)}
TEXTS = st.lists(st.sampled_from(samples.NASTY) | st.text(st.characters(), max_size=20), max_size=3).map("".join)


def written(decision: Decision, name: str = "comment", links: Links = samples.LINKS) -> str:
    return samples.render_report(name, decision, links)


def rendered(text: str) -> ET.Element:
    page = cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE)
    return ET.fromstring(f"<body>{page.replace('<br>', '<br />')}</body>")


def skeleton(tree: ET.Element) -> list[str]:
    """Everything but inline code, for which plain text may stand, and what keeps dollar signs apart."""
    block = {element for pre in tree.iter("pre") for element in pre}
    return [element.tag for element in tree.iter() if element.tag not in ("span", "code") or element in block]


def prose(tree: ET.Element) -> Iterator[str]:
    if tree.tag not in ("code", "pre"):
        yield tree.text or ""
        for element in tree:
            yield from prose(element)
    yield tree.tail or ""


def filled(text: str) -> Decision:
    """A decision with one text in every place that somebody else writes."""
    failing = samples.failing()
    grade = replace(failing.grades[0], reason=text, evidence={"k": text}, assertion=replace(failing.grades[0].assertion, metric=text))
    grade = replace(grade, assertion=replace(grade.assertion, type=text, value=text))
    texts = {"description": text, "provider": text, "prompt_label": text, "output": text, "prompt": text, "suite": text}
    row = replace(failing, **texts, vars={"v": text}, grades=(grade,))  # type: ignore[arg-type]
    rule = RuleResult(Rule(text, min_pass_rate=0.5), Outcome.FAIL, text, failed=1, pass_rate=0.0)
    decision = samples.decision(
        samples.blocked_decision().outcome, text, row, rules=(rule,), models=(AskedModel(text, text),), interrupted=text
    )
    return replace(decision, run=replace(decision.run, notes=(Note(text),)))


# The fold holds one block for each text that is there, so that only texts of something are compared.
SKELETON = skeleton(rendered(written(filled("word"))))
BLOCKS = [element.tag for element in rendered(written(filled("word"))) if element.tag != "p"]


@given(TEXTS)
def test_no_text_changes_the_structure(text: str) -> None:
    page = written(filled(f"{text}x"))
    tree = rendered(page)
    assert {*skeleton(tree)} <= {*SKELETON}
    assert [element.tag for element in tree if element.tag != "p"] == BLOCKS
    assert all(link.get("href", "").startswith("https://github.com/octo/shop/") for link in tree.iter("a"))
    assert not re.search(r"@\w|#\d|gh-\d|:[\w+-]+:", "".join(prose(tree)), re.IGNORECASE)
    assert "<!--" not in page


@each("make", [samples.blocked_decision, samples.inconclusive, samples.advisory, samples.passed_decision])
def test_the_verdict_stands_first(make: Callable[[], Decision]) -> None:
    decision = make()
    titles = {
        "pass": "✅ gradegate: PASSED",
        "advisory": "⚠️ gradegate: PASSED, WITH ADVISORY FINDINGS",
        "blocked": "❌ gradegate: BLOCKED",
        "inconclusive": "❔ gradegate: INCONCLUSIVE",
    }
    made = replace(decision.run.made, titles={samples.CONFIG: "Capitals"})
    decision = replace(decision, run=replace(decision.run, made=made))
    links = replace(samples.LINKS, key="nightly", page=PAGE)
    first, _, second, *rest = written(decision, links=links).split("\n")
    cases = decision.cases
    short = {"blocked": "1 of 6 cases failed", "inconclusive": f"{cases.errored} errors in {cases.planned} cases"}
    short = short.get(decision.outcome.value, f"{cases.passed} of {cases.planned} cases passed")
    server = "https://github.com/octo/shop"
    whose = f"Capitals · `nightly` · [`0123abc`]({server}/commit/0123abc) · [run]({server}/actions/runs/7)"
    assert (first, second) == (f"### {titles[decision.outcome.value]} · {short}", f"{whose} · [report]({PAGE})")
    assert ("|  | Rule | Measured | Required |" in rest) or decision.reason in rest


def many(number: int, make: Callable[[], Row], several: bool = True) -> Decision:
    """Cases that did not pass, each for a reason of its own unless they are not ``several``."""
    rows = []
    for n in range(number):
        made = replace(make(), description=f"case number {n}", case=n)
        reasons = (f"{grade.reason} ({n})" if several else grade.reason for grade in made.grades)
        rows.append(replace(made, grades=tuple(replace(grade, reason=it) for grade, it in zip(made.grades, reasons, strict=True))))
    return samples.decision(samples.blocked_decision().outcome, "Every case fails.", *rows, rules=(samples.MISSED,))


@each("name", LIMITS)
@each("number", [1, 50, 120, 6000])
def test_rows_are_dropped_whole_and_counted(name: str, number: int) -> None:
    limit, measure = LIMITS[name]
    page = written(many(number, samples.failing), name)
    assert measure(page) <= limit
    rows = [line.split(" | ")[1] for line in page.splitlines() if line.startswith("| ❌&nbsp;")]
    more = [re.search(r" and ([\d,]+) more case", row) for row in rows]
    shown = sum(row.count("case number") for row in rows) + sum(int(it[1].replace(",", "")) for it in more if it)
    hidden = re.search(r"\*\*([\d,]+) more cases? (?:is|are) not shown here", page)
    assert shown + (int(hidden[1].replace(",", "")) if hidden else 0) == number
    assert page.count("```") % 2 == 0
    if hidden:
        assert samples.LINKS.run in page
        assert measure(page) > limit * 0.7


@each("name", LIMITS)
@each("text", ["𝒳" * 9999, "$" * 9999, "\U000e0001" * 9999, "`" * 9999, "a\n" * 9999, "|@#" * 3333])
def test_no_text_makes_it_too_long(name: str, text: str) -> None:
    limit, measure = LIMITS[name]
    decision = filled(text)
    rows = [replace(row, case=n, error=f"{n}{text}") for n in range(300) for row in decision.run.rows]
    run = replace(decision.run, rows=tuple(rows), models=(AskedModel(text, text),) * 50, notes=(Note(text),) * 200)
    page = written(replace(decision, run=run, rules=decision.rules * 200), name)
    assert measure(page) <= limit
    assert "more rules in results.json" in page or name == "summary"


def test_many_failing_cases_are_folded() -> None:
    page = written(many(30, samples.failing))
    assert page.partition("<details><summary>18 more</summary>")[0].count("| ❌&nbsp;blocks |") == 12


def test_many_cases_that_fail_for_one_reason_are_one_row() -> None:
    page = written(many(30, samples.failing, several=False))
    (row,) = [line for line in page.splitlines() if line.startswith("| ❌&nbsp;blocks |")]
    assert [f"case number {n}]" in row for n in range(4)] == [True, True, True, False]
    assert row.startswith("| ❌&nbsp;blocks | 30 cases: **[case number 0](")
    assert "**, … | " in row


@pytest.mark.slow
def test_a_summary_without_room_says_how_many_cases_it_leaves_out() -> None:
    page = written(many(30_000, samples.passing), "summary")
    listed = page.count("| case number ")
    assert f"{30_000 - listed:,} more cases not shown, for lack of space" in page
    assert 5_000 < listed < 30_000
