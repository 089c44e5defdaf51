"""The tool calls of an answer or a conversation, and the steps of a trajectory that they make.

A step and how a pattern finds it are promptfoo's (``src/assertions/trajectoryUtils.ts``): a call of a shell is a "command"
named by its command line, any other call is a "tool". promptfoo takes steps from traces, gradegate from the calls themselves.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from gradegate.assertions.grading.evaluator import Evaluator, NoVerdict, Requirements, Transcript
from gradegate.core.conversation import Turn
from gradegate.files.documents import TwiceError, at_line, fault, unique
from gradegate.files.yaml_reader import MAX_DEPTH
from gradegate.providers.api.content import CALLS, CALLS_UNKNOWN, calls_in_text, uniform_call
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, JsonObject, replace

KINDS = ("tool", "command")
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")  # as APIs take names of functions
_NAMESPACE = "functions."  # in which OpenAI shows its models the functions of the caller
_BUNDLE = "multi_tool_use.parallel"
_SHELLS = ("exec_command", "local_shell", "shell")
# Arguments of a shell that hold what it runs
_LINES = {"cmd": " ", "command": " ", "commands": "; "}
UNKNOWN = "the answer does not say which tools were called: add `tool_calls`, or an empty list if no tool was called"
ENDED = "the answer ended to call a tool, but contains no call"


class CallsEvaluator(Evaluator):
    """Base of the evaluators that look at the calls of an answer, whatever else it says."""

    requires = Requirements(tools=True)


class Step(FrozenStruct):
    """One call. ``names`` are what a pattern may match; ``arguments`` the JSON value, or the text that is none: ``unread`` says why."""

    kind: str
    name: str
    names: tuple[str, ...]
    arguments: Any
    unread: str = ""

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

    An answer of a chat API tells them in a field of their own, so that the absence of calls is known too. Of any other
    answer the text is read: it may consist of calls. Raises NoVerdict for an answer made elsewhere that does not tell them,
    or not all of them, and for any that ended in order to call a tool and has no call.
    """
    untold = transcript.metadata.get(CALLS_UNKNOWN)
    if untold:
        raise NoVerdict(str(untold))
    calls_by_answer = [turn.metadata.get(CALLS) for turn in transcript.answers]
    lists = [item for item in calls_by_answer if isinstance(item, list)] or [
        metadata_calls
        for metadata_calls in (transcript.metadata.get(CALLS),)
        if isinstance(metadata_calls, list)
    ]
    finish = transcript.metadata.get("finish_reason")
    if finish == "tool_calls" and not lists:
        raise NoVerdict(ENDED)
    outer = (
        [call for item in lists for call in item]
        if lists
        else []
        if finish
        else calls_in_text(transcript.output)
    )
    return outer and [call for outer_call in outer for call in _opened(outer_call)]


def with_calls(transcript: Transcript) -> tuple[Turn, ...]:
    """The turns. Those of the assistant have a line below their text for each of their calls."""
    has_one_answer = len(transcript.answers) == 1
    turns = []
    for turn in transcript.turns:
        calls_of_turn = turn.metadata.get(CALLS)
        if not calls_of_turn and has_one_answer:
            calls_of_turn = transcript.metadata.get(CALLS)
        if turn.role == "assistant" and isinstance(calls_of_turn, list):
            turns.append(_with_call_lines(turn, calls_of_turn))
        else:
            turns.append(turn)
    return tuple(turns)


def _with_call_lines(turn: Turn, calls_of_turn: Sequence[JsonObject]) -> Turn:
    if not calls_of_turn:
        return turn
    lines = [turn.content]
    for call in calls_of_turn:
        name, text = named(call)
        lines.append(f"[calls the tool {name} with {text or 'nothing'}]")
    return replace(turn, content="\n".join(lines).strip())


def steps(transcript: Transcript) -> Sequence[Step]:
    """The steps in order. Raises NoVerdict where it is not known which tools were called, or what a shell ran."""
    called = calls(transcript)
    if called is None:
        raise NoVerdict(UNKNOWN)
    return [_step(tool(name, transcript), text) for name, text in map(named, called)]


def tool(name: str, transcript: Transcript) -> str:
    """The tool that a call names: one that the target declares, or a plain name. Raises NoVerdict: any other may mean any tool."""
    known = transcript.tools or {}
    short = name if name in known else name.removeprefix(_NAMESPACE)
    if short in known or short == _BUNDLE or _PLAIN.fullmatch(short):
        return short
    what = f"a call names the tool {excerpt(name, 60)!r}" if name else "a call names no tool"
    raise NoVerdict(
        f"it is not known which tools were called: {what}; a name has letters, digits, _ and -, or is in the target's `tools`"
    )


def named(call: JsonObject) -> tuple[str, str]:
    """The name of a call and the text of its arguments; both empty in what is no call."""
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        return "", ""
    return str(function.get("name") or ""), str(function.get("arguments") or "")


def _opened(call: JsonObject) -> Iterator[JsonObject]:
    """A call, then those inside it where it is one of `multi_tool_use.parallel`, which models of OpenAI make up, at any depth.

    Raises NoVerdict where they are unread; `arguments` bounds the depth.
    """
    yield call
    name, text = named(call)
    if name.removeprefix(_NAMESPACE) == _BUNDLE:
        try:
            uses = arguments(name, text)["tool_uses"]
            inside = [
                uniform_call(
                    {
                        "name": use["recipient_name"].removeprefix(_NAMESPACE),
                        "arguments": use["parameters"],
                    }
                )
                for use in uses
            ]
        except (ValueError, TypeError, KeyError, AttributeError) as e:
            raise NoVerdict(
                f"it is not known which tools `{_BUNDLE}` called: its arguments cannot be read"
            ) from e
        for inner_call in inside:
            yield from _opened(inner_call)


def arguments(name: str, text: str) -> Any:
    """The arguments of a call as the JSON value that they are. Raises JSONDecodeError, and NoVerdict beyond a limit."""

    def no_number(word: str) -> None:
        raise json.JSONDecodeError("", text, text.find(word))

    try:
        value = json.loads(text, parse_constant=no_number, object_pairs_hook=unique)
        at_line(value, 0, MAX_DEPTH)
    except json.JSONDecodeError:
        raise
    except TwiceError as e:  # which of the two a tool is given, its program says
        raise NoVerdict(
            f"the arguments of `{name}` have the key `{excerpt(e.args[0], 60)}` twice"
        ) from e
    except RecursionError as e:
        raise NoVerdict(
            f"the arguments of `{name}` are nested deeper than {MAX_DEPTH} levels"
        ) from e
    except ValueError as e:  # Python turns no more than 4,300 digits into a number
        raise NoVerdict(f"the arguments of `{name}` hold a number with too many digits") from e
    return value


def _step(name: str, text: str) -> Step:
    value: Any = text
    unread = ""
    try:
        # So some vendors write that there are none
        value = arguments(name, text) if text.strip() else {}
    except json.JSONDecodeError as e:
        unread = f"the arguments of `{name}` are not JSON: {fault(e, text)}"
    except NoVerdict as e:
        unread = str(e)
    shell = name.strip().lower() in _SHELLS
    line = ""
    if shell and unread:
        raise NoVerdict(f"it is not known what was run: {unread}")
    if shell and isinstance(value, Mapping):
        key = next((key for key in _LINES if value.get(key) is not None), "")
        run = value.get(key)
        if isinstance(run, list):
            run = _LINES[key].join(part for item in run if (part := str(item).strip()))
        line = run.strip() if isinstance(run, str) else ""
    if line:
        return Step("command", line, (line, name, line.split()[0]), value)
    return Step("tool", name, (name,), value, unread)
