"""A merge re-asks with the keys of its own job. Without a key, what a rule still needs is an error that names the variable."""

import pytest

from support.each import each
from support.flips import BAD, case_in, script_replies, scripted_runs, suite, suite_of_runs
from support.shards import timeless

GRADER, TARGET = "JUDGE_API_KEY", "APP_API_KEY"


def with_key_variable(spec, name):
    """The provider with its key from a variable."""
    return {**spec, "config": {**spec["config"], "apiKey": f"{{{{env.{name}}}}}"}}


@pytest.fixture
def keys(monkeypatch):
    """Set the variables of the shards' jobs, and give a function that takes one away for the merge."""
    for name in (GRADER, TARGET):
        monkeypatch.setenv(name, f"sk-{name.lower()}-0123456789")
    return monkeypatch.delenv


def failing_reason(case):
    return next(grade["reason"] for grade in case["grades"] if grade["outcome"] == "error")


def test_a_failure_that_a_rule_needs_is_an_error_without_the_grader_s_key(sharded, llm, keys):
    llm.reply = script_replies({3: "FPP"})
    run = sharded(suite(with_key_variable(llm.spec(), GRADER), 6))
    run.ask()
    keys(GRADER)
    asked = len(llm.requests)
    code, merged = run.merge()
    assert (code, merged["outcome"], len(llm.requests)) == (3, "inconclusive", asked)
    assert [case["outcome"] for case in merged["cases"]].count("error") == 1
    assert failing_reason(merged["cases"][3]) == "failed, and was not re-asked: no JUDGE_API_KEY in the merge job"


def test_a_merge_without_keys_decides_what_needs_no_re_ask(sharded, llm, keys):
    llm.reply = script_replies({3: "F"})
    config = suite(with_key_variable(llm.spec(), GRADER), 6)
    config["tests"][4]["assert"] = [{"type": "contains", "value": "nobody says this"}]
    run = sharded(config)
    run.ask()
    keys(GRADER)
    asked = len(llm.requests)
    code, merged = run.merge()
    assert (code, merged["outcome"], len(llm.requests)) == (1, "blocked", asked)
    assert [case["outcome"] for case in merged["cases"]] == ["pass", "pass", "pass", "fail", "fail", "pass"]
    assert merged["cases"][3]["grades"][0]["unconfirmed"] is True


def test_a_merge_needs_no_key_of_a_target_that_is_not_asked(sharded, llm, keys):
    def reply(path, body):
        return f"case {case_in(body)}" if body["model"] == "app" else judge(path, body)

    run = sharded({**suite(with_key_variable(llm.spec("judge"), GRADER), 6), "providers": [with_key_variable(llm.spec("app"), TARGET)]})
    llm.reply, judge = reply, script_replies({3: "FPP"})
    code, whole = run.one()
    judge = script_replies({3: "FPP"})
    run.ask()
    keys(TARGET)
    merged_code, merged = run.merge()
    assert (code, merged_code, merged["reask"]["overturned"]) == (0, 0, 1)
    assert timeless(merged) == timeless(whole)


RUNS = [["P", "P"], ["FP" * 9 + "P", "FP" * 9 + "P"], ["F", "FP" * 9 + "P", "P"]]


def config_of_runs(llm):
    config = suite_of_runs(llm, len(RUNS), runs="2/3")
    config["providers"] = [with_key_variable(spec, TARGET) for spec in config["providers"]]
    return config


def test_the_merge_makes_the_runs_that_its_re_asks_call_for(sharded, llm, keys):
    run = sharded(config_of_runs(llm), "-j", "1", of=2)
    llm.reply = scripted_runs(RUNS)
    code, whole = run.one()
    llm.reply = scripted_runs(RUNS)
    run.ask()
    of_target = sum(body["model"] == "target" for body in llm.bodies)
    merged_code, merged = run.merge()
    assert sum(body["model"] == "target" for body in llm.bodies) > of_target
    assert (merged_code, timeless(merged)) == (code, timeless(whole))


def test_a_run_that_a_case_needs_is_an_error_without_the_target_s_key(sharded, llm, keys):
    llm.reply = scripted_runs(RUNS)
    run = sharded(config_of_runs(llm), "-j", "1", of=2)
    run.ask()
    keys(TARGET)
    of_target = sum(body["model"] == "target" for body in llm.bodies)
    code, merged = run.merge()
    assert sum(body["model"] == "target" for body in llm.bodies) == of_target
    assert (code, merged["outcome"]) == (3, "inconclusive")
    assert "not re-asked: no APP_API_KEY in the merge job" in {case["error"] for case in merged["cases"]}


def test_a_new_answer_is_not_asked_for_without_the_target_s_key(sharded, llm, keys):
    llm.reply = lambda path, body: "an answer to case 1" if body["model"] == "app" else BAD
    config = {**suite(with_key_variable(llm.spec("judge"), GRADER), 2), "providers": [with_key_variable(llm.spec("app"), TARGET)]}
    run = sharded(config, "--reask", "answers")
    run.ask()
    keys(TARGET)
    asked = len(llm.requests)
    code, merged = run.merge()
    assert (code, len(llm.requests)) == (3, asked)
    assert "was not re-asked: no APP_API_KEY in the merge job" in failing_reason(merged["cases"][0])


@each("missing", [(GRADER,), (GRADER, TARGET)])
def test_the_plan_of_a_merge_is_that_of_its_shards_whatever_keys_it_has(sharded, llm, monkeypatch, missing):
    for name in (GRADER, TARGET):
        monkeypatch.setenv(name, f"sk-{name.lower()}-0123456789")
    llm.reply = lambda path, body: (
        "an answer" if body["model"] == "app" else BAD if case_in(body) > 9 else '{"pass": true, "score": 1, "reason": ""}'
    )
    config = {**suite(with_key_variable(llm.spec("judge"), GRADER), 3), "providers": [with_key_variable(llm.spec("app"), TARGET)]}
    run = sharded(config)
    code, whole = run.one()
    run.ask()
    for name in missing:
        monkeypatch.delenv(name)
    asked = len(llm.requests)
    merged_code, merged = run.merge()
    assert (merged_code, timeless(merged), len(llm.requests)) == (code, timeless(whole), asked)
    assert "no-key" not in str(merged)


def test_the_merge_uses_the_cache_for_a_further_run(sharded, llm, keys):
    run = sharded(config_of_runs(llm), "-j", "1", "--cache", "kept", of=2)
    llm.reply = scripted_runs(RUNS)
    run.run()
    llm.reply = scripted_runs(RUNS)
    of_target = sum(body["model"] == "target" for body in llm.bodies)
    _, merged = run.run()
    assert sum(body["model"] == "target" for body in llm.bodies) == of_target
    assert merged["cache"]["hits"] == merged["cache"]["looked_up"] > 0


@each("key", ["", "OPENAI_API_KEY"])
def test_a_merge_plans_the_default_grader_of_the_shards_whatever_keys_its_own_job_has(sharded, llm, monkeypatch, key):
    config = suite(llm.spec(), 6)
    del config["defaultTest"]["options"]
    monkeypatch.setenv("XAI_API_KEY", "sk-xai-0123456789")
    monkeypatch.setenv("XAI_API_BASE_URL", llm.base)
    llm.reply = script_replies({3: "FPP"})
    run = sharded(config)
    run.ask()
    monkeypatch.delenv("XAI_API_KEY")
    if key:
        monkeypatch.setenv(key, "sk-other-0123456789")
    asked = len(llm.requests)
    code, merged = run.merge()
    assert (code, len(llm.requests)) == (3, asked)
    assert [case["outcome"] for case in merged["cases"]].count("pass") == 5
    assert failing_reason(merged["cases"][3]) == "failed, and was not re-asked: no XAI_API_KEY in the merge job"
