"""Gets what is graded: a recorded answer or conversation as it is, or one that is had with the target now."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gradegate.asking.question import question
from gradegate.bounded.amounts import READ, TooMuch
from gradegate.conversation import CONVERSATION, NO_USAGE, Message, Reply, Request, Transcript, Turn, Usage, told
from gradegate.errors import ConfigError, ProviderError, Trouble
from gradegate.planning.job import Job
from gradegate.texts import chat

# Finish reasons by which a vendor says that it failed, or is not done: what there is of the answer is a piece of one.
BROKEN_OFF = frozenset(
    "error failed cancelled in_progress queued unfinished incomplete pause_turn other finish_reason_unspecified "
    "malformed_function_call malformed_response unexpected_tool_call too_many_tool_calls no_image "
    "insufficient_system_resource".split()
)
WHOLE = ("", "stop", "tool_calls")  # finish reasons of answers that a later run may have from the cache
History = list[Mapping[str, Any]]  # what `_conversation` holds in a prompt, oldest first


@dataclass
class Memory:
    """What jobs whose answers are had in order know of one another: conversations so far, and answers by name."""

    told: dict[tuple[str, ...] | None, History] = field(default_factory=dict)
    stored: dict[str, str] = field(default_factory=dict)

    def recalled(self, job: Job) -> Job:
        """The job with the stored answers that it uses; what it stores itself is forgotten. Raises GradegateError."""
        known = dict(self.stored)
        self.stored.pop(job.stores, None)
        return job if job.recall is None else job.recall(known)


def chains(jobs: Sequence[Job]) -> list[list[tuple[int, int]]]:
    """Each answer as the index of its job and the repetition, in groups: a group is one conversation and runs in order.

    Repetitions are conversations of their own.
    """
    groups: dict[object, list[tuple[int, int]]] = {}
    for index, job in enumerate(jobs):
        for repeat in range(job.repeats):
            key = (index, repeat) if job.talk is None else (job.of_base, *job.talk, repeat)
            groups.setdefault(key, []).append((index, repeat))
    return list(groups.values())


def transcript(job: Job, memory: Memory) -> Transcript:
    """What the job's graders see; what later jobs need of it goes into the memory. Raises GradegateError."""
    said = _transcript(job, memory.told.setdefault(job.conversation, []))
    if job.stores:
        memory.stored[job.stores] = said.output
    return said if job.target.tools is None else replace(said, tools=job.target.tools)


def _transcript(job: Job, history: History) -> Transcript:
    if job.case.turns:
        return Transcript(_asked(job.case.turns), job.case.turns, job.vars) if job.case.recorded else _held(job)
    if job.render is None:  # a conversation that the config tells comes before the answer
        single = _single(job, job.text)
        return replace(single, turns=(*told(job.vars.get(CONVERSATION) or ()), *single.turns))
    text = job.render(history)
    if chat.broken(text):
        cure = "write {{ item.output | dump }} without quotes around it"
        raise ConfigError.at("the prompt is not valid JSON once `_conversation` is filled in", job.prompt.origin, cure)
    said = _single(job, text)
    history.append(_item(text, said.output))
    turns = (*told(history[:-1]), *said.turns)
    return Transcript(text, turns, {**job.vars, CONVERSATION: list(history)}, said.usage, said.metadata, said.spent)


def _single(job: Job, text: str) -> Transcript:
    if job.case.output is not None:
        return Transcript(text, (Turn("user", text), Turn("assistant", job.case.output)), job.vars)
    messages = chat.parse(text) or (Message("user", text),)
    reply, spent = _answer(job, Request(messages, prompt=text, vars=job.vars))
    turns = (Turn("user", text), Turn("assistant", reply.text, metadata=_metadata(reply)))
    return Transcript(text, turns, job.vars, reply.usage, _metadata(reply), spent)


def _answer(job: Job, request: Request) -> tuple[Reply, Usage]:
    """The target's reply, and what it cost now: nothing where it came from the cache. Raises ProviderError also for one that holds no answer: filtered, broken off or empty.

    A refusal in words is an answer, and so is one that was cut at its token limit.
    """
    with question(job.target) as asked:
        reply = job.target.complete(request)
    spent = asked.booked(reply.usage)
    who, ended = job.target.host or job.target.name, reply.finish_reason
    if ended == "content_filter":
        words = reply.text.strip()
        what = f"{who}: a content filter stopped the answer" + (f": {words}" if words else "")
        raise ProviderError(what, Trouble.REFUSED)
    if ended in BROKEN_OFF:
        raise ProviderError(f"{who} did not finish its answer (finish reason {ended})", Trouble.MALFORMED)
    if not any(sign.isprintable() and not sign.isspace() for sign in reply.text) and not any(
        reply.metadata.get("tool_calls") or ()
    ):
        limit = " at its token limit" if ended == "length" else ""
        raise ProviderError(f"{who} answered with an empty text{limit}", Trouble.MALFORMED)
    try:
        READ.add_answer(len(reply.text))
    except TooMuch as e:
        raise ProviderError(f"{e}: ask for shorter ones", Trouble.MALFORMED) from e
    if ended in WHOLE and not reply.refused:
        asked.keep()
    return reply, spent


def _metadata(reply: Reply) -> dict[str, Any]:
    refused = {"refused": True} if reply.refused else {}
    return {"finish_reason": reply.finish_reason, **refused, **reply.metadata}


def _item(text: str, output: str) -> Mapping[str, Any]:
    messages = chat.parse(text)
    prompt = json.loads(text) if messages and text.lstrip().startswith("[") else text
    return {"prompt": prompt, "input": (messages and messages[-1].content) or text, "output": output}


# --- conversations that are held now --------------------------------------------------------------------------


def _held(job: Job) -> Transcript:
    """Each message of the user is sent with all that was said before; the replies become the assistant's turns."""
    lead = _lead(job.text)
    turns: list[Turn] = []
    usage = spent = NO_USAGE
    metadata: Mapping[str, Any] = {}
    for turn in job.case.turns:
        turns.append(turn)
        messages = tuple(Message(said.role, said.content, said.images) for said in turns)
        reply, cost = _answer(job, Request((*lead, *messages), prompt=turn.content, vars=job.vars))
        metadata = _metadata(reply)
        turns.append(Turn("assistant", reply.text, metadata=metadata))
        usage, spent = usage + reply.usage, spent + cost
    return Transcript(_asked(turns), tuple(turns), job.vars, usage, metadata, spent)


def _asked(turns: Sequence[Turn]) -> str:
    """The last message of the user that got an answer: what graders of a single answer take for the question."""
    said, asked = "", ""
    for turn in turns:
        if turn.role == "user":
            said = turn.content
        else:
            asked = said
    return asked


def _lead(text: str) -> tuple[Message, ...]:
    """What the config's prompt puts before the first turn: its messages, or its text as the system's."""
    messages = chat.parse(text) or (Message("system", text),)
    return tuple(message for message in messages if message.content.strip() or message.images)
