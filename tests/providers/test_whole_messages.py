"""A chat prompt is sent whole, in the form of each vendor, or it is a mistake at its line before anything is asked."""

import json

import pytest

from support.each import table
from support.fake_llm import FakeLlm
from support.vendors import PIXEL, claude, converse, gemini, ollama, output_text, responses, said

DATA = PIXEL.partition("base64,")[2]
CALLS = [
    {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"order": 7}'}},
    {"id": "c2", "type": "function", "function": {"name": "hours", "arguments": "{}"}},
]
CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Where is {{what}}?"}, {"type": "image_url", "image_url": {"url": PIXEL}}]},
    {"role": "assistant", "content": None, "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "c1", "content": "sent on {{what}}day"},
    {"role": "tool", "tool_call_id": "c2", "content": "9 to 5"},
]
CLAUDE = table(__file__, "CLAUDE")
GEMINI = [{"role": "user", "content": [{"fileData": {"fileUri": "gs://b/v.mp4", "mimeType": "video/mp4"}}, {"text": "what?"}]}]
SOUND = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}


def target(vendor: str, llm: FakeLlm) -> dict:
    llm.reply = lambda path, body: {
        "anthropic": claude({"type": "text", "text": "yes"}),
        "google": gemini({"text": "yes"}),
        "ollama": ollama("yes"),
        "bedrock": converse({"text": "yes"}),
        "openai": responses(said(output_text("yes"))),
    }[vendor]
    ids = {"anthropic": "claude-opus-4-5", "google": "gemini-2.5-flash", "ollama": "chat:m", "bedrock": "amazon.nova-lite-v1:0"}
    base = {"endpoint": llm.base.removesuffix("/v1")} if vendor == "bedrock" else {"apiBaseUrl": llm.base}
    return {"id": f"{vendor}:{ids.get(vendor, 'responses:gpt-4o')}", "config": {**base, **({} if vendor == "ollama" else {"apiKey": "k"})}}


def config(vendor: str, llm: FakeLlm) -> dict:
    tests = [{"vars": {"what": "it"}, "assert": [{"type": "equals", "value": "yes"}]}]
    return {"prompts": ["file://p.json"], "providers": [target(vendor, llm)], "tests": tests}


PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}
SENT = {
    "anthropic": lambda body: (body["system"], body["messages"]),
    "google": lambda body: (body["systemInstruction"], body["contents"]),
    "bedrock": lambda body: (body["system"], body["messages"]),
    "ollama": lambda body: body["messages"],
    "openai": lambda body: body["input"],
}
WHOLE = [
    ("anthropic", CHAT, ("Be brief.", [
        {"role": "user", "content": [{"type": "text", "text": "Where is it?"}, PICTURE]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c1", "name": "look_up", "input": {"order": 7}},
            {"type": "tool_use", "id": "c2", "name": "hours", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "sent on itday"},
            {"type": "tool_result", "tool_use_id": "c2", "content": "9 to 5"},
        ]},
    ])),
    ("google", CHAT, ({"parts": [{"text": "Be brief."}]}, [
        {"role": "user", "parts": [{"text": "Where is it?"}, {"inlineData": {"mimeType": "image/png", "data": DATA}}]},
        {"role": "model", "parts": [
            {"functionCall": {"name": "look_up", "args": {"order": 7}}}, {"functionCall": {"name": "hours", "args": {}}},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"name": "look_up", "response": {"output": "sent on itday"}}},
            {"functionResponse": {"name": "hours", "response": {"output": "9 to 5"}}},
        ]},
    ])),
    ("bedrock", CHAT, ([{"text": "Be brief."}], [
        {"role": "user", "content": [{"text": "Where is it?"}, {"image": {"format": "png", "source": {"bytes": DATA}}}]},
        {"role": "assistant", "content": [
            {"toolUse": {"toolUseId": "c1", "name": "look_up", "input": {"order": 7}}},
            {"toolUse": {"toolUseId": "c2", "name": "hours", "input": {}}},
        ]},
        {"role": "user", "content": [
            {"toolResult": {"toolUseId": "c1", "content": [{"text": "sent on itday"}]}},
            {"toolResult": {"toolUseId": "c2", "content": [{"text": "9 to 5"}]}},
        ]},
    ])),
    ("ollama", CHAT, [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where is it?", "images": [DATA]},
        {"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": "look_up", "arguments": {"order": 7}}}, {"function": {"name": "hours", "arguments": {}}},
        ]},
        {"role": "tool", "content": "sent on itday", "tool_name": "look_up"},
        {"role": "tool", "content": "9 to 5", "tool_name": "hours"},
    ]),
    ("openai", CHAT, [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [
            {"type": "input_text", "text": "Where is it?"}, {"type": "input_image", "image_url": PIXEL, "detail": "auto"},
        ]},
        {"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": '{"order": 7}'},
        {"type": "function_call", "call_id": "c2", "name": "hours", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "sent on itday"},
        {"type": "function_call_output", "call_id": "c2", "output": "9 to 5"},
    ]),
    ("openai", [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}}]}], [
        {"role": "user", "content": [{"type": "input_image", "image_url": PIXEL, "detail": "low"}]},
    ]),
    ("anthropic", CLAUDE, (CLAUDE[0]["content"], CLAUDE[1:])),
    ("google", [{"role": "system", "content": "s"}, *GEMINI], (
        {"parts": [{"text": "s"}]}, [{"role": "user", "parts": GEMINI[0]["content"]}],
    )),
]  # fmt: skip


@pytest.mark.parametrize(("vendor", "prompt", "expected"), WHOLE, ids=[f"{row[0]}-{number}" for number, row in enumerate(WHOLE)])
def test_a_chat_is_sent_whole(gate, llm: FakeLlm, vendor, prompt, expected):
    ran = gate(config(vendor, llm), **{"p.json": json.dumps(prompt)})
    assert ran.code == 0, ran.err
    assert SENT[vendor](llm.bodies[-1]) == expected


OTHERS = ("google", "ollama", "bedrock", "openai")


def part(**keys: object) -> list[dict]:
    return [{"role": "user", "content": [keys, {"type": "text", "text": "what?"}]}]


UNSENDABLE = [
    (SENT, [{"role": "user", "content": [{"type": "text", "text": "what?"}, SOUND]}], "a part `input_audio`"),
    (SENT, [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}], "a part `file`"),
    (("google", "ollama", "bedrock", "openai"), CLAUDE[1:], "a part `document`"),
    (("anthropic", "google", "bedrock"), [{"role": "system", "content": [{"type": "image_url", "image_url": {"url": PIXEL}}]}, CHAT[1]],
     "in a system message anything but text"),
    (SENT, [{"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "custom", "custom": {}}]}, CHAT[1]], "`tool_calls`"),
    (SENT, [{"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}, CHAT[1]], "`function_call`"),
    (SENT, [CHAT[1], {"role": "tool", "content": "x"}], "a `tool` message without"),
    (("google", "ollama"), [CHAT[1], CHAT[3]], "no call before has the id `c1`"),
    (("google", "ollama"), [CHAT[1], {**CHAT[3], "name": "look_up"}], "no call before has the id `c1`"),
    (("anthropic", "bedrock", "openai"), [CHAT[1], CHAT[2], {**CHAT[3], "name": "other"}], "`name` of a `tool` message"),
    (("anthropic", "openai"), part(text="A", toolResult={"toolUseId": "t"}), "`toolResult` in a part `text`"),
    (("anthropic", "openai", "ollama"), part(text="A", inlineData={"data": "AA=="}), "`inlineData` in a part `text`"),
    (("anthropic", "google", "ollama", "openai"), part(image={"source": {"bytes": DATA, "s3Location": {"uri": "s3://b"}}}), "`s3Location`"),
    (OTHERS, part(type="text", text="A", document="X"), "`document` in a part `text`"),
    (OTHERS, part(type="text", text="A", image_url={"url": PIXEL}), "`image_url` in a part `text`"),
    (OTHERS, part(type="text", text="A", cache_control={"type": "ephemeral"}), "`cache_control` in a part `text`"),
    (OTHERS, part(type="text", text="A", citations=[{"x": 1}]), "`citations` in a part `text`"),
    (("anthropic", "google", "ollama", "bedrock"), part(type="image_url", image_url={"url": PIXEL, "detail": "low"}), "`detail` in a part"),
    (OTHERS, part(**PICTURE, cache_control={"type": "ephemeral"}), "`cache_control` in a part `image`"),
    (SENT, [CHAT[1], {**CHAT[2], "tool_calls": [{**CALLS[0], "extra": "x"}]}], "`extra` in `tool_calls`"),
    (SENT, [CHAT[1], {**CHAT[2], "tool_calls": [{**CALLS[0], "function": {**CALLS[0]["function"], "strict": True}}]}], "`strict` in `tool_calls`"),
    (("ollama",), [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x.example/i.png"}}]}], "as data"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("vendor", "prompt", "words"), [(vendor, prompt, words) for vendors, prompt, words in UNSENDABLE for vendor in vendors]
)
def test_what_would_be_left_out_is_a_mistake(gate, llm: FakeLlm, vendor, prompt, words):
    ran = gate(config(vendor, llm), **{"p.json": json.dumps(prompt)})
    assert (ran.code, llm.requests) == (2, [])
    assert all(text in ran.err for text in ("p.json", "cannot be sent to", words)), ran.err


def test_a_call_before_the_turns_is_sent(gate, llm: FakeLlm):
    """Messages of the prompt that have no text are no empty ones."""
    written = config("anthropic", llm)
    written["tests"][0]["turns"] = [{"role": "user", "content": "And now?"}]
    ran = gate(written, **{"p.json": json.dumps(CHAT)})
    assert ran.code == 0, ran.err
    assert [message["role"] for message in llm.bodies[-1]["messages"]] == ["user", "assistant", "user", "user"]


def test_calls_of_the_user_are_a_mistake(gate, llm: FakeLlm):
    written = config("openai", llm)
    written["tests"][0]["turns"] = [{"role": "user", "content": "And now?", "tool_calls": CALLS}]
    ran = gate(written, **{"p.json": json.dumps(CHAT)})
    assert (ran.code, llm.requests) == (2, [])
    assert "a turn of the user has `tool_calls`" in ran.err


def test_a_grading_prompt_is_sent_whole_or_is_a_mistake(gate, llm: FakeLlm):
    calls = [{"role": "user", "content": "{{output}}", "name": "ann"}, {**CHAT[2], "content": "x {{output}}"}, CHAT[3], CHAT[4]]
    verdict = '{"pass": true}'
    replies = {"anthropic": claude({"type": "text", "text": verdict}), "openai:chat": verdict}
    asked = {vendor: {**target("anthropic", llm), **({} if vendor == "anthropic" else llm.spec())} for vendor in replies}
    cached = [{"role": "user", "content": [{"type": "text", "text": "{{output}}", "cache_control": {"type": "ephemeral"}}]}]
    for prompt, vendor, words in [
        (calls, "openai:chat", ""), (calls[1:], "anthropic", ""), (calls, "anthropic", "Claude does not take `name`"),
        (cached, "openai:chat", "`cache_control` in a part `text`"), (cached, "anthropic", "`cache_control` in a part `text`"),
    ]:  # fmt: skip
        for own in (prompt, json.dumps(prompt)):
            llm.requests.clear()
            llm.reply = lambda path, body, vendor=vendor: replies[vendor]
            rubric = {"type": "llm-rubric", "value": "is fine", "rubricPrompt": own, "provider": asked[vendor]}
            ran = gate({"prompts": ["hi"], "providers": ["echo"], "tests": [{"vars": {"what": "it"}, "assert": [rubric]}]})
            assert (ran.code, len(llm.requests), words in ran.err) == ((2, 0, True) if words else (0, 1, True)), ran.err
            if vendor == "openai:chat" and not words:
                filled = json.dumps(prompt).replace("{{output}}", "hi").replace("{{what}}", "it")
                assert llm.bodies[0]["messages"] == json.loads(filled)
