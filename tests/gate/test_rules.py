"""What one rule says at its limits, and how its reason says it, on grades made by hand."""

from gradegate.core.policy import CaseRuns, Rule, Runs, Select
from gradegate.gate.rules import ReaskSummary, note_on_not_reasked, note_on_overturned, note_on_unfinished, outcome_by_counts
from gradegate.results.accounts import ReaskReport
from gradegate.results.grades import Vote
from gradegate.results.history import PastVotes
from gradegate.results.run_result import Counts, RunResult
from gradegate.structs import replace
from support.decided import E, F, P, apply_one_rule, grade, make_rows, row
from support.each import each


@each(
    ("keys", "passed", "failed", "expected"),
    [
        ({"min_pass_rate": 0.5}, 1, 1, P),
        ({"min_pass_rate": 0.5}, 1, 2, F),
        ({"min_pass_rate": 0.5}, 0, 0, E),
        ({"min_pass_rate": 0.0}, 0, 1, P),
        ({"min_cases": 2, "min_pass_rate": 0.5}, 1, 1, P),
        ({"min_cases": 3, "min_pass_rate": 0.5}, 1, 1, E),
        ({"min_cases": 3, "min_pass_rate": 0.5}, 0, 2, E),
        ({"min_score": 0.5}, 0, 9, P),  # no share is asked for
        ({"every_case": True}, 9, 0, P),
        ({"every_case": True}, 9, 1, F),
    ],
)
def test_what_a_rule_says_by_counts_alone(keys, passed, failed, expected):
    assert outcome_by_counts(Rule("r", suite="s", **keys), Counts(passed, failed, 7)) is expected


@each(
    ("rows", "keys", "counts"),
    [
        ("PF FP PP PP PP", {}, (3, 2, 0)),  # 2 of 5 tests fail, and 8 of 10 assertions pass
        ("FE EF PE EP", {}, (0, 2, 2)),  # a failure decides over an error, and an error over a pass
        ("P@aF@b E@aF@b P@b", {"select": Select(metric="a")}, (1, 0, 1)),  # a case without a selected assertion is in no count
        ("P@aF@bF@a", {"select": Select(metric="a")}, (0, 1, 0)),
        ("PF-", {}, (1, 0, 0)),  # an advisory assertion does not fail a case of a blocking rule
        ("PF-", {"blocking": False}, (0, 1, 0)),  # an advisory rule looks at it
        ("P@aF@b-", {"blocking": False, "select": Select(metric="b")}, (0, 1, 0)),
        ("P@aF@b0", {"select": Select(metric="b")}, (0, 0, 0)),
    ],
)
def test_a_rule_counts_cases_by_the_assertions_that_it_selects(rows, keys, counts):
    found = apply_one_rule(rows, min_pass_rate=0.8, **keys)
    assert (found.passed, found.failed, found.errored) == counts


def test_a_share_of_cases_is_missed_where_that_of_assertions_would_be_met():
    assert apply_one_rule("PF FP PP PP PP", min_pass_rate=0.8).outcome is F
    assert apply_one_rule("PF PP PP PP PP", min_pass_rate=0.8).outcome is P  # 4 of 5: met at equality


@each(("select", "outcome"), [({}, P), ({"assertion": "*"}, P), ({"provider": "*"}, P), ({"metric": "a"}, P), ({"metric": "b"}, F)])
def test_a_threshold_of_a_case_decides_for_a_rule_that_looks_at_all_that_counts_in_it(select, outcome):
    rows = [*make_rows("P@aF@b" if select == {"metric": "b"} else "P@aF@a", threshold=0.4, outcome=P), *make_rows("P@bP@a")]
    assert apply_one_rule(rows, min_pass_rate=1.0, select=Select(**select)).outcome is outcome


@each(
    ("rows", "keys", "outcome", "reason"),
    [
        ("E", {"min_pass_rate": 0.5}, E, "nothing that the rule selects could be graded"),
        ("P E", {"min_pass_rate": 0.5, "min_cases": 2}, E, "only 1 of at least 2 cases graded"),
        ("F E", {"min_pass_rate": 0.5, "min_cases": 2}, E, "only 1 of at least 2 cases graded"),
        ("P F", {"min_pass_rate": 0.5, "min_cases": 2}, P, "pass rate 50%, at least 50%"),
        ("P=7 F", {"min_pass_rate": 0.9, "min_score": 0.5, "min_cases": 3}, E, "only 2 of at least 3 cases graded"),
        ("P=7 F", {"min_pass_rate": 0.9, "min_score": 0.5}, E, "the score 7 of contains is outside 0 to 1, so no mean can be taken"),
        ("P=7 F", {"min_pass_rate": 0.9}, F, "pass rate 50% is below 90%"),
        ("P=0.4 F", {"min_pass_rate": 0.9, "min_score": 0.5}, F, "pass rate 50% is below 90%; mean score 0.2 is below 0.5"),
        ("P=1.0 F", {"min_pass_rate": 0.5, "min_score": 0.5}, P, "pass rate 50%, at least 50%; mean score 0.5, at least 0.5"),
        ("P=0.8 F", {"min_pass_rate": 0.5, "min_score": 0.5}, F, "mean score 0.4 is below 0.5"),
    ],
)
def test_the_first_reason_that_leaves_a_rule_undecided_is_said_and_every_missed_limit(rows, keys, outcome, reason):
    found = apply_one_rule(rows, **keys)
    assert (found.outcome, found.reason) == (outcome, reason)


def test_a_mean_by_metric_falls_back_to_the_type_of_an_assertion():
    rows = "P=1.0@a P=1.0@a P=0.5@a F=0.0"  # metric a: 2.5 of 3; contains: 0
    assert apply_one_rule(rows, min_score=0.1).score == 0.625
    assert apply_one_rule(rows, min_score=0.1, by_metric=True).score == (2.5 / 3) / 2


def test_the_mean_score_is_of_as_many_runs_as_the_rule_asks_for():
    needs = CaseRuns(Runs(3, 1), plain=3)
    rows = [replace(it, needs=needs, run=number, key=b"k") for number, it in enumerate(make_rows("P=1.0 P=0.5 P=0.0"), 1)]
    assert apply_one_rule(rows, min_score=0.1, runs=Runs(3, 1)).score == 0.5
    assert apply_one_rule(rows, min_score=0.1, runs=Runs(2, 1)).score == 0.75
    assert apply_one_rule(rows, min_score=0.1, runs=Runs(1, 1)).score == 1.0


def test_a_rule_says_what_the_runs_of_its_cases_are_held_to():
    needs = CaseRuns(Runs(3, 2))
    rows = [replace(it, needs=needs, run=number, key=b"k") for number, it in enumerate(make_rows("P F P"), 1)]
    assert apply_one_rule(rows, runs=Runs(3, 2), min_pass_rate=1).reason == "pass rate 100%, at least 100%, a case by at least 2 of 3 runs"
    assert apply_one_rule(rows, every_case=True, runs=Runs(3, 2)).reason == "1 of 1 case passed at least 2 of 3 runs"
    assert apply_one_rule(rows, every_case=True, runs=Runs(3, 3)).reason == "0 of 1 case passed at least 3 of 3 runs; 1 failure"


CONFIRMED = grade(F, confirmed=True, votes=(Vote(F), Vote(F)))
OVERTURNED = grade(P, confirmed=False, votes=(Vote(F), Vote(P), Vote(P)))
LONG = grade(F, confirmed=True, votes=(Vote(F), Vote(P), Vote(F)), history=PastVotes(14, 46, bayes_factor=9.0))
SHORT = replace(LONG, history=PastVotes(14, 46))


@each(
    ("grades", "failed", "of_cases", "said"),
    [
        ([], 0, "9 of 9 cases passed", ""),
        ([grade(F)], 1, "1 of 9 cases failed", ""),
        ([CONFIRMED], 1, "1 of 9 cases failed, and failed again when re-asked", "; the failure was re-asked and confirmed"),
        ([LONG], 1, "1 of 9 cases failed: 2 of 3 asks here, 14 of 60 before", "; the failure was re-asked and confirmed"),
        ([SHORT], 1, "1 of 9 cases failed, and failed again when re-asked", "; the failure was re-asked and confirmed"),
        ([CONFIRMED] * 2, 2, "2 of 9 cases failed, and each failed again when re-asked", "; each failure was re-asked and confirmed"),
        (
            [CONFIRMED, grade(F)],
            2,
            "2 of 9 cases failed; 1 of these failed again when re-asked",
            "; 1 of 2 failures were re-asked and confirmed",
        ),
        ([OVERTURNED], 0, "9 of 9 cases passed (1 failure was overturned by re-asks)", " (1 failure was overturned by re-asks)"),
        (
            [CONFIRMED, OVERTURNED, OVERTURNED],
            1,
            "1 of 9 cases failed, and failed again when re-asked (2 more failures were overturned)",
            "; the failure was re-asked and confirmed (2 more failures were overturned)",
        ),
    ],
)
def test_what_re_asks_found_is_said(grades, failed, of_cases, said):
    reasks = ReaskSummary((it.outcome, [it]) for it in grades)
    assert (reasks.summarize_cases(failed, 9), reasks.note_on_failures(failed)) == (of_cases, said)


def test_how_many_were_overturned_or_left_undone():
    assert [note_on_overturned(0), note_on_overturned(1), note_on_overturned(2)] == [
        "",
        " (1 failure was overturned by re-asks)",
        " (2 failures were overturned by re-asks)",
    ]
    assert note_on_overturned(1, 1) == " (1 more failure was overturned)"
    assert [note_on_unfinished(1), note_on_unfinished(2)] == [
        "1 more was not finished and might meet the rule",
        "2 more were not finished and might meet the rule",
    ]


@each(
    ("status", "reask", "missed", "expected"),
    [
        ("", None, False, "; 1 failure not re-asked"),
        ("", None, True, "; 1 case failed once and was not re-asked, because the rule is missed without it"),
        ("pre-existing", ReaskReport(pre_existing=1), False, ""),  # these are named as old ones
        ("pre-existing", ReaskReport(pre_existing=0), False, "; 1 failure not re-asked"),
        ("pre-existing", None, False, "; 1 failure not re-asked"),
        ("new-failure", ReaskReport(pre_existing=1), False, "; 1 failure not re-asked"),
    ],
)
def test_failures_that_were_not_re_asked_are_counted(status, reask, missed, expected):
    rows = [row(grade(F, status=status, unconfirmed=True)), *make_rows("P F")]
    assert note_on_not_reasked(RunResult(tuple(rows), reask=reask), missed) == expected


def test_several_failures_that_were_not_re_asked_are_counted():
    run = RunResult((row(grade(F, unconfirmed=True)),) * 2)
    assert note_on_not_reasked(run, missed=True) == "; 2 cases failed once and were not re-asked, because the rule is missed without them"
    assert note_on_not_reasked(RunResult((row(grade(F)),)), missed=True) == ""


def test_a_case_that_also_fails_for_certain_was_not_spared():
    rows = (row(grade(F, unconfirmed=True), grade(F)), row(grade(F), grade(P, unconfirmed=True)))
    assert note_on_not_reasked(RunResult(rows), missed=False) == ""
    by_mean = replace(row(grade(F, unconfirmed=True), grade(F)), threshold=0.5)
    assert note_on_not_reasked(RunResult((by_mean,)), missed=False) == "; 1 failure not re-asked"


def test_every_case_of_a_config_without_a_gate_block_is_counted_by_its_outcome():
    assert apply_one_rule([row(grade(F), outcome=P)], every_case=True).outcome is P
    assert apply_one_rule("E", every_case=True).reason == "no case could be graded"
