"""javascript: verdicts by code of the config, with what the code is told and what of it is said."""

import pytest

from support.each import each, table

FILE = """\
const limit = 3;
module.exports = (output, context) => ({
  pass: output.length > limit,
  score: 0.5,
  reason: `${context.vars.q} of ${context.config.kind}`,
});
module.exports.broken = (output) => output.missing.length;
"""


def config(*assertions, output="a good answer", **keys):
    test = {"description": "it", "vars": {"q": "why"}, "providerOutput": output, "metadata": {"team": "red"}}
    return {"prompts": ["{{q}}"], "tests": [{**test, "assert": [{"type": "javascript", **a} for a in assertions], **keys}]}


def graded(gate, *assertions, **keys):
    return gate(config(*assertions, **keys)).grades


@pytest.mark.parametrize(("value", "outcome", "score"), table(__file__, "what_it_returns_decides"))
def test_what_it_returns_decides(gate, value, outcome, score):
    (grade,) = graded(gate, {"value": value})
    assert (grade["outcome"], grade["score"]) == (outcome, score)


@pytest.mark.parametrize(("threshold", "value", "outcome"), table(__file__, "a_threshold_is_a_limit_on_the_score"))
def test_a_threshold_is_a_limit_on_the_score(gate, threshold, value, outcome):
    assert graded(gate, {"value": value, "threshold": threshold})[0]["outcome"] == outcome


@pytest.mark.parametrize(("value", "words"), table(__file__, "code_that_throws_or_gives_no_verdict_has_failed_the_answer_also_negated"))
def test_code_that_throws_or_gives_no_verdict_has_failed_the_answer_also_negated(gate, value, words):
    content = config({"value": value}, {"type": "not-javascript", "value": value})
    ran = gate({**content, "gate": {"errors": {"ignore-up-to": 0.9}}})
    assert (ran.code, {(grade["outcome"], grade["score"]) for grade in ran.grades}) == (1, {("fail", 0)})
    assert all(grade["reason"].startswith("the JavaScript fails on the answer: ") and words in grade["reason"] for grade in ran.grades)


@each(("value", "words", "cure"), table(__file__, "what_promptfoo_runs_in_vain_fails_every_answer_with_a_note"))
def test_what_promptfoo_runs_in_vain_fails_every_answer_with_a_note(gate, value, words, cure):
    ran = gate(config({"value": value}, {"type": "not-javascript", "value": value}))
    assert (ran.code, [grade["outcome"] for grade in ran.grades]) == (1, ["fail", "fail"])
    assert all(words in grade["reason"] for grade in ran.grades)
    assert "promptfooconfig.yaml:11" in ran.out + ran.err
    assert f"fails every answer, as in promptfoo: {words}" in ran.out + ran.err
    assert cure in ran.out + ran.err


@each(
    ("assertion", "words"), table(__file__, "code_that_cannot_be_loaded_lacks_a_name_or_hits_a_limit_is_an_error_that_nothing_leaves_out")
)
def test_code_that_cannot_be_loaded_lacks_a_name_or_hits_a_limit_is_an_error_that_nothing_leaves_out(gate, assertion, words):
    passing = [{"value": "true"}] * 8
    files = {"thrower.js": "throw new Error('not today')", "checks.js": FILE}
    content = config(assertion, {**assertion, "type": "not-javascript"}, *passing)
    ran = gate({**content, "gate": {"errors": {"ignore-up-to": 0.9}}}, **files)
    assert (ran.code, [grade["outcome"] for grade in ran.grades[:2]]) == (3, ["error", "error"])
    assert words in ran.grades[0]["reason"]


def test_not_turns_it_round(gate):
    one, other = graded(gate, {"type": "not-javascript", "value": "true"}, {"type": "not-javascript", "value": "false"})
    assert (one["outcome"], other["outcome"]) == ("fail", "pass")


def test_a_file_gets_the_config_and_its_errors_name_its_lines(gate):
    one = {"value": "file://checks.js", "config": {"kind": "x"}}
    ran = gate(config(one, {"value": "file://checks.js:broken"}), **{"checks.js": FILE})
    good, broken = ran.grades
    assert (good["outcome"], good["score"], good["reason"]) == ("pass", 0.5, "why of x")
    assert (broken["outcome"], broken["reason"][-8:]) == ("fail", "(line 7)")


def test_parts_and_console_are_evidence(gate):
    parts = "[{pass: true, score: 1, reason: 'a'}]"
    value = f"console.log('seen', output.length);\nreturn {{pass: true, score: 1, reason: 'r', componentResults: {parts}}};"
    evidence = graded(gate, {"value": value})[0]["evidence"]
    assert evidence == {"components": [{"pass": True, "score": 1.0, "reason": "a"}], "console": ["seen 13"]}


@pytest.mark.parametrize(("assertion", "words"), table(__file__, "what_cannot_work_is_a_mistake_before_any_call"))
def test_what_cannot_work_is_a_mistake_before_any_call(gate, assertion, words):
    ran = gate(config(assertion), **{"imports.mjs": "// a check\nimport fs from 'fs'\nexport default () => true\n"})
    assert words in ran.mistakes


def test_a_file_outside_of_the_workspace_is_not_read(gate, tmp_path):
    (tmp_path.parent / "outside.js").write_text("module.exports = () => true")
    ran = gate(config({"value": "file://../outside.js"}))
    assert (ran.code, "outside.js" in ran.err) == (2, True)


def test_a_runaway_snippet_costs_its_own_grade(gate):
    ran = gate(config({"value": "while (true) {}\nreturn 1"}, {"value": "output.length > 3"}))
    assert [grade["outcome"] for grade in ran.grades] == ["error", "pass"]
    assert "takes more than 0.5 s" in ran.grades[0]["reason"]


def test_an_answer_that_holds_code_is_data(gate):
    assert graded(gate, {"value": "output.startsWith('</script>')"}, output="</script>'); while (1) {} {{ x }}")[0]["outcome"] == "pass"
