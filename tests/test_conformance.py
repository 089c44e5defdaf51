"""Scripted grader replies with the verdict that a gate must give, all of them, in both modes.

The judge is a provider in-process: how a vendor's endpoint is asked for a schema is tested with the providers.
"""

import json
import random
import re
import zlib
from collections import defaultdict
from pathlib import Path

import pytest

from gradegate.core.conversation import Reply
from gradegate.core.usage import Usage
from gradegate.providers.api.provider import PROVIDERS, Provider

FILES = ("model_graded", "natural", "never", "hostile")
VECTORS = {name: json.loads((Path(__file__).parent / "conformance" / f"{name}.json").read_text()) for name in FILES}
REPLIES = {
    name: replies
    for vectors in VECTORS.values()
    for vector in vectors
    for name, replies in {vector["id"]: vector["replies"], **vector.get("also", {})}.items()
}
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


@pytest.fixture(autouse=True, scope="module")
def scripted_judge():
    PROVIDERS.register("scripted-judge")(Scripted)
    yield
    PROVIDERS.unregister("scripted-judge")


@pytest.mark.parametrize("mode", ["requested", "enforced"])
@pytest.mark.parametrize("name", FILES)
def test_every_vector_agrees(gate, name, mode):
    vectors = [vector for vector in VECTORS[name] if mode in vector.get("modes", [mode])]
    runs = defaultdict(list)
    for vector in vectors:
        runs[len(vector.get("outputs", ())), vector.get("reask", 0)].append(vector)

    cases = defaultdict(list)
    for (outputs, retries), some in runs.items():
        prompts = [f"{{{{output_{number}}}}}" for number in range(outputs)] or ["{{output_text}}"]
        config = {"prompts": prompts, "providers": ["echo"], "tests": [case_of(vector, mode) for vector in some]}
        for case in gate(config, "--grader-retries", str(retries)).cases:
            cases[case["description"]].append(case["grades"][0])

    wrong = [(v["id"], v["replies"], v["expect"], cases[v["id"]]) for v in vectors if not agrees(v, cases[v["id"]], mode)]
    assert (len(cases), wrong) == (len(vectors), [])


def case_of(vector, mode):
    outputs = {f"output_{number}": text for number, text in enumerate(vector.get("outputs", ()))}
    models = dict.fromkeys(("text", "embedding"), f"scripted-judge:{mode}")
    return {
        "description": vector["id"],
        "vars": {**vector["vars"], **outputs},
        "assert": [vector["assertion"]],
        "options": {**vector["options"], "provider": models},
        **vector.get("test", {}),
    }


def agrees(vector, grades, mode):
    """Whether the grades of a vector's answers are the expected ones; all vectors but those of select-best have one answer."""
    expected, grade = vector["expect"], grades[0]
    if "outcomes" in expected:
        return [grade["outcome"] for grade in grades] == expected["outcomes"]
    if expected["outcome"] == "not pass":
        return grade["outcome"] in ("fail", "error")
    if grade["outcome"] == "error" and (expected.get("or") == "error" or (mode == "enforced" and not strict(vector))):
        return True
    same = grade["outcome"] == expected["outcome"]
    return same and (expected["score"] is None or grade["score"] == pytest.approx(expected["score"], abs=1e-6))


def strict(vector):
    """Whether the first reply is the object that an enforced schema gives."""
    if "strict" in vector:
        return vector["strict"]
    keys = STRICT.get(vector["kind"].removeprefix("not-"))
    try:
        pairs = json.loads(vector["replies"][0], object_pairs_hook=list)
    except (IndexError, ValueError):
        return False
    if keys is None or not isinstance(pairs, list) or any(not isinstance(pair, tuple) for pair in pairs):
        return False
    return sorted(key for key, _ in pairs) == sorted(keys) and all(fits(value, keys[key]) for key, value in pairs)


def fits(value, kind):
    if isinstance(kind, tuple) and isinstance(kind[0], str):
        return value in kind
    return isinstance(value, kind) and isinstance(value, bool) is (kind is bool)
