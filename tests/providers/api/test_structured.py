"""What becomes of a JSON Schema: where it is enforced, what is asked where it is refused, and which replies are constrained."""

import json
from typing import Any

import pytest

from gradegate.providers.api import chat_model as chatmodel
from support import clouds
from support.each import table
from support.exchanges import exchanges
from support.fake_llm import FakeLlm, chat
from support.scenes import scenes
from support.vendors import SCHEMA, THOUGHT, ask, build, claude, converse, gemini, make_message, ollama, output_text, responses

VERDICT = {"reason": "r", "pass": True}
TEXT = json.dumps(VERDICT)
# Providers, what a server of one's own answers them, and where their addresses are set.
AT = {
    "openai:chat:m": (chat(TEXT), "apiBaseUrl"),
    "openai:responses:m": (responses(THOUGHT, make_message(output_text(TEXT))), "apiBaseUrl"),
    "azure:chat:m": (chat(TEXT), "apiBaseUrl"),
    "mistral:m": (chat(TEXT), "apiBaseUrl"),
    "deepseek:m": (chat(TEXT), "apiBaseUrl"),
    "vllm:m": (chat(TEXT), "apiBaseUrl"),
    "anthropic:m": (claude({"type": "text", "text": TEXT}), "apiBaseUrl"),
    "google:m": (gemini({"text": TEXT}), "apiBaseUrl"),
    "vertex:gemini-x": (gemini({"text": TEXT}), "apiBaseUrl"),
    "vertex:claude-x": (claude({"type": "text", "text": TEXT}), "apiBaseUrl"),
    "bedrock:m": (converse({"text": TEXT}), "endpoint"),
    "ollama:m": (ollama(TEXT), "apiBaseUrl"),
}
VERTEX = {"GOOGLE_OAUTH_ACCESS_TOKEN": "t-0123456789", "GOOGLE_CLOUD_PROJECT": "p-1"}


def model(provider_id: str, base: str, **config: Any):
    key = {} if provider_id.startswith("vertex") else {"apiKey": "k"}
    return build(provider_id, {AT.get(provider_id, ("", "apiBaseUrl"))[1]: base, **key, **config}, **VERTEX)


def at(llm: FakeLlm, provider_id: str, answer: Any = None, **config: Any):
    """A provider at a server of one's own."""
    if answer is not None:
        llm.reply = lambda path, body: answer
    return model(provider_id, llm.base, **config)


def differing(rows: dict, got: dict) -> dict:
    return {row: (got[row], wanted) for row, wanted in rows.items() if got[row] != wanted}


test_an_exchange = exchanges(__file__)
test_a_scene = scenes(__file__)


# --- who enforces -------------------------------------------------------------------------------------------------

OWN = table(__file__, "OWN")
OTHERS = table(__file__, "OTHERS")


def test_which_hosts_are_a_vendors_own():
    rows = {**dict.fromkeys(OWN, True), **dict.fromkeys(OTHERS, False)}
    assert not differing(rows, {url: chatmodel.STRICT_VENDORS.owns(url) for url in rows})


def test_the_option_says_it_for_every_chat_model(llm: FakeLlm):
    rows = {(name, value): value for name in AT for value in ("enforced", "requested", "none")}
    assert not differing(rows, {(name, value): at(llm, name, structured=value).structured for name, value in rows})


# --- which replies are constrained --------------------------------------------------------------------------------


def test_a_reply_is_constrained_where_the_schema_was_sent_and_is_enforced(llm: FakeLlm):
    rows = {(name, value): value == "enforced" for name in AT for value in ("enforced", "requested", "none")}
    got, texts, schemas = {}, {}, {}
    for name, value in rows:
        reply = ask(at(llm, name, AT[name][0], structured=value), schema=SCHEMA)
        got[name, value], texts[name, value] = reply.constrained, reply.text
        schemas[name, value] = "additionalProperties" in str(llm.bodies[-1])
    assert not differing(rows, got)
    assert set(texts.values()) == {TEXT}
    assert not differing({row: row[1] != "none" for row in rows}, schemas)


def test_a_question_without_a_schema_has_no_constrained_reply(llm: FakeLlm):
    assert not [name for name in AT if ask(at(llm, name, AT[name][0], structured="enforced")).constrained]


def test_a_form_of_the_users_own_is_sent_as_it_is_and_constrains_nothing(llm: FakeLlm):
    other = {**SCHEMA, "description": "another schema than theirs"}
    wrong = []
    for name, option, value in table(__file__, "forms"):
        reply = ask(at(llm, name, AT[name][0], structured="enforced", **{option: value}), schema=other)
        if reply.constrained or "another schema" in str(llm.bodies[-1]):
            wrong.append((name, option, llm.bodies[-1]))
    assert not wrong


# --- what is asked where it is refused ----------------------------------------------------------------------------


def forms(body: dict) -> str:
    """In which form of OpenAI's API a request asks."""
    written = body.get("response_format") or body.get("text", {}).get("format") or {}
    return written.get("type", "plain")


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("name", ["openai:chat:m", "openai:responses:m", "azure:chat:m", "mistral:m", "deepseek:m", "vllm:m"])
@pytest.mark.parametrize("takes", ["json_schema", "json_object", "plain"])
def test_openais_form_schema_then_json_object_then_plain(llm: FakeLlm, name: str, takes: str, status: int):
    order = ["json_schema", "json_object", "plain"]
    fine = order[order.index(takes) :]
    llm.reply = lambda path, body: AT[name][0] if forms(body) in fine else (status, {"error": "no such format"})
    provider = at(llm, name, structured="enforced")
    replies = [ask(provider, schema=SCHEMA) for _ in range(2)]
    assert [forms(body) for body in llm.bodies] == [*order[: order.index(takes)], takes, takes]
    assert [reply.constrained for reply in replies] == [takes == "json_schema"] * 2


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_another_status_refuses_no_form(llm: FakeLlm, status: int):
    llm.reply = lambda path, body: (status, {"error": "no"})
    provider = at(llm, "openai:chat:m", structured="enforced")
    for _ in range(2):
        with pytest.raises(Exception, match=str(status)):
            ask(provider, schema=SCHEMA)
    assert [forms(body) for body in llm.bodies] == ["json_schema"] * 2


def test_each_provider_remembers_for_itself(llm: FakeLlm):
    llm.reply = lambda path, body: chat(TEXT) if forms(body) != "json_schema" else (400, {"error": "no"})
    ask(at(llm, "openai:chat:a", structured="enforced"), schema=SCHEMA)
    llm.reply = lambda path, body: chat(TEXT)
    assert ask(at(llm, "openai:chat:b", structured="enforced"), schema=SCHEMA).constrained


# --- only a finished reply is one ---------------------------------------------------------------------------------

WHOLE = (
    "stop end_turn stop_sequence stop_criteria_met completed complete finished finish end eos eos_token end_of_text "
    "tool_calls tool_call tool_use function_call"
).split()
BROKEN = "length pause_turn OTHER error in_progress incomplete MAX_TOKENS max_tokens abort safety null".split()


def ending(name: str, word: Any) -> dict:
    """An answer with a word for its end; None for a null, an absent one for ``...``."""
    answer = json.loads(json.dumps(AT[name][0]))
    place, key = {
        "choices": lambda: (answer["choices"][0], "finish_reason"),
        "candidates": lambda: (answer["candidates"][0], "finishReason"),
        "stop_reason": lambda: (answer, "stop_reason"),
        "stopReason": lambda: (answer, "stopReason"),
        "done_reason": lambda: (answer, "done_reason"),
        "status": lambda: (answer, "status"),
    }[next(key for key in ("choices", "candidates", "stop_reason", "stopReason", "done_reason", "status") if key in answer)]()
    place[key] = word
    if word is ...:
        del place[key]
    return answer


def test_elsewhere_the_known_words_in_any_case_and_none_are_an_end(llm: FakeLlm):
    spelled = [spelling for word in WHOLE for spelling in (word, word.upper(), word.title())]
    for name in AT:
        whole = {word: ask(at(llm, name, ending(name, word))).finish_reason for word in (*spelled, None, "", ...)}
        assert {word for word, reason in whole.items() if reason not in ("stop", "")} == set(), name
        broken = {word: ask(at(llm, name, ending(name, word))) for word in BROKEN}
        assert {word for word, reply in broken.items() if reply.finish_reason in ("stop", "")} == set(), name


OWN_HOSTS = {
    "openai:chat:m": ("https://api.openai.com/v1", {"stop"}),
    "openai:responses:m": ("https://api.openai.com/v1", {"completed"}),
    "azure:chat:m": ("https://mine.openai.azure.com", {"stop"}),
    "mistral:m": ("https://api.mistral.ai/v1", {"stop"}),
    "anthropic:m": ("https://api.anthropic.com", {"end_turn", "stop_sequence"}),
    "google:m": ("https://generativelanguage.googleapis.com", {"STOP"}),
    "vertex:gemini-x": ("https://aiplatform.googleapis.com", {"STOP"}),
    "vertex:claude-x": ("https://aiplatform.googleapis.com", {"end_turn", "stop_sequence"}),
    "bedrock:m": ("https://bedrock-runtime.us-east-1.amazonaws.com", {"end_turn", "stop_sequence"}),
}


@pytest.mark.parametrize("name", OWN_HOSTS)
def test_at_a_vendors_own_host_its_own_words_alone_are_an_end(monkeypatch, tmp_path, name: str):
    base, whole = OWN_HOSTS[name]
    words = [*WHOLE, *whole, "STOP", "Stop", *BROKEN, None, "", ...]
    answers = iter([ending(name, word) for word in words])
    with clouds.job(monkeypatch, tmp_path, lambda seen: next(answers)) as cloud:
        provider = model(name, base)
        replies = {word: ask(provider, schema=SCHEMA) for word in words}
    assert {word for word, reply in replies.items() if reply.finish_reason in ("stop", "")} == whole
    assert len(cloud.hosts) == len(words)
    assert {reply.constrained for reply in replies.values()} == {True}


def test_an_answer_of_a_vendor_that_does_not_say_why_it_ended_is_none(gate, monkeypatch, tmp_path):
    rubric = {"type": "llm-rubric", "value": "is polite", "provider": {"id": "openai:chat:m", "config": {"apiKey": "k"}}}
    for word, outcome in (("stop", "pass"), (None, "error"), ("end_turn", "error")):
        answer = chat(json.dumps({"reason": "r", "pass": True, "score": 1}), finish_reason=word)
        with clouds.job(monkeypatch, tmp_path, lambda seen, answer=answer: answer):
            ran = gate({"prompts": ["x"], "providers": ["echo"], "tests": [{"assert": [rubric]}]})
        assert ran.grades[0]["outcome"] == outcome, word
