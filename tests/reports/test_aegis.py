"""The run object in Aegis's words."""

import json
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gradegate.config.aegis import Run
from gradegate.core.policy import Policy, Rule
from gradegate.core.usage import Usage
from gradegate.gate.decision import decide
from gradegate.reports.delivery.deliver import find_reports
from gradegate.reports.delivery.report import Links
from gradegate.results.grades import Grade, GradedAssertion, Outcome
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision, RunResult
from support import samples
from support.cells import unmet
from support.each import table

FACTS = GradedAssertion("factfulness", model_slug="o4-mini", config={"n_runs": 3})
SAME = GradedAssertion("factuality", value="gold", metric="ans_corr")
LIMITS = {"factfulness": 0.7, "factuality": 1.0}
RUN = Rule("the run", min_score=0.8, by_metric=True, scale=100, suite="run.json")
ABOUT = {"threshold": 80, "model_slug": "o4-mini", "is_blocking": True, "data_collection_id": 7, "alias": "smoke"}


def grade(assertion: GradedAssertion, score: float | None, threshold: float | None = None, **more: Any) -> Grade:
    limit = LIMITS.get(assertion.type, 1.0) if threshold is None else threshold
    outcome = Outcome.ERROR if score is None else Outcome.PASS if score >= limit else Outcome.FAIL
    return Grade(assertion, outcome, score, limit, more.pop("reason", "so"), **more)


def row(*grades: Grade, **variables: Any) -> Row:
    outcomes = [grade.outcome for grade in grades if grade.counts]
    outcome = next((it for it in (Outcome.FAIL, Outcome.ERROR) if it in outcomes), Outcome.PASS)
    return Row("run.json", "row 1", "recorded", "", "in", variables, outcome, "out", grades=grades)


def written(*rows: Row, about: Any = None) -> dict[str, Any]:
    run = RunResult(tuple(rows), about={"run.json": ABOUT} if about is None else about)
    return loaded(decide(run, [Policy((RUN,))]))


def loaded(decision: Decision) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(samples.render_report("aegis", decision, Links()))
    assert Run.model_validate(found)
    return found


def test_the_suffix_is_its_own() -> None:
    found = find_reports(["results.aegis.json", "results.json", "a/b.aegis.json", "a/aegis.json", "myaegis.json"])
    assert [report.name for report in found.values()] == ["aegis", "json", "aegis", "aegis", "json"]


def test_the_suffix_of_the_part_for_agents_is_its_own_too() -> None:
    found = find_reports(["agent.md", "out/agent.md", "a.agent.md", "reagent.md", "x.md", ".md"])
    assert [report.name for report in found.values()] == ["agent", "agent", "agent", "comment", "comment", "comment"]


def test_a_run_with_its_evaluations() -> None:
    details = {"false_details": [{"claim": "c", "reason": "r"}]}
    facts = grade(FACTS, float(Fraction(300, 425)), evidence=details, usage=Usage(cost=0.25))
    found = written(row(facts, grade(SAME, 1.0), input="in", context=["a", "b"], golden_answer="gold"))
    facts_line, same_line = found.pop("evaluations")
    for line, wanted in ((found, table(__file__, "a run")), (facts_line, table(__file__, "its first evaluation"))):
        assert line.keys() == wanted.keys()
        assert [(key, line[key]) for key in wanted if unmet(wanted[key], line[key])] == []
    assert (same_line["metric_args"], same_line["eval_metadata"], same_line["model_slug"]) == ({}, None, None)


def test_what_could_not_be_judged_has_no_result_and_no_part_in_the_mean() -> None:
    found = written(row(grade(FACTS, None, reason="down")), row(grade(FACTS, 0.9)))
    first, second = found["evaluations"]
    assert (first["is_success"], first["is_gte_threshold"], first["result"]) == (False, None, None)
    assert (first["threshold"], first["explanation"], second["is_success"]) == (70, "down", True)
    assert (found["result"], found["aggregate_results"]) == (90, {"factfulness": 90})


def test_nothing_judged_is_null_and_not_nought() -> None:
    found = written(row(grade(FACTS, None)))
    assert (found["result"], found["aggregate_results"], found["is_gte_threshold"]) == (None, {}, None)


def test_a_miss_of_the_run() -> None:
    found = written(row(grade(FACTS, 0.75)))
    assert (found["is_gte_threshold"], found["evaluations"][0]["is_gte_threshold"]) == (False, True)


def test_the_mean_is_that_of_the_metrics_means() -> None:
    found = written(row(grade(FACTS, 1.0)), *(row(grade(SAME, score)) for score in (1.0, 0.0, 0.0, 0.0)))
    assert found["aggregate_results"] == {"factfulness": 100, "ans_corr": 25}
    assert found["result"] == 62.5


def test_without_a_threshold_of_the_run_nothing_is_said_of_it() -> None:
    decision = decide(RunResult((row(grade(FACTS, 1.0)),)), [Policy((Rule("r", every_case=True, suite="run.json"),))])
    assert loaded(decision)["is_gte_threshold"] is None


@given(st.integers(0, 100))
def test_a_whole_number_of_hundredths_stays_one(number: int) -> None:
    line = written(row(grade(FACTS, number / 100, threshold=number / 100)))["evaluations"][0]
    assert (line["result"], line["threshold"]) == (number, number)


def test_what_only_our_assertion_is_given_is_no_argument() -> None:
    assertion = GradedAssertion("faithfulness", metric="faith", config={"penalize_ambiguous_claims": True})
    line = written(row(grade(assertion, 1.0)))["evaluations"][0]
    assert (line["metric_shortname"], line["metric_args"]) == ("faith", {})


def test_other_configs_are_written_as_well() -> None:
    found = loaded(samples.blocked_decision())
    assert found["threshold"] is None
    assert found["evaluations"][0]["metric_shortname"]


def test_odd_text_can_be_written() -> None:
    found = written(row(grade(FACTS, 1.0, reason="\ud800", evidence={"x": float("nan")}), input="\ud800"))
    assert found["evaluations"][0]["input"] == "\\ud800"


def test_a_payload_goes_in_and_a_run_comes_out(gate: Any) -> None:
    payload = {
        "alias": "check",
        "threshold": 60,
        "is_blocking": True,
        "evaluations": [
            {"metrics": ["ans_corr"], "data": [{"output": "1", "golden_answer": "1"}, {"output": "zinc", "golden_answer": "1"}]}
        ],
    }
    replies = """
      - {when: zinc, reply: '{"reason": "no", "category": "D"}'}
      - {reply: '{"reason": "yes", "category": "C"}'}
    """
    given = ("-g", "scripted:replies.yaml", "-o", "results.aegis.json")
    ran = gate(json.dumps(payload), *given, name="run.json", **{"replies.yaml": replies})
    found = json.loads((ran.folder / "results.aegis.json").read_text())
    assert ran.code == 1
    assert [line["is_gte_threshold"] for line in found["evaluations"]] == [True, False]
    assert (found["alias"], found["result"], found["is_gte_threshold"]) == ("check", 50, False)
