"""One assertion on one answer through the command, graded by scripted models on loopback."""

import json
from pathlib import Path
from typing import Any

from support.fake_llm import FakeLlm
from support.plugins import load_folder

load_folder(Path(__file__).parent.parent / "plugins")

KINDS = ("embedding", "classification", "moderation")


def models(llm: FakeLlm) -> dict[str, Any]:
    others = {kind: {"id": f"loopback:{kind}", "config": {"url": llm.base}} for kind in KINDS}
    return {"text": llm.spec(), **others}


def config(llm: FakeLlm, *assertions: dict, output="the answer", prompts=("{{said}}",), options=None, **variables) -> dict:
    return {
        "prompts": list(prompts),
        "providers": ["echo"],
        "tests": [
            {"vars": {"said": output, **variables}, "assert": list(assertions), "options": {"provider": models(llm), **(options or {})}}
        ],
    }


class Script:
    """Chat replies in order, the last one repeats; ``results`` by path for the other kinds: a value, or a function."""

    def __init__(self, *replies: Any, **results: Any) -> None:
        self.replies = list(replies)
        self.results = results
        self.asked: list[str] = []  # prompts, all messages joined

    def __call__(self, path: str, body: dict) -> Any:
        kind = path.rsplit("/", 1)[1]
        if kind in self.results:
            result = self.results[kind]
            found = result(body["input"]) if callable(result) else result
            return found if isinstance(found, tuple) else {"result": found}
        self.asked.append("\n".join(message["content"] for message in body["messages"]))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return reply(self.asked[-1]) if callable(reply) else reply if isinstance(reply, str | tuple) else json.dumps(reply)


def vectors(**known):
    """Embeddings by text, for ``Script(embed=...)``."""
    return lambda texts: [known[text.replace(" ", "_")] for text in texts]


def mistakes(ran) -> str:
    """What a config's mistakes say; nothing was asked."""
    assert ran.code == 2, ran.out + ran.err
    return ran.out + ran.err
