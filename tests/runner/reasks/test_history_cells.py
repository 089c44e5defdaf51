"""How often 100 cases whose flips differ are blocked, with and without earlier runs: three cells of the specification's table."""

import json
import random

import pytest
import yaml

from gradegate.core.conversation import Reply
from gradegate.core.settings import Settings
from gradegate.core.usage import Usage
from gradegate.gate.decision import decide
from gradegate.gate.reasks.history import count, cut
from gradegate.gate.reasks.stopping import Prior, Standing, mean_share, standing
from gradegate.gate.statistics import lead
from gradegate.planning.planner import build_client
from gradegate.providers.api.provider import Provider
from gradegate.results.grades import Outcome
from gradegate.results.history import GradeRecord, History, PastRun
from gradegate.runner.prepare import prepare
from gradegate.runner.reasks.histories import Histories
from gradegate.runner.run import Run
from gradegate.structs import replace
from support.flips import BAD, GOOD, case_in, suite

RUNS, CASES, NOISE = 200, 100, 0.1
ENDS = {Standing.PASS: "pass", Standing.FAIL: "fail"}


class Judge(Provider):
    """Fails each case at its own rate."""

    id = name = "judge"
    structured = "none"

    def __init__(self, rates, draw):
        self._rates, self._draw = rates, draw

    def complete(self, request):
        number = case_in({"messages": [message.content for message in request.messages]})
        return Reply(BAD if self._draw.random() < self._rates[number] else GOOD, Usage(calls=1), model="m")


def judged(plan, judge):
    """The plan with another grader."""
    return replace(
        plan,
        concurrency=1,
        jobs=tuple(replace(job, assertions=tuple(replace(it, models={"text": judge}) for it in job.assertions)) for job in plan.jobs),
    )


def earlier_runs(rates, runs, draw):
    """The votes of each case in so many runs, each decided by those before it."""
    histories = [[] for _ in rates]
    for _ in range(runs):
        known = [count(history, "m") for history in histories]
        used = [it for it in known if it.used]
        mean = mean_share(sum(it.fails for it in used), sum(it.passes for it in used), NOISE)
        for rate, history, it in zip(rates, histories, known, strict=True):
            prior = Prior(it.fails, it.passes, mean, NOISE, len(rates)) if it.used else None
            asks = [Outcome.FAIL if draw.random() < rate else Outcome.PASS]
            while asks[0] is Outcome.FAIL and standing(asks, lead(len(rates), NOISE), prior=prior) is Standing.OPEN:
                asks.append(Outcome.FAIL if draw.random() < rate else Outcome.PASS)
            end = ENDS.get(standing(asks, lead(len(rates), NOISE), prior=prior), "error")
            votes = "".join("F" if ask is Outcome.FAIL else "P" for ask in asks)
            history[:] = cut([*history, PastRun("2026-11-03", "", "m", votes, end, "a")])
    return [tuple(history) for history in histories]


# Of 200 runs, the least and the most that a share of the specification leaves with a chance of 99.9 %.
CELLS = {
    "no history": (0, 0, (22, 59), (6, 32), 1.18),
    "20 runs": (20, 0, (0, 7), (0, 8), 1.11),
    "20 runs, 1 broken": (20, 1, (171, 196), (0, 8), 1.15),
}


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS)
def test_the_cells(cell, tmp_path):
    runs, broken, blocked, inconclusive, calls = CELLS[cell]
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(suite({"id": "openai:chat:fake", "config": {"apiKey": "k"}}, CASES)))
    settings = Settings(configs=("c.yaml",), cwd=tmp_path)
    prepared = prepare(settings)
    draw, ends, asked = random.Random(20), [], 0
    for _ in range(RUNS):
        rates = [draw.betavariate(0.25, 4.75) for _ in range(CASES)]
        histories = earlier_runs(rates, runs, draw)
        judge = Judge([0.95 if number < broken else rate for number, rate in enumerate(rates)], draw)
        plan = replace(judged(prepared.plan, judge), history=History("h"))
        known = Histories(plan)
        records = {own: GradeRecord("", histories[n]) for n in range(CASES) for own in known.of((n, 0)).values()}
        found = Run(replace(plan, history=History("h", records)), build_client(settings, ())).result()
        decision = decide(found, plan.policies)
        ends.append(decision.outcome.value)
        asked += found.grader_usage.calls
    shown = json.dumps({"blocked": ends.count("blocked"), "inconclusive": ends.count("inconclusive"), "calls": asked / RUNS / CASES})
    assert blocked[0] <= ends.count("blocked") <= blocked[1], shown
    assert inconclusive[0] <= ends.count("inconclusive") <= inconclusive[1], shown
    assert asked / RUNS / CASES == pytest.approx(calls, abs=0.02), shown
