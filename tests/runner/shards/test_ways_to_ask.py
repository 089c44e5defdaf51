"""Every way in which a run asks, in shards: beside a base, for new answers, of answers made elsewhere, within a budget."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress

import pytest
import yaml

from gradegate.cli import main as cli
from support.each import each
from support.flips import BAD, GOOD, case_in, script_replies, scripted_runs, suite, suite_of_runs
from support.interrupts import wait_for_requests
from support.patience import PATIENCE
from support.processes import start_process
from support.runner import commands
from support.shards import Sharded, timeless

NEW = {"rules": [{"name": "regressions", "max-new-failures": 0}]}


def count_asks(said):
    """Replies of a judge, by the answer and how often it was asked of it; a new command starts anew with ``clear``."""
    asks = Counter()

    def reply(path, body):
        text = "\n".join(str(message["content"]) for message in body["messages"])
        if body["model"] == "app":
            whose = "the base's " if "for the base" in text else ""
            return f"{whose}answer to {re.findall(r'case [0-9]+', text)[-1]}"
        key = next((it for it in said if it in text), None)
        number = asks[key]
        asks[key] += 1
        return GOOD if key is None or said[key][number % len(said[key])] == "P" else BAD

    reply.clear = asks.clear
    return reply


def run_both_ways(run, reply):
    """One run, and the same in shards: equal but for times."""
    reply.clear()
    code, whole = run.one()
    reply.clear()
    merged_code, merged = run.run()
    assert timeless(merged) == timeless(whole)
    assert merged_code == code
    return code, merged


def config_with_judge(llm, number, judge="judge", **keys):
    config = suite(llm.spec(judge), number, **keys)
    return {**config, "providers": [llm.spec("app")], "prompts": [{"raw": "Say {{q}}", "label": "say"}]}


@pytest.mark.parametrize("of", [1, 3])
@pytest.mark.parametrize(("base_says", "code"), [("PPPPPPPPP", 1), ("PFFFFFFFF", 0)])
def test_failures_are_held_against_a_baseline(sharded, llm, tmp_path_factory, base_says, code, of):
    """A new failure is confirmed, and the base's answer is graded again, by the shard that asked."""
    reply = llm.reply = count_asks({})
    base = Sharded(tmp_path_factory.mktemp("base"), config_with_judge(llm, 6, gate=NEW), 1, ("--reask", "off"))
    os.chdir(base.folder)
    results = base.one()[1]
    for case in results["cases"]:
        case["output"] = "the base's " + case["output"]
    (base.folder / "before").mkdir()
    (base.folder / "before" / "results.json").write_text(json.dumps(results))
    run = sharded(config_with_judge(llm, 6, gate=NEW), "--baseline", str(base.folder / "before"), of=of)
    os.chdir(run.folder)
    reply = llm.reply = count_asks({"the base's answer to case 3": base_says[1:], "answer to case 3": "F"})
    found, merged = run_both_ways(run, reply)
    assert found == code
    assert merged["baseline"]["new_failures" if code else "unsteady"] == 1


@pytest.mark.parametrize("of", [2, 5])
def test_a_base_is_asked_in_the_same_run(sharded, llm, of):
    reply = llm.reply = count_asks({"the base's": "P", "answer to case 3": "F", "answer to case 5": "FPP"})
    config = config_with_judge(llm, 6, gate=NEW)
    run = sharded(config, "--base-checkout", "base", "--baseline", "live", of=of)
    (run.folder / ".git").mkdir()
    (run.folder / "base").mkdir()
    config["prompts"][0]["raw"] = "Say for the base {{q}}"
    (run.folder / "base" / "c.yaml").write_text(yaml.safe_dump(config))
    code, merged = run_both_ways(run, reply)
    assert (code, merged["baseline"]["new_failures"], merged["baseline"]["fresh"]) == (1, 1, True)


def test_new_answers_are_asked_for_again(sharded, llm):
    reply = llm.reply = count_asks({"answer to case 2": "FPPP", "answer to case 4": "F"})
    code, merged = run_both_ways(sharded(config_with_judge(llm, 6), "--reask", "answers"), reply)
    assert code == 1
    votes = merged["cases"][4]["grades"][0]
    assert len(votes["evidence"]["answers"]) == len(votes["votes"]) - 1


def test_sets_scores_and_thresholds_are_concluded_as_in_one_run(sharded, llm):
    reply = llm.reply = count_asks({"case 2": "FPPP", "case 4": "F", "case 5": "FPFP"})
    rubric = {"type": "llm-rubric", "value": "is good"}
    whole = {
        "type": "assert-set",
        "threshold": 0.6,
        "metric": "set",
        "assert": [rubric, {"type": "contains", "value": "case", "weight": 2}, {"type": "latency", "threshold": 60000}],
    }
    config = suite(llm.spec("judge"), 7, whole, derivedMetrics=[{"name": "half", "value": "set / 2"}])
    config["defaultTest"]["threshold"] = 0.5
    rules = [{"name": "score", "min-score": 0.5}, {"name": "rate", "min-pass-rate": 0.9, "select": {"metric": "set"}}]
    run_both_ways(sharded({**config, "gate": {"rules": rules}}), reply)


def test_answers_made_elsewhere_are_graded_in_shards(sharded, llm):
    reply = llm.reply = count_asks({"case 2": "FPPP"})
    run = sharded(config_with_judge(llm, 6), "--answers", "answers.jsonl", of=2)
    assert cli.main(["cases", "c.yaml", "-o", "cases.jsonl"]) == 0
    lines = map(json.loads, (run.folder / "cases.jsonl").read_text().splitlines())
    answers = [json.dumps({"id": it["id"], "output": f"said of {it['description']}"}) for it in lines]
    (run.folder / "answers.jsonl").write_text("\n".join(answers))
    code, merged = run_both_ways(run, reply)
    assert (code, merged["made"]["answers"].keys()) == (0, {"answers.jsonl"})


STANDS, OVERTURNED = "F", "FP" * 9 + "P"
RUNS = [["P", "P"], [OVERTURNED, OVERTURNED], [STANDS, OVERTURNED, "P"], [STANDS] * 3, [OVERTURNED, STANDS, OVERTURNED], ["P", "E", STANDS]]


def test_runs_of_cases_come_to_the_same_in_shards(sharded, llm):
    run = sharded(suite_of_runs(llm, len(RUNS), runs="2/3"), "-j", "1", of=2)
    llm.reply = scripted_runs(RUNS)
    code, whole = run.one()
    llm.reply = scripted_runs(RUNS)
    merged_code, merged = run.run()
    assert (code, merged_code) == (1, 1)
    assert timeless(merged) == timeless(whole)


# --- budgets and threads --------------------------------------------------------------------------------------


def test_a_budget_is_divided_and_the_merge_has_what_is_left(sharded, llm):
    llm.reply = script_replies({5: "FPP"})
    run = sharded(suite(llm.spec(), 9), "--budget", "15 calls")
    code, merged = run.run()
    assert code == 0
    assert (merged["budget"]["calls"], merged["budget"]["limits"]["calls"]) == (11, 15)


@each("calls", [1, 7, 20])
def test_shards_and_merge_together_take_no_more_than_the_whole_may(sharded, llm, calls):
    llm.reply = lambda path, body: BAD if case_in(body) % 2 else GOOD
    asked = len(llm.requests)
    run = sharded(suite(llm.spec(), 24, gate={"rules": [{"name": "r", "min-pass-rate": 0.1}]}), "--budget", f"{calls} calls", of=5)
    run.ask()
    code, merged = run.merge()
    assert len(llm.requests) - asked == merged["budget"]["calls"] <= calls
    assert (code, merged["outcome"]) == (3, "inconclusive")
    assert merged["summary"]["planned"] == 24


def test_what_a_budget_left_open_is_never_green(sharded, llm):
    llm.reply = script_replies({5: "FPP"})
    run = sharded(suite(llm.spec(), 9), "--budget", "9 calls")
    code, merged = run.run()
    assert code == 3
    assert "the budget of" in merged["reason"]


def test_calls_at_once_are_divided(sharded, llm):
    llm.reply = lambda path, body: GOOD
    llm.latency = 0.01
    run = sharded(suite(llm.spec(), 24), "-j", "8", of=4)
    run.ask(shards=[1])
    assert llm.peak <= 2


def test_shards_have_the_cache_of_a_run(sharded, llm):
    llm.reply = lambda path, body: GOOD if case_in(body) != 3 else BAD
    run = sharded(suite(llm.spec(), 8), "--reask", "off", "--cache", "kept")
    run.ask()
    before = len(llm.requests)
    for part in (run.folder / "gradegate-parts").iterdir():
        part.unlink()
    run.ask()
    assert len(llm.requests) == before == 8
    code, merged = run.merge()
    assert code == 1
    assert (merged["cache"]["looked_up"], merged["cache"]["hits"]) == (8, 8)
    shutil.rmtree(run.folder / "kept")


# --- how a shard ends -----------------------------------------------------------------------------------------


def test_a_shard_decides_nothing_and_writes_no_report(sharded, llm, capsys):
    llm.reply = lambda path, body: BAD
    run = sharded(suite(llm.spec(), 3), "-o", "results.json", of=1)
    run.ask()
    assert run.codes == [0]
    assert capsys.readouterr().out == "shard 1/1: 3 answers, 3 failures; `gradegate merge` decides\n"
    assert sorted(path.name for path in run.folder.iterdir()) == ["c.yaml", "gradegate-parts"]


def test_a_part_that_cannot_be_written_is_said(sharded, capsys):
    run = sharded(suite({"id": "echo"}, 2, {"type": "contains", "value": "case"}), of=1)
    (run.folder / "gradegate-parts").write_text("a file")
    run.ask()
    assert run.codes == [3]
    assert "could not be written: `gradegate-parts` is not a folder" in capsys.readouterr().err


@pytest.mark.slow
def test_a_signal_leaves_a_part_and_the_merge_is_never_green(sharded, llm):
    def reply(path, body):
        if case_in(body) > 1:
            time.sleep(600)
        return GOOD

    llm.reply = reply
    run = sharded(suite(llm.spec(), 6), of=1)
    arguments = [sys.executable, "-m", "gradegate", "run", "c.yaml", "--shard", "1/1", "-j", "3"]
    with start_process(arguments, cwd=run.folder, stdout=subprocess.PIPE) as process:
        wait_for_requests(llm, 5)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, b"shard 1/1: 6 answers" in out) == (143, True)
    code, merged = run.merge()
    assert (code, merged["incomplete"]) == (3, "shard 1/1 was terminated before it ended")
    assert [case["outcome"] for case in merged["cases"]] == ["pass", "pass", "error", "error", "error", "error"]


def test_a_weakened_gate_is_said_by_the_merge(sharded, llm, capsys):
    llm.reply = lambda path, body: GOOD
    config = suite(llm.spec(), 4)
    run = sharded(config, "--base-checkout", "base", of=2)
    (run.folder / ".git").mkdir()
    (run.folder / "base").mkdir()
    config["tests"].append({"description": "case 4", "vars": {"q": "case 4"}})
    (run.folder / "base" / "c.yaml").write_text(yaml.safe_dump(config))
    run.ask()
    code, merged = run.merge()
    assert (code, merged["outcome"]) == (0, "advisory")
    assert [change["kind"] for change in merged["changes"]["found"]] == ["removed"]


def test_what_an_application_says_before_it_is_ready_is_no_command_and_shows_no_key(sharded, monkeypatch, capsys):
    monkeypatch.setenv("APP_TOKEN", "canary-0123456789")
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with suppress(OSError):
                while True:
                    with server.accept()[0] as client:
                        client.recv(1000)
                        client.sendall(b"##[error]x canary-0123456789\r::error::x\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        run = sharded({"prompts": ["x"], "providers": ["echo"], "tests": [{"assert": [{"type": "contains", "value": "x"}]}]}, of=1)
        run.ask("--ready", f"http://127.0.0.1:{server.getsockname()[1]} 1")
    said = capsys.readouterr()
    assert run.codes == [3]
    assert "was not ready" in said.out
    assert commands(said.out + said.err) == []
    assert "canary" not in said.out + said.err


def test_a_secret_of_the_config_is_in_no_part(sharded, llm, tmp_path):
    address = llm.base.replace("//", "//user:canary-0123456789@") + "/x?api_key=canary-9876543210"
    run = sharded({"prompts": ["{{x}}"], "providers": [{"id": address, "config": {"body": {"p": "{{prompt}}"}}}],
                   "tests": [{"vars": {"x": "1"}, "assert": [{"type": "not-contains", "value": "nobody says this"}]}]}, of=1)  # fmt: skip
    run.ask()
    code, _ = run.merge()
    assert (run.codes, code) == ([0], 0)
    assert "canary" not in run.part(1).read_text()
    assert len(llm.requests) == 1
