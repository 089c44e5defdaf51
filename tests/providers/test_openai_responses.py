import pytest

from gradegate.values.conversation import Message
from support.fake_llm import FakeLlm
from support.vendors import PIXEL, SCHEMA, THOUGHT, ask, build, headers, output_text, path, refusing, responses, said


def gpt(llm: FakeLlm, model: str = "gpt-4o-mini", **config):
    return build(f"openai:responses:{model}", {"apiBaseUrl": llm.base, "apiKey": "sk-1", **config})


SO = responses(THOUGHT, said(output_text("It is "), output_text("so.")))


def test_a_question_as_the_api_wants_it_and_its_answer_without_the_reasoning(llm: FakeLlm):
    llm.reply = lambda path, body: SO
    reply = ask(
        gpt(llm, max_output_tokens=99, instructions="Be brief."),
        ("system", "Be kind."),
        Message("user", "what is it?", (PIXEL,)),
        ("assistant", "A dot."),
        ("user", "sure?"),
    )
    assert (reply.text, reply.finish_reason, reply.refused) == ("It is so.", "stop", False)
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (50, 10)
    assert reply.usage.known_cost == pytest.approx(50 * 0.15e-6 + 10 * 0.6e-6)
    assert path(llm) == "/v1/responses"
    assert headers(llm)["authorization"] == "Bearer sk-1"
    image = {"type": "input_image", "image_url": PIXEL, "detail": "auto"}
    assert llm.bodies[0] == {
        "model": "gpt-4o-mini",
        "temperature": 0,
        "max_output_tokens": 99,
        "instructions": "Be brief.",
        "input": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": [{"type": "input_text", "text": "what is it?"}, image]},
            {"role": "assistant", "content": "A dot."},
            {"role": "user", "content": "sure?"},
        ],
    }


CALL = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"}


def test_tool_calls_are_given_as_they_are(llm: FakeLlm):
    llm.reply = lambda path, body: responses(CALL)
    assert '"name": "f"' in ask(gpt(llm)).text


def test_structured_output_and_its_fallback(llm: FakeLlm):
    llm.reply = refusing("json_schema", answer=SO)
    model = gpt(llm, verbosity="low")
    for _ in range(2):
        ask(model, schema=SCHEMA)
    shape = {"type": "json_schema", "name": "verdict", "strict": True, "schema": SCHEMA}
    assert [body["text"] for body in llm.bodies] == [
        {"verbosity": "low", "format": shape},
        {"verbosity": "low", "format": {"type": "json_object"}},
        {"verbosity": "low", "format": {"type": "json_object"}},
    ]


def test_options_of_chat_completions_in_the_form_of_this_api(llm: FakeLlm):
    llm.reply = lambda path, body: SO
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
    ask(gpt(llm, "gpt-5-mini", max_tokens=5, reasoning_effort="low", response_format=wanted), schema=SCHEMA)
    body = llm.bodies[0]
    assert body["max_output_tokens"] == 5
    assert body["reasoning"] == {"effort": "low"}
    assert body["text"] == {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}}
    assert "temperature" not in body
