"""results.json is what its schema says, in parts of one case."""

import json
from collections.abc import Callable
from itertools import islice

import jsonschema
import pytest

from gradegate.cli.commands.schema import schema
from gradegate.core.usage import Usage
from gradegate.reports.delivery.report import REPORTS, Links
from gradegate.results.encoding import decode, encode
from gradegate.results.grades import Outcome
from gradegate.results.run_result import Decision, GateOutcome
from gradegate.results.shape import Results
from support import samples
from support.each import each, table

MAKERS = [samples.passed_decision, samples.advisory, samples.weakened_decision, samples.blocked_decision, samples.inconclusive, samples.odd]


def written(decision: Decision) -> str:
    return samples.render_report("json", decision, Links())


def refuse(word: str) -> None:
    raise ValueError(word)


@each("make", MAKERS)
def test_results_follow_their_schema(make: Callable[[], Decision]) -> None:
    text = written(make())
    data = json.loads(text, parse_constant=refuse)
    jsonschema.Draft202012Validator(json.loads(schema("results"))).validate(data)
    assert json.loads(encode(decode(text.encode(), Results))) == data


def test_the_promised_keys_are_there() -> None:
    data = json.loads(written(samples.blocked_decision()))
    assert {"version", "outcome", "summary", "rules", "cases"} <= set(data)
    assert {"planned", "passed", "failed", "errored", "pass_rate", "cost_usd", "tokens"} <= set(data["summary"])
    assert {"rule", "outcome", "reason"} <= set(data["rules"][0])
    assert {"name", "blocking"} <= set(data["rules"][0]["rule"])
    case = data["cases"][1]
    assert {"description", "provider", "prompt", "vars", "output", "outcome", "grades"} <= set(case)
    assert case["grades"][0] == table(__file__, "a grade")


def test_figures_count_assertions_and_cases_apart() -> None:
    summary = json.loads(written(samples.blocked_decision()))["summary"]
    assert [summary[key] for key in ("planned", "passed", "failed", "errored", "pass_rate")] == [7, 2, 2, 3, 0.5]
    cases = summary["cases"]
    assert [cases[key] for key in ("planned", "passed", "failed", "errored")] == [6, 2, 1, 3]
    assert (summary["target"]["cost"], summary["target"]["unpriced"]) == (0.00123, 0)
    assert (summary["grader"]["cost"], summary["grader"]["unpriced"]) == (0.0, 6)
    assert (summary["cost_usd"], summary["tokens"], summary["seconds"]) == (None, 2438, 6.789)


def test_a_row_without_an_answer_has_no_output() -> None:
    case = json.loads(written(samples.blocked_decision()))["cases"][3]
    assert (case["outcome"], case["output"], case["grades"][0]["score"]) == ("error", None, None)
    assert case["error"].startswith("api.openai.com answered 503")


def test_what_json_cannot_say_is_null() -> None:
    cases = json.loads(written(samples.odd()), parse_constant=refuse)["cases"]
    grade = cases[1]["grades"][0]
    assert (grade["score"], grade["threshold"]) == (1e308, None)
    assert cases[1]["error"].startswith("\x00\x1b[31m\\ud800")
    assert len(cases[2]["turns"]) == 3


INVISIBLE = "\x7f\x85\x9b\u200b\u2028\u202e\ufeff\U000e0041"


@each("report", ["json", "aegis"])
def test_a_character_that_does_not_print_is_escaped(report: str) -> None:
    row = samples.row(f"hello {INVISIBLE}", Outcome.PASS, samples.grade(Outcome.PASS, reason=f"because {INVISIBLE} 你好 🙂"))
    text = samples.render_report(report, samples.decision(GateOutcome.PASS, "", row))
    assert text.replace("\n", "").isprintable()
    assert "你好 🙂" in text
    assert INVISIBLE in json.dumps(json.loads(text), ensure_ascii=False)


def test_parts_are_made_as_they_are_taken() -> None:
    many = samples.decision(samples.passed_decision().outcome, "", *[samples.passing()] * 100_000)
    parts = list(islice(REPORTS.find("json").render(many, Links()).parts, 1000))
    assert len(parts) == 1000
    assert max(map(len, parts)) < 4000


def test_costs_add_up_where_they_are_known() -> None:
    decision = samples.decision(samples.passed_decision().outcome, "", grader_usage=Usage(1, cost=0.5))
    assert json.loads(written(decision))["summary"]["cost_usd"] == pytest.approx(0.50123)
