"""The text on standard output: for people, and for no machine."""

from dataclasses import replace

from gradegate.reporting.failing import explain_grade
from gradegate.reporting.report import REPORTS, Links
from gradegate.values.result import Decision, GateOutcome
from support import samples
from support.runner import commands


def written(decision: Decision) -> str:
    report = REPORTS.find("console")
    assert report is not None
    return report.render(decision, Links()).text


def test_evidence_that_only_repeats_the_reason_is_left_out() -> None:
    told = replace(samples.failing().grades[0], reason="(D) names another city")
    for letter in "DE":
        text = explain_grade(samples.failing(), replace(told, evidence={"category": letter}), 500)
        assert ("evidence" in text) is (letter == "E")


def test_people_read_what_did_not_pass_and_the_verdict_last() -> None:
    about = "[openai:chat:gpt-5, What is the capital of {{state}}?]"
    assert written(samples.blocked()) == (
        "BLOCKS: 1 case\n"
        f"  New York · {samples.CONFIG}:21 · factuality: {samples.failing().grades[0].reason}\n"
        "ERROR: 3 cases\n"
        f"  Texas · {samples.CONFIG}:30 · factuality: {samples.unclear().grades[0].reason}\n"
        f"  Alaska and 1 further case · {samples.CONFIG}:39 · no answer: {samples.unanswered('Alaska').error}\n"
        "DOES NOT BLOCK: 1 case\n"
        f"  Oregon · {samples.CONFIG}:49 · llm-rubric: The answer has 23 words.\n"
        "\n"
        f"FAILED  New York  {about}\n"
        "  asked: What is the capital of New York?\n"
        "  got: The capital of New York is New York City, the largest city of the United States.\n"
        f"  factuality failed, score 0, threshold 0.5, {samples.CONFIG}:21\n"
        "    expected: Albany is the capital city of New York state\n"
        f"    why: {samples.failing().grades[0].reason}\n"
        "    evidence:\n"
        "      category: D\n"
        "      reply:\n"
        '        {"category": "D",\n'
        '         "reason": "names New York City"}\n'
        "\n"
        f"ERROR  Texas  {about}\n"
        "  asked: What is the capital of California?\n"
        "  got: Austin.\n"
        f"  factuality error, {samples.CONFIG}:30\n"
        "    expected: Austin is the capital of Texas\n"
        f"    why: {samples.unclear().grades[0].reason}\n"
        "    evidence:\n"
        "      replies:\n"
        "        - I am not sure\n"
        "        - I am not sure\n"
        "\n"
        f"ERROR  Alaska  {about}\n"
        "  asked: What is the capital of California?\n"
        f"  no answer: {samples.unanswered('Alaska').error}\n"
        "  the same in 1 further case: Hawaii\n"
        "\n"
        f"DOES NOT BLOCK  Oregon  {about}\n"
        "  asked: What is the capital of California?\n"
        "  got: Salem, as you know, as you know, as you know, as you know, as you know, as you know,\n"
        f"  llm-rubric failed (advisory), score 0.4, threshold 0.8, {samples.CONFIG}:49\n"
        "    expected: Answers in at most ten words\n"
        "    why: The answer has 23 words.\n"
        "\n"
        f"metric f1 {about}: 0.8571 (over 3 of 6 answers; the others have no grade)\n"
        f"metric f2 {about}: could not be calculated: it gives NaN, as 0 / 0 does\n"
        f"note: {samples.CONFIG}:55: the threshold 0 can never fail\n"
        "models: openai:chat:gpt-5 at api.openai.com, openai:chat:gpt-5-mini at api.openai.com\n"
        "target: 5 calls, 298 tokens, 0.0012 USD; grader: 6 calls, 2,140 tokens, cost unknown, re-asked 1 time; 6.8 s\n"
        "rule style (advisory): missed; mean score 0.4; required: mean score at least 0.8\n"
        "rule facts (blocking): missed; 66.6% passed (2 of 3 graded), 3 errors; required: at least 95% pass\n"
        "6 cases: 2 passed, 1 failed, 3 errors. 7 assertions: 2 passed, 2 failed, 3 errors.\n"
        'Blocked: 1 of 6 cases failed; The rule "facts" is missed: 66.6% of its assertions pass, and 95% must\n'
    )


def test_nothing_on_it_is_a_command() -> None:
    text = written(samples.odd())
    assert commands(text) == []
    assert "\x1b" not in text


def test_a_log_that_nobody_can_read_is_cut_with_a_count() -> None:
    failing = samples.failing()
    rows = [replace(failing, grades=(replace(failing.grades[0], reason=str(n)),), case=n) for n in range(1200)]
    text = written(samples.decision(GateOutcome.BLOCKED, "", *rows, rules=(samples.MISSED,)))
    assert text.count("FAILED  New York") == 1000
    assert "FAILED  200 more cases; results.json has all of them" in text
