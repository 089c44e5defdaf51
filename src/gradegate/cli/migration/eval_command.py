"""Reads a step's `promptfoo eval` command into inputs of the Action."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

from gradegate.cli.parser import PromptfooOption, promptfoo_options
from gradegate.core.options import SWITCH, Option
from gradegate.core.settings import RUN_OPTIONS
from gradegate.structs import FrozenStruct

IS_EVAL = re.compile(r"\bpromptfoo(?:@[\w.^~-]+)?\s+eval(?:uate)?\b")
CONCURRENCY = "max-concurrency"
# One command without a variable, a pipe or a second command. The runner fills in `${{ }}` before a shell sees it.
_PLAIN = re.compile(r"""(?:[\w\s@./:=,+%^~"'*-]|\$\{\{[\w.-]+\}\})+""")
_LAUNCHER = re.compile(r"(?:(?:npx|bunx|pnpm dlx|pnpm exec|yarn dlx|yarn)\s+(?:(?:-y|--yes)\s+)?)?")


class EvalInputs(FrozenStruct):
    """The inputs that a command's options become, and why a step with them would not do the same; empty if it would."""

    values: dict[str, Any]
    obstacle: str = ""


def read_eval_command(script: str) -> EvalInputs:
    """Read the script of a step that runs `promptfoo eval`."""
    script = re.sub(r"\\\r?\n", " ", script.strip())
    script = re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", r"${{\1}}", script)  # one word for shlex
    command = IS_EVAL.search(script)
    if command is None:
        return EvalInputs({}, "it runs no `promptfoo eval`")

    arguments = script[command.end() :]
    obstacle = ""
    is_plain = "\n" not in script and _PLAIN.fullmatch(script)
    if not is_plain or not _LAUNCHER.fullmatch(script[: command.start()]):
        obstacle = "it does more than that one command, or its shell changes it"
        arguments = re.split(r"[|&;<>\n]", arguments)[0]
    try:
        words = shlex.split(arguments)
    except ValueError:
        return EvalInputs({}, "its quotes do not close")

    texts: dict[str, list[str]] = {}
    while words:
        flag, equals, value = words.pop(0).partition("=")
        option = _find_option(flag)
        unused = _find_promptfoo_option(flag, "no_effect")
        if unused:
            if not equals:
                del words[: int(unused.values)]
        elif option is None or not _has_input(option):
            return EvalInputs({}, obstacle or f"`{flag}`: {_reason_against(flag, option)}")
        elif option.kind is SWITCH:
            if not option.no_input:
                texts[option.name] = ["true"]
        else:
            values = [value] if equals else list(_take_values(option, words))
            texts.setdefault(option.name, []).extend(values)

    return EvalInputs({name: _input_value(lines) for name, lines in texts.items()}, obstacle)


def _find_option(flag: str) -> Option | None:
    return next((option for option in RUN_OPTIONS if flag in option.flags), None)


def _find_promptfoo_option(flag: str, group: str) -> PromptfooOption | None:
    return next((option for option in promptfoo_options(group) if flag in option.flags), None)


def _has_input(option: Option) -> bool:
    """Whether a step can have the option, or lose it: switches without an input decide nothing in the Action."""
    return not option.no_input or option.kind is SWITCH or option.name == CONCURRENCY


def _reason_against(flag: str, option: Option | None) -> str:
    refused = _find_promptfoo_option(flag, "refused")
    if refused:
        return refused.reason
    return option.no_input if option else "not known"


def _take_values(option: Option, words: list[str]) -> Iterator[str]:
    """Take an option's values from the remaining words: one, or all configs up to the next flag."""
    if option.field != "configs":
        if words:
            yield words.pop(0)
        return
    while words and not words[0].startswith("-"):
        yield words.pop(0)


def _input_value(lines: list[str]) -> Any:
    text = "\n".join(lines).replace("${{", "${{ ").replace("}}", " }}")
    return int(text) if text.isdecimal() else text
