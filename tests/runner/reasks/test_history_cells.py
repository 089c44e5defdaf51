"""How often cases with a history are blocked or undecided: cells of the specification's tables, each over several seeds."""

import json
import random
from collections import Counter

import pytest
import yaml

from gradegate.config.context import Context
from gradegate.core.conversation import Reply
from gradegate.core.settings import Settings
from gradegate.core.usage import Usage
from gradegate.gate.decision import decide
from gradegate.gate.reasks.history import count_votes, trim_runs
from gradegate.gate.reasks.stopping import BallotState, HistoryRule, LeadRule, mean_share
from gradegate.gate.statistics import required_lead
from gradegate.planning.planner import build_client
from gradegate.providers.api.provider import Provider
from gradegate.results.grades import Outcome
from gradegate.results.history import GradeRecord, History, PastRun
from gradegate.results.rows import AnswerId
from gradegate.runner.prepare import prepare
from gradegate.runner.reasks.histories import Histories
from gradegate.runner.run import Run
from gradegate.structs import replace
from support.flips import BAD, GOOD, case_in, suite

# What they draw a thousand times, other tests reach once: to trace it would double its time.
pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

SEEDS = (11, 12, 13, 14, 15)
SUITES, CASES, NOISE = 40, 100, 0.1  # suites of each seed
ENDS = {BallotState.PASSED: "pass", BallotState.FAILED: "fail"}
LEAD = LeadRule(required_lead(CASES, NOISE).votes)


class Judge(Provider):
    """Fails each case at its own rate."""

    id = name = "judge"
    structured = "none"

    def __init__(self, rates, draw):
        self._rates, self._draw = rates, draw

    def complete(self, request):
        number = case_in({"messages": [message.content for message in request.messages]})
        return Reply(BAD if self._draw.random() < self._rates[number] else GOOD, Usage(calls=1), model="m")


def with_grader(plan, judge):
    """The plan with another grader."""
    return replace(
        plan,
        concurrency=1,
        jobs=tuple(replace(job, assertions=tuple(replace(it, models={"text": judge}) for it in job.assertions)) for job in plan.jobs),
    )


def draw_run(rate, known, mean, draw):
    """A run of one case, which fails at a rate, by what is known of it."""
    rule = HistoryRule(*known.votes, mean, NOISE, CASES, " ".join(known.returned)) if known.is_used else LEAD
    asks = [Outcome.FAIL if draw.random() < rate else Outcome.PASS]
    while (state := rule.state(Counter(asks))) is BallotState.OPEN:
        asks.append(Outcome.FAIL if draw.random() < rate else Outcome.PASS)
    votes = "".join("F" if ask is Outcome.FAIL else "P" for ask in asks)
    return PastRun("2026-11-03", "", "m", votes, ENDS.get(state, "error"), "a")


def earlier_runs(rates, runs, draw):
    """The votes of each case in so many runs, each decided by those before it."""
    histories = [() for _ in rates]
    for _ in range(runs):
        known = [count_votes(history, "m") for history in histories]
        used = [it for it in known if it.is_used]
        mean = mean_share(sum(it.votes.fails for it in used), sum(it.votes.passes for it in used), NOISE)
        cases = zip(rates, histories, known, strict=True)
        histories = [trim_runs([*history, draw_run(rate, it, mean, draw)]) for rate, history, it in cases]
    return histories


def draw_flip_rate(draw):
    """How often a good answer fails: what fails more often than it passes is broken."""
    while (rate := draw.betavariate(0.25, 4.75)) >= 0.5:
        pass
    return rate


# Runs, broken cases, the least and the most that may be blocked, the most that may be undecided (shares), and grader calls a case.
# The limits are three standard deviations of 200 suites from what 1,000 suites showed; the test after this one is exact.
CELLS = {
    "no history": (0, 0, (0.024, 0.142), 0.11, 1.16),
    "20 runs": (20, 0, (0, 0.01), 0.041, 1.14),
    "20 runs, 1 broken": (20, 1, (0.888, 0.99), 0.03, 1.17),
}


@pytest.mark.parametrize("cell", CELLS)
def test_the_cells(cell, tmp_path):
    runs, broken, blocked, undecided, calls = CELLS[cell]
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(suite({"id": "openai:chat:fake", "config": {"apiKey": "k"}}, CASES)))
    context = Context(Settings(configs=("c.yaml",), cwd=tmp_path))
    prepared = prepare(context)
    ends, asked = {seed: Counter() for seed in SEEDS}, 0
    for seed in SEEDS:
        draw = random.Random(seed)
        for _ in range(SUITES):
            rates = [draw_flip_rate(draw) for _ in range(CASES)]
            histories = earlier_runs(rates, runs, draw)
            judge = Judge([0.95 if number < broken else rate for number, rate in enumerate(rates)], draw)
            plan = replace(with_grader(prepared.plan, judge), history=History("h"))
            known = Histories(plan)
            records = {own: GradeRecord("", histories[n]) for n in range(CASES) for own in known.keys(AnswerId(n, 0)).values()}
            found = Run(replace(plan, history=History("h", records)), build_client((), context)).finish()
            ends[seed][decide(found, plan.policies).outcome.value] += 1
            asked += found.grader_usage.calls
    every, suites = sum(ends.values(), Counter()), SUITES * len(SEEDS)
    shown = json.dumps({"of": suites, **every, "calls": asked / suites / CASES, "seeds": ends})
    print(cell, shown)
    assert blocked[0] <= every["blocked"] / suites <= blocked[1], shown
    assert every["inconclusive"] / suites <= undecided, shown
    assert asked / suites / CASES == pytest.approx(calls, abs=0.02), shown


def chances_to_end(rate, rule):
    """The chances that a case which fails at a rate ends without a verdict and failed, after all its asks: exactly."""
    undecided = failed = 0.0
    at = {(1, 0): rate}
    while at:
        following = Counter()
        for (fails, passes), chance in at.items():
            state = rule.state(Counter({Outcome.FAIL: fails, Outcome.PASS: passes}))
            if state is BallotState.OPEN:
                following[fails + 1, passes] += chance * rate
                following[fails, passes + 1] += chance * (1 - rate)
            elif state is BallotState.FAILED:
                failed += chance
            elif state is not BallotState.PASSED:
                undecided += chance
        at = following
    return undecided, failed


def test_how_often_suites_with_20_runs_of_history_are_blocked_or_undecided():
    """The histories are drawn, what comes of them is exact. A case that fails less than 12 % of its asks decides nearly nothing."""
    draw, cases, mean = random.Random(1), 60_000, 0.06
    undecided = failed = 0.0
    for _ in range(cases):
        if (rate := draw_flip_rate(draw)) < 0.12:
            continue
        history = ()
        for _ in range(20):
            history = trim_runs([*history, draw_run(rate, count_votes(history, "m"), mean, draw)])
        known = count_votes(history, "m")
        rule = HistoryRule(*known.votes, mean, NOISE, CASES, " ".join(known.returned)) if known.is_used else LEAD
        ends = chances_to_end(rate, rule)
        undecided, failed = undecided + ends[0] / cases, failed + ends[1] / cases
    blocked = 1 - (1 - failed) ** CASES
    stuck = (1 - failed) ** CASES - (1 - failed - undecided) ** CASES
    print(blocked, stuck)
    assert blocked <= 0.007
    assert stuck <= 0.015


def draw_noticed_run(draw):
    """In which run a case that gets worse by one point a run no longer passes: so many percent of its asks fail then."""
    history = ()
    for points in range(101):
        run = draw_run(points / 100, count_votes(history, "m"), NOISE / 2, draw)
        if run.outcome != "pass":
            return points
        history = trim_runs([*history, run])
    return 101


def test_a_case_that_gets_worse_slowly_is_noticed():
    for seed in SEEDS:
        draw = random.Random(seed)
        paths = [draw_noticed_run(draw) for _ in range(SUITES)]
        shares = {most: sum(points <= most for points in paths) / SUITES for most in (50, 60, 70, 80)}
        print(seed, shares)
        assert shares[70] >= 0.95, shares
        assert shares[80] >= 0.99, shares
