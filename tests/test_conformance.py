"""Scripted grader replies with the verdict that a gate must give, all of them, in both modes.

The judge is a provider in-process: how a vendor's endpoint is asked for a schema is tested with the providers.
"""

import json
import random
import re
import zlib
from pathlib import Path

import pytest

from gradegate.core.conversation import Reply
from gradegate.core.usage import Usage
from gradegate.providers.api.provider import PROVIDERS, Provider

FILES = ("model_graded", "natural", "never", "hostile")
VECTORS = {name: json.loads((Path(__file__).parent / "conformance" / f"{name}.json").read_text()) for name in FILES}
REPLIES = {vector["id"]: vector["replies"] for vectors in VECTORS.values() for vector in vectors}
KEY = re.compile(r"KEY#([A-Za-z0-9_.:-]+)#")
STRICT = {
    "llm-rubric": {"reason": str, "pass": bool, "score": (int, float)},
    "factuality": {"reason": str, "category": ("A", "B", "C", "D", "E")},
    "model-graded-factuality": {"reason": str, "category": ("A", "B", "C", "D", "E")},
    "model-graded-closedqa": {"reason": str, "verdict": ("yes", "no")},
}


class Scripted(Provider):
    """A judge, ``scripted-judge:requested`` or ``scripted-judge:enforced``, that gives the replies of a vector in order."""

    kinds = ("text", "embedding")

    def __init__(self, setting):
        self.name = setting.spec.name
        self.structured = setting.model
        self._replies = {vector: iter(replies) for vector, replies in REPLIES.items()}
        self._last = {}

    def complete(self, request):
        vector = KEY.search(" ".join(message.content for message in request.messages))[1]
        self._last[vector] = next(self._replies[vector], self._last.get(vector))
        enforced = self.structured == "enforced" and request.schema is not None
        return Reply(self._last[vector], Usage(calls=1), "stop", constrained=enforced)

    def embed(self, texts):
        chances = [random.Random(zlib.crc32(text.encode())) for text in texts]
        return [[round(chance.uniform(-1, 1), 5) for _ in range(16)] for chance in chances], Usage(calls=1)


@pytest.fixture(autouse=True)
def scripted(monkeypatch):
    monkeypatch.setattr(PROVIDERS, "_plugins", {**dict(PROVIDERS), "scripted-judge": Scripted})


@pytest.mark.parametrize("mode", ["requested", "enforced"])
@pytest.mark.parametrize("name", FILES)
def test_every_vector_agrees(gate, name, mode):
    vectors = [vector for vector in VECTORS[name] if mode in vector.get("modes", [mode])]
    models = dict.fromkeys(("text", "embedding"), f"scripted-judge:{mode}")
    tests = [
        {
            "description": vector["id"],
            "vars": vector["vars"],
            "assert": [vector["assertion"]],
            "options": {**vector["options"], "provider": models},
        }
        for vector in vectors
    ]
    ran = gate({"prompts": ["{{output_text}}"], "providers": ["echo"], "tests": tests})
    grades = {case["description"]: case["grades"][0] for case in ran.cases}
    wrong = [(v["id"], v["replies"], v["expect"], grades[v["id"]]) for v in vectors if not agrees(v, grades, mode)]
    assert (len(grades), wrong) == (len(vectors), [])


def agrees(vector, grades, mode):
    expected, grade = vector["expect"], grades[vector["id"]]
    if expected["outcome"] == "not pass":
        return grade["outcome"] in ("fail", "error")
    if grade["outcome"] == "error" and (expected.get("or") == "error" or (mode == "enforced" and not strict(vector))):
        return True
    same = grade["outcome"] == expected["outcome"]
    return same and (expected["score"] is None or grade["score"] == pytest.approx(expected["score"], abs=1e-6))


def strict(vector):
    """Whether the first reply is the object that an enforced schema gives."""
    keys = STRICT.get(vector["kind"].removeprefix("not-"))
    try:
        pairs = json.loads(vector["replies"][0], object_pairs_hook=list)
    except ValueError:
        return False
    if keys is None or not isinstance(pairs, list) or any(not isinstance(pair, tuple) for pair in pairs):
        return False
    return sorted(key for key, _ in pairs) == sorted(keys) and all(fits(value, keys[key]) for key, value in pairs)


def fits(value, kind):
    if isinstance(kind, tuple) and isinstance(kind[0], str):
        return value in kind
    return isinstance(value, kind) and isinstance(value, bool) is (kind is bool)
