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


def _read_on_one_line(name: str) -> str:
    """A file of gradegate on one line, so none of its lines is taken for a line of the snippet."""
    source = Path(__file__).with_name(name).read_text("utf-8")
    return " ".join(line.partition("// ")[0].strip() for line in source.splitlines()).rstrip("; ")


# Read before the worker gives up its rights
_PRELUDE = _read_on_one_line("prelude.js")
_CHECK = _read_on_one_line("check.js")


def run_body(body: str, parameters: list[str] | None, name: str, arguments: str) -> JsonObject:
    """What a function with this body gives for ``arguments`` (JSON). Without parameters, the body is a module.

    ``type`` is JavaScript's, "null", "pending", "thrown" or "unreadable"; ``text`` is JSON, or what was thrown at ``line`` (0: unknown).
    """
    deadline = time.process_time() + SCRIPT_CPU_SECONDS
    context, prelude = _new_context(_PRELUDE)
    try:
        prelude(body, None if parameters is None else json.dumps(parameters), name, arguments)
        for _ in range(_MAX_JOBS):
            if time.process_time() > deadline or not context.execute_pending_job():
                break
        result: dict[str, Any] = json.loads(prelude())
    except quickjs.JSException as e:
        return _limit_result(str(e))

    stack = result.get("stack", "")
    if result["limit"]:
        return _limit_result(result["limit"], stack)
    if result["lacking"]:
        return _failure_result(result["lacking"], stack)
    if len(result.get("text") or "") > MAX_TEXT_CHARACTERS:
        return {
            "type": "unreadable",
            "text": f"it has more than {MAX_TEXT_CHARACTERS:,} characters",
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
    """The result of a limit that was hit. ``message`` is the engine's; the stack stands behind it, if not in ``stack``."""
    words, _, stack_behind = message.partition("\n")
    has_exceeded = True
    if "interrupted" in words:
        words = f"it takes more than {SCRIPT_CPU_SECONDS:g} s"
    elif "memory" in words or words in ("", "null", "string too long", "[uninitialized]"):
        words = f"it needs more than {SCRIPT_MEMORY // MIB} MiB of memory"
    elif words == "nested":
        words = "it reads JSON that is nested too deeply"
        has_exceeded = False  # it is cheap, and the answer may be the only reason
    return _failure_result(words, stack or stack_behind, has_exceeded=has_exceeded)


def _failure_result(words: str, stack: str, *, has_exceeded: bool = False) -> JsonObject:
    return {
        "type": "thrown",
        "name": "",
        "text": excerpt(words, 500),
        "line": line_in_stack(stack),
        "lines": [],
        "exceeded": has_exceeded,
    }
