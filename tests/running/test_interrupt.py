"""Ctrl-C and SIGTERM: calls stop at once, the reports are written, what is missing is ERROR."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from xml.etree import ElementTree

import pytest
import yaml

from support.flips import BAD, GOOD, case_in, suite
from support.patience import PATIENCE

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_calls_and_keeps_the_reports(llm, tmp_path, number, code):
    def reply(path, body):
        if "slow" in json.dumps(body):
            time.sleep(600)
        return "quick"

    llm.reply = reply
    config = {
        "prompts": ["{{x}}"],
        "providers": [llm.spec()],
        "tests": [{"vars": {"x": x}, "assert": [{"type": "equals", "value": "quick"}]} for x in ["quick", *["slow"] * 9]],
    }
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(config))
    arguments = ["run", "c.yaml", "-j", "3", "-o", "results.json", "-o", "junit.xml"]
    process = subprocess.Popen(
        [sys.executable, "-m", "gradegate", *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    deadline = time.monotonic() + PATIENCE
    while len(llm.requests) < 4 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, number)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert llm.in_flight == 3  # the server still holds its answers: nobody waited for them
    assert b"Traceback" not in out
    results = json.loads((tmp_path / "results.json").read_text())
    counts = results["summary"]
    assert [counts[k] for k in ("planned", "passed", "failed", "errored")] == [10, 1, 0, 9]
    assert (results["outcome"], len(llm.requests)) == ("inconclusive", 4)
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert len(suite.findall(".//error")) == 9


def test_what_a_signal_left_undone_is_known_as_such_and_misses_no_rule(llm, tmp_path):
    """Of ten answers the first two are there, and fail; half of them would do."""

    def reply(path, body):
        if "slow" in json.dumps(body):
            time.sleep(600)
        return "quick"

    llm.reply = reply
    rivals = [{"type": "equals", "value": "slow"}, {"type": "select-best", "value": "best", "provider": llm.spec()}]
    config = {
        "prompts": ["{{x}}", "again {{x}}"],
        "providers": [llm.spec()],
        "tests": [{"vars": {"x": x}, "assert": rivals} for x in ["quick", *["slow"] * 4]],
        "gate": {"rules": [{"name": "r", "select": {"assertion": "equals"}, "min-pass-rate": 0.5}]},
    }
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "gradegate", "run", "c.yaml", "-j", "1", "-o", "results.json"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + PATIENCE
    while len(llm.requests) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, out
    results = json.loads((tmp_path / "results.json").read_text())
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
    tests = [{"vars": {"x": n}, "assert": [{"type": "equals", "value": "x"}]} for n in range(400)]
    config = {"prompts": ["{{x}}"], "providers": [llm.spec()], "tests": tests}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "gradegate", "run", "c.yaml", "-j", "400", "-o", "results.json"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, out
    assert json.loads((tmp_path / "results.json").read_text())["summary"]["errored"] == 400


def test_a_hung_server_meets_the_deadline(gate, llm):
    llm.latency = 600
    started = time.monotonic()
    ran = gate({"prompts": ["x"], "providers": [llm.spec()], "tests": [{"assert": [{"type": "contains", "value": "x"}]}]}, "--timeout", "1")
    assert time.monotonic() - started < PATIENCE
    assert llm.in_flight == 1
    assert ran.code == 3
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
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(suite(llm.spec(), 40, gate={"rules": rules})))
    command = [sys.executable, "-m", "gradegate", "run", "c.yaml", "-j", "8", "-o", "results.json"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + PATIENCE
    while len(llm.requests) < 40 + 2 * 2 + 6 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)  # the last replies are on their way
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, out
    results = json.loads((tmp_path / "results.json").read_text())
    counts, said = results["summary"], results["confirm"]
    assert [counts[k] for k in ("planned", "passed", "failed", "errored")] == [40, 22, 0, 18]
    assert (said["overturned"], said["confirmed"], results["outcome"]) == (2, 0, "inconclusive")
    reasons = {case["grades"][0]["reason"] for case in results["cases"] if case["outcome"] == "error"}
    assert reasons == {"failed, and was not re-asked: the run was interrupted"}


def test_a_signal_before_anything_was_asked_again_blocks_nothing_that_was_not_confirmed(llm, tmp_path):
    """A rule that is settled keeps its failures, one that is not has none."""

    def reply(path, body):
        if case_in(body) == 3:
            time.sleep(600)
        return BAD

    llm.reply = reply
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(suite(llm.spec(), 4)))
    command = [sys.executable, "-m", "gradegate", "run", "c.yaml", "-j", "4", "-o", "results.json"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + PATIENCE
    while len(llm.requests) < 4 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, out
    results = json.loads((tmp_path / "results.json").read_text())
    assert (results["summary"]["errored"], results["summary"]["failed"]) == (4, 0)
