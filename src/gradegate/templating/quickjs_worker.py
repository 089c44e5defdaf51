"""What the worker does with a snippet: runs it in its own context of QuickJS, which has neither files nor network.

The engine's limits come before the worker's, so a runaway snippet costs its own grade and not the process. Only what is thrown
past the prelude, such as an interruption, comes as an exception of the engine.
"""

import json
import re
import time
from pathlib import Path
from typing import Any, Literal

import quickjs

from gradegate.files.limits import (
    MAX_TEXT_CHARACTERS,
    MIB,
    SCRIPT_CPU_SECONDS,
    SCRIPT_MEMORY,
    SCRIPT_STACK,
)
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject

_POSITION = re.compile(r":(\d+):\d+\)?\s*$", re.MULTILINE)
_LINES_BEFORE = 2  # that the engine puts before the body of a function
_MAX_JOBS = 100_000  # steps of promises
# What the engine says where it has no memory left even for a message
_WORDS_WITHOUT_MEMORY = ("", "null", "string too long", "[uninitialized]")


def _read_on_one_line(name: str) -> str:
    """A JavaScript file of gradegate on one line, so none of its lines is taken for a line of the snippet.

    Without its comments: on one line, the first of them would hide the rest of the code.
    """
    source = Path(__file__).with_name(name).read_text("utf-8")
    lines = [line.partition("// ")[0].strip() for line in source.splitlines()]
    return " ".join(lines).rstrip("; ")


# Read before the worker gives up its rights
_PRELUDE = _read_on_one_line("prelude.js")
_CHECK = _read_on_one_line("check.js")


def run_body(body: str, parameters: list[str] | None, name: str, arguments: str) -> JsonObject:
    """Run a function with this body on ``arguments``, a JSON list, and say what it returned or threw.

    ``parameters`` are the names of its parameters. If they are None, the body is a module, and the function is its export
    ``name``, or its default export if ``name`` is empty.

    The result has ``lines``, which it logged, and ``type``, which says what is in ``text``:

    - "null" or a ``typeof`` of JavaScript: the returned value as JSON; a number as JavaScript prints it; no text for a value
      that JSON does not have
    - "pending": no text, because its promise did not settle
    - "thrown": the message of the error, thrown at ``line`` of the body (0: unknown)
    - "unreadable": why the returned value is no plain data
    """
    deadline = time.process_time() + SCRIPT_CPU_SECONDS
    context, prelude = _new_context(_PRELUDE)
    try:
        # With a body, the prelude runs it. Then its promises run. Without a body, the prelude gives the result.
        prelude(body, None if parameters is None else json.dumps(parameters), name, arguments)
        for _ in range(_MAX_JOBS):
            if time.process_time() > deadline or not context.execute_pending_job():
                break
        result: dict[str, Any] = json.loads(prelude())
    except quickjs.JSException as e:
        return _limit_result(str(e))

    stack = result.get("stack", "")
    # The snippet may have caught the error of a limit or of a missing feature, so both are told apart from what it returned.
    if result["limit"]:
        return _limit_result(result["limit"], stack)
    if result["lacking"]:
        return _failure_result(result["lacking"], stack)
    if len(result.get("text") or "") > MAX_TEXT_CHARACTERS:
        return {
            "type": "unreadable",
            "text": f"it has more than {MAX_TEXT_CHARACTERS:,} characters",
            "line": 0,
            "lines": [],
        }
    return {**result, "line": line_in_stack(stack)}


def check_body(body: str, parameters: list[str]) -> JsonObject:
    """What can be said about the body of a function without running it: "thrown", "returns" or "returns nothing"."""
    try:
        _, check = _new_context(_CHECK)
        result: dict[str, Any] = json.loads(check(body, json.dumps(parameters)))
    except quickjs.JSException as e:
        return _limit_result(str(e))
    return {**result, "line": line_in_stack(result.get("stack", ""))}


def member_names(owner: Literal["globalThis", "Math"]) -> list[str]:
    """The names of the members of an object that every snippet can use."""
    context, _ = _new_context(_PRELUDE)
    names: list[str] = json.loads(
        context.eval(f"JSON.stringify(Object.getOwnPropertyNames({owner}))")
    )
    return names


def line_in_stack(stack: str) -> int:
    """The line of the body where a stack of the engine begins; 0 if it names none."""
    for match in _POSITION.finditer(stack):
        line = int(match[1]) - _LINES_BEFORE
        if line > 0:
            return line
    return 0


def _new_context(source: str) -> tuple[Any, Any]:
    """A new context with its limits, and the value of a source of gradegate in it."""
    context = quickjs.Context()
    context.set_memory_limit(SCRIPT_MEMORY)
    context.set_max_stack_size(SCRIPT_STACK)
    context.set_time_limit(SCRIPT_CPU_SECONDS)
    return context, context.eval(source)


def _limit_result(message: str, stack: str = "") -> JsonObject:
    """The result of a snippet that hit a limit of the engine.

    ``message`` is the engine's. If ``stack`` is empty, the stack follows the first line of the message. A snippet with too many
    results that are ``exceeded`` is not run again, see ``Script.call``.
    """
    words, _, stack_in_message = message.partition("\n")
    stack = stack or stack_in_message
    if words == "nested":
        # Not exceeded: it took little time, and another answer may not be nested so deeply.
        return _failure_result("it reads JSON that is nested too deeply", stack)
    if "interrupted" in words:
        words = f"it takes more than {SCRIPT_CPU_SECONDS:g} s"
    elif "memory" in words or words in _WORDS_WITHOUT_MEMORY:
        words = f"it needs more than {SCRIPT_MEMORY // MIB} MiB of memory"
    return _failure_result(words, stack, has_exceeded=True)


def _failure_result(words: str, stack: str, *, has_exceeded: bool = False) -> JsonObject:
    """A result of the type "thrown" that the snippet did not choose itself."""
    return {
        "type": "thrown",
        "name": "",
        "text": excerpt(words, 500),
        "line": line_in_stack(stack),
        "lines": [],
        "exceeded": has_exceeded,
    }
