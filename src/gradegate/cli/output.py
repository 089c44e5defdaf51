"""What commands share: where they are, what they say on which stream, and the last part of every help page."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gradegate.core.options import resolve_option_names
from gradegate.errors import ConfigError, Mistake
from gradegate.structs import replace

EXAMPLES: Mapping[str, str] = {
    "run": "gradegate run evals/support.yaml --grader openai:chat:MODEL -o results.json",
    "merge": "gradegate merge parts evals/support.yaml -o results.json",
    "validate": "gradegate validate evals/support.yaml",
    "cases": "gradegate cases evals/support.yaml -o cases.jsonl",
    "calibrate": "gradegate calibrate evals/support.yaml labels.jsonl -o calibration.json",
    "schema": "gradegate schema config > gradegate.schema.json",
    "init": "gradegate init",
    "migrate": "gradegate migrate --write",
    "view": "gradegate view",
    "explain": 'gradegate explain "names the approval limit"',
}
_MISTAKE = "a mistake in a config, a key or an argument"
_DECIDED = {
    "0": "passed, or only advice failed",
    "1": "blocked",
    "2": _MISTAKE,
    "3": "inconclusive, or not run",
}
_INCONSISTENT = (
    "the file contradicts itself: its verdict or its figures do not follow from its cases"
)
_DONE = {"0": "done", "2": _MISTAKE}
# The meaning of each exit code, as docs/verdicts.md has it, by command; of the command without a name what all may give.
CODES: Mapping[str, Mapping[str, str]] = {
    **dict.fromkeys(("", "run", "merge", "action"), _DECIDED),
    "validate": {"0": "no mistake", "2": _MISTAKE},
    "init": {**_DONE, "3": "with --live: a model gave no answer or verdict"},
    "calibrate": {
        "0": "something could be held against a label",
        "2": _MISTAKE,
        "3": "nothing could",
    },
}
FIRST = """\
gradegate gates pull requests on LLM evals. These five commands are enough to begin:

  gradegate init             writes a first config and a workflow
  gradegate validate         finds every mistake, and says what a run would take
  gradegate run              asks, grades and decides
  gradegate run --failed     asks again what failed last
  gradegate explain          lists what failed; with a CASE, tells its whole story

All commands: gradegate --help. Options of one: gradegate run --help."""


def epilog(command: str = "") -> str:
    """The text below the options of a command, or of all commands; what is asked for most stands last, where it is in sight."""
    codes = {**CODES.get(command, _DONE), "130": "Ctrl-C", "143": "SIGTERM"}
    example = EXAMPLES.get(command or "run", f"gradegate {command}")
    table = (f"  {code:<{max(map(len, codes))}}  {meaning}" for code, meaning in codes.items())
    parts = [
        "exit codes:",
        *table,
        "",
        "environment variables: docs/terminal.md",
        "",
        "example:",
        f"  {example}",
    ]
    return "\n".join(parts)


if TYPE_CHECKING:
    from gradegate.core.settings import Settings
    from gradegate.results.run_result import Decision
    from gradegate.runner.prepare import Preparation
    from gradegate.runner.session import Delivery
    from gradegate.runner.shards.shard import ShardReport
    from gradegate.structs import NamedTexts


def here() -> Path:
    """The working directory. :raises ConfigError: it is gone, or closed to this user"""
    try:
        return Path.cwd()
    except OSError as e:
        raise ConfigError.at(
            f"the working directory cannot be read: {e.strerror}", None, "start in a folder"
        ) from e


def earlier(name: str) -> Path:
    """The file of an earlier run. Raises ConfigError where it is the last run's and git tracks it: anybody may have written that."""
    from gradegate.core.settings import LAST_RUN
    from gradegate.files.git import files_checked_out

    if name == LAST_RUN and files_checked_out(here() / name):
        what = f"git tracks `{name}`, so it is not your last run"
        raise ConfigError.at(what, None, "`git rm -r --cached .gradegate`")
    return Path(name)


def reread(results: Path) -> tuple[Decision, NamedTexts]:
    """The decision and the links that a file holds; one that does not follow from its cases gets a note. Raises ConfigError."""
    from gradegate.core.policy import Note
    from gradegate.gate.decision import is_consistent
    from gradegate.results.results_file import load_decision

    decision, links = load_decision(results)
    if not is_consistent(decision):
        complain(f"{results}: {_INCONSISTENT}")
        run = replace(decision.run, notes=(Note(_INCONSISTENT), *decision.run.notes))
        decision = replace(decision, run=run)
    return decision, links


def complain(text: str) -> None:
    """Say what is wrong, on standard error."""
    print(bare(text), file=sys.stderr, flush=True)


def tell(mistake: Mistake) -> None:
    """Say a mistake as ``complain`` does, its place in colour at a terminal, with the line of the file below it."""
    from gradegate.reports.format.console import Line, Tone, write_line
    from gradegate.security.secrets import document_redactor

    hide = document_redactor(os.environ)
    place = resolve_option_names(f"{mistake.origin}: " if mistake.origin else "", inputs=False)
    write_line(
        Line(
            resolve_option_names(str(mistake), inputs=False).removeprefix(place),
            Tone.BAD if place else Tone.PLAIN,
            place,
        ),
        hide,
        sys.stderr,
    )
    for line in mistake.excerpt.splitlines():
        write_line(Line(f"    {line}"), hide, sys.stderr)
    sys.stderr.flush()


def say(text: str) -> None:
    """Print lines on standard output as ``complain`` does on the other."""
    print(bare(text), flush=True)


def bare(text: str) -> str:
    """The text without secrets of the environment, and without commands of a runner, which reads both streams; options are flags."""
    from gradegate.reports.format.escape import harmless
    from gradegate.security.secrets import document_redactor

    return harmless(document_redactor(os.environ)(resolve_option_names(text, inputs=False)))


def delivered(outcome: Delivery, settings: Settings) -> int:
    """Print what could not be written, then the run, so that the verdict is the last line; gives its exit code."""
    from gradegate.reports.delivery.deliver import links_to_written
    from gradegate.reports.delivery.report import Links
    from gradegate.reports.format.console import QUIET, WHOLE, View, console_lines, fit_terminal
    from gradegate.reports.format.console import write_line as shown

    for failure in outcome.failures.values():
        complain(failure)
    view = QUIET if settings.quiet else WHOLE if settings.verbose else View()
    links = links_to_written(outcome.written, Links())
    for line in console_lines(
        outcome.decision, fit_terminal(view, sys.stdout), links, outcome.written
    ):
        shown(line, outcome.seal)
    return outcome.exit_code()


def report_shard(shard: ShardReport) -> int:
    """Print what a shard says at its end; gives its exit code."""
    if shard.problem:
        complain(shard.problem)
    print(bare(shard.text))
    return shard.code


def say_estimate(prepared: Preparation) -> None:
    """Print what a run of the plan would take, and what its rules cannot see."""
    from gradegate.reports.format.escape import harmless
    from gradegate.runner.estimate import estimate_lines, estimate_run

    found = estimate_run(prepared.plan)
    for line in estimate_lines(found, prepared.client.budget.limits, _last_rate()):
        print(harmless(prepared.hide(line)))
    for line in prepared.power_lines():
        print(line)


def _last_rate() -> float:
    """Calls a second of the last run in this folder; 0 where there was none."""
    from gradegate.core.settings import LAST_RUN
    from gradegate.results.results_file import load_decision

    try:
        run = load_decision(earlier(LAST_RUN))[0].run
    except ConfigError:
        return 0.0
    return run.usage.calls / run.seconds if run.seconds else 0.0


def planned(prepared: Preparation) -> str:
    """``3 answers and 5 assertions``."""
    from gradegate.core.numbers import format_count

    return f"{format_count(prepared.plan.answers, 'answer')} and {format_count(prepared.plan.assertions, 'assertion')}"
