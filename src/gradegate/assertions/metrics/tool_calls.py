"""The tool calls of an answer or a conversation, and the steps of a trajectory that the calls make.

A step, and how a pattern matches it, are as in promptfoo (``src/assertions/trajectoryUtils.ts``): a call of a shell is a
"command", and the name of the step is the command line. Any other call is a "tool". promptfoo takes steps from traces,
gradegate from the calls themselves.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

from gradegate.assertions.grading.evaluator import Evaluator, NoVerdict, Requirements, Transcript
from gradegate.core.conversation import Turn
from gradegate.files.json_text import (
    DuplicateKeyError,
    describe_syntax_error,
    refuse_duplicate_keys,
)
from gradegate.files.line_numbers import at_line
from gradegate.files.yaml_reader import MAX_DEPTH
from gradegate.providers.api.content import CALLS, CALLS_UNKNOWN, calls_in_text, uniform_call
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, JsonObject, replace

KINDS = ("tool", "command")
_FUNCTION_NAME = re.compile(r"[A-Za-z0-9_-]+")  # the names that APIs accept
# Models of OpenAI see the functions of the caller in this namespace.
_NAMESPACE = "functions."
# A tool that models of OpenAI make up: one call that contains several
_BUNDLE = "multi_tool_use.parallel"
_SHELLS = ("exec_command", "local_shell", "shell")
# The arguments of a shell that may have the command, and what joins the items of a list
_COMMAND_SEPARATORS = {"cmd": " ", "command": " ", "commands": "; "}
UNKNOWN_CALLS = "the answer does not say which tools were called: add `tool_calls`, or an empty list if no tool was called"
ENDED_WITHOUT_CALL = "the answer ended to call a tool, but contains no call"


class CallsEvaluator(Evaluator):
    """Base of the evaluators that look at the calls of an answer. The answer may have no text."""

    requires = Requirements(tools=True)


class Step(FrozenStruct):
    """One call, as a step of a trajectory."""

    kind: Literal["tool", "command"]
    name: str  # of the tool, or the command line
    names: tuple[str, ...]  # a pattern may match any of them
    arguments: Any  # the JSON value, or the text if the text is not JSON
    parse_error: str = ""  # why the arguments are a text

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    def fits(self, pattern: str) -> bool:
        """Whether the pattern matches one of the names."""
        return any(matches_pattern(name, pattern) for name in self.names)


def matches_pattern(name: str, pattern: str) -> bool:
    """Whether a pattern with ``*`` and ``?`` matches a name. Upper and lower case are the same."""
    return fnmatchcase(name.lower(), pattern.lower().replace("[", "[[]"))


def list_calls(transcript: Transcript) -> Sequence[JsonObject] | None:
    """The calls of all answers, in order. None if it is not known which calls there were.

    An answer of a chat API lists its calls in the metadata, so a missing list means no calls. Any other answer has calls
    if its text is the JSON of calls. Raises NoVerdict for a recorded answer with an incomplete list of calls or without a
    list, and for an answer that ended to call a tool but contains no call.
    """
    why_unknown = transcript.metadata.get(CALLS_UNKNOWN)
    if why_unknown:
        raise NoVerdict(str(why_unknown))

    candidates = [turn.metadata.get(CALLS) for turn in transcript.answers]
    call_lists = [candidate for candidate in candidates if isinstance(candidate, list)]
    if not call_lists and isinstance(transcript.metadata.get(CALLS), list):
        call_lists = [transcript.metadata[CALLS]]

    finish_reason = transcript.metadata.get("finish_reason")
    if not call_lists:
        if finish_reason == "tool_calls":
            raise NoVerdict(ENDED_WITHOUT_CALL)
        if finish_reason:
            return []
        calls_of_text = calls_in_text(transcript.output)
        if calls_of_text is None:
            return None
        call_lists = [calls_of_text]

    calls: list[JsonObject] = []
    for call_list in call_lists:
        for call in call_list:
            calls += _unpack_call(call)
    return calls


def _unpack_call(call: JsonObject) -> Iterator[JsonObject]:
    """A call, and the calls in it if it is a bundle, at any depth.

    The limit on nested arguments bounds the depth. Raises NoVerdict if the calls in a bundle cannot be read.
    """
    yield call
    name, text = name_and_arguments(call)
    if name.removeprefix(_NAMESPACE) != _BUNDLE:
        return

    inner_calls = []
    try:
        for use in parse_arguments(name, text)["tool_uses"]:
            inner_name = use["recipient_name"].removeprefix(_NAMESPACE)
            inner_calls.append(uniform_call({"name": inner_name, "arguments": use["parameters"]}))
    except (ValueError, TypeError, KeyError, AttributeError) as e:
        raise NoVerdict(
            f"it is not known which tools `{_BUNDLE}` called: its arguments cannot be read"
        ) from e
    for inner_call in inner_calls:
        yield from _unpack_call(inner_call)


def turns_with_calls(transcript: Transcript) -> tuple[Turn, ...]:
    """The turns. Below the text of an answer is a line for each of its calls."""
    has_one_answer = len(transcript.answers) == 1
    turns = []
    for turn in transcript.turns:
        calls = turn.metadata.get(CALLS)
        if not calls and has_one_answer:
            calls = transcript.metadata.get(CALLS)
        if turn.role == "assistant" and isinstance(calls, list):
            turns.append(_append_calls(turn, calls))
        else:
            turns.append(turn)
    return tuple(turns)


def _append_calls(turn: Turn, calls: Sequence[JsonObject]) -> Turn:
    if not calls:
        return turn
    lines = [turn.content]
    for call in calls:
        name, text = name_and_arguments(call)
        lines.append(f"[calls the tool {name} with {text or 'nothing'}]")
    return replace(turn, content="\n".join(lines).strip())


def list_steps(transcript: Transcript) -> Sequence[Step]:
    """The steps in order. Raises NoVerdict if it is not known which tools were called, or what a shell ran."""
    calls = list_calls(transcript)
    if calls is None:
        raise NoVerdict(UNKNOWN_CALLS)
    steps = []
    for call in calls:
        name, text = name_and_arguments(call)
        steps.append(_make_step(resolve_tool(name, transcript), text))
    return steps


def resolve_tool(name: str, transcript: Transcript) -> str:
    """The tool that a call names: a tool that the target declares, or a plain name.

    Raises NoVerdict for any other name, because such a name may mean any tool.
    """
    tools = transcript.tools or {}
    short = name if name in tools else name.removeprefix(_NAMESPACE)
    if short in tools or short == _BUNDLE or _FUNCTION_NAME.fullmatch(short):
        return short
    problem = f"a call names the tool {excerpt(name, 60)!r}" if name else "a call names no tool"
    raise NoVerdict(
        f"it is not known which tools were called: {problem}; a name has letters, digits, _ and -, or is in the target's `tools`"
    )


def name_and_arguments(call: JsonObject) -> tuple[str, str]:
    """The name of a call, and its arguments as text. Both are empty if the value is not a call."""
    function = None
    if isinstance(call, Mapping):
        function = call.get("function")
    if not isinstance(function, Mapping):
        return "", ""
    name = function.get("name") or ""
    arguments = function.get("arguments") or ""
    return str(name), str(arguments)


def parse_arguments(name: str, text: str) -> Any:
    """The JSON value of the arguments of a call. Raises JSONDecodeError, and NoVerdict beyond a limit."""

    def refuse_constant(word: str) -> None:
        # `NaN` and `Infinity` are not JSON.
        raise json.JSONDecodeError("", text, text.find(word))

    try:
        value = json.loads(
            text, parse_constant=refuse_constant, object_pairs_hook=refuse_duplicate_keys
        )
        at_line(value, 0, MAX_DEPTH)
    except json.JSONDecodeError:
        raise
    except DuplicateKeyError as e:
        # The program of the tool decides which of the two values counts.
        raise NoVerdict(
            f"the arguments of `{name}` have the key `{excerpt(e.args[0], 60)}` twice"
        ) from e
    except RecursionError as e:
        raise NoVerdict(
            f"the arguments of `{name}` are nested deeper than {MAX_DEPTH} levels"
        ) from e
    except ValueError as e:
        # Python refuses to make a number of more than 4,300 digits.
        raise NoVerdict(f"the arguments of `{name}` hold a number with too many digits") from e
    return value


def _make_step(name: str, text: str) -> Step:
    """The step of a call. Raises NoVerdict if the arguments of a shell cannot be read."""
    arguments: Any = text
    parse_error = ""
    try:
        # Some vendors write an empty text if there are no arguments.
        arguments = parse_arguments(name, text) if text.strip() else {}
    except json.JSONDecodeError as e:
        parse_error = f"the arguments of `{name}` are not JSON: {describe_syntax_error(e, text)}"
    except NoVerdict as e:
        parse_error = str(e)

    if name.strip().lower() in _SHELLS:
        if parse_error:
            raise NoVerdict(f"it is not known what was run: {parse_error}")
        command = _find_command(arguments)
        if command:
            return Step("command", command, (command, name, command.split()[0]), arguments)
    return Step("tool", name, (name,), arguments, parse_error)


def _find_command(arguments: Any) -> str:
    """The command line in the arguments of a shell. Empty if there is none."""
    if not isinstance(arguments, Mapping):
        return ""
    for key, separator in _COMMAND_SEPARATORS.items():
        command = arguments.get(key)
        if command is None:
            continue
        if isinstance(command, list):
            words = [str(word).strip() for word in command]
            command = separator.join(filter(None, words))
        return command.strip() if isinstance(command, str) else ""
    return ""
