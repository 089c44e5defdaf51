"""Replies of a model that finds everything right, to our own grading prompts, each in the form that its prompt asks for."""

import json
import re
from typing import Any

YES = {"reason": "as it should be", "verdict": "yes"}
# What a grading prompt begins with, and the reply to it.
REPLIES: tuple[tuple[str, Any], ...] = (
    ("You grade one answer of a system under test against a rubric", {"reason": "as asked", "pass": True, "score": 1}),
    ("You compare the facts in a submitted answer", {"reason": "the same facts", "category": "A"}),
    ("You take an answer apart into the statements", {"statements": ["Up to $500 needs no approval."]}),
    ("You hold each of a list of statements against a context", {"verdicts": [{"statement": "x", **YES}]}),
    ("You check whether the last message of an assistant fits", YES),
    ("You note what a user tells", {"facts": ["bought shoes"]}),
    ("You check whether an assistant forgot", {"reason": "nothing is forgotten", "verdict": "no"}),
)
RECALL = {"sentence": "x", "reason": "it is there", "verdict": "attributed"}


def good(path: str, body: dict[str, Any]) -> Any:
    """The reply to a request in OpenAI's form; to what is no grading prompt, a short answer."""
    if path.endswith("/embeddings"):
        inputs = body["input"] if isinstance(body["input"], list) else [body["input"]]
        data = [{"index": index, "embedding": [1.0, 0.0]} for index, _ in enumerate(inputs)]
        return {"data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    text = "\n".join(str(message.get("content")) for message in body.get("messages", ()))
    if "You check whether an assistant keeps to its role" in text:
        found = re.search(r"exactly (\d+) objects", text)
        return json.dumps({"verdicts": [YES] * int(found[1] if found else 1)})
    if "You check how much of an expected answer can be found" in text:
        return json.dumps({"verdicts": [RECALL]})
    return next((json.dumps(reply) for start, reply in REPLIES if start in text), "Up to $500 needs no approval.")
