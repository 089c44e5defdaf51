"""The calls to targets that a plan holds, each with an id: what an application answers elsewhere.

An id says what is asked, of whom, and by which config of the workspace: an answer to another version of a case has the id of
no call. It is the same on every machine, whatever else is planned; only calls of one config that ask the same in every way
are told apart by their order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gradegate.planning.digests import sha256
from gradegate.planning.job import Job
from gradegate.texts import chat
from gradegate.values.conversation import Turn

_NAMED = 32  # characters of a description in an id; with the digest an id has at most 53, and batch APIs take 64
UNNAMED = "case"  # how ids of cases without a description begin
_DIGITS = 20  # of the digest: two of 100,000 calls share them once in ten billion plans


@dataclass(frozen=True, slots=True)
class Call:
    """One question to one target: repetition ``repeat`` of the job at ``place`` in the plan."""

    id: str
    place: int
    repeat: int
    job: Job


def calls(jobs: Sequence[Job]) -> Iterator[Call]:
    """In plan order; none where the config brings the answer itself."""
    seen: Counter[bytes] = Counter()
    for place, job in enumerate(jobs):
        if job.case.recorded:
            continue
        asked = _asked(job)
        for repeat in range(job.repeats):
            digest = sha256([asked.hex(), repeat])
            yield Call(_id(job, sha256([digest.hex(), seen[digest]])), place, repeat, job)
            seen[digest] += 1


def _asked(job: Job) -> bytes:
    """What is asked, with the path of the config in its workspace: configs of one name may ask the same."""
    turns = [[turn.role, turn.content, turn.retrieval_context, turn.images] for turn in job.case.turns]
    target = [job.target.id, job.target.name]
    return sha256([job.suite, job.case.description, job.vars, turns, target, job.prompt.label, job.text])


def _id(job: Job, digest: bytes) -> str:
    """The beginning is for people."""
    named = re.sub(r"[^a-z0-9]+", "-", job.case.description.lower())[:_NAMED].strip("-")
    return f"{named or UNNAMED}-{digest.hex()[:_DIGITS]}"


def line(call: Call) -> Mapping[str, Any]:
    """What an application needs for an answer, without the id: the prompt or its messages, and what it was made of."""
    job = call.job
    messages = chat.parse(job.text)
    asked: dict[str, Any] = (
        {"messages": [it.written or _message(it.role, it.content) for it in messages]} if messages else {"prompt": job.text}
    )
    told = {"conversation": sha256(job.talk).hex()[:_DIGITS]} if job.talk else {}
    return {
        **({"description": job.case.description} if job.case.description else {}),
        **asked,
        **({"turns": [_turn(turn) for turn in job.case.turns]} if job.case.turns else {}),
        "vars": job.vars,
        "provider": job.target.name,
        "repeat": call.repeat,
        **told,
        **({"stores": job.stores} if job.stores else {}),
        **({"uses": uses} if (uses := _uses(job)) else {}),
    }


def _uses(job: Job) -> list[str]:
    """The stored answers of which the prompt or a variable speaks; `{{name}}` stands for each in what is asked."""
    case, names = job.case, job.recall.names if job.recall else ()
    written = [job.prompt.text, case.options.prefix, case.options.suffix, *map(str, case.vars.values())]
    return [name for name in names if any(name in text for text in written)]


def _message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


def _turn(turn: Turn) -> dict[str, Any]:
    return {**_message(turn.role, turn.content), **({"images": list(turn.images)} if turn.images else {})}
