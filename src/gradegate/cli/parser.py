"""Turns the table of options into flags, and the flags of a command into its context.

Options of ``promptfoo eval`` that gradegate lacks are parsed, too: some have no effect here, others are refused.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradegate.core.options import PLANNING, RUNNING, SWITCH, Option
from gradegate.core.settings import OPTIONS, RUN_OPTIONS, Settings
from gradegate.errors import ConfigError, Mistake
from gradegate.files.documents import table
from gradegate.structs import FrozenStruct

if TYPE_CHECKING:
    from gradegate.config.context import Context

_NAMES_WITH_FLAG = frozenset(option.name for option in OPTIONS if option.flags)
_VERBOSITY_FIELDS = ("quiet", "verbose")  # a run may have one of them
_ARGUMENTS = {"merge": "DIR [CONFIG ...]", "calibrate": "CONFIG LABELS"}


class PromptfooOption(FrozenStruct):
    """An option of ``promptfoo eval`` that gradegate lacks."""

    flags: list[str]
    values: int | str  # how many it takes, in argparse's notation
    reason: str


def promptfoo_options(group: str) -> Iterator[PromptfooOption]:
    """Yield the options of a group: ``no_effect`` or ``refused``."""
    for flags, entry in table("cli", "promptfoo_options.yaml")[group].items():
        yield PromptfooOption(flags.split(", "), entry["values"], entry["why"])


# --- options to flags ---------------------------------------------------------------------------------------------


def add_options(parser: argparse.ArgumentParser, command: str) -> None:
    """Add a command's options and configs. The parsed namespace has None for an option that nobody gives."""
    arguments = _ARGUMENTS.get(command, "[CONFIG ...]")
    parser.usage = f"{parser.prog} [OPTIONS] {arguments}"
    options = [option for option in RUN_OPTIONS if command in option.commands]

    # Positional arguments before the configs, which `_add_flag` adds.
    for option in options:
        if not option.flags:
            parser.add_argument(option.field, metavar=option.metavar, help=_help_text(option))

    verbosity: Any = parser
    if command in RUNNING:
        verbosity = parser.add_mutually_exclusive_group()
    for option in options:
        if option.field in _VERBOSITY_FIELDS:
            _add_flag(verbosity, option)
        elif option.flags:
            _add_flag(parser, option)

    if command in PLANNING:
        _add_promptfoo_options(parser, "no_effect", _NoEffect)
        _add_promptfoo_options(parser, "refused", _Refused)


def _add_promptfoo_options(
    parser: argparse.ArgumentParser, group: str, action: type[argparse.Action]
) -> None:
    """Add a group of promptfoo's options. The help does not list them."""
    for option in promptfoo_options(group):
        parser.add_argument(
            *option.flags,
            action=action,
            nargs=option.values,
            const=option.reason,
            help=argparse.SUPPRESS,
        )


def _add_flag(parser: argparse.ArgumentParser, option: Option) -> None:
    """Add the flag of an option. The configs may also be given without a flag."""
    if option.field == "configs":
        parser.add_argument("config", nargs="*", help=_help_text(option))
    arguments: dict[str, Any] = {"dest": option.field, "help": _help_text(option)}
    if option.kind is SWITCH:
        parser.add_argument(*option.flags, action="store_true", default=None, **arguments)
        return

    arguments["action"] = "append" if option.kind.gather else "store"
    arguments["type"] = partial(_read_value, option)
    arguments["metavar"] = option.metavar
    if option.kind.choices:
        arguments["metavar"] = f"{{{','.join(option.kind.choices)}}}"
    if option.metavar.startswith("["):  # the value may be left out
        arguments["metavar"] = option.metavar.strip("[]")
        arguments["nargs"] = "?"
        arguments["const"] = option.otherwise
    parser.add_argument(*option.flags, **arguments)


def _help_text(option: Option) -> str:
    """Write the help of an option. Other options are named by their flags."""
    names = _NAMES_WITH_FLAG.difference(option.kind.choices)

    def name_flag(match: re.Match[str]) -> str:
        return f"--{match[1]}" if match[1] in names else match[0]

    parts = [re.sub(r"`([a-z-]+)`", name_flag, option.help)]
    if option.kind.gather:
        parts.append("repeat")
    default = option.otherwise
    if not default and option.kind is not SWITCH:
        default = option.shown_default
    if default:
        parts.append(f"default {default}")
    return "; ".join(parts).replace("%", "%%")


def _read_value(option: Option, text: str) -> Any:
    value = option.kind.read(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be used -> write {option.kind.needs}")
    return value


class _NoEffect(argparse.Action):
    """An option without a value of its own. ``const`` says why it has no effect."""

    def __init__(self, option_strings: list[str], dest: str, **options: Any) -> None:
        options["default"] = argparse.SUPPRESS
        super().__init__(option_strings, argparse.SUPPRESS, **options)

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: str | None = None
    ) -> None:
        print(f"gradegate: {option_string} has no effect: {self.const}", file=sys.stderr)


class _Refused(_NoEffect):
    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: str | None = None
    ) -> None:
        what = f"{option_string} of promptfoo is not an option here"
        raise ConfigError.at(what, None, str(self.const))


# --- flags to settings --------------------------------------------------------------------------------------------


def context_from_args(args: argparse.Namespace, cwd: Path) -> Context:
    """Build the context of a command from its flags. Raises ConfigError with every mistake in an option."""
    from gradegate.config.context import build_context
    from gradegate.security.env_files import with_env_files

    values = {}
    mistakes: list[Mistake] = []
    for option in RUN_OPTIONS:
        value = getattr(args, option.field, None)  # None, too, if the command lacks the option
        if option.field == "configs":
            configs_of_flags = value or ()
            value = [*args.config, *configs_of_flags]
        if value is None:
            continue
        try:
            if option.kind.gather:
                value = option.kind.gather(value)
        except ConfigError as e:
            mistakes += e.mistakes
            continue
        values[option.field] = value
    if mistakes:
        raise ConfigError(*mistakes)

    if values.get("no_cache"):
        values.pop("cache", None)
    settings = Settings(**values, cwd=cwd, in_ci=bool(os.environ.get("CI")))
    environ = with_env_files(os.environ, settings.env_files, cwd)
    return build_context(settings, environ, os.environ)
