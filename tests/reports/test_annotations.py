"""Annotations as the runner reads them."""

from dataclasses import replace

from gradegate.errors import Origin
from gradegate.reporting.report import REPORTS, Links
from gradegate.values.result import Decision, GateOutcome, Outcome
from gradegate.values.suite import Note
from support import samples


def written(decision: Decision) -> list[str]:
    report = REPORTS.find("annotations")
    assert report is not None
    return report.render(decision, Links()).text.splitlines()


def test_what_did_not_pass_stands_at_its_line() -> None:
    lines = written(samples.blocked())
    assert [line.split("::")[1] for line in lines] == [
        f"error file={samples.CONFIG},line=21,title=factuality failed%3A New York",
        f"error file={samples.CONFIG},line=30,title=factuality error%3A Texas",
        f"error file={samples.CONFIG},line=36,title=error%3A Alaska",
        f"warning file={samples.CONFIG},line=49,title=llm-rubric failed (advisory)%3A Oregon",
        f"warning file={samples.CONFIG},line=55,title=gradegate",
    ]
    assert lines[0].startswith(f"{lines[0].split('::why')[0]}::why: The answer names New York City as the capital")
    assert "%0Aexpected: Albany is the capital city of New York state%0Agot: The capital of New York" in lines[0]
    assert lines[2].endswith("%0A... and 1 more answer at this line")


def test_a_passing_gate_raises_no_alarm() -> None:
    tolerated = samples.decision(GateOutcome.PASS, "", samples.failing(), samples.passing())
    assert [line.split(" ")[0] for line in written(tolerated)] == ["::warning"]
    assert written(samples.passed()) == []


def test_answers_of_one_line_are_merged_and_outcomes_are_not() -> None:
    bad, down = samples.grade(Outcome.FAIL, reason="bad"), samples.grade(Outcome.ERROR, reason="down")
    rows = [samples.row(f"n{n}", Outcome.FAIL, bad) for n in range(3)] + [samples.row("e", Outcome.ERROR, down)]
    first, second = written(samples.decision(GateOutcome.BLOCKED, "", *rows, rules=(samples.MISSED,)))
    assert first.endswith("%0A... and 2 more answers at this line")
    assert "failed" in first
    assert "title=factuality error%3A e::why: down" in second


def test_ten_of_a_level_and_the_last_says_how_many_more() -> None:
    rows = [samples.row(f"n{n}", Outcome.FAIL, samples.grade(Outcome.FAIL, line=n + 1, reason="bad")) for n in range(25)]
    decision = samples.decision(
        GateOutcome.BLOCKED, "", *rows, rules=(samples.MISSED,), notes=[Note("n", Origin("a.yaml", n)) for n in range(12)]
    )
    lines = written(replace(decision, run=replace(decision.run, notes=tuple(decision.run.notes))))
    assert [sum(line.startswith(f"::{level} ") for line in lines) for level in ("error", "warning")] == [10, 10]
    assert lines[9].endswith("... and 15 more lines with findings; see the job summary")
    assert lines[19].endswith("... and 2 more lines with findings; see the job summary")
    assert "more" not in "".join(lines[:9])


def test_exactly_ten_need_no_word_about_more() -> None:
    rows = [samples.row(f"n{n}", Outcome.FAIL, samples.grade(Outcome.FAIL, line=n + 1, reason="bad")) for n in range(10)]
    assert "more" not in "".join(written(samples.decision(GateOutcome.BLOCKED, "", *rows)))


def test_messages_fit_and_stay_on_their_line() -> None:
    lines = written(samples.odd())
    assert 10 <= len(lines) <= 20
    assert all(line.startswith(("::error ", "::warning ")) for line in lines)
    assert all(len(line.split("::", 2)[2]) < 4096 for line in lines)


def test_a_file_that_is_not_there_is_named_in_the_message() -> None:
    """As of one that the pull request deleted: GitHub would put the annotation nowhere."""
    links = Links(holds=lambda file: file != samples.CONFIG)
    report = REPORTS.find("annotations")
    assert report is not None
    first = report.render(samples.blocked(), links).text.splitlines()[0]
    assert first.startswith(f"::error title=factuality failed%3A New York::{samples.CONFIG}:21: why: ")
