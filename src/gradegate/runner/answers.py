"""Gets what is graded: a recorded answer or conversation as it is, or one that is had with the target now."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from gradegate.assertions.metrics.tool_calls import ENDED, UNKNOWN
from gradegate.core.conversation import (
    CONVERSATION,
    IS_DATA,
    RAW,
    Message,
    Reply,
    Request,
    Transcript,
    Turn,
    parse_conversation,
)
from gradegate.core.usage import NO_USAGE, Usage
from gradegate.errors import ConfigError, ProviderError
from gradegate.files.documents import to_json
from gradegate.planning.plan import Job
from gradegate.providers.api.chat_api import WHOLE, ended
from gradegate.providers.api.content import CALLS, UNTOLD, written
from gradegate.providers.cache.call import Question
from gradegate.recordings.parsing.fields import (
    calls_in_turns,
    turns_before_question,
    turns_of_answer,
)
from gradegate.recordings.parsing.recorded_answer import RecordedAnswer
from gradegate.results.rows import AnswerId
from gradegate.runner import transforms
from gradegate.structs import JsonObject, NamedTexts, Struct, replace
from gradegate.templating import chat_prompt as chat

_OWN = (
    "finish_reason",
    "refused",
    CALLS,
    UNTOLD,
    RAW,
)  # names with a meaning here, which no answer gives a value
EARLY = "a tool call comes before the question in `messages`, so it is not known whether it belongs to the answer"


def given(job: Job, text: str, repeat: int) -> Transcript:
    """The recorded answer to ``text``, the filled-in prompt. Raises ProviderError where there is none."""
    answer = job.recorded_answers[repeat] if job.recorded_answers else None
    if answer is None:
        raise ProviderError(
            f"the recorded answers of {job.target.name} contain no answer for this case",
        )
    if answer.error:
        raise ProviderError(f"{job.target.name}: {answer.error}")
    asked = job.case.turns or (Turn("user", text),)
    prompt = "" if job.case.turns else text
    said = turns_of_answer(answer.messages, prompt)
    early = EARLY if any(calls_in_turns(turns_before_question(answer.messages, prompt))) else ""
    turns = tuple(_turns(asked, said, answer))
    for turn in turns[:-1]:
        if turn.role == "assistant":
            transforms.check_text(Reply(turn.content, metadata=turn.metadata), job.target.name)
    documents = (
        {"retrieval_context": list(answer.retrieval_context)} if answer.retrieval_context else {}
    )
    others = {key: value for key, value in answer.metadata.items() if key not in _OWN}
    end, spoken = ended(answer.finish_reason), [turn for turn in turns if turn.role == "assistant"]
    # The calls of the whole answer, and why these may not be all of them.
    called, silent = (
        [*calls_in_turns(spoken)],
        answer.tool_calls is None and any(CALLS not in turn.metadata for turn in spoken),
    )
    untold = (
        answer.untold
        or early
        or (UNKNOWN if silent else "")
        or (ENDED if end == "tool_calls" and not called else "")
    )
    own_calls = {
        **({UNTOLD: untold} if untold else {}),
        **({CALLS: called} if called or not silent else {}),
    }
    reply = Reply(
        turns[-1].content, answer.usage, end, metadata={**documents, **others, **own_calls}
    )
    transforms.check(reply, job.target.name)
    # The calls of all turns stand at the transcript, and each turn has its own.
    own = {key: value for key, value in reply.metadata.items() if key != CALLS}
    last = replace(
        turns[-1],
        metadata=transforms.metadata(replace(reply, metadata={**own, **turns[-1].metadata})),
    )
    question = job.case.turns[-1].content if job.case.turns else text
    return Transcript(
        question, (*turns[:-1], last), job.vars, answer.usage, transforms.metadata(reply), NO_USAGE
    )


def _turns(asked: Sequence[Turn], said: Sequence[Turn], answer: RecordedAnswer) -> Iterator[Turn]:
    """What was said, the answer at its end. The question is the planned one, whatever the answer says that it was."""
    yield asked[0]
    planned = iter(asked[1:])
    ends = bool(said) and said[-1].role == "assistant"
    for turn in said[:-1] if ends else said:
        yield next(planned, turn) if turn.role == "user" else turn
    last = said[-1] if ends else Turn("assistant", "")
    own = answer.tool_calls
    if own is not None and not any(calls_in_turns(said)):
        last = replace(last, metadata={**last.metadata, CALLS: list(own)})
    # An answer that is calls alone has them as its text, as one that is asked for now.
    alone = to_json(last.metadata[CALLS]) if last.metadata.get(CALLS) else ""
    text = last.content or alone if answer.output is None else answer.output
    if own is None and not ends and (consists := written(text)):
        last = replace(last, metadata={**last.metadata, CALLS: consists})
    yield replace(
        last, content=text, retrieval_context=answer.retrieval_context or last.retrieval_context
    )


History = list[JsonObject]  # what `_conversation` holds in a prompt, oldest first


class Memory(Struct):
    """What jobs whose answers are had in order know of one another: conversations so far, and answers by name."""

    told: dict[tuple[str, ...] | None, History] = {}
    stored: dict[str, str] = {}
    spent: Usage = NO_USAGE  # on the last answer, also where it came to nothing

    def known(self, job: Job) -> NamedTexts | None:
        """The stored answers that a job uses, as far as they are there; None where it uses none."""
        return (
            {name: self.stored[name] for name in job.recall.names if name in self.stored}
            if job.recall
            else None
        )

    def recalled(self, job: Job) -> Job:
        """The job with the stored answers that it uses; what it stores itself is forgotten. Raises GradegateError."""
        known = dict(self.stored)
        self.stored.pop(job.stores, None)
        if job.recall is None:
            return job
        filled = job.recall.fill(
            known
        )  # as it was planned: what was put to the job since stays with it
        return replace(
            job,
            text=filled.text,
            vars=filled.vars,
            assertions=filled.assertions,
            render=filled.render,
        )


def chains(jobs: Sequence[Job], answer_ids: Iterable[AnswerId]) -> list[list[AnswerId]]:
    """Answers in groups: a group is one conversation and runs in order.

    Repetitions are conversations of their own.
    """
    groups = defaultdict[tuple[Any, ...], list[AnswerId]](list)
    for answer_id in answer_ids:
        index, repeat = answer_id
        job = jobs[index]
        key = answer_id if job.ordered_group is None else (job.of_base, *job.ordered_group, repeat)
        groups[key].append(answer_id)
    return list(groups.values())


def transcript(job: Job, memory: Memory, repeat: int = 0) -> Transcript:
    """What the job's graders see; what later jobs need of it goes into the memory. Raises GradegateError."""
    memory.spent = NO_USAGE
    answered = _answered(job, memory, repeat)  # what a conversation goes on with
    said = transforms.of_job(job, replace(answered, target=job.target.name, tools=job.target.tools))
    if job.stores:
        memory.stored[job.stores] = said.output
    return said


def _answered(job: Job, memory: Memory, repeat: int) -> Transcript:
    """The answer as the target gave it."""
    history = memory.told.setdefault(job.conversation, [])
    if job.case.turns and job.recorded_answers is None:
        return (
            Transcript(_asked(job.case.turns), job.case.turns, job.vars)
            if job.case.recorded
            else _held(job, memory)
        )
    if job.render is None:  # a conversation that the config tells comes before the answer
        single = _single(job, memory, job.text, repeat)
        before = parse_conversation(job.vars.get(CONVERSATION) or ())
        return replace(single, turns=(*before, *single.turns)) if before else single
    text = job.render(history)
    if chat.chat_mistake(text):
        cure = "write {{ item.output | dump }} without quotes around it"
        raise ConfigError.at(
            "the prompt is not valid JSON once `_conversation` is filled in",
            job.prompt.origin,
            cure,
        )
    said = _single(job, memory, text, repeat)
    messages = chat.parse_chat(text)
    prompt = json.loads(text) if messages and text.lstrip().startswith("[") else text
    history.append(
        {
            "prompt": prompt,
            "input": (messages and messages[-1].content) or text,
            "output": said.output,
        }
    )
    turns = (*parse_conversation(history[:-1]), *said.turns)
    return Transcript(
        text,
        turns,
        {**job.vars, CONVERSATION: list(history)},
        said.usage,
        said.metadata,
        said.spent,
    )


def _single(job: Job, memory: Memory, text: str, repeat: int) -> Transcript:
    if job.recorded_answers is not None:
        return given(job, text, repeat)
    if job.case.output is not None:
        return Transcript(text, (Turn("user", text), Turn("assistant", job.case.output)), job.vars)
    messages = chat.parse_chat(text) or (Message("user", text),)
    reply, spent = _answer(job, memory, Request(messages, prompt=text, vars=job.vars))
    metadata = transforms.metadata(reply) | ({IS_DATA: True} if _is_data(job, reply.text) else {})
    turns = (Turn("user", text), Turn("assistant", reply.text, metadata=metadata))
    return Transcript(text, turns, job.vars, reply.usage, metadata, spent)


def _is_data(job: Job, text: str) -> bool:
    """Whether the target was told a JSON Schema and kept to JSON: promptfoo reads such an answer, so all that grades sees data."""
    form = job.target.spec.config.get("response_format") if job.target.spec else None
    if isinstance(form, Mapping) and form.get("type") == "json_schema":
        with suppress(ValueError, RecursionError):
            json.loads(text)
            return True
    return False


def _answer(job: Job, memory: Memory, request: Request) -> tuple[Reply, Usage]:
    """The reply, and what it cost now: nothing where it came from the cache. Raises ProviderError also for one without an answer."""
    with Question(job.target) as asked:
        reply = job.target.complete(request)
    spent = asked.booked(reply.usage)
    memory.spent += spent
    transforms.check(reply, job.target.host or job.target.name)
    if reply.finish_reason in WHOLE and not reply.refused:
        asked.keep()
    return reply, spent


# --- conversations that are held now --------------------------------------------------------------------------


def _is_empty(message: Message) -> bool:
    """Whether it says nothing at all."""
    written = message.written
    more = written is not None and (
        not isinstance(written.get("content"), str) or written.get("tool_calls")
    )
    return not (message.content.strip() or message.images or more)


def _held(job: Job, memory: Memory) -> Transcript:
    """Each message of the user is sent with all that was said before; the replies become the assistant's turns."""
    # What the config's prompt puts before the first turn: its messages, or its text as the system's.
    lead = [
        it
        for it in chat.parse_chat(job.text) or (Message("system", job.text),)
        if not _is_empty(it)
    ]
    turns = []
    usage = NO_USAGE
    metadata = {}
    for turn in job.case.turns:
        turns.append(turn)
        messages = tuple(Message(said.role, said.content, said.images) for said in turns)
        request = Request((*lead, *messages), prompt=turn.content, vars=job.vars)
        reply, _ = _answer(job, memory, request)
        metadata = transforms.metadata(reply)
        turns.append(Turn("assistant", reply.text, metadata=metadata))
        usage += reply.usage
    return Transcript(_asked(turns), tuple(turns), job.vars, usage, metadata, memory.spent)


def _asked(turns: Sequence[Turn]) -> str:
    """The last message of the user that got an answer: what graders of a single answer take for the question."""
    said = asked = ""
    for turn in turns:
        said, asked = (turn.content, asked) if turn.role == "user" else (said, said)
    return asked
