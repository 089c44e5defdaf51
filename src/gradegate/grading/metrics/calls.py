"""The tool calls of an answer or a conversation, and the steps of a trajectory that they make.

A step and how a pattern finds it are promptfoo's (``src/assertions/trajectoryUtils.ts``): a call of a shell is a "command"
named by its command line, any other call is a "tool". promptfoo takes steps from traces, gradegate from the calls themselves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from gradegate.asking.toolcalls import CALLS, JsonObject, written
from gradegate.conversation import Transcript
from gradegate.errors import NoVerdict

KINDS = ("tool", "command")
_SHELLS = ("exec_command", "local_shell", "shell")
_LINES = {"cmd": " ", "command": " ", "commands": "; "}  # arguments of a shell that hold what it runs
UNKNOWN = "the answer does not say which tools were called: give `tool_calls` with it, an empty list for none"


@dataclass(frozen=True, slots=True)
class Step:
    """One call. ``names`` are what a pattern may match; ``arguments`` are the JSON value, or the text that is none."""

    kind: str
    name: str
    names: tuple[str, ...]
    arguments: Any

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    def fits(self, pattern: str) -> bool:
        """Whether the pattern matches one of the names."""
        return any(matches(name, pattern) for name in self.names)


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern with ``*`` and ``?`` matches a name, without regard to case."""
    return fnmatchcase(name.lower(), pattern.lower().replace("[", "[[]"))


def calls(transcript: Transcript) -> Sequence[JsonObject] | None:
    """The calls of all turns of the assistant, in order; None where it is not known which there were.

    An answer of a chat API tells them in a field of their own, so that the absence of calls is known too; one made
    elsewhere has None there where nobody says. Of any other answer the text is read: it may consist of calls.
    """
    said = [turn for turn in transcript.turns if turn.role == "assistant"]
    told = [turn.metadata.get(CALLS) for turn in said]
    untold = any(turn.metadata.get(CALLS, ()) is None for turn in said)
    if not any(isinstance(item, list) for item in told) and transcript.metadata.get(CALLS) is not None:
        told = [transcript.metadata[CALLS]]
    if any(isinstance(item, list) for item in told):
        return [call for item in told if isinstance(item, list) for call in item]
    if transcript.metadata.get("finish_reason") and not untold:
        return []
    return written(transcript.output)


def steps(transcript: Transcript) -> Sequence[Step]:
    """The steps in order. Raises NoVerdict where it is not known which tools were called."""
    called = calls(transcript)
    if called is None:
        raise NoVerdict(UNKNOWN)
    return [_step(*named(call)) for call in called]


def named(call: JsonObject) -> tuple[str, str]:
    """The name of a call and the text of its arguments; both empty in what is no call."""
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        return "", ""
    return str(function.get("name") or ""), str(function.get("arguments") or "")


def _step(name: str, text: str) -> Step:
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        arguments = text
    line = _command(arguments) if name.strip().lower() in _SHELLS else ""
    if line:
        return Step("command", line, (line, name, line.split()[0]), arguments)
    return Step("tool", name, (name,), arguments)


def _command(arguments: Any) -> str:
    if not isinstance(arguments, Mapping):
        return ""
    key = next((key for key in _LINES if arguments.get(key) is not None), "")
    line = arguments.get(key)
    if isinstance(line, list):
        line = _LINES[key].join(part for item in line if (part := str(item).strip()))
    return line.strip() if isinstance(line, str) else ""


def listed(steps: Sequence[Step]) -> str:
    """Steps as a reason names them."""
    return ", ".join(map(str, steps)) or "none"
