"""A grader's reply has an end: its limit of tokens, the second ask after a reply that was cut, and what the error says."""

import re

import pytest

from gradegate.assertions import closedqa
from gradegate.assertions.judge.judge import Judge
from gradegate.errors import Unreadable
from support.fake_llm import chat
from support.graded import config
from support.vendors import build, claude, converse, gemini, make_message, ollama, output_text, responses

YES = '{"reason": "It is.", "verdict": "yes"}'
CUT = '{"reason": "It goes on and'
KEY = {"apiKey": "k"}
AGAIN = ("--grader-retries", "1")


def _chat(text: str, *, cut: bool) -> dict:
    return chat(text, finish_reason="length" if cut else "stop")


def _responses(text: str, *, cut: bool) -> dict:
    more = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}} if cut else {}
    return responses(make_message(output_text(text)), **more)


def _claude(text: str, *, cut: bool) -> dict:
    return claude({"type": "text", "text": text}, stop_reason="max_tokens" if cut else "end_turn")


def _gemini(text: str, *, cut: bool) -> dict:
    return gemini({"text": text}, finish="MAX_TOKENS" if cut else "STOP")


def _converse(text: str, *, cut: bool) -> dict:
    return converse({"text": text}, stop="max_tokens" if cut else "end_turn")


def _ollama(text: str, *, cut: bool) -> dict:
    return ollama(text, "length" if cut else "stop")


def _llama(text: str, *, cut: bool) -> dict:
    return {"content": text, "stop": True, "stop_type": "limit" if cut else "eos"}


def grade(gate, provider: dict, *more: str):
    """What one closed question ends with, asked of this grader."""
    assertion = {"type": "model-graded-closedqa", "value": "is polite", "provider": provider}
    return gate({"prompts": ["hi"], "providers": ["echo"], "tests": [{"assert": [assertion]}]}, *(more or AGAIN)).grades[0]


def two_questions(provider: dict) -> list[str]:
    """The verdicts on two closed questions, asked of one grader one after the other."""
    judge = Judge({"text": build(provider["id"], provider["config"])})
    asked = (judge.ask("model-graded-closedqa", closedqa.FORM, input="q", criteria=text, completion="a") for text in ("one", "two"))
    return [judgement.verdict for judgement in asked]


def grader(llm, provider_id: str, **options) -> dict:
    address = "endpoint" if provider_id.startswith("bedrock") else "apiBaseUrl"
    key = {} if provider_id == "llama" else KEY
    return {"id": provider_id, "config": {address: llm.base, **key, **options}}


def at(body: dict, place: str):
    """The value at a place such as `options.num_predict`; None where there is none."""
    for key in place.split("."):
        body = (body or {}).get(key)
    return body


APIS = [
    ("openai:chat:gpt-4o-mini", _chat, "max_tokens", 1024),
    ("openai:chat:gpt-5-mini", _chat, "max_completion_tokens", 8192),
    ("openai:responses:gpt-4o-mini", _responses, "max_output_tokens", 1024),
    ("openai:responses:o4-mini", _responses, "max_output_tokens", 8192),
    ("mistral:mistral-small-latest", _chat, "max_tokens", 1024),
    ("groq:llama-3.3-70b", _chat, "max_tokens", 1024),
    ("anthropic:claude-haiku-4-5", _claude, "max_tokens", 1024),
    ("anthropic:claude-opus-5", _claude, "max_tokens", 8192),
    ("google:gemini-2.5-flash", _gemini, "generationConfig.maxOutputTokens", 8192),
    ("bedrock:amazon.nova-lite-v1:0", _converse, "inferenceConfig.maxTokens", 1024),
    ("ollama:chat:llama3.2", _ollama, "options.num_predict", 1024),
    ("llama", _llama, "n_predict", 512),
]


@pytest.mark.parametrize(("provider_id", "answer", "place", "first"), APIS)
def test_a_grader_gets_a_limit_and_a_cut_reply_is_asked_for_once_more_with_twice_the_limit(gate, llm, provider_id, answer, place, first):
    replies = [answer(CUT, cut=True), answer(YES, cut=False)]
    llm.reply = lambda path, body: replies[len(llm.bodies) - 1]
    assert grade(gate, grader(llm, provider_id))["outcome"] == "pass"
    assert [at(body, place) for body in llm.bodies] == [first, 2 * first]


@pytest.mark.parametrize(
    ("provider_id", "answer", "option", "place"),
    [
        ("openai:chat:gpt-4o-mini", _chat, "max_tokens", "max_tokens"),
        ("openai:chat:gpt-4o-mini", _chat, "max_completion_tokens", "max_completion_tokens"),
        ("openai:chat:gpt-5-mini", _chat, "max_tokens", "max_completion_tokens"),
        ("openai:responses:gpt-4o-mini", _responses, "max_tokens", "max_output_tokens"),
        ("anthropic:claude-haiku-4-5", _claude, "max_tokens", "max_tokens"),
        ("google:gemini-2.5-flash", _gemini, "max_tokens", "generationConfig.maxOutputTokens"),
        ("bedrock:amazon.nova-lite-v1:0", _converse, "max_new_tokens", "inferenceConfig.maxTokens"),
        ("ollama:chat:llama3.2", _ollama, "max_tokens", "options.num_predict"),
        ("llama", _llama, "n_predict", "n_predict"),
    ],
)
def test_the_limit_of_the_config_takes_the_place_of_the_default(gate, llm, provider_id, answer, option, place):
    llm.reply = lambda path, body: answer(CUT, cut=True)
    reason = grade(gate, grader(llm, provider_id, **{option: 300}))["reason"]
    assert [at(body, place) for body in llm.bodies] == [300, 600]
    assert not any("max_tokens" in body and place != "max_tokens" for body in llm.bodies)
    assert "(asked 2 times); raise `" in reason
    assert f"raise `{'n_predict' if provider_id == 'llama' else 'max_tokens'}` in the config of the grader" in reason


def test_without_re_asking_a_cut_reply_is_an_error_at_once(gate, llm):
    llm.reply = lambda path, body: _chat(CUT, cut=True)
    ended = grade(gate, grader(llm, "openai:chat:gpt-4o-mini"), "--grader-retries", "0")
    assert ended["outcome"] == "error"
    assert "was cut off after 10 tokens; raise `max_tokens`" in ended["reason"]
    assert len(llm.bodies) == 1


def test_a_cut_reply_is_never_read(gate, llm):
    llm.reply = lambda path, body: _chat(YES, cut=True)
    assert grade(gate, grader(llm, "openai:chat:gpt-4o-mini"))["outcome"] == "error"


def test_a_server_that_limits_nothing_on_request_is_asked_once(gate, llm):
    llm.reply = lambda path, body: _ollama(CUT, cut=True)
    ended = grade(gate, grader(llm, "ollama:chat:llama3.2", num_predict=-1))
    assert "was cut off after 10 tokens; raise `max_tokens`" in ended["reason"]
    assert [at(body, "options.num_predict") for body in llm.bodies] == [-1]


def test_a_target_gets_no_limit_that_nobody_set(gate, llm):
    llm.reply = lambda path, body: chat("fine")
    gate(
        {
            "prompts": ["hi"],
            "providers": [grader(llm, "openai:chat:gpt-4o-mini")],
            "tests": [{"assert": [{"type": "contains", "value": "fine"}]}],
        }
    )
    assert [key for key in llm.bodies[0] if "tokens" in key] == []


@pytest.mark.parametrize(("refused", "sent"), [(("max_tokens",), "max_completion_tokens"), (("max_tokens", "max_completion_tokens"), None)])
def test_a_limit_that_the_endpoint_refuses_is_sent_under_its_other_name_or_left_out(llm, refused, sent):
    def reply(path: str, body: dict):
        named = next((key for key in refused if key in body), None)
        return (400, {"error": {"message": f"Unsupported parameter: '{named}'"}}) if named else _chat(YES, cut=False)

    llm.reply = reply
    assert two_questions(grader(llm, "openai:chat:our-deployment")) == ["yes", "yes"]
    limits = [[key for key in body if "tokens" in key] for body in llm.bodies]
    assert limits == [*([key] for key in refused), *[[sent] if sent else []] * 2]  # the second question knows


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 1200 tokens. However, you requested 1524 tokens (500 in the messages, 1024 in the completion).",
        "max_tokens (1024) exceeds the model limit of 512",
        "max_completion_tokens is too large: 1024",
    ],
)
def test_a_limit_that_is_too_high_for_the_endpoint_is_left_out(llm, words):
    def reply(path: str, body: dict):
        asked = body.get("max_tokens") or body.get("max_completion_tokens")
        return (400, {"error": {"message": words}}) if asked else _chat(YES, cut=False)

    llm.reply = reply
    assert two_questions(grader(llm, "vllm:small")) == ["yes", "yes"]
    assert all("response_format" in body for body in llm.bodies)  # the schema was not what was refused
    assert "max_tokens" not in llm.bodies[-1]


def test_a_request_that_is_refused_for_another_reason_is_the_error(gate, llm):
    llm.reply = lambda path, body: (400, {"error": {"message": "the prompt holds a forbidden sign"}})
    ended = grade(gate, grader(llm, "openai:chat:gpt-4o-mini"))
    assert ended["outcome"] == "error"
    assert "a forbidden sign" in ended["reason"]


def test_a_reply_that_was_cut_where_the_endpoint_took_no_limit_is_asked_for_once(gate, llm):
    def reply(path: str, body: dict):
        limited = "num_predict" in body["options"]
        return (400, {"error": "invalid option: num_predict"}) if limited else _ollama(CUT, cut=True)

    llm.reply = reply
    reason = grade(gate, grader(llm, "ollama:chat:llama3.2"))["reason"]
    assert "was cut off after" in reason
    assert len(llm.bodies) == 2


def test_a_limit_of_the_config_that_the_endpoint_refuses_is_the_users_mistake(gate, llm):
    llm.reply = lambda path, body: (400, {"error": {"message": "Unsupported parameter: 'max_tokens'"}})
    ended = grade(gate, grader(llm, "openai:chat:our-deployment", max_tokens=300))
    assert ended["outcome"] == "error"
    assert "Unsupported parameter: 'max_tokens'" in ended["reason"]


def test_a_model_that_takes_no_higher_limit_was_cut_off(gate, llm):
    def reply(path: str, body: dict):
        if body["max_tokens"] > 4096:
            return 400, {"error": {"message": "max_tokens is too large: 8192"}}
        return _chat(CUT, cut=True)

    llm.reply = reply
    ended = grade(gate, grader(llm, "openai:chat:gpt-4o-mini", max_tokens=4096))
    assert ended["outcome"] == "error"
    assert "was cut off" in ended["reason"]
    assert "too large" not in ended["reason"]


@pytest.mark.parametrize("unfinished", ["", "<think>Let me see"])
def test_a_model_that_is_cut_before_its_first_word_reasons_and_is_asked_so_from_then_on(llm, unfinished):
    def reply(path: str, body: dict):
        enough = body["max_tokens"] > 2048
        thought = {"reasoning_content": "Let me see", "content": YES if enough else unfinished}
        return chat("", message=thought, finish_reason="stop" if enough else "length")

    llm.reply = reply
    assert two_questions(grader(llm, "deepseek:deepseek-reasoner")) == ["yes", "yes"]
    assert [body["max_tokens"] for body in llm.bodies] == [1024, 8192, 8192]


@pytest.mark.parametrize(
    ("assertion", "reply"),
    [
        ({"type": "model-graded-closedqa", "value": "v"}, '{"reason": "r", "verdict": "perhaps"}'),
        ({"type": "factuality", "value": "v"}, '{"reason": "r", "category": "F"}'),
        ({"type": "factuality", "value": "v"}, "It is hard to say."),
        ({"type": "contextual-relevancy"}, '{"verdicts": [{"id": 1, "reason": "r", "verdict": "perhaps"}]}'),
        ({"type": "llm-rubric", "value": "v"}, '{"reason": "r", "pass": "perhaps", "score": 1}'),
    ],
)
def test_the_second_ask_shows_no_value_that_could_be_repeated_as_a_verdict(gate, llm, assertion, reply):
    llm.reply = lambda path, body: chat(reply)
    ran = gate(config(llm, assertion, context="The context.", query="q"), *AGAIN)
    assert ran.grades[0]["outcome"] == "error"
    told = llm.bodies[-1]["messages"][-1]["content"]
    assert "That reply cannot be used" in told
    assert re.findall(r"\b(?:yes|idk|true|false|[A-E])\b", told) == []


def test_the_report_names_the_values_that_were_allowed():
    assert Unreadable("it is none", ("yes", "no")).full_message == "it is none (yes, no)"
    assert Unreadable("it is empty").full_message == "it is empty"
