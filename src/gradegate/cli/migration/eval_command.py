"""Reads a step's `promptfoo eval` command into inputs of the Action."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

from gradegate.cli.parser import PromptfooOption, promptfoo_options
from gradegate.core.options import SWITCH, Option
from gradegate.core.settings import RUN_OPTIONS
from gradegate.structs import FrozenStruct, replace

IS_EVAL = re.compile(r"\bpromptfoo(?:@[\w.^~-]+)?\s+eval(?:uate)?\b")
CONCURRENCY = "max-concurrency"
# One command without a variable, a pipe or a second command: "npx promptfoo eval -c a.yaml --repeat ${{inputs.repeat}}".
# The runner fills in `${{ }}` before a shell sees it.
_PLAIN = re.compile(r"""(?:[\w\s@./:=,+%^~"'*-]|\$\{\{[\w.-]+\}\})+""")
# What may start promptfoo: "npx --yes ", "pnpm dlx " or nothing
_LAUNCHER = re.compile(r"(?:(?:npx|bunx|pnpm dlx|pnpm exec|yarn dlx|yarn)\s+(?:(?:-y|--yes)\s+)?)?")


class EvalInputs(FrozenStruct):
    """The inputs of the Action that stand for a command's options."""

    values: dict[str, Any]
    obstacle: str = ""  # why a step with these inputs would not do the same


def read_eval_command(script: str) -> EvalInputs:
    """Read the script of a step that runs `promptfoo eval`."""
    script = _join_lines_and_expressions(script)
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

    inputs = _read_options(words)
    return replace(inputs, obstacle=obstacle or inputs.obstacle)


def _read_options(words: list[str]) -> EvalInputs:
    """Read the options of the command, and take them from the words. No inputs if one of them has no input."""
    lines: dict[str, list[str]] = {}  # by the name of the input
    while words:
        flag, equals, value = words.pop(0).partition("=")

        unused_option = _find_promptfoo_option(flag, "no_effect")
        if unused_option is not None:
            if not equals:
                del words[: int(unused_option.values)]
            continue

        option = _find_option(flag)
        if option is None or not _has_input(option):
            return EvalInputs({}, f"`{flag}`: {_explain_refusal(flag, option)}")
        if option.kind is SWITCH:
            if not option.no_input:
                lines[option.name] = ["true"]
            continue

        values = [value] if equals else list(_take_values(option, words))
        lines.setdefault(option.name, []).extend(values)

    return EvalInputs({name: _make_input_value(values) for name, values in lines.items()})


def _join_lines_and_expressions(script: str) -> str:
    """Join lines that end with a backslash, and make one word of each `${{ }}`, as shlex needs."""
    script = re.sub(r"\\\r?\n", " ", script.strip())
    return re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", r"${{\1}}", script)


def _find_option(flag: str) -> Option | None:
    for option in RUN_OPTIONS:
        if flag in option.flags:
            return option
    return None


def _find_promptfoo_option(flag: str, group: str) -> PromptfooOption | None:
    for option in promptfoo_options(group):
        if flag in option.flags:
            return option
    return None


def _has_input(option: Option) -> bool:
    """Whether a step can have the option, or lose it: switches without an input decide nothing in the Action."""
    return not option.no_input or option.kind is SWITCH or option.name == CONCURRENCY


def _explain_refusal(flag: str, option: Option | None) -> str:
    """Explain why no input stands for a flag. ``option`` is None if gradegate lacks it."""
    refused_option = _find_promptfoo_option(flag, "refused")
    if refused_option is not None:
        return refused_option.reason
    if option is not None:
        return option.no_input
    return "not known"


def _take_values(option: Option, words: list[str]) -> Iterator[str]:
    """Take an option's values from the remaining words: one, or all configs up to the next flag."""
    if option.field != "configs":
        if words:
            yield words.pop(0)
        return
    while words and not words[0].startswith("-"):
        yield words.pop(0)


def _make_input_value(lines: list[str]) -> Any:
    """Make the value of an input: a number if it is one, else text, with each `${{ }}` as people write it."""
    text = "\n".join(lines).replace("${{", "${{ ").replace("}}", " }}")
    return int(text) if text.isdecimal() else text
