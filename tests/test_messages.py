"""Documents and samples quote what gradegate prints: every message in them can be made from texts of the source."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradegate.results.grades import Outcome
from gradegate.results.run_result import Decision
from support import samples, screens, showcase
from support.printable import is_printable

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "screens")]
# Pages that quote the words of models, and not those of gradegate.
OF_MODELS = {"verdicts.md", *(path.name for path in (ROOT / "docs" / "assertions").glob("*.md"))}
FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
# Words in a row with a number, comma or colon, and not begun with a capital letter: no name, command, call or key of a config.
SENTENCE = re.compile(r"(?!gradegate |value: )(?=.*[\d,:])(?!.*\w\()[a-z\d][^{}<>=|/]* [a-z]+,? [a-z]+\b.*")
IN_WORDS_OF_A_MODEL = ("factuality", "llm-rubric")  # the reason of a pass or failure is the grader's


def quoted(text: str) -> Iterator[str]:
    """The messages that a page quotes: blocks without a language, sentences in code, and what a report says."""
    for _, language, block in FENCE.findall(text):
        lines = [line for line in block.splitlines() if not re.match(r"(\$|gradegate) ", line)]
        yield from (line for line in lines if not language and line.strip() and not re.search(r"\S {2,}\S", line))  # no table
    prose = FENCE.sub("", text)
    yield from (code for code in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", prose) if SENTENCE.fullmatch(code))
    yield from re.findall(r'^\*\*"(.+?)"', prose, re.MULTILINE)
    for table in re.findall(r"^\| the (?:report|message|note) says \|.*\n\|.*\n((?:\|.*\n)+)", prose, re.MULTILINE):
        cells = (row.split("|")[1] for row in table.splitlines())
        yield from (message for cell in cells for message in re.split(r"<br>", cell))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_message_on_a_page_is_one_that_gradegate_prints(page):
    if page.name not in OF_MODELS:
        assert [message for message in quoted(page.read_text()) if not is_printable(message)] == []


def reasons(decision: Decision) -> Iterator[str]:
    """What gradegate itself says in a decision."""
    run = decision.run
    yield from (decision.reason, run.interrupted, *(note.text for note in run.notes), *(rule.reason for rule in decision.rules))
    yield from (change.text for change in decision.changes.found)
    yield from (metric.error for metric in run.derived)
    for row in run.rows:
        yield from (row.error, row.reason)
        for grade in row.grades:
            if grade.outcome is Outcome.ERROR or grade.assertion.type not in IN_WORDS_OF_A_MODEL:
                yield grade.reason


SHOWN = {
    **screens.DECISIONS,
    **{
        make.__name__: make
        for make in (samples.passed_decision, samples.blocked_decision, samples.advisory, samples.weakened_decision, samples.inconclusive)
    },
    "showcase": showcase.showcase,
}


@pytest.mark.parametrize("name", SHOWN)
def test_every_reason_in_a_sample_is_one_that_gradegate_gives(name):
    assert [reason for reason in dict.fromkeys(reasons(SHOWN[name]())) if not is_printable(reason)] == []


@pytest.mark.parametrize(
    ("message", "printed"),
    [
        ("the grader's reply contains no verdict: no category from A to E (asked 2 times). It began: 'I am'", True),
        ("the grader's reply holds no verdict", False),
        ("the budget of 0.01 USD is used up", True),
        ("the budget of 0.01 USD is spent", False),
        ("regressions: 2 new failures, at most 0 allowed: `one`, `two`", True),
        ("a sentence that no source has", False),
    ],
)
def test_a_message_is_made_of_whole_texts(message, printed):
    assert is_printable(message) is printed
