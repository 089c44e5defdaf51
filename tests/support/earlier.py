"""Runs of the default branch that leave a history, and what they left."""

import json

from support.fake_llm import chat
from support.flips import scripted

HISTORY = "history.jsonl"


def by(model: str, reply):
    """Replies of a judge that names its model."""
    return lambda path, body: {**chat(reply(path, body)), "model": model}


def earlier(gate, llm, config, runs: int, replies=None, model: str = "m1") -> None:
    """So many runs, each with the history of those before; ``replies`` are scripted for each run anew."""
    for _ in range(runs):
        llm.reply = by(model, scripted(replies or {}))
        gate(config, "--history", HISTORY, "--history-out", HISTORY, reask="")


def records(folder) -> list[dict]:
    """The lines of the file."""
    return [json.loads(line) for line in (folder / HISTORY).read_text().splitlines()]
