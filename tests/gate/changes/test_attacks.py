"""Ways in which a first version was green, or blocked, without a reason: each is decided by what was graded."""

import json

from support.each import each, table
from support.fake_llm import FakeLlm

RUBRIC = {"type": "llm-rubric", "value": "is it so"}
YES = {"type": "contains", "value": "x"}
NO = {"type": "contains", "value": "nowhere"}


def config(tests, **more):
    return {"prompts": ["{{p}}"], "providers": ["echo"], "tests": tests, **more}


def case(*assertions, **more):
    return {"vars": {"p": "x"}, "assert": list(assertions), **more}


def test_a_failure_beside_an_error_is_a_failure_however_many_errors_are_ignored(gate, llm: FakeLlm):
    llm.reply = lambda path, body: "no verdict at all"
    tests = [case(YES) for _ in range(29)] + [case(NO, RUBRIC)]
    ran = gate(config(tests, gate={"errors": {"ignore-up-to": 0.2}}, defaultTest={"options": {"provider": llm.spec()}}))
    assert (ran.code, ran.cases[-1]["outcome"]) == (1, "fail")


@each("reply", ['{"pass": false, "reason": "r"}', "no verdict", None])
@each("harmless", [{"blocking": False}, {"weight": 0}])
@each("in_set", [True, False])
def test_what_only_advises_lets_no_case_pass(gate, llm: FakeLlm, reply, harmless, in_set):
    llm.reply = lambda path, body: reply or (500, {})
    member = {**RUBRIC, **harmless}
    assertion = {"type": "assert-set", "assert": [member]} if in_set else member
    ran = gate(config([case(assertion)], defaultTest={"options": {"provider": llm.spec()}}))
    assert "1 of 1 case passed" not in ran.out
    assert ran.code != 0 or "advisory" in ran.out.lower()


@each("count", [3, 7, 10])
@each("score", [0.7, 0.1, 0.3, 0.55])
def test_equal_scores_reach_an_equal_threshold(gate, llm: FakeLlm, count, score):
    llm.reply = lambda path, body: json.dumps({"pass": True, "score": score, "reason": "r"})
    rubrics = [{**RUBRIC, "threshold": score, "value": f"is it {number}"} for number in range(count)]
    ran = gate(config([case(*rubrics, threshold=score)], defaultTest={"options": {"provider": llm.spec()}}))
    assert ran.code == 0, ran.out


def test_a_case_that_misses_its_threshold_alone_says_so(gate):
    ran = gate(config([case(YES, {**NO, "weight": 1}, threshold=0.6)]))
    assert ran.code == 1
    assert "0.6" in ran.cases[0]["reason"] if "reason" in ran.cases[0] else "0.6" in ran.out


@each("score", ["100", "1e308", "1e999", "-5", "true"])
def test_one_score_out_of_range_lifts_no_others(gate, llm: FakeLlm, score):
    scores = iter([score, *["0"] * 9])
    llm.reply = lambda path, body: f'{{"pass": true, "score": {next(scores, "0")}, "reason": "r"}}'
    rule = {"rules": [{"name": "mean", "min-score": 0.8}]}
    ran = gate(config([case(RUBRIC) for _ in range(10)], gate=rule, defaultTest={"options": {"provider": llm.spec()}}), "-j", "1")
    assert ran.code in (1, 3)


@each(("name", "content"), table(__file__, "tests_are_not_lost_in_silence"))
def test_tests_are_not_lost_in_silence(gate, name, content):
    good = "p,__expected\nx,contains:x\n"
    ran = gate(config(["file://good.csv", f"file://{name}"]), **{"good.csv": good, name: content})
    assert ran.code == 2, ran.out
    assert name in ran.err


def test_a_filter_that_leaves_a_test_without_an_answer_is_a_mistake(gate):
    target = {"id": "echo", "prompts": ["one"]}
    prompts = [{"label": "one", "raw": "{{p}}"}, {"label": "two", "raw": "{{p}}!"}]
    ran = gate(config([case(YES), case(YES, prompts=["two"])], prompts=prompts, providers=[target]))
    assert (ran.code, "no provider and prompt is left" in ran.err) == (2, True)


def test_a_blocking_assertion_that_no_rule_selects_is_said(gate):
    rules = {"rules": [{"name": "only", "select": {"metric": "a"}, "min-pass-rate": 1}]}
    ran = gate(config([case({**YES, "metric": "a"}, {**NO, "metric": "b"})], gate=rules))
    assert "no rule" in ran.out


@each(
    ("name", "written"),
    [("promptfooconfig.json", '{"tests": [\n{"vars": {"p": NUMBER}}]}'), ("promptfooconfig.yaml", "tests:\n- {vars: {p: NUMBER}}")],
)
def test_a_number_of_thousands_of_digits_is_a_mistake_at_its_line(gate, name, written):
    ran = gate(written.replace("NUMBER", "9" * 5000), name=name)
    assert ran.code == 2
    assert f"{name}:2: a number with too many digits" in ran.err


def test_line_separators_and_escapes_are_text(gate):
    row = '{"vars": {"p": "a\u2028x"}, "assert": [{"type": "contains", "value": "a\\u2028x"}]}\n'
    assert gate(config("file://t.jsonl"), **{"t.jsonl": row}).code == 0
    escaped = '{"prompts": ["{{p}}"], "providers": ["echo"], "tests": [{"vars": {"p": "\\ud83d\\ude00x"}, '
    assert gate(escaped + '"assert": [{"type": "contains", "value": "\\ud83d\\ude00"}]}]}').code == 0


@each(("flag", "most"), [("1", 1), ("2", 2), ("7", 7)])
def test_no_more_calls_run_at_once_than_the_command_says(gate, llm: FakeLlm, flag, most):
    llm.latency = 0.02
    llm.reply = lambda path, body: '{"pass": true, "reason": "r"}'
    tests = [case(RUBRIC, {**RUBRIC, "value": "other"}) for _ in range(8)]
    more = {"evaluateOptions": {"maxConcurrency": 50}, "defaultTest": {"options": {"provider": llm.spec()}}}
    assert gate({**config(tests, **more), "providers": [llm.spec()]}, "-j", flag).code in (0, 1)
    assert llm.peak <= most
