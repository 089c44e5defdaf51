import pytest

from gradegate.values.conversation import Message
from support.fake_llm import FakeLlm
from support.vendors import PIXEL, SCHEMA, URL, ask, build, gemini, headers, path, refusing


def flash(llm: FakeLlm, model: str = "gemini-2.5-flash", **config):
    return build(f"google:{model}", {"apiBaseUrl": llm.base.removesuffix("/v1"), "apiKey": "AIza-1", **config})


SO = gemini({"text": "It is so."})


def test_a_question_as_the_api_wants_it_and_its_answer(llm: FakeLlm):
    llm.reply = lambda path, body: gemini({"text": "FAIL it", "thought": True}, {"text": "It is "}, {"text": "so."})
    reply = ask(
        flash(llm, maxOutputTokens=99, safetySettings=[{"category": "HARM_CATEGORY_HARASSMENT"}]),
        ("system", "Be brief."),
        Message("user", "what is it?", (PIXEL, URL)),
        ("assistant", "A dot."),
        ("user", "sure?"),
    )
    assert (reply.text, reply.finish_reason, reply.refused) == ("It is so.", "stop", False)
    assert path(llm) == "/v1beta/models/gemini-2.5-flash:generateContent"
    assert headers(llm)["x-goog-api-key"] == "AIza-1"
    assert llm.bodies[0] == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"text": "what is it?"},
                    {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
                    {"fileData": {"fileUri": URL}},
                ],
            },
            {"role": "model", "parts": [{"text": "A dot."}]},
            {"role": "user", "parts": [{"text": "sure?"}]},
        ],
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT"}],
        "generationConfig": {"temperature": 0, "maxOutputTokens": 99},
    }


def test_thoughts_are_paid_for(llm: FakeLlm):
    llm.reply = lambda path, body: SO
    usage = ask(flash(llm)).usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (50, 10)
    assert usage.known_cost == pytest.approx(50 * 0.3e-6 + 10 * 2.5e-6)


def test_options_in_every_spelling(llm: FakeLlm):
    llm.reply = lambda path, body: SO
    generation = {"thinkingConfig": {"thinkingBudget": 0}, "response_mime_type": "application/json"}
    ask(flash(llm, top_p=0.5, max_tokens=7, temperature=1, generationConfig=generation), options={"seed": 3})
    assert llm.bodies[0]["generationConfig"] == {
        "temperature": 1,
        "topP": 0.5,
        "maxOutputTokens": 7,
        "seed": 3,
        "thinkingConfig": {"thinkingBudget": 0},
        "responseMimeType": "application/json",
    }


def test_structured_output_and_its_fallbacks(llm: FakeLlm):
    llm.reply = refusing("responseJsonSchema", "responseMimeType", answer=SO)
    model = flash(llm)
    for _ in range(2):
        assert ask(model, schema=SCHEMA).text == "It is so."
    assert [body["generationConfig"] for body in llm.bodies] == [
        {"temperature": 0, "responseMimeType": "application/json", "responseJsonSchema": SCHEMA},
        {"temperature": 0, "responseMimeType": "application/json"},
        {"temperature": 0},
        {"temperature": 0},
    ]


def test_a_blocked_prompt_is_a_refusal(llm: FakeLlm):
    llm.reply = lambda path, body: {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 5}}
    reply = ask(flash(llm))
    assert (reply.refused, reply.finish_reason) == (True, "content_filter")
    assert reply.text == "the prompt was blocked: PROHIBITED_CONTENT"


@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "BLOCKLIST", "SPII", "PROHIBITED_CONTENT"])
def test_a_blocked_answer_is_a_refusal(llm: FakeLlm, reason: str):
    llm.reply = lambda path, body: {"candidates": [{"finishReason": reason, "finishMessage": "It was blocked."}]}
    reply = ask(flash(llm))
    assert (reply.text, reply.refused, reply.finish_reason) == ("It was blocked.", True, "content_filter")


def test_a_key_goes_to_the_host_that_reports_show():
    assert build("google:gemini-2.5-pro", GEMINI_API_KEY="k").host == "generativelanguage.googleapis.com"
    assert build("google:gemini-2.5-pro", {"apiHost": "g.example.com"}, GOOGLE_API_KEY="k").host == "g.example.com"


# --- embeddings -----------------------------------------------------------------------------------------------


def vectors(*rows: list[float], **more) -> dict:
    return {"embeddings": [{"values": row} for row in rows], **more}


def embedder(llm: FakeLlm, **config):
    return build("google:embedding:gemini-embedding-001", {"apiBaseUrl": llm.base.removesuffix("/v1"), "apiKey": "AIza-1", **config})


def test_one_request_for_all_texts(llm: FakeLlm):
    llm.reply = lambda path, body: vectors([1, 2], [3, 4], usageMetadata={"promptTokenCount": 8})
    rows, usage = embedder(llm, outputDimensionality=2, cost=0.5).embed(["a", "b"])
    assert rows == [[1.0, 2.0], [3.0, 4.0]]
    assert (usage.prompt_tokens, usage.known_cost) == (8, 4.0)
    assert path(llm) == "/v1beta/models/gemini-embedding-001:batchEmbedContents"
    assert headers(llm)["x-goog-api-key"] == "AIza-1"
    one = {"model": "models/gemini-embedding-001", "outputDimensionality": 2}
    assert llm.bodies == [{"requests": [{**one, "content": {"parts": [{"text": text}]}} for text in "ab"]}]


def test_many_texts_are_several_requests(llm: FakeLlm):
    llm.reply = lambda path, body: vectors(*([float(len(body["requests"]))] for _ in body["requests"]))
    rows, usage = embedder(llm).embed(["x"] * 101)
    assert (rows[0], rows[-1], len(rows), usage.calls) == ([100.0], [1.0], 101, 2)
    assert usage.known_cost is None  # the answer counts no tokens
