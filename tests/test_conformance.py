"""Scripted grader replies with the verdict that a gate must give, all of them, through the command."""

import json
import re
from pathlib import Path

import pytest

FILES = ("model_graded", "never", "natural", "never_more", "natural_more")
VECTORS = {name: json.loads((Path(__file__).parent / "conformance" / f"{name}.json").read_text()) for name in FILES}
GROUPS = sorted({(name, vector["kind"]) for name, vectors in VECTORS.items() for vector in vectors})
KEY = re.compile(r"KEY#([A-Za-z0-9_.:-]+)#")


@pytest.mark.parametrize(("name", "kind"), GROUPS)
def test_every_vector_of_a_kind_agrees(gate, llm, name, kind):
    vectors = [vector for vector in VECTORS[name] if vector["kind"] == kind]
    given = {vector["id"]: iter(vector["replies"]) for vector in vectors}
    last = {}

    def reply(path, body):
        if path.endswith("/embeddings"):
            texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
            return {"data": [{"index": n, "embedding": embedding(text)} for n, text in enumerate(texts)]}
        found = KEY.search(json.dumps(body))[1]
        last[found] = next(given[found], last.get(found))
        return last[found]

    llm.reply = reply
    embedder = {"id": "openai:embeddings:e", "config": {"apiBaseUrl": llm.base, "apiKey": "k"}}
    models = {"text": llm.spec(), "embedding": embedder} if kind == "answer-relevance" else llm.spec()
    ran = gate(
        {
            "prompts": ["{{output_text}}"],
            "providers": ["echo"],
            "tests": [
                {
                    "description": vector["id"],
                    "vars": vector["vars"],
                    "assert": [vector["assertion"]],
                    "options": {**vector["options"], "provider": models},
                }
                for vector in vectors
            ],
        },
        "-j",
        "8",
    )
    got = {case["description"]: case["grades"][0] for case in ran.cases}
    wrong = [
        (vector["id"], vector["replies"], vector["expect"], got[vector["id"]]["outcome"], got[vector["id"]]["score"])
        for vector in vectors
        if not agrees(vector["expect"], got[vector["id"]])
    ]
    assert wrong == []


def agrees(expected, grade):
    if expected["outcome"] == "not pass":
        return grade["outcome"] in ("fail", "error")
    same = grade["outcome"] == expected["outcome"]
    return same and (expected["score"] is None or grade["score"] == pytest.approx(expected["score"], abs=1e-6))


def embedding(text):
    import random
    import zlib

    chance = random.Random(zlib.crc32(text.encode()))
    return [round(chance.uniform(-1, 1), 5) for _ in range(16)]
