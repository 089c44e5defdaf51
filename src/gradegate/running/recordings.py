"""What is graded of an answer that was made elsewhere: the same as of one that is asked for, by the same rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradegate.asking.finish import ended
from gradegate.asking.toolcalls import CALLS, UNTOLD, written
from gradegate.errors import ProviderError, Trouble
from gradegate.files.document import to_json
from gradegate.grading.metrics.calls import ENDED, UNKNOWN
from gradegate.planning.job import Job
from gradegate.recording.answer import Answer
from gradegate.recording.messages import answering, calls, unasked
from gradegate.running import replies
from gradegate.values.conversation import NO_USAGE, RAW, Reply, Transcript, Turn

_OWN = ("finish_reason", "refused", CALLS, UNTOLD, RAW)  # names with a meaning here, which no answer gives a value
EARLY = "a tool call comes before the question in `messages`, so it is not known whether it belongs to the answer"


def given(job: Job, text: str, repeat: int) -> Transcript:
    """The recorded answer to ``text``, the filled-in prompt. Raises ProviderError where there is none."""
    answer = job.given[repeat] if job.given else None
    if answer is None:
        raise ProviderError(f"the recorded answers of {job.target.name} contain no answer for this case", Trouble.MALFORMED)
    if answer.error:
        raise ProviderError(f"{job.target.name}: {answer.error}")
    asked = job.case.turns or (Turn("user", text),)
    prompt = "" if job.case.turns else text
    said = answering(answer.messages, prompt)
    early = EARLY if any(calls(unasked(answer.messages, prompt))) else ""
    turns = tuple(_turns(asked, said, answer))
    for turn in turns[:-1]:
        if turn.role == "assistant":
            replies.check_text(Reply(turn.content, metadata=turn.metadata), job.target.name)
    documents = {"retrieval_context": list(answer.retrieval_context)} if answer.retrieval_context else {}
    others = {key: value for key, value in answer.metadata.items() if key not in _OWN}
    end = ended(answer.finish_reason)
    reply = Reply(turns[-1].content, answer.usage, end, metadata={**documents, **others, **_called(turns, answer, end, early)})
    replies.check(reply, job.target.name)
    # The calls of all turns stand at the transcript, and each turn has its own.
    own = {key: value for key, value in reply.metadata.items() if key != CALLS}
    last = replace(turns[-1], metadata=replies.metadata(replace(reply, metadata={**own, **turns[-1].metadata})))
    question = job.case.turns[-1].content if job.case.turns else text
    return Transcript(question, (*turns[:-1], last), job.vars, answer.usage, replies.metadata(reply), NO_USAGE)


def _turns(asked: Sequence[Turn], said: Sequence[Turn], answer: Answer) -> Iterator[Turn]:
    """What was said, the answer at its end. The question is the planned one, whatever the answer says that it was."""
    yield asked[0]
    planned = iter(asked[1:])
    ends = bool(said) and said[-1].role == "assistant"
    for turn in said[:-1] if ends else said:
        yield next(planned, turn) if turn.role == "user" else turn
    last = said[-1] if ends else Turn("assistant", "")
    own = answer.tool_calls
    if own is not None and not any(calls(said)):
        last = replace(last, metadata={**last.metadata, CALLS: list(own)})
    # An answer that is calls alone has them as its text, as one that is asked for now.
    alone = to_json(last.metadata[CALLS]) if last.metadata.get(CALLS) else ""
    text = last.content or alone if answer.output is None else answer.output
    if own is None and not ends and (consists := written(text)):
        last = replace(last, metadata={**last.metadata, CALLS: consists})
    yield replace(last, content=text, retrieval_context=answer.retrieval_context or last.retrieval_context)


def _called(turns: Sequence[Turn], answer: Answer, end: str, early: str) -> dict[str, object]:
    """The calls of the whole answer, and why these may not be all of them."""
    said = [turn for turn in turns if turn.role == "assistant"]
    told = [*calls(said)]
    silent = answer.tool_calls is None and any(CALLS not in turn.metadata for turn in said)
    untold = answer.untold or early or (UNKNOWN if silent else "")
    if end == "tool_calls" and not told:
        untold = untold or ENDED
    return {**({UNTOLD: untold} if untold else {}), **({CALLS: told} if told or not silent else {})}
