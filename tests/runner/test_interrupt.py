"""Ctrl-C and SIGTERM: calls stop at once, the reports are written, what is missing is ERROR."""

import json
import os
import signal
import threading
import time
from xml.etree import ElementTree

import pytest

from gradegate.runner import session
from support.flips import BAD, GOOD, case_in, suite
from support.interrupts import interrupt_run, start_run, wait_for_results
from support.patience import PATIENCE

pytestmark = pytest.mark.slow
COUNTS = ("planned", "passed", "failed", "errored")


def reply_slowly(path, body):
    if "slow" in json.dumps(body):
        time.sleep(600)
    return "quick"


def config_with_words(llm, *prompts, words, assertions=({"type": "equals", "value": "quick"},), **more):
    tests = [{"vars": {"x": word}, "assert": list(assertions)} for word in words]
    return {"prompts": list(prompts), "providers": [llm.spec()], "tests": tests, **more}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_calls_and_keeps_the_reports(llm, tmp_path, number):
    llm.reply = reply_slowly
    written = config_with_words(llm, "{{x}}", words=["quick", *["slow"] * 9])
    results = interrupt_run(llm, tmp_path, written, 4, "-j", "3", "-o", "junit.xml", number=number)
    assert llm.in_flight == 3  # the server still holds its answers: nobody waited for them
    assert [results["summary"][k] for k in COUNTS] == [10, 1, 0, 9]
    assert (results["outcome"], len(llm.requests)) == ("inconclusive", 4)
    assert len(ElementTree.parse(tmp_path / "junit.xml").getroot().findall(".//error")) == 9


def test_what_a_signal_left_undone_is_known_as_such_and_misses_no_rule(llm, tmp_path):
    """Of ten answers the first two are there, and fail; half of them would do."""
    llm.reply = reply_slowly
    rivals = [{"type": "equals", "value": "slow"}, {"type": "select-best", "value": "best", "provider": llm.spec()}]
    rule = {"name": "r", "select": {"assertion": "equals"}, "min-pass-rate": 0.5}
    written = config_with_words(llm, "{{x}}", "again {{x}}", words=["quick", *["slow"] * 4], assertions=rivals, gate={"rules": [rule]})
    results = interrupt_run(llm, tmp_path, written, 3, "-j", "1")
    assert (results["outcome"], results["rules"][0]["outcome"]) == ("inconclusive", "error")
    found = [(case["undone"], *(grade["undone"] for grade in case["grades"])) for case in results["cases"]]
    assert found == [(False, False, True)] * 2 + [(True, True, True)] * 8


def test_a_signal_while_threads_are_started_loses_no_row(llm, tmp_path):
    first = threading.Lock()

    def reply(path, body):
        if first.acquire(blocking=False):
            os.kill(process.pid, signal.SIGINT)  # most of its threads are not started yet
        time.sleep(600)

    llm.reply = reply
    with start_run(tmp_path, config_with_words(llm, "{{x}}", words=range(400)), "-j", "400", "-o", "results.json") as process:
        assert wait_for_results(process, tmp_path)["summary"]["errored"] == 400


def test_a_hung_server_meets_the_deadline(gate, llm):
    llm.latency = 600
    begun = time.monotonic()
    ran = gate(config_with_words(llm, "x", words="x"), "--timeout", "1")
    assert time.monotonic() - begun < PATIENCE
    assert (llm.in_flight, ran.code) == (1, 3)
    assert "did not answer within 1 s" in ran.grades[0]["reason"]


def test_a_signal_while_failures_are_asked_again_loses_nothing(llm, tmp_path):
    """Twenty of forty cases fail; of the first eight, two are overturned before the others are held up."""
    first: set[int] = set()

    def reply(path, body):
        number = case_in(body)
        if number not in first:
            first.add(number)
            return BAD if number < 20 else GOOD
        if number > 1:
            time.sleep(600)
        return GOOD

    llm.reply = reply
    rules = [{"name": "all", "min-pass-rate": 1}, {"name": "few", "min-pass-rate": 0.1, "select": {"description": "*9"}}]
    written = suite(llm.spec(), 40, gate={"rules": rules})
    results = interrupt_run(llm, tmp_path, written, 40 + 2 * 2 + 6, "-j", "8", pause=0.5)
    said = results["reask"]
    assert [results["summary"][k] for k in COUNTS] == [40, 22, 0, 18]
    assert (said["overturned"], said["confirmed"], results["outcome"]) == (2, 0, "inconclusive")
    reasons = {case["grades"][0]["reason"] for case in results["cases"] if case["outcome"] == "error"}
    assert reasons == {"failed, and was not re-asked: the run was interrupted"}


def test_a_signal_before_anything_was_asked_again_blocks_nothing_that_was_not_confirmed(llm, tmp_path):
    """A rule that is settled keeps its failures, one that is not has none."""
    llm.reply = lambda path, body: time.sleep(600) if case_in(body) == 3 else BAD
    results = interrupt_run(llm, tmp_path, suite(llm.spec(), 4), 4, "-j", "4", pause=0.5)
    assert (results["summary"]["errored"], results["summary"]["failed"]) == (4, 0)


def reply_or_hang(path, body):
    text = json.dumps(body["messages"])
    if "hangs" in text:
        time.sleep(600)
    return GOOD if "is good" in text else BAD if "is bad" in text else "an answer"


def test_what_unfinished_cases_were_graded_and_took_is_told(llm, tmp_path):
    """Of three rubrics, one hangs: what the others say stays, and each reply is on the account."""
    llm.reply = reply_or_hang
    rubrics = [{"type": "llm-rubric", "value": text} for text in ("is good", "is bad", "hangs")]
    one_by_one = [{"type": "assert-set", "assert": rubrics}]
    written = config_with_words(
        llm, "{{x}}", words=["one", "two"], assertions=one_by_one, defaultTest={"options": {"provider": llm.spec("judge")}}
    )
    results = interrupt_run(llm, tmp_path, written, 2 + 2 * 3, "-j", "6", "--reask", "off")
    assert [[(it["outcome"], it["undone"]) for it in case["grades"]] for case in results["cases"]] == [
        [("fail", False), ("pass", False), ("fail", False), ("error", True)]
    ] * 2
    assert {case["grades"][3]["reason"] for case in results["cases"]} == {"not run: the run was interrupted"}
    summary = results["summary"]
    assert (summary["tokens"], [summary[role]["calls"] for role in ("target", "grader")]) == (6 * 60, [2, 4])
    assert results["budget"]["calls"] == len(llm.requests) == 8  # what was refused after the signal is no call
    assert [case["output"] for case in results["cases"]] == ["an answer"] * 2


def test_the_turns_of_a_conversation_that_was_cut_off_are_on_the_account(llm, tmp_path):
    llm.reply = reply_or_hang
    turns = [{"role": "user", "content": text} for text in ("first", "second", "hangs")]
    written = {
        "prompts": ["be kind"],
        "providers": [llm.spec()],
        "tests": [{"turns": turns, "assert": [{"type": "contains", "value": "x"}]}],
    }
    results = interrupt_run(llm, tmp_path, written, 3)
    assert (results["summary"]["target"]["calls"], results["summary"]["tokens"]) == (2, 2 * 60)
    assert (results["cases"][0]["undone"], results["cases"][0]["error"]) == (True, "not run: the run was interrupted")


def test_labels_that_were_cut_off_are_on_the_account(llm, tmp_path):
    """Labels are graded last, for a rule that is missed; of five, one hangs."""
    llm.reply = reply_or_hang
    words = ["is good", "is good", "is good", "is good", "hangs"]
    lines = [{"description": "one", "assertion": "llm-rubric", "output": word, "label": "pass"} for word in words]
    (tmp_path / "labels.jsonl").write_text("\n".join(map(json.dumps, lines)))
    rubric = {"type": "llm-rubric", "value": "suits", "provider": llm.spec("judge")}
    test = {"description": "one", "assert": [rubric, {"type": "equals", "value": "another"}]}
    written = {"prompts": ["is good"], "providers": ["echo"], "tests": [test], "gate": {"labels": "labels.jsonl"}}
    results = interrupt_run(llm, tmp_path, written, 1 + 5, "-j", "5", pause=0.5)
    assert (results["summary"]["grader"]["calls"], results["budget"]["calls"]) == (5, 6)


def test_a_signal_while_reports_are_written_loses_none(gate, monkeypatch):
    """The run is over then, so all of it is written."""
    received = [signal.SIGTERM]
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def written(*arguments):
        if received:
            signal.raise_signal(received.pop())
        return write(*arguments)

    write = session.write_reports
    monkeypatch.setattr(session, "write_reports", written)
    try:
        ran = gate({"prompts": ["x"], "providers": ["echo"], "tests": [{"assert": [{"type": "equals", "value": "x"}]}]})
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert (received, ran.code, ran.results["outcome"]) == ([], 143, "pass")
