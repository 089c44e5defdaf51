"""The options of the command line, with their values; also those of ``promptfoo eval`` that have no effect here."""

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

if TYPE_CHECKING:
    from gradegate.config.context import Context

_NAMES = frozenset(option.name for option in OPTIONS if option.flags)


def of_promptfoo(kind: str) -> Iterator[tuple[list[str], Any, str]]:
    """Options of ``promptfoo eval`` that have "no_effect" here or are "refused": names, number of values as argparse has it, and why."""
    for names, entry in table("cli", "promptfoo_options.yaml")[kind].items():
        yield names.split(", "), entry["values"], entry["why"]


def add(parser: argparse.ArgumentParser, command: str) -> None:
    """The options of a command, and its configs; what nobody gives is not in the namespace."""
    own = {"merge": "DIR [CONFIG ...]", "calibrate": "CONFIG LABELS"}
    parser.usage = f"{parser.prog} [OPTIONS] {own.get(command, '[CONFIG ...]')}"
    how_much = parser.add_mutually_exclusive_group() if command in RUNNING else parser
    for option in sorted(
        RUN_OPTIONS, key=lambda it: bool(it.flags)
    ):  # what has no flag stands before the configs
        if command not in option.commands:
            continue
        if not option.flags:
            parser.add_argument(option.field, metavar=option.metavar, help=_help(option))
        if option.field == "configs":
            parser.add_argument("config", nargs="*", help=_help(option))
        if option.kind is SWITCH and option.flags:
            group = how_much if option.field in ("quiet", "verbose") else parser
            group.add_argument(
                *option.flags,
                dest=option.field,
                action="store_true",
                default=None,
                help=_help(option),
            )
        elif option.flags:
            form = "append" if option.kind.gather else "store"
            value = (
                f"{{{','.join(option.kind.choices)}}}" if option.kind.choices else option.metavar
            )
            how: dict[str, Any] = {"action": form, "metavar": value, "type": partial(_read, option)}
            if option.metavar.startswith("["):  # the value may be left out
                how |= {
                    "metavar": option.metavar.strip("[]"),
                    "nargs": "?",
                    "const": option.otherwise,
                }
            parser.add_argument(*option.flags, dest=option.field, help=_help(option), **how)
    if command in PLANNING:
        for kind, action in (("no_effect", _NoEffect), ("refused", _Refused)):
            for names, count, why in of_promptfoo(kind):
                parser.add_argument(
                    *names, action=action, nargs=count, const=why, help=argparse.SUPPRESS
                )


def _help(option: Option) -> str:
    """What an option does, in the words of the command line: other options by their flags."""
    text = re.sub(
        r"`([a-z-]+)`",
        lambda it: f"--{it[1]}" if it[1] in _NAMES.difference(option.kind.choices) else it[0],
        option.help,
    )
    default = option.otherwise or (option.shown_default if option.kind is not SWITCH else "")
    parts = [text, "repeat" if option.kind.gather else "", f"default {default}" if default else ""]
    return "; ".join(filter(None, parts)).replace("%", "%%")


def _read(option: Option, text: str) -> Any:
    value = option.kind.read(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be used -> write {option.kind.needs}")
    return value


def context_of(args: argparse.Namespace, cwd: Path) -> Context:
    """What the options of a command come to, with where it runs. An option that it does not have was not given. Raises ConfigError."""
    from gradegate.config.context import build_context
    from gradegate.security.env_files import with_env_files

    given = {}
    mistakes: list[Mistake] = []
    for option in RUN_OPTIONS:
        value = getattr(args, option.field, None)
        if option.field == "configs":
            value = [*args.config, *(value or ())]
        try:
            if value is not None:
                given[option.field] = option.kind.gather(value) if option.kind.gather else value
        except ConfigError as e:
            mistakes += e.mistakes
    if mistakes:
        raise ConfigError(*mistakes)
    if given.get("no_cache"):
        given.pop("cache", None)
    settings = Settings(**given, cwd=cwd, in_ci=bool(os.environ.get("CI")))
    environ = with_env_files(os.environ, settings.env_files, cwd)
    return build_context(settings, environ, os.environ)


class _NoEffect(argparse.Action):
    """An option without a value of its own; ``const`` says what is to be said about it."""

    def __init__(self, option_strings: list[str], dest: str, **rest: Any) -> None:
        super().__init__(
            option_strings, argparse.SUPPRESS, **{**rest, "default": argparse.SUPPRESS}
        )

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: str | None = None
    ) -> None:
        print(f"gradegate: {option_string} has no effect: {self.const}", file=sys.stderr)


class _Refused(_NoEffect):
    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: str | None = None
    ) -> None:
        raise ConfigError.at(
            f"{option_string} of promptfoo is not an option here", None, str(self.const)
        )
