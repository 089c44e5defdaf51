"""The pages of docs/screens are what reports make today, and as short as people bear."""

from gradegate.reporting.markdown import utf16
from support.each import each
from support.pages import on_github
from support.screens import FOLDER, screens

PAGES = screens()


def test_the_folder_holds_these_pages_and_no_others() -> None:
    assert {path.name for path in FOLDER.glob("*.md")} == {"README.md", *PAGES}


@each("name", PAGES)
def test_a_page_is_as_it_is_kept(name: str) -> None:
    # Written anew by `PYTHONPATH=tests python -m support.screens`.
    assert (FOLDER / name).read_text() == PAGES[name]


@each("name", [name for name in PAGES if name.startswith("comment")])
def test_a_comment_is_short_and_whole(name: str) -> None:
    assert utf16(PAGES[name]) <= 19_500
    page = on_github(PAGES[name])
    assert page.unbalanced == []
    assert page.live == []


def test_every_failing_case_has_a_line_and_its_place() -> None:
    page = PAGES["comment-300-with-40-failures.md"]
    lines = [line for line in page.splitlines() if line.startswith(("| ❌&nbsp;new |", "| ❌&nbsp;known |"))]
    assert "| ❌ | facts | 86.6% passed (260 of 300) | 96.6% (−10) | at least 90% pass |" in page
    cells = [[cell.strip() for cell in line.split("|")][2:5] for line in lines]
    assert sum(int(case.partition(" cases: ")[0]) for case, *_ in cells) == 40
    assert [case.count("/evals/support.yaml#L") for case, *_ in cells] == [3] * 9
    assert (cells[0][0].endswith(", …"), *cells[0][1:]) == (
        True,
        "Yes, delivery to Norway is free.",
        "`factuality` – Says free in place of 19 euros.",
    )


def test_twelve_cases_are_seen_at_a_glance() -> None:
    page = PAGES["comment-12-mixed.md"]
    sight = page.partition("<details>")[0]
    assert "Compared with the base (9b8c7d\u200b6, 2 days old): 4 new failures, 2 known failures, 1 fixed" in sight
    assert "Fixed: Gift card 2." in sight
    assert "| Gift card: No, a gift card has to cover" in sight  # two cases with different answers
    rules, _, cases = sight.partition("Case | Got | Why |")
    assert "| ❌ | regressions | 4 new failures, 2 errors | 2 known failures | no new failure |" in rules
    starts = ["❌&nbsp;new"] * 4 + ["❌&nbsp;known"] * 2 + ["❔&nbsp;error"] + ["⚠️&nbsp;advisory"] * 2
    assert [line.split(" | ")[0] for line in cases.splitlines()[2:] if line] == [f"| {start}" for start in starts]
    assert "Moves to Oslo](" in cases
    assert "turn 4 | To Bergen. | `knowledge-retention` – 1 of 2 answers forget nothing" in cases
    assert len(sight) < 5_000


def test_a_weakened_gate_is_said_right_under_the_first_line_and_once() -> None:
    page = PAGES["comment-weakened-gate.md"]
    assert page.splitlines()[4:6] == ["> [!WARNING]", "> **This pull request weakens its own gate in 2 places**"]
    assert page.lower().count("weakens its own gate") == 1
