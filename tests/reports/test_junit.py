"""JUnit XML is valid to Jenkins, readable to others, and its counts are those of the run."""

import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import xmlschema
from junitparser import Error, Failure, JUnitXml

from gradegate.core.policy import Rule
from gradegate.reports.delivery.report import Links
from gradegate.results.grades import GradedAssertion, Outcome, Vote
from gradegate.results.run_result import Decision, GateOutcome, RuleResult
from gradegate.structs import replace
from support import samples
from support.each import each

SDIST, XSD = "pytest-8.3.4", "testing/example_scripts/junit-10.xsd"
MAKERS = [samples.passed_decision, samples.advisory, samples.weakened_decision, samples.blocked_decision, samples.inconclusive, samples.odd]


def written(decision: Decision) -> str:
    return samples.render_report("junit", decision, Links())


@pytest.fixture(scope="session")
def jenkins() -> xmlschema.XMLSchema:
    """The schema of Jenkins. It is somebody else's, so it is fetched once and never committed."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gradegate-tests"
    file = cache / f"{SDIST}.tar.gz"
    if not file.exists():
        wanted = ["--no-deps", "--no-binary", ":all:", "--dest", str(cache), SDIST.replace("-", "==")]
        done = subprocess.run([sys.executable, "-m", "pip", "download", *wanted], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"the schema of Jenkins could not be fetched: {done.stderr[-300:]}")
    with tarfile.open(file) as archive:
        member = archive.extractfile(f"{SDIST}/{XSD}")
        assert member is not None
        return xmlschema.XMLSchema(member.read().decode())


@each("make", MAKERS)
def test_jenkins_accepts_it(make: Callable[[], Decision], jenkins: xmlschema.XMLSchema) -> None:
    tree = ET.fromstring(written(make()))
    for case in tree.iter("testcase"):
        for extra in ("file", "line"):  # what other readers put annotations by
            case.attrib.pop(extra, None)
    assert [error.reason for error in jenkins.iter_errors(ET.tostring(tree, encoding="unicode"))] == []


@each("make", MAKERS)
def test_the_counts_add_up(make: Callable[[], Decision]) -> None:
    decision = make()
    suites = JUnitXml.fromstring(written(decision).encode())
    failures, errors = len(decision.blocking), decision.cases.errored
    assert (suites.tests, suites.failures, suites.errors) == (decision.cases.planned, failures, errors)
    results = [case.result for suite in suites for case in suite]
    assert len(results) == decision.cases.planned
    kinds = [type(result[0]) if result else None for result in results]
    assert (kinds.count(Failure), kinds.count(Error)) == (failures, errors)
    assert all(len(result) <= 1 for result in results)


def test_one_suite_for_each_prompt_and_provider() -> None:
    rows = [samples.row("a", Outcome.PASS, provider=p, prompt_label=q) for p in ("x", "y") for q in ("short", "long")]
    decision = samples.decision(samples.passed_decision().outcome, "", *rows, *rows)
    names = [(suite.name, suite.tests) for suite in JUnitXml.fromstring(written(decision).encode())]
    assert names == [("short | x", 2), ("long | x", 2), ("short | y", 2), ("long | y", 2)]


def test_a_failure_says_what_and_why() -> None:
    (suite,) = JUnitXml.fromstring(written(samples.blocked_decision()).encode())
    california, new_york, texas, alaska, _, oregon = suite
    assert california.result == []
    (failure,) = new_york.result
    assert failure.type == "factuality"
    assert failure.message.startswith("factuality: The answer names New York City")
    assert failure.text == (
        "asked: What is the capital of New York?\n"
        "got: The capital of New York is New York City, the largest city of the United States.\n"
        f"factuality failed, score 0, threshold 0.5, {samples.CONFIG}:21\n"
        "  expected: Albany is the capital city of New York state\n"
        f"  why: {samples.failing().grades[0].reason}\n"
        "  evidence:\n"
        "    category: D\n"
        "    reply:\n"
        '      {"category": "D",\n'
        '       "reason": "names New York City"}'
    )
    assert (texas.result[0].type, alaska.result[0].type) == ("factuality", "target")
    assert alaska.result[0].message == f"no answer: {samples.unanswered('Alaska').error}"
    assert oregon.result == []
    said = "ADVISORY: it does not pass, but does not block\n"
    assert oregon.system_out.startswith(f"{said}llm-rubric failed (advisory), score 0.4, threshold 0.8")


def test_the_line_of_the_config_and_a_rounded_time() -> None:
    element = next(ET.fromstring(written(samples.blocked_decision())).iter("testcase"))
    assert [element.get(key) for key in ("file", "line", "time")] == [samples.CONFIG, "10", "0.500"]


def test_an_error_beside_a_failure_is_told_beside_it() -> None:
    failed, unclear = samples.grade(Outcome.FAIL, reason="bad"), samples.grade(Outcome.ERROR, "similar", reason="down")
    for outcome, inside, beside in ((Outcome.FAIL, "bad", "down"), (Outcome.ERROR, "down", "bad")):
        row = samples.row("a", outcome, failed, unclear)
        decision = samples.decision(GateOutcome.BLOCKED, "", row, rules=(samples.MISSED,))
        ((case,),) = JUnitXml.fromstring(written(decision).encode())
        assert isinstance(case.result[0], Failure if outcome is Outcome.FAIL else Error)
        assert inside in case.result[0].text
        assert beside not in case.result[0].text
        assert beside in case.system_out


def test_odd_characters_are_seen() -> None:
    text = written(samples.odd())
    ET.fromstring(text)
    assert "no answer: \\x00\\x1b[31m\\ud800\\u202egnp.exe\\u2028\n  ::error::x\n  ##[error]y" in text


def test_cases_of_one_name_can_be_told_apart() -> None:
    rows = [samples.passing()] * 3
    ((*cases,),) = JUnitXml.fromstring(written(samples.decision(samples.passed_decision().outcome, "", *rows)).encode())
    assert [case.name for case in cases] == ["California", "California #2", "California #3"]


def test_a_case_of_which_nothing_is_asserted_is_skipped() -> None:
    decision = samples.decision(samples.passed_decision().outcome, "", samples.passing(), samples.row("b", Outcome.PASS))
    (suite,) = JUnitXml.fromstring(written(decision).encode())
    assert (suite.tests, suite.skipped, suite.failures, suite.errors) == (2, 1, 0, 0)
    assert [[type(result).__name__ for result in case.result] for case in suite] == [[], ["Skipped"]]


def test_a_case_that_passes_with_a_failed_member_of_a_set_is_not_said_to_fail() -> None:
    whole = replace(samples.grade(Outcome.PASS), assertion=GradedAssertion("assert-set", is_set=True))
    member = replace(samples.grade(Outcome.FAIL, "contains", reason="no fee"), inner=True)
    decision = samples.decision(GateOutcome.ADVISORY, "", samples.row("fees", Outcome.PASS, whole, member))
    (case,) = ET.fromstring(written(decision)).iter("testcase")
    said = str(case.findtext("system-out"))
    assert said.startswith("ADVISORY: a member of a set does not pass, but does not block\ncontains failed (in the set)")


def test_a_case_that_fails_by_its_own_threshold_says_so_and_advice_is_no_failure() -> None:
    why = "the weighted mean 0.4 is below the threshold 0.5 of the test"
    own = replace(samples.passing(), outcome=Outcome.FAIL, score=0.4, threshold=0.5, reason=why)
    advice = samples.row("advice", Outcome.FAIL, samples.grade(Outcome.FAIL, blocking=False, reason="too long"))
    text = written(samples.decision(GateOutcome.BLOCKED, "so", own, advice, rules=(samples.MISSED,)))
    suite = ET.fromstring(text)[0]
    assert (suite.get("failures"), suite.get("errors")) == ("1", "0")
    failure, passed = suite[0].find("failure"), suite[1]
    assert failure is not None
    assert why in str(failure.get("message"))
    assert passed.find("failure") is None
    assert "too long" in str(passed.findtext("system-out"))


@each("result", [GateOutcome.PASS, GateOutcome.INCONCLUSIVE, GateOutcome.BLOCKED])
def test_only_what_blocks_is_a_failure(result: GateOutcome) -> None:
    """The rule of the two failures is met, or it is missed; that of the base takes the new one of them alone."""
    new, known = (
        replace(samples.failing(), description=status, grades=(samples.grade(Outcome.FAIL, reason="bad", status=status),))
        for status in ("new-failure", "pre-existing")
    )
    rule = RuleResult(Rule("base", max_new_failures=0, suite=samples.CONFIG), Outcome.FAIL, "1 new failure", failed=2)
    *run, (*cases,) = JUnitXml.fromstring(written(samples.decision(result, "so", new, known, rules=(rule,))).encode())
    blocks = result is GateOutcome.BLOCKED
    # No case says why the check fails: the run does.
    assert [(case.name, [type(it) for it in case.result]) for suite in run for case in suite] == (
        [("the run", [Error])] if result is GateOutcome.INCONCLUSIVE else []
    )
    assert [[type(it) for it in case.result] for case in cases] == [[Failure] if blocks else [], []]
    advised = [str(case.system_out).startswith("ADVISORY: ") and "bad" in str(case.system_out) for case in cases]
    assert advised == [not blocks, True]


def test_what_was_asked_again_has_its_asks_as_properties() -> None:
    votes = (Vote(Outcome.FAIL), Vote(Outcome.PASS), Vote(Outcome.PASS))
    grade = replace(samples.grade(Outcome.PASS), votes=votes)
    decision = samples.decision(samples.passed_decision().outcome, "", samples.row("a", Outcome.PASS, grade))
    element = next(ET.fromstring(written(decision)).iter("testcase"))
    assert [(it.get("name"), it.get("value")) for it in element.iter("property")] == [("asks", "3"), ("fails", "1")]
    ((case,),) = JUnitXml.fromstring(written(decision).encode())
    assert case.result == []


@each(("outcome", "tag"), [(GateOutcome.NOT_RUN, "skipped"), (GateOutcome.INCONCLUSIVE, "error")])
def test_a_run_in_which_nothing_was_asked_is_no_empty_pass(outcome: GateOutcome, tag: str, jenkins: xmlschema.XMLSchema) -> None:
    text = written(samples.decision(outcome, "the keys are not there"))
    (case,) = ET.fromstring(text).iter("testcase")
    found = case.find(tag)
    assert found is not None
    assert found.get("message") == "the keys are not there"
    assert list(jenkins.iter_errors(text)) == []


def test_no_text_attaches_a_file_of_who_reads_the_report() -> None:
    word = "[[ATTACHMENT|/etc/passwd]]"
    failing = samples.failing()
    grade = replace(failing.grades[0], reason=f"so\n{word}")
    row = replace(failing, output=f"x\n{word}\n", grades=(grade,), description=word)
    text = written(samples.decision(GateOutcome.BLOCKED, word, row))
    said = [element.text or "" for element in ET.fromstring(text).iter() if element.tag in ("failure", "system-out")]
    assert said
    assert word not in "".join(said)
    assert "[ [ATTACHMENT|/etc/passwd]]" in "".join(said)
