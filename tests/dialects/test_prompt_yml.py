"""``.prompt.yml`` files of GitHub Models: what is asked, and what each evaluator comes to."""

import pytest

from support.each import each, table
from support.graded import mistakes

FILE = """name: Greetings
description: answers greetings
model: openai/gpt-4o-mini
modelParameters: {{temperature: 0.5, maxTokens: 50, topP: 0.9}}
messages:
  - {{role: system, content: You greet}}
  - {{role: user, content: 'Say hello to {{{{input}}}}'}}
testData:
  - {{input: Ada, expected: Hello}}
  - {{input: '{{{{braces}}}}', expected: Hello}}
evaluators:
{evaluators}
"""
CONTAINS = "  - {name: greets, string: {contains: '{{expected}}'}}"


def run(gate, llm, evaluators=CONTAINS, *arguments, text=FILE, **options):
    named = ("--provider", "openai:chat:m", "--grader", "openai:chat:g")
    return gate(text.format(evaluators=evaluators), *named, *arguments, name="g.prompt.yml", **options)


@pytest.fixture(autouse=True)
def _keys(gate, llm, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base)
    monkeypatch.setenv("OPENAI_API_KEY", "k")


def test_the_messages_are_filled_with_each_row_and_sent_with_the_parameters(gate, llm):
    llm.reply = lambda path, body: " hello, friend\n"
    ran = gate(FILE.format(evaluators=CONTAINS), name="g.prompt.yml")
    assert ran.code == 0, ran.out + ran.err
    bodies = sorted(llm.bodies, key=lambda body: body["messages"][1]["content"])
    assert [body["messages"] for body in bodies] == [
        [{"role": "system", "content": "You greet"}, {"role": "user", "content": f"Say hello to {name}"}] for name in ("Ada", "{{braces}}")
    ]
    assert {name: bodies[0][name] for name in ("model", "temperature", "top_p", "max_tokens")} == {
        "model": "gpt-4o-mini",
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 50,
    }


def test_a_schema_is_sent_as_the_form_of_the_reply(gate, llm):
    text = FILE.replace("testData:", 'responseFormat: json_schema\njsonSchema: \'{{"name": "x", "schema": {{}}}}\'\ntestData:')
    gate(text.format(evaluators=CONTAINS), name="g.prompt.yml")
    assert llm.bodies[0]["response_format"] == {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}


STRINGS = table(__file__, "STRINGS")


@each(("match", "text", "answer", "passes"), STRINGS)
def test_texts_are_compared_as_gh_models_eval_compares_them(gate, llm, match, text, answer, passes):
    llm.reply = lambda path, body: answer
    ran = run(gate, llm, f"  - {{name: s, string: {{{match}: '{text}'}}}}")
    assert ran.code == (0 if passes else 1), ran.out + ran.err
    assert {grade["metric"] for grade in ran.grades} == {"s"}


LLM = """  - name: polite
    llm:
      modelId: openai/gpt-4o
      systemPrompt: You grade.
      prompt: 'Is this polite? {{completion}} ({{expected}})'
      choices: [{choice: good, score: 1}, {choice: fair, score: 0.5}, {choice: poor, score: 0}]"""
REPLIES = table(__file__, "REPLIES")


@each(("reply", "outcome"), REPLIES)
def test_a_choice_is_read_where_it_stands_alone(gate, llm, reply, outcome):
    llm.reply = lambda path, body: reply if "Is this polite?" in str(body) else "an answer"
    ran = run(gate, llm, LLM)
    assert {grade["outcome"] for grade in ran.grades} == {{"passed": "pass", "failed": "fail"}.get(outcome, outcome)}
    asked = [body["messages"] for body in llm.bodies if "Is this polite?" in str(body)]
    assert asked[0] == [{"role": "system", "content": "You grade."}, {"role": "user", "content": "Is this polite? an answer (Hello)"}]


@each("name", ["similarity", "relevance", "groundedness", "coherence", "fluency"])
@each(("stars", "outcome"), table(__file__, "built_in_evaluators_give_stars"))
def test_built_in_evaluators_give_stars(gate, llm, name, stars, outcome):
    llm.reply = lambda path, body: stars if "You grade the answer" in str(body) else "an answer"
    ran = run(gate, llm, f"  - {{name: n, uses: github/{name}}}")
    assert {grade["outcome"] for grade in ran.grades} == {outcome}, ran.out + ran.err


def test_the_grader_is_the_model_of_the_file_unless_the_command_line_names_one(gate, llm):
    llm.reply = lambda path, body: "good" if "Is this polite?" in str(body) else "an answer"
    assert gate(FILE.format(evaluators=LLM), name="g.prompt.yml").code == 0
    assert {body["model"] for body in llm.bodies} == {"gpt-4o-mini", "gpt-4o"}
    llm.requests.clear()
    run(gate, llm, LLM)
    assert {body["model"] for body in llm.bodies} == {"m", "g"}


WRONG = table(__file__, "WRONG")


@each(("evaluators", "said"), WRONG)
def test_what_is_wrong_is_said_with_its_line(gate, llm, evaluators, said):
    ran = run(gate, llm, evaluators)
    assert said in mistakes(ran)
    assert "g.prompt.yml:" in mistakes(ran)
    assert llm.requests == []


def test_a_file_without_test_data_is_a_mistake(gate, llm):
    text = FILE.replace("testData:\n  - {{input: Ada, expected: Hello}}\n  - {{input: '{{{{braces}}}}', expected: Hello}}\n", "")
    assert "no `testData`" in mistakes(run(gate, llm, text=text))


def test_a_variable_that_no_row_has_is_a_mistake(gate, llm):
    assert "`nobody`" in mistakes(run(gate, llm, text=FILE.replace("hello to {{{{input}}}}", "hello to {{{{nobody}}}}")))


@each("model", ["meta/llama-3.3-70b-instruct", "phi-4", "deepseek/DeepSeek-R1"])
def test_a_model_that_nobody_serves_under_that_name_needs_another_in_its_place(gate, llm, model):
    text = FILE.replace("openai/gpt-4o-mini", model).format(evaluators=CONTAINS)
    said = mistakes(gate(text, name="g.prompt.yml"))
    assert f"g.prompt.yml:3: `{model}` was served by GitHub Models, which closed in July 2026" in said
    llm.reply = lambda path, body: "hello"
    assert gate(text, "--provider", "openai:chat:m", name="g.prompt.yml").code == 0


def test_a_grader_that_nobody_serves_needs_another_in_its_place(gate, llm):
    text = FILE.format(evaluators=LLM.replace("openai/gpt-4o", "meta/llama"))
    assert "no grading model is configured" in mistakes(gate(text, name="g.prompt.yml"))
