"""A variable that a template asks for and no test defines is a mistake at its line; one that some define is noted."""

import yaml

from gradegate.texts.template import needs
from support.each import each, table
from support.fake_llm import FakeLlm
from support.graded import mistakes


@each(("template", "names"), table(__file__, "what_a_template_does_not_work_without_2"))
def test_what_a_template_does_not_work_without(template, names):
    assert needs(template) == frozenset(names.split())


def config(prompt: str, *tests: dict, **more) -> dict:
    return {"prompts": [prompt], "providers": ["echo"], "tests": [*tests], **more}


def case(value: str = "x", **values: str) -> dict:
    return {"vars": values, "assert": [{"type": "contains", "value": value}]}


def test_a_slip_in_a_prompt_is_a_mistake_at_its_line(gate):
    ran = gate(config("Say x to {{questoin}}", case(question="x"), case(question="y")))
    assert ran.code == 2
    assert (
        'promptfooconfig.yaml:2: the prompt asks for the variable `questoin`, which no test defines -> did you mean "question"?' in ran.err
    )


def test_a_slip_in_an_assertion_or_a_rubric_is_a_mistake_at_its_line(gate, llm: FakeLlm):
    test = case(city="x") | {
        "assert": [
            {"type": "contains-any", "value": ["x", "{{ctiy}}"]},
            {"type": "assert-set", "assert": [{"type": "llm-rubric", "value": "names {{town}}", "provider": "echo"}]},
        ]
    }
    ran = gate(config("x", test))
    assert "the value of `contains-any` asks for the variable `ctiy`, which no test defines" in ran.mistakes
    assert 'did you mean "city"?' in ran.err
    assert "the value of `llm-rubric` asks for the variable `town`" in ran.err
    assert "add `town` to `vars`" in ran.err


def test_a_variable_of_another_test_does_not_help_an_assertion(gate):
    ran = gate(config("x {{b}}", case("{{a}} x", b="1"), case(a="x", b="1")))
    assert "asks for the variable `a`, which its test does not define" in ran.mistakes


def test_what_only_some_tests_define_is_noted(gate):
    ran = gate(config("x {{name}}", case(name="Ada"), case(town="Oslo"), case(name="Bob")))
    assert ran.code == 0, ran.err
    notes = [(note["text"], note["source"]["line"]) for note in ran.results["notes"]]
    assert ("the prompt asks for the variable `name`, which 1 of 3 cases lack", 2) in notes


@each("prompt", table(__file__, "what_needs_no_definition"))
def test_what_needs_no_definition(gate, prompt):
    ran = gate(config(prompt, case(rows="1")))
    assert (ran.code, ran.results["notes"]) == (0, []), ran.err


def test_a_recorded_answer_needs_no_prompt(gate):
    assert gate(config("{{q}}", {**case(), "providerOutput": "x"})).code == 0


def test_a_filtered_run_finds_no_mistake_in_what_other_tests_define(gate):
    tests = ({**case(a="1"), "description": "one"}, {**case(b="1"), "description": "two"})
    assert gate(config("x {{a}}", *tests), "--filter-pattern", "two").code == 0


def test_a_value_that_refers_to_nobody_is_noted(gate):
    ran = gate(config("x {{v}}", case(v="Fill {{y}} in")))
    notes = [note["text"] for note in ran.results["notes"]]
    assert (ran.code, notes) == (0, ["the variable `v` refers to `y`, which nobody defines, so it is left as it is"])


def test_a_prompt_that_is_sent_as_it_is_is_noted(gate):
    ran = gate(config("x {{\n v }}", case(v="1")))
    assert ran.code == 0
    assert ran.cases[0]["prompt"] == "x {{\n v }}"
    assert "braces that stay open at the end of a line" in ran.results["notes"][0]["text"]


def test_a_key_of_a_variable_that_is_not_set_is_a_mistake(gate, llm: FakeLlm, monkeypatch):
    monkeypatch.delenv("SHOP_KEY", raising=False)
    target = {"id": "openai:chat:m", "config": {"apiBaseUrl": llm.base, "apiKeyEnvar": "SHOP_KEY"}}
    ran = gate({**config("x", case()), "providers": [target]})
    assert (ran.code, llm.requests) == (2, [])
    assert "`apiKeyEnvar` of `openai:chat:m` names SHOP_KEY, which is not set" in ran.err


@each("written", ["{{uuid}}", "{{context.uuid}}"])
def test_an_id_that_a_request_is_not_given_has_a_cure_that_works(gate, llm: FakeLlm, written):
    web = {"id": "http", "config": {"url": f"{llm.base}/ask", "body": {"session": written, "text": "{{prompt}}"}}}
    made = {**config("x", case(name="Ada"), case(name="Bob")), "providers": [web]}
    ran = gate(made)
    assert ran.code == 2
    cure = "defaultTest: {options: {transformVars: '({...vars, uuid: context.uuid})'}}"
    assert f"for an id of each test's own write `{{{{uuid}}}}`, and `{cure}`" in ran.err
    web["config"]["body"]["session"] = "{{uuid}}"
    ran = gate({**made, **yaml.safe_load(cure)})
    assert ran.code == 0, ran.err
    assert len({body["session"] for body in llm.bodies}) == 2


def test_the_value_of_a_rubric_prompt_is_the_rubric(gate):
    rubric = {"type": "llm-rubric", "value": "kind", "rubricPrompt": "Is {{output}} {{value}}?", "provider": "echo"}
    said = mistakes(gate({"prompts": ["x"], "providers": ["echo"], "tests": [{"assert": [rubric]}]}))
    assert "asks for the variable `value`, which no test defines -> write `{{rubric}}`" in said
