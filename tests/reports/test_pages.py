"""What each report makes of decisions: the rows of test_pages.yaml, whole pages in docs/screens, and no report fails on odd data."""

import re
from pathlib import Path

from gradegate.core.policy import Note, Policy
from gradegate.errors import Origin
from gradegate.gate.decision import decide
from gradegate.reports.delivery.report import REPORTS, Links
from gradegate.reports.format.markdown import utf16_length
from gradegate.reports.format.plain import PLAIN
from gradegate.results.accounts import AskedModel
from gradegate.results.gate_changes import ChangeKind, GateChange, GateChanges
from gradegate.results.grades import Outcome
from gradegate.results.run_result import GateOutcome, RunResult
from gradegate.structs import replace
from support import samples, screens, showcase
from support.cells import differences
from support.each import each, tables
from support.pages import on_github
from support.runner import commands
from support.screens import FOLDER

BLOCKED, PASS = GateOutcome.BLOCKED, GateOutcome.PASS
PAGES = screens.screens()
LINKS = {
    "none": Links(),
    "screens": screens.LINKS,
    "of a file that is gone": Links(has_file=lambda file: file != samples.CONFIG),  # GitHub would put an annotation nowhere
}


def failing(count, *notes):
    """Failures of so many lines, for one reason each."""
    rows = [samples.row(f"n{n}", Outcome.FAIL, samples.grade(Outcome.FAIL, line=n + 1, reason="bad")) for n in range(count)]
    return samples.decision(BLOCKED, "", *rows, rules=(samples.MISSED,), notes=notes)


def of_one_line():
    bad, down = samples.grade(Outcome.FAIL, reason="bad"), samples.grade(Outcome.ERROR, reason="down")
    rows = [samples.row(f"n{n}", Outcome.FAIL, bad) for n in range(3)] + [samples.row("e", Outcome.ERROR, down)]
    return samples.decision(BLOCKED, "", *rows, rules=(samples.MISSED,))


def weakened(also=False, **changes):
    """A weaker gate that blocks, which may be beside another reason."""
    rows = [samples.failing() if also else samples.passing()]
    policy = Policy((replace(samples.FACTS, min_pass_rate=0.9),))
    return decide(RunResult(tuple(rows)), (policy,), GateChanges(samples.CHANGES, block=True, **changes))


def passing(**changes):
    """A run that passes with changes of its gate."""
    return replace(samples.weakened_decision(), changes=GateChanges(**changes))


def replayed():
    models = (AskedModel("a", replies_from="file"), AskedModel("b", replies_from="prompt"))
    return samples.decision(PASS, "", samples.passing(), models=models)


MADE = {
    "passed": samples.passed_decision,
    "blocked": samples.blocked_decision,
    "advisory": samples.advisory,
    "weakened": samples.weakened_decision,
    "inconclusive": samples.inconclusive,
    "odd": samples.odd,
    "not_run": screens.not_run,
    "mixed": screens.mixed,
    "on screen": screens.weakened,
    "showcase": showcase.showcase,
    "tolerated": lambda: samples.decision(PASS, "", samples.failing(), samples.passing()),
    "one line": of_one_line,
    "ten": lambda: failing(10),
    "25 and 12 notes": lambda: failing(25, *(Note("n", Origin("a.yaml", n)) for n in range(12))),
    "weaker blocks": weakened,
    "weaker blocks beside a failure": lambda: weakened(also=True),
    "only other": lambda: passing(found=samples.CHANGES[2:]),
    "refused": lambda: passing(found=samples.CHANGES, block=True, refused="nobody set the label `ok`"),
    "no label": lambda: passing(found=samples.CHANGES, block=True),
    "approved": lambda: passing(found=samples.CHANGES, block=True, approved="the label `ok` of mona"),
    "5000 changes": lambda: passing(
        found=tuple(GateChange(ChangeKind.REMOVED, f"`case {number}`: gone", Origin(samples.CONFIG)) for number in range(5000))
    ),
    "replayed": replayed,
    "2500 cases": lambda: samples.decision(PASS, "", *[samples.passing()] * 2500),
    "no score": lambda: samples.decision(
        GateOutcome.INCONCLUSIVE, "", samples.row("x", Outcome.ERROR, samples.grade(Outcome.ERROR, reason="no verdict"))
    ),
    "only the first": lambda: replace(
        screens.decide_rows([screens.failing(0), screens.failing(1, "pre-existing"), screens.passing(2)]), blocking=frozenset({0})
    ),
    "two providers": lambda: samples.decision(
        BLOCKED, "", *(replace(samples.failing(), provider=name, suite=f"{name}.yaml") for name in ("gpt", "llama"))
    ),
    "a note twice": lambda: replace(
        samples.blocked_decision(), run=replace(samples.blocked_decision().run, notes=samples.blocked_decision().run.notes * 2)
    ),
}


def case(page, number):
    """The HTML of one case."""
    start = page.index(f'id="case-{number}"')
    end = page.find('<details class="case', start)
    return page[start : end if end > 0 else page.index("</main>")]


def words(html):
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


@each(("name", "row"), tables(Path(__file__).with_suffix(".yaml")).items())
def test_what_a_report_says(name, row):
    for report in row["report"].split():
        text = samples.render_report(report, MADE[row["of"]](), LINKS.get(row.get("links"), samples.LINKS))
        text = case(text, row["case"]) if "case" in row else text
        found = {"text": text, "lines": text.splitlines(), "words": words(text)}
        assert [*differences(row["expect"], found, Path())] == [], f"{name}: {report}"


def test_evidence_that_only_repeats_the_reason_is_left_out():
    told = replace(samples.failing().grades[0], reason="(D) names another city")
    for letter in "DE":
        text = PLAIN.macros("case.txt")("assertion", samples.failing(), replace(told, evidence={"category": letter}), 500)
        assert ("evidence" in text) is (letter == "E")


def test_a_log_that_nobody_can_read_is_cut_with_a_count():
    failed = samples.failing()
    rows = [replace(failed, grades=(replace(failed.grades[0], reason=str(n)),), case=n) for n in range(1200)]
    text = samples.render_report("console", samples.decision(BLOCKED, "", *rows, rules=(samples.MISSED,)))
    assert text.count("FAILED  New York") == 1000
    assert "FAILED  200 more cases; results.json has all of them" in text


def test_nothing_odd_is_a_command_and_messages_fit_their_line():
    text = samples.render_report("console", samples.odd())
    assert (commands(text), "\x1b" in text) == ([], False)
    lines = samples.render_report("annotations", samples.odd()).splitlines()
    assert 10 <= len(lines) <= 20
    assert all(line.startswith(("::error ", "::warning ")) and len(line.split("::", 2)[2]) < 4096 for line in lines)


# --- every report -----------------------------------------------------------------------------------------------

NAMES = ["aegis", "agent", "annotations", "badge", "comment", "console", "html", "json", "junit", "summary"]


def test_every_report_is_registered():
    assert REPORTS.names() == NAMES
    suffixes = {
        "comment": ".md",
        "html": ".html",
        "json": ".json",
        "junit": ".xml",
        "aegis": ".aegis.json",
        "agent": ".agent.md",
        "badge": ".badge.json",
    }
    assert {name: report.suffix for name, report in REPORTS if report.suffix} == suffixes


@each("name", NAMES)
def test_a_report_is_text_that_can_be_written_for_whatever_decision(name):
    report = REPORTS.find(name)
    nothing = replace(samples.decision(PASS, "", models=()), rules=())
    for made in (samples.odd(), samples.blocked_decision(), samples.passed_decision(), samples.advisory(), samples.inconclusive(), nothing):
        for links in (samples.LINKS, Links()):
            document = report.render(made, links)
            document.text.encode()


# --- docs/screens -------------------------------------------------------------------------------------------------


def test_the_folder_holds_these_pages_as_they_are_made():
    # Written anew by `PYTHONPATH=tests python -m support.screens`.
    assert {path.name: path.read_text() for path in FOLDER.glob("*.md") if path.name != "README.md"} == PAGES


@each("name", [name for name in PAGES if name.startswith("comment")])
def test_a_comment_is_short_and_whole(name):
    page = on_github(PAGES[name])
    assert utf16_length(PAGES[name]) <= 19_500
    assert (page.unbalanced, page.live) == ([], [])


def test_every_failing_case_has_a_line_and_its_place():
    page = PAGES["comment-300-with-40-failures.md"]
    lines = [line for line in page.splitlines() if line.startswith(("| ❌&nbsp;new |", "| ❌&nbsp;known |"))]
    assert "| ❌ | facts | 86.6% passed (260 of 300) | 96.6% (−10) | at least 90% pass |" in page
    cells = [[cell.strip() for cell in line.split("|")][2:5] for line in lines]
    assert sum(int(case.partition(" cases: ")[0]) for case, *_ in cells) == 40
    assert [case.count("/evals/support.yaml#L") for case, *_ in cells] == [3] * 9
    assert cells[0][0].endswith(", …")
    assert cells[0][1:] == ["Yes, delivery to Norway is free.", "`factuality` – Says free in place of 19 euros."]


def test_twelve_cases_are_seen_at_a_glance():
    sight = PAGES["comment-12-mixed.md"].partition("<details>")[0]
    rules, _, cases = sight.partition("Case | Got | Why |")
    assert "| ❌ | regressions | 4 new failures, 2 errors | 2 known failures | no new failure |" in rules
    starts = ["❌&nbsp;new"] * 4 + ["❌&nbsp;known"] * 2 + ["❔&nbsp;error"] + ["⚠️&nbsp;advisory"] * 2
    assert [line.split(" | ")[0] for line in cases.splitlines()[2:] if line] == [f"| {start}" for start in starts]
    for text in (
        "Compared with the base (9b8c7d\u200b6, 2 days old): 4 new failures, 2 known failures, 1 fixed",
        "Fixed: Gift card 2.",
        "| Gift card: No, a gift card has to cover",  # two cases with different answers
        "Moves to Oslo](",
        "turn 4 | To Bergen. | `knowledge-retention` – 1 of 2 answers forget nothing",
    ):
        assert text in sight
    assert len(sight) < 5_000
