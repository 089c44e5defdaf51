"""A loopback grader for conversations: it answers each kind of question from a script, and counts."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gradegate.assertions.judge import rubric
from support.fake_llm import FakeLlm

KINDS = {
    "You list what documents say": "truths",
    "You list what an assistant claims": "claims",
    "You hold each of a list of claims": "verdicts",
    "You put the result of an evaluation into words": "reason",
}


@dataclass
class Script:
    """``claims`` maps the assistant's text to claims; ``words`` a claim to its verdict, "yes" for all others."""

    claims: Callable[[str], list[str]] = lambda text: re.findall(r"\bc\d+\b", text)
    words: Mapping[str, str] = field(default_factory=dict)
    truths: list[str] = field(default_factory=lambda: ["t"])
    replies: dict[str, Any] = field(default_factory=dict)  # by kind: a reply to give whatever is asked
    calls: Counter[str] = field(default_factory=Counter)
    prompts: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, path: str, body: dict) -> Any:
        system, user = body["messages"][0]["content"], message_text(body["messages"][1])
        kind = next(kind for start, kind in KINDS.items() if system.startswith(start))
        self.calls[kind] += 1
        self.prompts.append((kind, user))
        if kind in self.replies:
            return self.replies[kind]
        return json.dumps({kind: getattr(self, f"_{kind}")(user)})

    def _truths(self, user: str) -> list[str]:
        return self.truths

    def _claims(self, user: str) -> list[str]:
        return self.claims(between(user, "assistant"))

    def _verdicts(self, user: str) -> list[dict]:
        claims = re.findall(r"^\d+\. (.*)$", between(user, "claims"), re.MULTILINE)
        return [{"reason": f"about {claim}", "verdict": self.words.get(claim, "yes")} for claim in claims]

    def _reason(self, user: str) -> str:
        return "in a model's words"


def message_text(message: dict) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def between(text: str, name: str) -> str:
    found = re.search(rf"<{name} \w+>\n(.*?)\n?</{name} \w+>", text, re.DOTALL)
    assert found, (name, text)
    return found[1]


def turns(*exchanges: tuple[str, str, str]) -> list[dict]:
    """Question, answer and document of each exchange; an empty document is none."""
    found = []
    for asked, answered, document in exchanges:
        context = {"retrieval_context": [document]} if document else {}
        found += [{"role": "user", "content": asked}, {"role": "assistant", "content": answered, **context}]
    return found


def config(llm: FakeLlm, *tests: dict, **more: Any) -> dict:
    """A config whose cases are recorded, graded by the fake."""
    return {"defaultTest": {"options": {"provider": llm.spec()}}, "tests": list(tests), **more}


def case(conversation: list[dict], kind: str = "turn-faithfulness", **assertion: Any) -> dict:
    return {"turns": conversation, "assert": [{"type": kind, **assertion}]}


class Replies:
    """Answers by the name of our prompt: with a value as JSON, a text as it is, or what a function of the user's part gives."""

    def __init__(self, **replies: Any) -> None:
        self.starts = {rubric.default_prompt(name.replace("_", "-"))[0].content[:60]: name for name in replies}
        self.replies = replies
        self.prompts: list[tuple[str, str]] = []

    def __call__(self, path: str, body: dict) -> Any:
        name = self.starts[body["messages"][0]["content"][:60]]
        user = message_text(body["messages"][1])
        self.prompts.append((name, user))
        found = self.replies[name]
        found = found(user) if callable(found) else found
        return found if isinstance(found, str | tuple) else json.dumps(found)

    def count(self, name: str) -> int:
        return sum(one == name for one, _ in self.prompts)


def make_verdicts(*words: str) -> dict:
    return {"verdicts": [{"reason": f"r{number}", "verdict": word} for number, word in enumerate(words, 1)]}


def make_numbered_verdicts(*words: str) -> dict:
    """Verdicts on what was shown under numbers from 1."""
    return {"verdicts": [{"id": number, "reason": f"r{number}", "verdict": word} for number, word in enumerate(words, 1)]}
