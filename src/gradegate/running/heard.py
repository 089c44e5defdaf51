"""Whether a reply holds an answer: one rule for replies that are asked for now and for those that were recorded."""

from __future__ import annotations

from gradegate.bounded.amounts import READ, TooMuch
from gradegate.conversation import Reply
from gradegate.errors import ProviderError, Trouble

# Finish reasons by which a vendor says that it failed, or is not done: what there is of the answer is a piece of one.
BROKEN_OFF = frozenset(
    "error failed cancelled in_progress queued unfinished incomplete pause_turn other finish_reason_unspecified "
    "malformed_function_call malformed_response unexpected_tool_call too_many_tool_calls no_image "
    "insufficient_system_resource".split()
)
WHOLE = ("", "stop", "tool_calls")  # finish reasons of answers that a later run may have from the cache


def check(reply: Reply, who: str) -> None:
    """Raises ProviderError for a reply that holds no answer: filtered, broken off or empty.

    A refusal in words is an answer, and so is one that was cut at its token limit.
    """
    ended = reply.finish_reason
    if ended == "content_filter":
        words = reply.text.strip()
        what = f"{who}: a content filter stopped the answer" + (f": {words}" if words else "")
        raise ProviderError(what, Trouble.REFUSED)
    if ended in BROKEN_OFF:
        raise ProviderError(f"{who} did not finish its answer (finish reason {ended})", Trouble.MALFORMED)
    calls = reply.metadata.get("tool_calls")
    called = isinstance(calls, list | tuple) and any(calls)
    if not called and not any(sign.isprintable() and not sign.isspace() for sign in reply.text):
        limit = " at its token limit" if ended == "length" else ""
        raise ProviderError(f"{who} answered with an empty text{limit}", Trouble.MALFORMED)
    try:
        READ.add_answer(len(reply.text))
    except TooMuch as e:
        raise ProviderError(f"{e}: ask for shorter ones", Trouble.MALFORMED) from e


def metadata(reply: Reply) -> dict[str, object]:
    """What graders know of a reply beside its text."""
    refused = {"refused": True} if reply.refused else {}
    return {"finish_reason": reply.finish_reason, **refused, **reply.metadata}
