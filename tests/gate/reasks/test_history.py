"""Which votes of earlier runs count and when asking ends, against the vectors of the specification."""

import json
from collections import Counter
from pathlib import Path

import pytest

from gradegate.gate.reasks.history import MOST_RUNS, VoteCount, Votes, count_votes, trim_runs
from gradegate.gate.reasks.stopping import MOST_ASKS, BallotState, HistoryRule, chance_of_failure, mean_share
from gradegate.results.grades import Outcome
from gradegate.results.history import PastRun
from gradegate.structs import replace
from support.each import each

VECTORS = json.loads((Path(__file__).parents[2] / "conformance" / "history.json").read_text())


def runs_of(vector):
    return [PastRun("2026-11-03", "", **item["run"]) for item in vector["runs"] for _ in range(item["times"])]


def rule_of(vector, returned=""):
    return HistoryRule(vector["fails"], vector["passes"], vector["mean"], vector["noise"], vector["grades"], returned)


def state(rule, fails, passes, errors=0):
    return rule.state(Counter({Outcome.FAIL: fails, Outcome.PASS: passes, Outcome.ERROR: errors}))


@each("vector", VECTORS["history"])
def test_which_votes_count_votes(vector):
    runs = runs_of(vector)
    found = count_votes(runs, vector["model"])
    assert found == count_votes(trim_runs(runs), vector["model"])  # what a file leaves out decides nothing
    wanted = tuple(vector[key] for key in ("fails", "passes", "used", "comes_and_goes", "flaky", "broken"))
    assert (*found.votes, found.is_used, bool(found.returned), found.is_flaky, bool(found.broken)) == wanted


@each(
    ("words", "requests", "returned"),
    [
        (["PPPP", "F", "P", "F", "P", "P"], "aaaaaa", ("2026-11-02", "2026-11-04")),
        (["PPPP", "F", "P", "F", "P", "P"], "aabbcc", ()),  # what passed later was another request
        (["PPPP", "F", "F", "P", "P", "P"], "aaaaaa", ()),  # one turn
        (["PPPP", "F", "E", "P", "F", "FP"], "aaaaaa", ("2026-11-02", "2026-11-05")),  # an error is no turn; a tie does not fail
        (["P", "F", "P", "F", *["P"] * 17], "a" * 21, ()),  # fewer than a tenth of the runs fail
        (["P", "F", "P", "F", *["P"] * 16], "a" * 20, ("2026-11-02", "2026-11-04")),
    ],
)
def test_a_case_comes_and_goes_after_two_failures_that_went_away(words, requests, returned):
    runs = history(*words, requests=requests)
    assert count_votes(runs, "m").returned == returned
    assert count_votes([replace(run, model="n") for run in runs], "m") == VoteCount()


@each(
    ("words", "broken"),
    [
        (["P", "F", "F", "F", "F", "F", "F", "F", "F", "F"], None),  # nine votes since it broke
        (["P", "F", "F", "F", "F", "F", "F", "F", "F", "F", "F"], Votes(10, 0)),
        (["P", "FFFFF", "FFFFF"], None),  # two runs
        (["P", "FFFF", "FFF", "FFF"], Votes(10, 0)),
        (["PFF", "PFF", "PFF", "FP", "P", "P"], None),  # 7 of 13 votes
        (["PFF", "PFF", "FPP", "PFFFF", "P", "F", "P"], None),  # 10 of 17 votes
        (["FPFFF", "P", "FFPFF", "P", "P"], None),  # 8 of 13 votes, but 2 of 5 runs
        (["FFFFF", "P", "FFP", "P"], Votes(7, 3)),  # 2 of 4 runs
    ],
)
def test_a_case_is_broken_on_the_default_branch_by_votes_and_by_runs(words, broken):
    assert count_votes(history(*words), "m").broken == broken


def test_a_tail_is_broken_where_three_of_four_runs_fail():
    for tail, wanted in (("FPF", (1, 4)), ("FFPF", (0, 3)), ("FPFPF", (2, 5))):
        runs = [PastRun("2026-11-03", "", "m", sign, {"F": "fail", "P": "pass"}[sign], "r") for sign in f"PPP{tail}"]
        found = count_votes(runs, "m")
        assert found.votes == wanted, tail


def test_a_file_does_not_grow_for_ever():
    broken = PastRun("2026-11-03", "", "m", "FFFF", "fail", "r")
    assert trim_runs([broken] * (MOST_RUNS + 5)) == (broken,) * MOST_RUNS
    passing = replace(broken, votes="P", outcome="pass")
    assert trim_runs([passing] * 61 + [replace(passing, model="n")] * 61) == (passing,) * 60 + (replace(passing, model="n"),) * 60


@each("vector", VECTORS["mean_share"])
def test_the_mean_share(vector):
    assert mean_share(vector["fails"], vector["passes"], vector["noise"]) == pytest.approx(vector["mean"], rel=1e-9)


@each("vector", VECTORS["factor_chances"])
def test_how_asking_ends(vector):
    rule = rule_of(vector)
    wanted = [vector[key] for key in ("pass", "fail", "error", "asks")]
    assert walk(rule, vector["broken"]) == pytest.approx(wanted, rel=1e-5, abs=1e-12)
    if not vector["broken"]:
        assert chance_of_failure(rule) == pytest.approx(vector["fail"], rel=1e-5, abs=1e-12)


def walk(rule, broken):
    """The chances to pass, to fail and to end without a verdict, and the mean number of asks, as the specification has them."""
    beta = (20 * (1 - rule.noise / 2), 20 * rule.noise / 2) if broken else (5 * rule.mean + rule.fails, 5 * (1 - rule.mean) + rule.passes)
    ends = Counter({BallotState.PASSED: beta[1] / sum(beta)})
    asks, reached = beta[1] / sum(beta), {(1, 0): beta[0] / sum(beta)}
    for number in range(1, MOST_ASKS + 1):
        following = Counter()
        for (fails, passes), chance in reached.items():
            end = state(rule, fails, passes)
            if end is BallotState.OPEN:
                fail = chance * (beta[0] + fails) / (sum(beta) + number)
                following[fails + 1, passes] += fail
                following[fails, passes + 1] += chance - fail
            else:
                ends[end] += chance
                asks += number * chance
        reached = following
    return [ends[BallotState.PASSED], ends[BallotState.FAILED], ends[BallotState.CONTRADICTORY], asks]


@each("vector", VECTORS["factor"])
def test_when_asking_ends(vector):
    rule = rule_of(vector, "2026-11-03" if vector.get("comes_and_goes") else "")
    asks = [{"P": Outcome.PASS, "F": Outcome.FAIL, "E": Outcome.ERROR}[reply] for reply in vector["replies"]]
    states = [rule.state(Counter(asks[:number])) for number in range(1, len(asks) + 1)]
    end = {BallotState.PASSED: "pass", BallotState.FAILED: "fail"}.get(states[-1], "error")
    assert (len(asks), end, {*states[:-1]} <= {BallotState.OPEN}, BallotState.OPEN in states[-1:]) == (
        vector["asks"],
        vector["conclusion"],
        True,
        False,
    )
    factor = rule.factor(vector["replies"].count("F"), vector["replies"].count("P"))
    assert factor == pytest.approx(vector["bayes_factor"], rel=1e-5)


@each(
    ("fails", "passes", "used", "flaky"),
    [
        (5, 5, True, True),
        (5, 4, False, False),
        (1, 9, True, True),
        (1, 19, True, True),  # 5 % exactly
        (1, 20, True, False),
        (20, 1, True, True),
        (0, 60, True, False),
    ],
)
def test_ten_votes_are_used_and_a_share_of_five_percent_is_flaky(fails, passes, used, flaky):
    found = VoteCount(Votes(fails, passes))
    assert (found.is_used, found.is_flaky) == (used, flaky)
    broken = replace(found, broken=Votes(fails, passes))
    assert (broken.is_used, broken.is_flaky) == (False, False)


def history(*words, outcome=None, model="m", requests=None):
    """Runs of one model by their votes; the first vote says how each ended."""
    ends = {"F": "fail", "P": "pass", "E": "error"}
    return [
        PastRun(f"2026-11-{number:02}", "", model, votes, outcome or ends[votes[0]], (requests or "r" * len(words))[number - 1])
        for number, votes in enumerate(words, 1)
    ]


@each(
    ("words", "fails", "passes"),
    [
        (["P" * 30, "P" * 30], 0, 60),
        (["P" * 30, "P" * 31], 0, 31),  # whole runs only, of at most 60 votes
        (["P" * 30, "P" * 30, "P"], 0, 31),
        (["P" * 60], 0, 60),
        (["P" * 61], 0, 0),
        (["P" * 59 + "EEE", "P"], 0, 60),  # an error is no vote
        (["P", "F", "F", "F", "P", "F"], 0, 1),  # 4 of 5 fail, and 3 of 4 would do
        (["P", "P", "F"], 0, 2),
        (["P", "F", "P"], 1, 2),
    ],
)
def test_the_newest_whole_runs_of_sixty_votes_before_the_case_broke_count_votes(words, fails, passes):
    found = count_votes(history(*words), "m")
    assert found.votes == (fails, passes)


@each(("votes", "fails", "passes"), [("FFP", 0, 3), ("FP", 1, 4), ("FPP", 1, 5)])
@each("outcome", ["pass", "fail", "error", "open"])
def test_a_run_fails_where_more_of_its_votes_fail_however_it_state(votes, fails, passes, outcome):
    found = count_votes([*history("PPP"), *history(votes, outcome=outcome)], "m")
    assert found.votes == (fails, passes)


@each(
    ("fails", "passes", "noise", "mean"),
    [(1, 3, 0.1, 0.25), (1, 2, 0.1, 0.25), (1, 19, 0.1, 0.05), (1, 39, 0.1, 0.05), (1, 9, 0.1, 0.1), (0, 0, 0.1, 0.0)],
)
def test_a_mean_share_is_between_half_the_noise_and_a_quarter(fails, passes, noise, mean):
    assert mean_share(fails, passes, noise) == pytest.approx(max(mean, noise / 2))


def test_votes_that_speak_for_a_flaky_case_end_asking_only_if_one_passed():
    often = HistoryRule(2000, 0, 0.25, 0.9, 1)  # a failure is likelier where nothing changed
    assert often.factor(3, 0) < 0.5
    assert state(often, 3, 0) is BallotState.OPEN
    steady = HistoryRule(2, 58, 0.05, 0.1, 1)
    assert [state(steady, 1, passes) for passes in (0, 1, 2)] == [BallotState.OPEN, BallotState.OPEN, BallotState.PASSED]


@each(
    ("before", "votes", "expected"),
    [
        ((6, 14), (1, 1), BallotState.PASSED),  # 7 of 22 fail
        ((8, 12), (1, 1), BallotState.OPEN),  # 9 of 22
        ((8, 12), (1, 2), BallotState.PASSED),
        ((6, 13), (1, 1), BallotState.OPEN),  # a third exactly
        ((30, 20), (12, 8), BallotState.CONTRADICTORY),  # at the end, 42 of 70: 3 of 5
        ((29, 21), (12, 8), BallotState.PASSED),
        ((29, 21), (12, 7), BallotState.OPEN),
    ],
)
def test_a_failure_is_overturned_where_most_votes_pass_or_few_fail_in_all(before, votes, expected):
    assert state(HistoryRule(*before, 0.05, 0.1, 100), *votes) is expected


def test_an_error_is_one_of_the_last_asks():
    rule = HistoryRule(29, 21, 0.05, 0.1, 100)
    assert state(rule, 11, 8, errors=1) is BallotState.PASSED
    assert state(rule, 11, 8) is BallotState.OPEN


@each(
    ("rule", "votes", "factor", "expected"),
    [
        # Never noisy, so that a broken case always fails: 1 to (fails / (5 + fails + passes)).
        (HistoryRule(1, 193, 0.0, 0.0, 1), (1, 0), 199.0, BallotState.OPEN),
        (HistoryRule(1, 194, 0.0, 0.0, 1), (1, 0), 200.0, BallotState.FAILED),
        (HistoryRule(1, 194, 0.0, 0.0, 2), (1, 0), 200.0, BallotState.OPEN),  # of two grades, 400
        # 18/20 * 2/21 to 8/35 * 27/36
        (HistoryRule(7, 23, 0.2, 0.2, 1), (1, 1), 0.5, BallotState.PASSED),
        (HistoryRule(7, 22, 0.2, 0.2, 1), (1, 1), 0.4904, BallotState.PASSED),
        (HistoryRule(6, 23, 0.2, 0.2, 1), (1, 1), 0.5397, BallotState.OPEN),
    ],
)
def test_asking_ends_at_a_factor_of_two_hundred_for_each_grade_and_of_one_half(rule, votes, factor, expected):
    assert rule.factor(*votes) == pytest.approx(factor, abs=1e-4)
    assert state(rule, *votes) is expected
