"""Transforms of target, test, assertion and variables: what graders then see, and what is kept of the answer."""

from uuid import UUID

import pytest

from gradegate.grading.metrics.context import resolve
from gradegate.running import transforms
from gradegate.texts.transform import parse
from gradegate.values.conversation import IS_DATA, RAW, Transcript, Turn
from support.each import table


def config(*assertions, provider="echo", **options):
    test = {"vars": {"q": '{"text": "Hi", "n": 2}'}, "assert": list(assertions), "options": options}
    return {"prompts": ["{{q}}"], "providers": [provider], "tests": [test]}


def js(value, **more):
    return {"type": "javascript", "value": value, **more}


def outcomes(ran):
    return [grade["outcome"] for grade in ran.grades]


def test_the_target_is_first_then_the_test_then_the_assertion(gate):
    target = {"id": "echo", "transform": "JSON.parse(output)"}
    assertions = [
        js("output === 'Hi!'"),
        {"type": "equals", "value": "HI!", "transform": "output.toUpperCase()"},
        {"type": "equals", "value": "Hi!"},
    ]
    ran = gate(config(*assertions, provider=target, transform="output.text + '!'"))
    assert outcomes(ran) == ["pass", "pass", "pass"]
    assert ran.cases[0]["output"] == "Hi!"
    assert ran.cases[0]["metadata"]["raw_output"] == '{"text": "Hi", "n": 2}'


def test_data_is_an_object_for_code_and_json_for_all_else(gate):
    assertions = [js("output.n === 2 && typeof output === 'object'"), {"type": "is-json"}, {"type": "contains", "value": '"n":2}'}]
    ran = gate(config(*assertions, transform="JSON.parse(output)"))
    assert outcomes(ran) == ["pass", "pass", "pass"]
    assert ran.cases[0]["output"] == '{"text":"Hi","n":2}'


def test_postprocess_is_its_older_name_and_defaults_are_overruled(gate):
    made = config(js("output === 'test'"), postprocess="'test'")
    assert outcomes(gate({**made, "defaultTest": {"options": {"transform": "'default'"}}})) == ["pass"]
    made["tests"][0]["options"] = {"transform": "'test'"}
    assert outcomes(gate({**made, "defaultTest": {"options": {"transform": "'default'"}}})) == ["pass"]
    made["tests"][0]["options"] = {}
    assert gate({**made, "defaultTest": {"options": {"transform": "'default'"}}}).cases[0]["output"] == "default"


def test_recorded_answers_are_transformed_too(gate):
    made = {"tests": [{"providerOutput": "abc", "options": {"transform": "output.length"}, "assert": [js("output === 3")]}]}
    ran = gate(made)
    assert (outcomes(ran), ran.cases[0]["output"]) == (["pass"], "3")


@pytest.mark.parametrize("transform", ["output.a.b.c", "undefined", "null", "[10n]", "0 / 0", "1e309", "-1e309"])
def test_one_that_fails_or_gives_nothing_is_an_error_of_all_grades(gate, transform):
    set_of_two = {"type": "assert-set", "assert": [js("true"), js("output === 'x'")]}
    ran = gate(config(js("true"), {"type": "not-contains", "value": "x"}, set_of_two, transform=transform))
    assert set(outcomes(ran)) == {"error"}
    assert all(grade["reason"].startswith(("`transform`", "javascript: `transform`")) for grade in ran.grades)
    assert ran.cases[0]["output"] == '{"text": "Hi", "n": 2}'  # as the target gave it, which is not to blame


def test_one_that_fails_where_nothing_is_asserted_is_an_error_of_the_case(gate):
    made = config(transform="output.a.b.c")
    made["tests"].append(config(js("true"))["tests"][0])
    ran = gate(made)
    case, _ = ran.cases
    assert (ran.code, case["outcome"], case["output"]) == (3, "error", None)
    assert case["error"].startswith("`transform` fails: ")


def test_one_of_an_assertion_that_fails_is_an_error_of_its_own(gate):
    ran = gate(config(js("true", transform="output.a.b"), js("true")))
    assert outcomes(ran) == ["error", "pass"]


def test_variables_are_made_before_the_prompt_is(gate):
    made = config(js("output === 'ab' && context.vars.more === 'ab'"), transformVars="({more: vars.q + 'b', n: 1})")
    made["prompts"] = ["{{more}}"]
    made["tests"][0]["vars"] = {"q": "a"}
    ran = gate(made)
    assert outcomes(ran) == ["pass"]
    assert ran.cases[0]["vars"] == {"q": "a", "more": "ab", "n": 1}


@pytest.mark.parametrize(("options", "words"), table(__file__, "what_cannot_work_is_a_mistake"))
def test_what_cannot_work_is_a_mistake(gate, options, words):
    ran = gate(config(js("true"), **options))
    assert (ran.code, words in ran.err) == (2, True), ran.err


SCORE = (
    "module.exports = (scores, context) => ({ pass: scores.a >= 0.5, score: scores.a, reason: `of ${context.componentResults.length}` });"
)


def test_each_test_has_a_uuid_that_is_the_same_in_every_run(gate):
    made = config(js("context.vars.id.length === 36"), transformVars="({id: context.uuid})")
    made["tests"] = [*made["tests"] * 2, {**made["tests"][0], "description": "another"}]
    first, again = gate(made), gate(made)
    ids = [case["vars"]["id"] for case in first.cases]
    assert len(set(ids)) == 3
    assert [case["vars"]["id"] for case in again.cases] == ids
    assert all(str(UUID(text)) == text and UUID(text).version == 4 for text in ids)
    made["tests"] = made["tests"][1:]
    assert [case["vars"]["id"] for case in gate(made).cases] == [ids[0], ids[2]]


@pytest.mark.parametrize(("score", "outcome"), [("0.75", "pass"), ("0.25", "fail")])
def test_a_scoring_function_decides_the_case(gate, score, outcome):
    made = config(js(score, metric="a"), js("false"))
    made["tests"][0]["assertScoringFunction"] = "file://score.js"
    (case,) = gate(made, **{"score.js": SCORE}).cases
    assert (case["outcome"], case["score"], case["reason"]) == (outcome, float(score), "of 2")


@pytest.mark.parametrize("code", ["1", "0", "true", "false", "'true'", "[true]", "undefined", "({})", "(() => { throw new Error('x') })()"])
def test_one_that_gives_no_verdict_is_an_error(gate, code):
    made = config(js("true"))
    made["tests"][0]["assertScoringFunction"] = "file://score.js"
    ran = gate(made, **{"score.js": f"module.exports = () => {code}"})
    assert (ran.code, ran.cases[0]["outcome"]) == (3, "error")


@pytest.mark.parametrize("others", [[], [js("true")], [js("false")]])
def test_a_scoring_function_is_not_asked_where_a_grade_is_missing(gate, others):
    """Nor is it known then what it makes of a failure, which it may overrule."""
    made = config(js("eval('nobody')"), *others)
    made["tests"][0]["assertScoringFunction"] = "file://score.js"
    code = "module.exports = () => ({pass: true, score: 1, reason: ''})"
    ran = gate(made, **{"score.js": code})
    assert (ran.code, ran.cases[0]["outcome"]) == (3, "error")
    assert "is not asked: 1 grade could not be decided" in ran.cases[0]["reason"]


def test_the_context_is_looked_for_in_the_answer_before_it_was_transformed():
    turns = (Turn("user", "p"), Turn("assistant", '{"docs": ["d"], "text": "t"}'))
    given = Transcript("p", turns, metadata={IS_DATA: True, "finish_reason": "stop"})
    seen = transforms.of_assertion("output.text", given)
    assert (seen.output, seen.answer, seen.source) == ("t", "t", {"docs": ["d"], "text": "t"})
    assert resolve(seen, parse("output.docs")).chunks == ("d",)
    assert resolve(seen, parse("output.docs.concat('e')")).chunks == ("d", "e")
    assert seen.metadata == {"finish_reason": "stop", RAW: '{"docs": ["d"], "text": "t"}'}


@pytest.mark.parametrize(("said", "seen"), table(__file__, "texts_are_graded_over_the_compact_json_of_data"))
def test_texts_are_graded_over_the_compact_json_of_data(gate, llm, said, seen):
    llm.reply = lambda path, body: {"choices": [{"message": {"content": said}, "finish_reason": "stop"}]}
    spec = llm.spec()
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}}
    target = {**spec, "config": {**spec["config"], "response_format": form}}
    (case,) = gate(config({"type": "equals", "value": seen}, provider=target)).cases
    assert case["outcome"] == "pass", case
    assert case["metadata"].get(RAW, said) == said
    (plain,) = gate(config({"type": "equals", "value": said}, provider=spec)).cases
    assert plain["outcome"] == "pass"


def test_a_target_that_was_told_a_schema_gives_data(gate, llm):
    llm.reply = lambda path, body: {"choices": [{"message": {"content": '{"n": 2}'}, "finish_reason": "stop"}]}
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
    spec = llm.spec()
    target = {**spec, "config": {**spec["config"], "response_format": form}}
    assert outcomes(gate(config(js("output.n === 2"), js("typeof output === 'string'"), provider=target))) == ["pass", "fail"]
    plain = gate(config(js("JSON.parse(output).n === 2"), js("typeof output === 'string'"), provider=spec))
    assert outcomes(plain) == ["pass", "pass"]


@pytest.mark.parametrize(("said", "words"), table(__file__, "an_application_says_nothing_under_our_names"))
def test_an_application_says_nothing_under_our_names(gate, llm, said, words):
    """Of what is noted beside an answer, that it is data and what it was are ours to say."""
    llm.reply = lambda path, body: {"a": 1}
    target = {"id": f"http://127.0.0.1:{llm.port}/app", "config": {"body": {"p": "{{prompt}}"}, "transformResponse": f"({said})"}}
    code = "typeof output === 'string' && context.providerResponse.raw === output"
    ran = gate(config(js(code), {**js("output.length === 2"), "transform": "output + '!'"}, provider=target))
    if words:
        assert (ran.code, ran.cases[0]["outcome"]) == (3, "error")
        assert words in ran.cases[0]["error"]
    else:
        assert outcomes(ran) == ["pass", "pass"]
