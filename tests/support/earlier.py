"""Runs of the default branch that leave a history, and what they left."""

import json
import os
from unittest.mock import patch

from support.fake_llm import chat
from support.flips import script_replies

FOLDER = "kept"  # the folder of the baseline
DEFAULT_BRANCH = {"CI_DEFAULT_BRANCH": "main", "CI_COMMIT_BRANCH": "main"}  # as GitLab says it


def by(model: str, reply):
    """Replies of a judge that names its model."""
    return lambda path, body: {**chat(reply(path, body)), "model": model}


def earlier(gate, llm, config, runs: int, replies=None, model: str = "m1") -> None:
    """So many runs, each with the history of those before; ``replies`` are scripted for each run anew."""
    for _ in range(runs):
        llm.reply = by(model, script_replies(replies or {}))
        folder = on_default_branch(gate, config).folder / FOLDER
        (folder / "results.json").unlink(missing_ok=True)  # these tests are about votes alone


def on_default_branch(gate, config, *arguments):
    """A run of the default branch, which leaves its results and votes."""
    with patch.dict(os.environ, DEFAULT_BRANCH):
        return gate(config, "--baseline", FOLDER, *arguments, reask="")


def remember(folder, votes: dict[int, list[str]], model: str = "m1") -> None:
    """Put runs with these votes in place of those that the history has of each case, a day after the other."""
    lines = records(folder)
    for number, several in votes.items():
        request = lines[number]["runs"][0]["request"]
        ends = {vote: "fail" if vote.count("F") > vote.count("P") else "pass" for vote in several}
        lines[number]["runs"] = [
            {"at": f"2026-10-{day:02}", "commit": "", "model": model, "votes": vote, "outcome": ends[vote], "request": request}
            for day, vote in enumerate(several, 1)
        ]
    (folder / FOLDER / "history.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def records(folder) -> list[dict]:
    """The lines of the file."""
    return [json.loads(line) for line in (folder / FOLDER / "history.jsonl").read_text().splitlines()]
