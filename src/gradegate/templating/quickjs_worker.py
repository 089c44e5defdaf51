"""The worker's side: runs a snippet in a context of QuickJS of its own, which has neither files nor network.

The engine's limits come before the worker's, so that a runaway snippet costs its own grade and not the process. Only
what is thrown past the prelude, such as being interrupted, comes as an exception of the engine.
"""

import json
import re
import time
from pathlib import Path
from typing import Any, Literal

import quickjs

from gradegate.files.limits import MAX_CHARACTERS, MIB, SCRIPT_MEMORY, SCRIPT_SECONDS, SCRIPT_STACK
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject

_PLACE = re.compile(r":(\d+):\d+\)?\s*$", re.MULTILINE)
_BEFORE = 2  # lines that the engine puts before the body of a function
_JOBS = 100_000  # promises that are looked after


def _source(name: str) -> str:
    """A file of ours on one line, so that no line of it is taken for one of the snippet."""
    source = Path(__file__).with_name(name).read_text("utf-8")
    return " ".join(line.partition("// ")[0].strip() for line in source.splitlines()).rstrip("; ")


# Read before the worker gives up its rights
_PRELUDE = _source("prelude.js")
_CHECK = _source("check.js")


def _context(source: str) -> tuple[Any, Any]:
    """A context of its own, and what our source gives in it."""
    context = quickjs.Context()
    context.set_memory_limit(SCRIPT_MEMORY)
    context.set_max_stack_size(SCRIPT_STACK)
    context.set_time_limit(SCRIPT_SECONDS)
    return context, context.eval(source)


def run_body(body: str, parameters: list[str] | None, name: str, given: str) -> JsonObject:
    """What a function with this body gives for the arguments in ``given`` (JSON); without parameters it is a module.

    ``type`` is JavaScript's, "null", "pending", "thrown" or "unreadable"; ``text`` is JSON, or what was thrown at ``line`` (0: unknown).
    """
    until = time.process_time() + SCRIPT_SECONDS
    context, prelude = _context(_PRELUDE)
    try:
        prelude(body, None if parameters is None else json.dumps(parameters), name, given)
        for _ in range(_JOBS):
            if time.process_time() > until or not context.execute_pending_job():
                break
        said: dict[str, Any] = json.loads(prelude())
    except quickjs.JSException as e:
        return _beyond(str(e))
    if said["limit"]:
        return _beyond(said["limit"], said.get("stack", ""))
    if said["lacking"]:
        return _failed(said["lacking"], said.get("stack", ""))
    if len(said.get("text") or "") > MAX_CHARACTERS:
        return {
            "type": "unreadable",
            "text": f"it has more than {MAX_CHARACTERS:,} characters",
            "lines": [],
        }
    return {**said, "line": line_in_stack(said.get("stack", ""))}


def check_body(body: str, parameters: list[str]) -> JsonObject:
    """What there is to say of a function's body without running it: "thrown", "returns" or "returns nothing"."""
    try:
        _, look = _context(_CHECK)
        said: dict[str, Any] = json.loads(look(body, json.dumps(parameters)))
    except quickjs.JSException as e:
        return _beyond(str(e))
    return {**said, "line": line_in_stack(said.get("stack", ""))}


def member_names(owner: Literal["globalThis", "Math"]) -> list[str]:
    """The names of the members of an object that every snippet can use."""
    context, _ = _context(_PRELUDE)
    members: list[str] = json.loads(
        context.eval(f"JSON.stringify(Object.getOwnPropertyNames({owner}))")
    )
    return members


def line_in_stack(stack: str) -> int:
    """The line of the body that a stack of the engine begins in; 0 where it does not say."""
    lines = (int(match[1]) - _BEFORE for match in _PLACE.finditer(stack))
    return next((line for line in lines if line > 0), 0)


def _beyond(words: str, stack: str = "") -> JsonObject:
    """Of a limit that was hit, whatever the snippet made of it: ``words`` are the engine's, with the stack behind them or beside."""
    words, _, behind = words.partition("\n")
    exceeded = words != "nested"  # which is cheap, and may be an answer's doing alone
    if "interrupted" in words:
        words = f"it takes more than {SCRIPT_SECONDS:g} s"
    elif "memory" in words or words in ("", "null", "string too long", "[uninitialized]"):
        words = f"it needs more than {SCRIPT_MEMORY // MIB} MiB of memory"
    elif not exceeded:
        words = "it reads JSON that is nested too deeply"
    return _failed(words, stack or behind, exceeded=exceeded)


def _failed(words: str, stack: str, *, exceeded: bool = False) -> JsonObject:
    return {
        "type": "thrown",
        "name": "",
        "text": excerpt(words, 500),
        "line": line_in_stack(stack),
        "lines": [],
        "exceeded": exceeded,
    }
