"""Exchanges with each vendor's API, of the files beside this one that are named after vendors; and texts that need several requests."""

from support.each import each
from support.exchanges import exchanges
from support.fake_llm import FakeLlm
from support.vendors import build, embeddings

test_an_exchange = exchanges(__file__)


@each(
    ("provider_id", "most", "tokens", "millionths"),
    [
        ("openai:embeddings:text-embedding-3-small", 2048, 16, 0.32),
        ("mistral:embeddings:mistral-embed", 128, 16, 1.6),
        ("google:embedding:gemini-embedding-001", 100, 0, None),  # its reply counts no tokens
    ],
)
def test_more_texts_than_a_request_may_hold_are_asked_in_turn(
    llm: FakeLlm, provider_id: str, most: int, tokens: int, millionths: float | None
):
    def texts(body: dict) -> list[str]:
        return body.get("input") or [it["content"]["parts"][0]["text"] for it in body["requests"]]

    def reply(path: str, body: dict) -> dict:
        rows = [[float(text)] for text in texts(body)]
        return {**embeddings(*rows), "embeddings": [{"values": row} for row in rows]}

    llm.reply = reply
    found, usage = build(provider_id, {"apiBaseUrl": llm.base, "apiKey": "k"}).embed([str(number) for number in range(most + 2)])
    assert found == [[float(number)] for number in range(most + 2)]
    assert [len(texts(body)) for body in llm.bodies] == [most, 2]
    assert (usage.calls, usage.prompt_tokens) == (2, tokens)
    assert (usage.known_cost and round(usage.known_cost * 1e6, 6)) == millionths
