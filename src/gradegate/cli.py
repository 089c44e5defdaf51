"""The commands and the exit codes: the one place that exits."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from gradegate import __version__, flags
from gradegate.deciding.exit import INCONCLUSIVE, INTERRUPTED, MISTAKE, PASS, TERMINATED, at_once, exit_code
from gradegate.errors import ConfigError, Mistake, Terminated
from gradegate.reporting.streams import guard
from gradegate.settings import ASKS

if TYPE_CHECKING:
    from gradegate.pipeline import Delivered
    from gradegate.settings import Settings
    from gradegate.sharding.steps import Written


def script() -> NoReturn:
    """Run the command of this process and exit, by the verdict alone: whoever reads the streams may be gone."""
    gc.disable()  # imports and the plan leave no garbage; the collector starts with the run
    guard()
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
        sys.stderr.flush()
    except KeyboardInterrupt as e:  # while the last words were said
        code = _interrupted(e)
    os._exit(code)  # threads that still wait for a dead server must not hold the exit


_struck: list[int] = []  # the signal that ended the command


def main(argv: Sequence[str]) -> int:
    """Run a command; gives the exit code. A signal decides it, whatever became of its exception: an import may wrap it."""
    _heed_signals()
    code = _main(argv)
    return 128 + _struck[0] if _struck else code


def _main(argv: Sequence[str]) -> int:
    try:
        args = _parser().parse_args(argv)
        return int(args.command(args))
    except ConfigError as e:
        return _report_mistakes(e.mistakes)
    except KeyboardInterrupt as e:
        return _interrupted(e)
    except SystemExit as e:
        return int(e.code or 0)
    except Exception as e:  # a defect of ours: said in a line, and never green
        if not _struck:
            _complain(_defect(e))
        return INCONCLUSIVE
    finally:
        _end_programs()


def _end_programs() -> None:
    """Code of the repository ends before the command does, and is not loaded where none ran."""
    if desk := sys.modules.get("gradegate.programs.desk"):
        desk.end()


def _defect(error: Exception) -> str:
    if os.environ.get("GRADEGATE_DEBUG"):
        import traceback

        return "".join(traceback.format_exception(error))
    return f"gradegate failed: {type(error).__name__}: {error} (GRADEGATE_DEBUG=1 shows where)"


def _heed_signals() -> None:
    _struck.clear()
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _unraised
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def _unraised(lost: Any) -> None:
    """A signal that came where Python can raise nothing, as in a callback of an import, ends the process all the same."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        os._exit(TERMINATED if isinstance(lost.exc_value, Terminated) else INTERRUPTED)
    sys.__unraisablehook__(lost)


def _stop(number: int, frame: Any) -> NoReturn:
    """Stop in an orderly way; the next signal ends the process at once."""
    _struck.append(number)
    for again in (signal.SIGINT, signal.SIGTERM):
        signal.signal(again, at_once)
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


def _interrupted(error: KeyboardInterrupt) -> int:
    return TERMINATED if isinstance(error, Terminated) else INTERRUPTED


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        from gradegate.reporting.commands import harmless

        super().error(harmless(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="gradegate", description="Gates pull requests on LLM evals.")
    parser.add_argument("--version", action="version", version=f"gradegate {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    run = _command(commands, "run", _run, "run evals, write reports, decide", aliases=["eval"])
    flags.add_config(run)
    flags.add_answers(run)
    flags.add_run(run)
    flags.add_budget(run)
    flags.add_cache(run)
    flags.add_shard(run)
    run.add_argument("--no-progress-bar", action="store_true", help="no bar on a terminal")
    merge = _command(commands, "merge", _merge, "decide by the parts of all shards of a run; asks no model")
    merge.add_argument("merge", metavar="DIR", help="the folder with the parts")
    flags.add_config(merge)
    flags.add_answers(merge)
    flags.add_run(merge)
    flags.add_budget(merge)
    flags.add_cache(merge)
    merge.add_argument("--open", default="", metavar="FILE", help="write the failures to ask again, and decide nothing")
    validate = _command(commands, "validate", _validate, "find every mistake in configs; makes no call")
    flags.add_config(validate)
    flags.add_answers(validate)
    cases = _command(commands, "cases", _cases, "write what an application is to answer elsewhere; makes no call")
    flags.add_config(cases)
    cases.add_argument(
        "-o", "--output", dest="lines", default="-", metavar="FILE", help="JSON lines; default - is standard output"
    )
    calibrate = _command(commands, "calibrate", _calibrate, "hold a grader against labels of people; suggest `noise`")
    calibrate.add_argument("config", nargs=1, help="the config whose cases the labels name")
    calibrate.add_argument("labels", metavar="LABELS.jsonl", help="a labelled output a line; see docs/noise.md")
    calibrate.add_argument(
        "--asks", type=flags.whole(1), default=ASKS, metavar="N", help=f"grade each output this often; default {ASKS}"
    )
    flags.add_models(calibrate)
    flags.add_asking(calibrate, ".json, .md or .html; repeat")
    calibrate.set_defaults(more=[], assertions=[], base="", repeat=None)
    _command(commands, "list", _list, "list assertions, providers, dialects and reports")
    schema = _command(commands, "schema", _schema, "print a JSON Schema")
    schema.add_argument("of", nargs="?", choices=("config", "results"), default="config")
    # `with: args: --help` must not end in a page of help and green: here is no option, and every argument a mistake.
    bare = {"prefix_chars": "\0", "add_help": False}
    action = _command(commands, "action", _action, "the GitHub Action: reads INPUT_* and the event", **bare)
    action.add_argument("arguments", nargs="*")
    return parser


def _command(commands: Any, name: str, function: Any, text: str, **more: Any) -> argparse.ArgumentParser:
    about = text.capitalize() + "."
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=about, **more)
    parser.set_defaults(command=function)
    return parser


# --- commands -------------------------------------------------------------------------------------------------


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as e:
        raise ConfigError.at(f"the working directory cannot be read: {e.strerror}", None, "start in a folder") from e


def _run(args: argparse.Namespace) -> int:
    from gradegate.pipeline import deliver
    from gradegate.reporting.report import Links
    from gradegate.running.progress import progress

    settings = flags.settings(args, _here())
    if args.estimate:
        return _estimate(settings)
    bar = partial(progress, in_ci=settings.in_ci or args.no_progress_bar)
    if settings.shard:
        from gradegate.sharding.steps import ask

        return _said(ask(settings, bar))
    return _delivered(deliver(settings, ("console",), Links(), bar))


def _merge(args: argparse.Namespace) -> int:
    from gradegate.reporting.report import Links
    from gradegate.running.progress import progress
    from gradegate.sharding.steps import merge, name_open

    settings = flags.settings(args, _here())
    if args.estimate:
        return _estimate(settings)
    if settings.open:
        return _said(name_open(settings))
    return _delivered(merge(settings, ("console",), Links(), partial(progress, in_ci=True)))


def _said(written: Written) -> int:
    for problem in written.problems:
        _complain(problem)
    print(_harmless(written.said))
    return written.code


def _delivered(delivered: Delivered) -> int:
    for part in delivered.documents[0].parts:
        sys.stdout.write(part)
    for failure in delivered.failures.values():
        _complain(failure)
    return exit_code(delivered.decision)


def _estimate(settings: Settings) -> int:
    from gradegate.pipeline import prepare
    from gradegate.reporting.commands import harmless
    from gradegate.running.estimate import estimate, said

    prepared = prepare(settings)
    for line in said(estimate(prepared.plan)):
        print(harmless(prepared.hide(line)))
    return PASS


def _validate(args: argparse.Namespace) -> int:
    from gradegate.figures import many
    from gradegate.pipeline import prepare
    from gradegate.reporting.commands import harmless
    from gradegate.reporting.wording import inventory

    prepared = prepare(flags.settings(args, _here()))
    plan = prepared.shown_plan
    for change in prepared.changes.found:
        where = f"{change.origin}: " if change.origin else ""
        print(harmless(f"{where}gate {change.kind.value}: {change.text}"))
    for note in plan.notes:
        print(harmless(f"{note.origin}: warning: {note.text}" if note.origin else f"warning: {note.text}"))
    for line in inventory(plan.keys, prepared.secrets.names):
        print(harmless(line))
    print(f"valid: {many(plan.answers, 'answer')} and {many(plan.assertions, 'assertion')} planned")
    return PASS


def _cases(args: argparse.Namespace) -> int:
    from dataclasses import replace

    from gradegate.pipeline import cases

    # The arguments of the run are taken as they are: what compares is of no concern here.
    for text in cases(replace(flags.settings(args, _here()), base=""), "" if args.lines == "-" else args.lines):
        sys.stdout.write(text)
    return PASS


def _calibrate(args: argparse.Namespace) -> int:
    from gradegate.calibrating import steps
    from gradegate.running.progress import progress

    settings = flags.settings(args, _here())
    calibrated = steps.calibrate(settings, args.labels, args.asks, partial(progress, in_ci=settings.in_ci))
    for part in calibrated.text:
        sys.stdout.write(part)
    for failure in calibrated.failures.values():
        _complain(failure)
    return steps.exit_code(calibrated.calibration)


def _list(args: argparse.Namespace) -> int:
    from gradegate.listing import listing

    sys.stdout.write(listing())
    return PASS


def _schema(args: argparse.Namespace) -> int:
    from gradegate.listing import schema

    sys.stdout.write(schema(args.of))
    return PASS


def _action(args: argparse.Namespace) -> int:
    from gradegate.github.action import main as action
    from gradegate.github.ending import Ending
    from gradegate.github.handed import handed

    with Ending(os.environ):
        environ, cwd = handed(os.environ), _here()
        os.environ.update(environ)  # what reads it by itself, as proxies and certificates are read
        if args.arguments and "INPUT_ARGS" not in environ:  # on GitHub, the inputs say it
            raise ConfigError.at("the command `action` takes no arguments", None, "it reads INPUT_* and the event")
    return action(environ, cwd)


def _report_mistakes(mistakes: Sequence[Mistake]) -> int:
    for mistake in mistakes:
        _complain(str(mistake))
    from gradegate.figures import many

    _complain(f"{many(len(mistakes), 'mistake')}; nothing was asked of any model")
    return MISTAKE


def _complain(text: str) -> None:
    print(_harmless(text), file=sys.stderr, flush=True)  # a runner reads commands from this stream too


def _harmless(text: str) -> str:
    """The text without the secrets of the environment, in which a runner finds no command."""
    from gradegate.access.environment import secrets
    from gradegate.access.hiding import redactor
    from gradegate.reporting.commands import harmless

    hide = redactor(secrets(os.environ).values(), short=False)
    return harmless(hide(text))
