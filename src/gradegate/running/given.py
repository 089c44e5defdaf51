"""What is graded of an answer that was made elsewhere: the same as of one that is asked for, by the same rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import dropwhile

from gradegate.asking.shape import finish_reason
from gradegate.asking.toolcalls import CALLS
from gradegate.conversation import NO_USAGE, Reply, Transcript, Turn
from gradegate.errors import ProviderError, Trouble
from gradegate.files.document import to_json
from gradegate.planning.job import Job
from gradegate.recording.answer import Answer
from gradegate.running import heard

# What vendors and conventions call the end of an answer, in OpenAI's words.
_ENDED = {
    **dict.fromkeys(("end_turn", "stop_sequence", "completed", "end"), "stop"),
    **dict.fromkeys(("max_tokens", "max_output_tokens", "model_length"), "length"),
    **dict.fromkeys(("tool_use", "tool_call", "function_call"), "tool_calls"),
    **dict.fromkeys(("refusal", "safety", "blocklist", "prohibited_content", "guardrail_intervened"), "content_filter"),
}


def given(job: Job, text: str, repeat: int) -> Transcript:
    """The recorded answer to ``text``, the filled-in prompt. Raises ProviderError where there is none."""
    answer = job.given[repeat] if job.given else None
    if answer is None:
        raise ProviderError(f"the recorded answers of {job.target.name} have none to this case", Trouble.MALFORMED)
    if answer.error:
        raise ProviderError(f"{job.target.name}: {answer.error}")
    turns = tuple(_turns(job, answer, text))
    told = [calls for turn in turns if (calls := turn.metadata.get(CALLS)) is not None]
    own = {CALLS: [call for calls in told for call in calls]} if told else _calls(answer)
    documents = {"retrieval_context": list(answer.retrieval_context)} if answer.retrieval_context else {}
    beside = {**documents, **_others(answer)}
    reply = Reply(turns[-1].content, answer.usage, finish_reason(answer.finish_reason, _ENDED), metadata=beside | own)
    heard.check(reply, job.target.name)
    # The calls of all turns stand at the transcript, and each turn has its own.
    last = heard.metadata(replace(reply, metadata={**beside, **turns[-1].metadata}))
    ended = replace(turns[-1], retrieval_context=answer.retrieval_context, metadata=last)
    asked = job.case.turns[-1].content if job.case.turns else text
    return Transcript(asked, (*turns[:-1], ended), job.vars, answer.usage, heard.metadata(reply), NO_USAGE)


def _others(answer: Answer) -> dict[str, object]:
    """The metadata that the answer brings, without the names that have a meaning here."""
    return {key: value for key, value in answer.metadata.items() if key not in ("finish_reason", CALLS, "refused")}


def _turns(job: Job, answer: Answer, text: str) -> Iterator[Turn]:
    """What was said, the answer at its end. The question is the planned one, whatever the answer says that it was."""
    asked = job.case.turns or (Turn("user", text),)
    said = _after_question(answer.messages)
    yield asked[0]
    planned = iter(asked[1:])
    ends = bool(said) and said[-1].role == "assistant"
    for turn in said[:-1] if ends else said:
        yield next(planned, turn) if turn.role == "user" else turn
    last = said[-1] if ends else Turn("assistant", "")
    metadata = {**_calls(answer), **last.metadata}
    # An answer that is calls alone has them as its text, as one that is asked for now.
    text = last.content or (to_json(metadata[CALLS]) if metadata.get(CALLS) else "")
    yield replace(last, content=text if answer.output is None else answer.output, metadata=metadata)


def _calls(answer: Answer) -> dict[str, object]:
    """The calls of the answer itself; none where its messages have them.

    Where nobody says, there is None beside how it ended: that alone would say that a chat API told all of it.
    """
    if any(CALLS in turn.metadata for turn in answer.messages):
        return {CALLS: []}
    if answer.tool_calls is None:
        return {CALLS: []} if answer.messages else {CALLS: None} if answer.finish_reason else {}
    return {CALLS: list(answer.tool_calls)}


def _after_question(messages: Sequence[Turn]) -> Sequence[Turn]:
    """What follows the first message of the user; all of it where there is none."""
    if not any(turn.role == "user" for turn in messages):
        return messages
    return list(dropwhile(lambda turn: turn.role != "user", messages))[1:]
