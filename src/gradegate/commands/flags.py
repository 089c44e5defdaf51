"""The options of the command line with what they come to; among them those that people bring along from ``promptfoo eval``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradegate.errors import ConfigError
from gradegate.settings import (
    CHANGE_MODES,
    COMPARE_MODES,
    CONCURRENCY,
    CONFIRM_MODES,
    MAX_AGE,
    PARTS,
    REASK,
    RETRIES,
    SHARD,
    TIMEOUT,
    Filters,
    Settings,
    amount,
    shard,
    whole_number,
)

_BOTH = "write it into the config, where a review sees it"
# Of promptfoo 0.123.1 (`promptfoo eval --help`): options that change nothing about a gate, with the reason.
NO_EFFECT: Mapping[tuple[str, ...], tuple[int, str]] = {
    ("--table",): (0, "the console shows the failures"),
    ("--no-table",): (0, "the console shows no table"),
    ("--table-cell-max-length",): (1, "the console shows no table"),
    ("--no-share",): (0, "nothing is ever shared"),
    ("--no-write",): (0, "nothing is written but the reports of -o and the cache of --cache"),
    ("--verbose",): (0, "reports hold all that was asked and answered: -o results.json"),
    ("--description",): (1, "a run has no name"),
    ("--tag",): (1, "a run has no tags"),
    ("--delay",): (1, "a provider that asks to wait is waited for; -j says how many calls are made at once"),
    ("--remote", "--no-remote"): (0, "nothing is asked but the models that the config and the command line name"),
}
# Options that would change what is checked, and that no gate has; with the way to what they are for.
REFUSED: Mapping[tuple[str, ...], tuple[Any, str]] = {
    ("-a", "--assertions"): ("?", "name each: --assert TYPE:VALUE"),
    ("-p", "--prompts"): ("*", f"`prompts:` of the config: {_BOTH}"),
    ("-t", "--tests", "-v", "--vars"): ("?", f"`tests: file://FILE` of the config: {_BOTH}"),
    ("--prompt-prefix", "--prompt-suffix"): ("?", f"`defaultTest.options.prefix` and `suffix`: {_BOTH}"),
    ("--model-outputs",): ("?", "answers made elsewhere are graded by --answers FILE"),
    ("--filter-range",): ("?", "--filter-first-n, --filter-pattern and --filter-metadata choose tests"),
    ("--filter-prompts",): ("?", "`prompts` of a test or a provider says which it is for"),
    ("--filter-sample", "--filter-sample-seed"): ("?", "a gate runs the same tests each time; --filter-first-n takes the first"),
    ("--filter-failing", "--filter-failing-only", "--filter-errors-only"): (
        "?", "with --cache DIR nothing that was answered is asked for again; --filter-pattern takes tests by description",
    ),
    ("--resume", "--retry-errors"): ("?", "with --cache DIR a second run asks for what is missing alone"),
    ("--share",): (0, "-o report.html writes a page; the Action posts a comment"),
    ("--watch", "-w"): (0, "run it again; with --cache DIR only what changed is asked for"),
    ("--extension", "-x"): ("*", "no hook is run: it would be code of the repository under test"),
    ("--suggest-prompts",): ("?", "a gate changes no prompts"),
}  # fmt: skip


def add_config(parser: argparse.ArgumentParser) -> None:
    """What configs are read, and what is asserted, asked and compared in place of what they say."""
    parser.add_argument("config", nargs="*", help="config files or patterns; default promptfooconfig.yaml")
    parser.add_argument("-c", "--config", dest="more", action="append", default=[], metavar="CONFIG", help="the same")
    parser.add_argument(
        "--assert",
        dest="assertions",
        action="append",
        default=[],
        metavar="TYPE[(THRESHOLD)][:VALUE]",
        help="assert this of every test too; repeat",
    )
    add_filters(parser)
    parser.add_argument("--base", default="", metavar="DIR", help="a checkout to compare the gate with")
    parser.add_argument("--repeat", type=whole(1), help="ask every test this often")
    parser.add_argument(
        "--confirm",
        choices=CONFIRM_MODES,
        help="ask failures again: not at all, the grader, or for new answers; default as the gate says, else grader",
    )
    parser.add_argument(
        "-r",
        "--provider",
        "--providers",
        dest="providers",
        action="append",
        default=[],
        metavar="ID",
        help="ask this model or application in place of the config's; repeat",
    )
    add_models(parser)
    add_known(parser)


def add_run(parser: argparse.ArgumentParser) -> None:
    """What a run is compared with, and what it writes."""
    parser.add_argument(
        "--baseline", default="", metavar="FILE", help="results.json of the base, to tell new failures from old ones"
    )
    parser.add_argument(
        "--compare", choices=COMPARE_MODES, default=COMPARE_MODES[0], help="base: ask what --base asks in the same run"
    )
    add_asking(parser, ".json, .xml (JUnit), .md, .html, agent.md or .aegis.json; repeat")
    parser.add_argument(
        "--changes", choices=CHANGE_MODES, default=CHANGE_MODES[0], help="what changes of the gate since --base come to"
    )


def add_answers(parser: argparse.ArgumentParser) -> None:
    """Where answers made elsewhere are."""
    parser.add_argument(
        "--answers", action="append", default=[], metavar="FILE", help="grade these answers; no target is asked; repeat"
    )


def add_asking(parser: argparse.ArgumentParser, reports: str) -> None:
    """How models are asked; ``reports`` says which there are."""
    parser.add_argument("-o", "--output", action="append", default=[], metavar="PATH", help=reports)
    parser.add_argument(
        "-j", "--max-concurrency", type=whole(1), metavar="N", help=f"calls at once; default {CONCURRENCY}"
    )
    parser.add_argument("--reask", type=whole(0), default=REASK, metavar="N", help="ask an unreadable grader again")
    parser.add_argument(
        "--timeout", type=whole(1), metavar="SECONDS", help=f"of one call with its retries; default {TIMEOUT:.0f}"
    )
    parser.add_argument(
        "--retries", type=whole(0), default=RETRIES, metavar="N", help=f"of a call that failed; default {RETRIES}"
    )


def add_models(parser: argparse.ArgumentParser) -> None:
    """Who grades, where keys may go, and whether code of the repository runs."""
    parser.add_argument(
        "-g",
        "--grader",
        action="append",
        default=[],
        metavar="[KIND=]ID",
        help="the model that grades, e.g. openai:chat:MODEL, or text=ID,embedding=ID; repeat",
    )
    parser.add_argument(
        "--allowed-hosts",
        action="append",
        default=[],
        metavar="HOST",
        help="keys may go there too, and nowhere else; repeat",
    )
    parser.add_argument(
        "--allowed-env", action="append", default=[], metavar="NAME", help="any text of a config may show it; repeat"
    )
    parser.add_argument("--allow-exec", action="store_true", help="run code of the repository (docs/exec.md)")
    parser.add_argument("--exec-env", action="append", default=[], metavar="NAME", help="that code sees it; repeat")
    parser.add_argument("--python", default="", metavar="PATH", help="runs that code; default python3 of PATH")


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Which tests are run, and with which variables and keys."""
    parser.add_argument("--filter-pattern", default="", metavar="REGEX", help="only tests whose description matches")
    parser.add_argument(
        "-n", "--filter-first-n", dest="first", type=whole(1), metavar="N", help="only the first N tests of each config"
    )
    parser.add_argument(
        "--filter-metadata",
        dest="metadata",
        action="append",
        type=_pair,
        default=[],
        metavar="KEY=TEXT",
        help="only tests whose metadata holds the text; repeat",
    )
    parser.add_argument(
        "--filter-providers",
        "--filter-targets",
        dest="only_providers",
        default="",
        metavar="REGEX",
        help="only providers whose id or label matches",
    )
    parser.add_argument(
        "--var",
        action="append",
        type=_pair,
        default=[],
        metavar="NAME=VALUE",
        help="a variable of every test that does not set it; repeat",
    )
    parser.add_argument(
        "--env-file",
        "--env-path",
        dest="env_files",
        action="append",
        default=[],
        metavar="FILE",
        help="a .env file with keys, not on GitHub; repeat",
    )


def add_shard(parser: argparse.ArgumentParser) -> None:
    """Which part of the plan is asked, where several jobs share it."""
    parser.add_argument("--shard", type=_shard, metavar="N/M", help="ask one of M parts of the plan; `merge` decides")
    parser.add_argument("--parts", default=PARTS, metavar="DIR", help=f"where a shard writes its part; default {PARTS}")
    parser.add_argument(
        "--open", default="", metavar="FILE", help="with --shard: ask the failures of `merge --open` again"
    )


def add_known(parser: argparse.ArgumentParser) -> None:
    """What has no effect here, and what is refused: not in the help."""
    for names, (count, why) in NO_EFFECT.items():
        parser.add_argument(*names, action=_NoEffect, nargs=count, const=why, help=argparse.SUPPRESS)
    for names, (nargs, cure) in REFUSED.items():
        parser.add_argument(*names, action=_Refused, nargs=nargs, const=cure, help=argparse.SUPPRESS)


def add_cache(parser: argparse.ArgumentParser) -> None:
    """Which replies are kept, and used again."""
    parser.add_argument("--cache", default="", metavar="DIR", help="keep replies there, and do not ask for them again")
    parser.add_argument("--no-cache", action="store_true", help="ask for everything, as without --cache")
    parser.add_argument(
        "--max-age", type=whole(0), default=MAX_AGE, metavar="DAYS", help=f"of a reply that is used; default {MAX_AGE}"
    )
    parser.add_argument("--cache-http", action="store_true", help="keep answers of http: applications, too")


def add_budget(parser: argparse.ArgumentParser) -> None:
    """What a run may take, and what it waits for."""
    waits = "wait for this address to answer, such as an application that was just started; repeat"
    parser.add_argument("--ready", action="append", default=[], metavar="'URL SECONDS'", help=waits)
    parser.add_argument("--estimate", action="store_true", help="say what the run would take; makes no call")
    parser.add_argument("--max-calls", type=whole(1), metavar="N", help="send at most so many requests to models")
    parser.add_argument(
        "--max-usd", type=above_zero, metavar="X", help="ask no more once replies have cost X US dollars"
    )
    parser.add_argument("--max-seconds", type=above_zero, metavar="S", help="ask no more after S seconds")


def above_zero(text: str) -> float:
    """A number of an option."""
    number = amount(text)
    if number is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0 in plain digits, such as 2 or 0.5")
    return number


def whole(least: int) -> Any:
    """Reads a whole number of an option."""

    def parse(text: str) -> int:
        number = whole_number(text, least)
        if number is None:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least}")
        return number

    return parse


def settings(args: argparse.Namespace, cwd: Path) -> Settings:
    """What the options of a command come to; one that it does not have is as if nobody had given it. Raises ConfigError."""
    from gradegate.access.envfile import with_files
    from gradegate.files.checkout import commit_of
    from gradegate.settings import graders, hosts, open_variables

    return Settings(
        configs=(*args.config, *args.more),
        outputs=tuple(getattr(args, "output", ())),
        graders=graders(args.grader),
        providers=tuple(getattr(args, "providers", ())),
        max_concurrency=getattr(args, "max_concurrency", None),
        repeat=args.repeat,
        answers=tuple(getattr(args, "answers", ())),
        ready=tuple(getattr(args, "ready", ())),
        filters=_filters(args),
        variables=dict(getattr(args, "var", ())),
        assertions=tuple(args.assertions),
        base=args.base,
        changes=getattr(args, "changes", CHANGE_MODES[0]),
        confirm=getattr(args, "confirm", None) or "",
        baseline=getattr(args, "baseline", ""),
        compare=getattr(args, "compare", "").removeprefix(COMPARE_MODES[0]),
        reask=getattr(args, "reask", REASK),
        timeout=getattr(args, "timeout", None),
        retries=getattr(args, "retries", RETRIES),
        cache="" if getattr(args, "no_cache", False) else getattr(args, "cache", ""),
        max_age=getattr(args, "max_age", MAX_AGE),
        cache_http=getattr(args, "cache_http", False),
        max_calls=getattr(args, "max_calls", None),
        max_usd=getattr(args, "max_usd", None),
        max_seconds=getattr(args, "max_seconds", None),
        commit=commit_of(cwd, os.environ),
        cwd=cwd,
        in_ci=bool(os.environ.get("CI")),
        allowed_hosts=hosts(args.allowed_hosts),
        allowed_env=open_variables(args.allowed_env),
        environ=with_files(os.environ, getattr(args, "env_files", ()), cwd),
        allow_exec=args.allow_exec,
        exec_env=open_variables(args.exec_env, "exec-env"),
        python=args.python,
        shard=getattr(args, "shard", None),
        parts=getattr(args, "parts", PARTS),
        merge=getattr(args, "merge", ""),
        open=getattr(args, "open", ""),
    )


def _filters(args: argparse.Namespace) -> Filters:
    """The filters of a command line; those of a command that has none keep every test."""
    return Filters(
        pattern=getattr(args, "filter_pattern", ""),
        metadata=tuple(getattr(args, "metadata", ())),
        first=getattr(args, "first", None),
        providers=getattr(args, "only_providers", ""),
    )


class _Known(argparse.Action):
    """An option without a value of its own; ``const`` says what is to be said about it."""

    def __init__(self, option_strings: list[str], dest: str, **rest: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, **{**rest, "default": argparse.SUPPRESS})


class _NoEffect(_Known):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        print(f"gradegate: {option_string} has no effect: {self.const}", file=sys.stderr)


class _Refused(_Known):
    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        raise ConfigError.at(f"{option_string} of promptfoo is not an option here", None, str(self.const))


def _shard(text: str) -> tuple[int, int]:
    found = shard(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no shard: {SHARD}")
    return found


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not key or not sign:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return key, value
