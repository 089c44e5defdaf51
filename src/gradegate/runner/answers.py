"""Gets the transcript that is graded: from a recorded answer or conversation, or by asking the target now."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gradegate.assertions.metrics.tool_calls import ENDED_WITHOUT_CALL, UNKNOWN_CALLS
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
from gradegate.providers.api.chat_api import COMPLETE, normalize_finish
from gradegate.providers.api.content import CALLS, CALLS_UNKNOWN, calls_in_text
from gradegate.providers.cache.call import ProviderCall
from gradegate.recordings.parsing.messages import (
    calls_in_turns,
    turns_before_question,
    turns_of_answer,
)
from gradegate.recordings.parsing.recorded_answer import RecordedAnswer
from gradegate.results.rows import AnswerId
from gradegate.runner import transforms
from gradegate.structs import JsonObject, NamedTexts, Struct, replace
from gradegate.templating import chat_prompt as chat

_RESERVED = {  # no recorded answer may set these
    "finish_reason",
    "refused",
    CALLS,
    CALLS_UNKNOWN,
    RAW,
}
EARLY = "a tool call comes before the question in `messages`, so it is not known whether it belongs to the answer"

Exchanges = list[JsonObject]  # what `_conversation` contains in a prompt, oldest first


class Memory(Struct):
    """What the jobs of one conversation know of each other: earlier exchanges, and answers that were stored by name."""

    exchanges: dict[tuple[str, ...] | None, Exchanges] = {}  # by conversation
    stored: dict[str, str] = {}
    spent: Usage = NO_USAGE  # what the last answer took, even if it failed

    def stored_answers(self, job: Job) -> NamedTexts | None:
        """The stored answers that a job uses, as far as they exist. None if it uses no such answers."""
        if job.recall is None:
            return None
        return {name: self.stored[name] for name in job.recall.names if name in self.stored}

    def fill_in(self, job: Job) -> Job:
        """The job with the stored answers that it uses. Forgets the one that it stores itself. Raises GradegateError."""
        stored = dict(self.stored)
        self.stored.pop(job.stores, None)
        if job.recall is None:
            return job
        filled = job.recall.fill(stored)
        # The other fields stay: they may have changed since the job was planned.
        return replace(
            job,
            text=filled.text,
            vars=filled.vars,
            assertions=filled.assertions,
            render=filled.render,
        )


def group_by_conversation(
    jobs: Sequence[Job], answer_ids: Iterable[AnswerId]
) -> list[list[AnswerId]]:
    """Answers in groups: a group is one conversation and runs in order.

    Repetitions are conversations of their own.
    """
    groups = defaultdict[tuple[Any, ...], list[AnswerId]](list)
    for answer_id in answer_ids:
        index, repeat = answer_id
        job = jobs[index]
        if job.ordered_group is None:
            groups[answer_id].append(answer_id)
        else:
            groups[(job.of_base, *job.ordered_group, repeat)].append(answer_id)
    return list(groups.values())


def ask_target(job: Job, memory: Memory, repeat: int = 0) -> Transcript:
    """What the graders of a job see. The memory keeps what later jobs need. Raises GradegateError."""
    memory.spent = NO_USAGE
    # A conversation goes on with the answer as the target gave it.
    answer = _get_answer(job, memory, repeat)
    answer = replace(answer, target=job.target.name, tools=job.target.tools)
    transcript = transforms.transform_answer(job, answer)
    if job.stores:
        memory.stored[job.stores] = transcript.output
    return transcript


def _get_answer(job: Job, memory: Memory, repeat: int) -> Transcript:
    """The answer as the target gave it."""
    exchanges = memory.exchanges.setdefault(job.conversation, [])
    turns = job.case.turns
    if turns and job.recorded_answers is None:
        if job.case.is_recorded:
            return Transcript(_last_question(turns), turns, job.vars)
        return _have_conversation(job, memory)
    if job.render is None:
        transcript = _answer_prompt(job, memory, job.text, repeat)
        # A conversation in the config comes before the answer.
        earlier = parse_conversation(job.vars.get(CONVERSATION) or ())
        if earlier:
            transcript = replace(transcript, turns=(*earlier, *transcript.turns))
        return transcript

    text = job.render(exchanges)
    if chat.chat_mistake(text):
        what = "the prompt is not valid JSON once `_conversation` is filled in"
        cure = "write {{ item.output | dump }} without quotes around it"
        raise ConfigError.at(what, job.prompt.origin, cure)
    transcript = _answer_prompt(job, memory, text, repeat)
    earlier = parse_conversation(exchanges)
    exchanges.append(_make_exchange(text, transcript.output))
    return replace(
        transcript,
        prompt=text,
        turns=(*earlier, *transcript.turns),
        vars={**job.vars, CONVERSATION: list(exchanges)},
    )


def _make_exchange(text: str, output: str) -> JsonObject:
    """A prompt and its answer, as promptfoo has them in `_conversation`."""
    prompt = text
    question = text
    messages = chat.parse_chat(text)
    if messages:
        if text.lstrip().startswith("["):
            prompt = json.loads(text)
        question = messages[-1].content or text
    return {"prompt": prompt, "input": question, "output": output}


def _answer_prompt(job: Job, memory: Memory, text: str, repeat: int) -> Transcript:
    """Get the answer to ``text``, the filled-in prompt: recorded, written in the test, or asked for now."""
    if job.recorded_answers is not None:
        return transcript_of_recording(job, text, repeat)

    question = Turn("user", text)
    if job.case.output is not None:
        answer = Turn("assistant", job.case.output)
        return Transcript(text, (question, answer), job.vars)

    messages = chat.parse_chat(text) or (Message("user", text),)
    request = Request(messages, prompt=text, vars=job.vars)
    reply, spent = _ask(job, memory, request)
    metadata = transforms.reply_metadata(reply)
    if _is_data(job, reply.text):
        metadata[IS_DATA] = True
    answer = Turn("assistant", reply.text, metadata=metadata)
    return Transcript(text, (question, answer), job.vars, reply.usage, metadata, spent)


def _is_data(job: Job, text: str) -> bool:
    """Whether the target got a JSON Schema and answered in JSON. As in promptfoo, graders then see data."""
    if job.target.spec is None:
        return False
    response_format = job.target.spec.config.get("response_format")
    if not isinstance(response_format, Mapping) or response_format.get("type") != "json_schema":
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _ask(job: Job, memory: Memory, request: Request) -> tuple[Reply, Usage]:
    """The reply, and what it took now: nothing if it came from the cache. Raises ProviderError, also for an empty reply."""
    with ProviderCall(job.target) as question:
        reply = job.target.complete(request)
    spent = question.book(reply.usage)
    memory.spent += spent
    transforms.check_reply(reply, job.target.host or job.target.name)
    if reply.finish_reason in COMPLETE and not reply.refused:
        question.keep()
    return reply, spent


# --- recorded answers -------------------------------------------------------------------------------------------


def transcript_of_recording(job: Job, text: str, repeat: int) -> Transcript:
    """The transcript that ends with the recorded answer to ``text``, the filled-in prompt.

    Raises ProviderError if the recording has no answer, or has an error in its place.
    """
    answer = job.recorded_answers[repeat] if job.recorded_answers else None
    if answer is None:
        why = f"the recorded answers of {job.target.name} contain no answer for this case"
        raise ProviderError(why)
    if answer.error:
        raise ProviderError(f"{job.target.name}: {answer.error}")

    # The recorded messages belong to the planned question.
    if job.case.turns:
        questions = job.case.turns
        prompt = ""
    else:
        questions = (Turn("user", text),)
        prompt = text
    messages = turns_of_answer(answer.messages, prompt)
    earlier, last = _split_recorded_turns(questions, messages, answer)

    replies = [turn for turn in earlier if turn.role == "assistant"]
    for turn in replies:
        transforms.check_text(Reply(turn.content, metadata=turn.metadata), job.target.name)
    replies.append(last)

    # The tool calls of all turns, and why some of them may be unknown.
    finish_reason = normalize_finish(answer.finish_reason)
    tool_calls = list(calls_in_turns(replies))
    has_silent_turn = answer.tool_calls is None and any(
        CALLS not in turn.metadata for turn in replies
    )
    if answer.calls_unknown:
        why_unknown = answer.calls_unknown
    elif any(calls_in_turns(turns_before_question(answer.messages, prompt))):
        why_unknown = EARLY
    elif has_silent_turn:
        why_unknown = UNKNOWN_CALLS
    elif finish_reason == "tool_calls" and not tool_calls:
        why_unknown = ENDED_WITHOUT_CALL
    else:
        why_unknown = ""

    metadata: dict[str, Any] = {}
    if answer.retrieval_context:
        metadata["retrieval_context"] = list(answer.retrieval_context)
    fields = {name: value for name, value in answer.metadata.items() if name not in _RESERVED}
    metadata.update(fields)
    if why_unknown:
        metadata[CALLS_UNKNOWN] = why_unknown

    # The transcript has the calls of all turns, and each turn has its own.
    last_metadata = {**metadata, **last.metadata}
    if tool_calls or not has_silent_turn:
        metadata[CALLS] = tool_calls
    reply = Reply(last.content, answer.usage, finish_reason, metadata=metadata)
    transforms.check_reply(reply, job.target.name)
    last_reply = replace(reply, metadata=last_metadata)
    last = replace(last, metadata=transforms.reply_metadata(last_reply))
    return Transcript(
        questions[-1].content,
        (*earlier, last),
        job.vars,
        answer.usage,
        transforms.reply_metadata(reply),
        NO_USAGE,
    )


def _split_recorded_turns(
    questions: Sequence[Turn], messages: Sequence[Turn], answer: RecordedAnswer
) -> tuple[list[Turn], Turn]:
    """Split recorded messages into the turns before the answer and the turn of the answer.

    The planned questions replace those of the recording.
    """
    recorded = list(messages)
    last = None
    if recorded and recorded[-1].role == "assistant":
        last = recorded.pop()

    earlier = [questions[0]]
    further_questions = iter(questions[1:])
    for turn in recorded:
        if turn.role == "user":
            earlier.append(next(further_questions, turn))
        else:
            earlier.append(turn)
    return earlier, _make_answer_turn(answer, messages, last)


def _make_answer_turn(answer: RecordedAnswer, messages: Sequence[Turn], last: Turn | None) -> Turn:
    """The turn of a recorded answer: ``last``, the assistant's last message, with what the recording has elsewhere."""
    turn = last or Turn("assistant", "")
    if answer.tool_calls is not None and not any(calls_in_turns(messages)):
        turn = replace(turn, metadata={**turn.metadata, CALLS: list(answer.tool_calls)})

    if answer.output is not None:
        text = answer.output
    elif not turn.content and turn.metadata.get(CALLS):
        text = to_json(turn.metadata[CALLS])  # as the text of a live answer that only calls tools
    else:
        text = turn.content

    if answer.tool_calls is None and last is None:
        text_calls = calls_in_text(text)
        if text_calls:
            turn = replace(turn, metadata={**turn.metadata, CALLS: text_calls})
    context = answer.retrieval_context or turn.retrieval_context
    return replace(turn, content=text, retrieval_context=context)


# --- live conversations -----------------------------------------------------------------------------------------


def _have_conversation(job: Job, memory: Memory) -> Transcript:
    """Send each message of the user with all that came before. The replies become the assistant's turns."""
    # The config's prompt comes before the first turn: its messages, or its text as a system message.
    prompt = chat.parse_chat(job.text) or (Message("system", job.text),)
    lead = [message for message in prompt if not _is_empty(message)]
    turns = []
    usage = NO_USAGE
    metadata = {}
    for turn in job.case.turns:
        turns.append(turn)
        messages = tuple(Message(turn.role, turn.content, turn.images) for turn in turns)
        request = Request((*lead, *messages), prompt=turn.content, vars=job.vars)
        reply, _ = _ask(job, memory, request)
        metadata = transforms.reply_metadata(reply)
        turns.append(Turn("assistant", reply.text, metadata=metadata))
        usage += reply.usage
    return Transcript(_last_question(turns), tuple(turns), job.vars, usage, metadata, memory.spent)


def _is_empty(message: Message) -> bool:
    """Whether a message has no text, no image and no tool call."""
    if message.content.strip() or message.images:
        return False
    written = message.written
    if written is None:
        return True
    return isinstance(written.get("content"), str) and not written.get("tool_calls")


def _last_question(turns: Sequence[Turn]) -> str:
    """The last message of the user that got an answer. Graders of a single answer take it for the question."""
    message = question = ""
    for turn in turns:
        if turn.role == "user":
            message = turn.content
        else:
            question = message
    return question
