"""A command line of ``promptfoo eval`` in a workflow, as the inputs of the Action."""

from __future__ import annotations

import re
import shlex
from typing import Any

from gradegate.commands.flags import NO_EFFECT, REFUSED
from gradegate.options import SWITCH
from gradegate.values.settings import RUN_OPTIONS

IS_EVAL = re.compile(r"\bpromptfoo(?:@[\w.^~-]+)?\s+eval(?:uate)?\b")
# One command without a variable, a pipe or a second command; `${{ }}` is filled in before a shell sees it.
_PLAIN = re.compile(r"""(?:[\w\s@./:=,+%^~"'*-]|\$\{\{[\w.-]+\}\})+""")
_BEFORE = re.compile(r"(?:(?:npx|bunx|pnpm dlx|pnpm exec|yarn dlx|yarn)\s+(?:(?:-y|--yes)\s+)?)?")


def inputs(run: str) -> tuple[dict[str, Any], str]:
    """The inputs that the options of the command come to, and why a step with them would not do the same; empty if it would."""
    text = re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", r"${{\1}}", re.sub(r"\\\r?\n", " ", run.strip()))
    command, begin, why = IS_EVAL.search(text), _BEFORE.match(text), ""
    if command is None:
        return {}, "it runs no `promptfoo eval`"
    if begin is None or command.start() != begin.end() or "\n" in text or not _PLAIN.fullmatch(text):
        why = "it does more than that one command, or its shell changes it"
        text = re.split(r"[|&;<>\n]", text[command.start() :])[0]
        command = IS_EVAL.match(text)
    try:
        words = shlex.split(text[command.end() if command else 0 :])
    except ValueError:
        return {}, "its quotes do not close"
    found: dict[str, list[str]] = {}
    while words:
        flag, equals, value = words.pop(0).partition("=")
        passed = next((count for names, (count, _) in NO_EFFECT.items() if flag in names), None)
        option = next((option for option in RUN_OPTIONS if flag in option.flags), None)
        if passed is not None:
            del words[: 0 if equals else passed]
        elif option is None or (option.no_input and option.kind is not SWITCH):
            return {}, why or next(
                (f"`{flag}`: {cure}" for names, (_, cure) in REFUSED.items() if flag in names),
                f"`{flag}`: {option.no_input if option else 'not known'}",
            )
        elif option.kind is not SWITCH:
            several = next((at for at, word in enumerate(words) if word.startswith("-")), len(words)) if option.field == "configs" else 1
            found[option.name] = [*found.get(option.name, ()), *([value] if equals else words[:several])]
            del words[: 0 if equals else several]
        elif not option.no_input:
            found[option.name] = ["true"]
    texts = {name: "\n".join(values).replace("${{", "${{ ").replace("}}", " }}") for name, values in found.items()}
    return {name: int(text) if text.isdecimal() else text for name, text in texts.items()}, why
