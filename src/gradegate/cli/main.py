"""The commands and the exit codes: the one place that exits."""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from gradegate import __version__, signals
from gradegate.cli.output import FIRST, complain, epilog, tell
from gradegate.core.options import resolve_option_names
from gradegate.errors import ConfigError, Terminated
from gradegate.files.documents import table
from gradegate.gate.exit_codes import INCONCLUSIVE, INTERRUPTED, MISTAKE, TERMINATED
from gradegate.registry import suggest
from gradegate.reports.format.streams import guard_streams

# Each is a file of `commands/`: `ABOUT` says what it does, `add` adds its arguments, `run` gives the exit code.
HIDDEN = "action"  # the container's command, which nobody types
COMMANDS = (
    *"init run validate view explain cases calibrate migrate merge schema".split(),
    HIDDEN,
)


def script() -> NoReturn:
    """Run the command of this process and exit, by the verdict alone: whoever reads the streams may be gone."""
    gc.disable()  # imports and the plan leave no garbage; the collector starts with the run
    # What else is installed has no say in how a config is read.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "1"
    guard_streams()
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
        sys.stderr.flush()
    except KeyboardInterrupt as e:  # while the last words were said
        code = _interrupted(e)
    os._exit(code)  # threads that still wait for a dead server must not hold the exit


def main(argv: Sequence[str]) -> int:
    """Run a command; gives the exit code. A signal decides it, whatever became of its exception: an import may wrap it."""
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _unraised
    signals.start_listening()
    code = _main(argv)
    return 128 + signals.ending_signal() if signals.ending_signal() else code


def _main(argv: Sequence[str]) -> int:
    try:
        if not argv:
            complain(FIRST)
            return MISTAKE
        if not argv[0].startswith("-") and argv[0] not in (*COMMANDS, "eval"):
            cure = (
                table("config", "removed.yaml")["commands"].get(argv[0])
                or suggest(argv[0], [name for name in COMMANDS if name != HIDDEN])
                or "`gradegate run` runs evals; gradegate --help lists all commands"
            )
            complain(f"gradegate: there is no command `{_shown(argv[0])}` -> {cure}")
            return MISTAKE
        args = _parser(argv[:1]).parse_args(argv)
        return int(args.command(args))
    except ConfigError as e:
        from gradegate.core.numbers import format_count

        for mistake in e.mistakes:
            tell(mistake)
        complain(f"{format_count(len(e.mistakes), 'mistake')}; nothing was asked of any model")
        return MISTAKE
    except KeyboardInterrupt as e:
        return _interrupted(e)
    except SystemExit as e:
        return int(e.code or 0)
    except Exception as e:  # a defect of ours: said in a line, and never green
        if not signals.ending_signal() and os.environ.get("GRADEGATE_DEBUG"):
            import traceback

            complain("".join(traceback.format_exception(e)))
        elif not signals.ending_signal():
            complain(f"gradegate failed: {type(e).__name__}: {e} (GRADEGATE_DEBUG=1 shows where)")
        return INCONCLUSIVE
    finally:
        # Code of the repository ends before the command does; where none ran, nothing of it is loaded.
        if repository_code := sys.modules.get("gradegate.sandbox.repository_code"):
            repository_code.stop_code()


def _unraised(lost: Any) -> None:
    """A signal that came where Python can raise nothing, as in a callback of an import, ends the process all the same."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        os._exit(_interrupted(lost.exc_value))
    sys.__unraisablehook__(lost)


def _interrupted(error: KeyboardInterrupt) -> int:
    return TERMINATED if isinstance(error, Terminated) else INTERRUPTED


class _Parser(argparse.ArgumentParser):
    """One that says a mistake in one line, with the nearest name and without the usage; a name is written whole."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **options
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            wrong = next((it for it in unknown if it.startswith("-")), unknown[0]).partition("=")[0]
            flags = [name for name in self._option_string_actions if name.startswith("--")]
            cure = _instead(wrong.removeprefix("--")) or suggest(wrong, flags)
            what = (
                f"there is no option `{_shown(wrong)}`"
                if wrong.startswith("-")
                else f"`{_shown(wrong)}` is one argument too many"
            )
            self.error(f"{what} -> {cure}" if cure else what)
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        help_ = "" if " -> " in message else f" -> see {self.prog} --help"
        complain(f"{self.prog}: {_shown(message.removeprefix('argument '), 400)}{help_}")
        self.exit(MISTAKE)


def _instead(name: str) -> str:
    """What to write in place of a flag that was removed, or of an input that is no flag; else an empty string."""
    from gradegate.core.settings import OPTIONS
    from gradegate.reports.delivery.report import REPORTS

    if report := REPORTS.find(name):
        return f"write --output results{report.suffix}"
    removed = table("config", "removed.yaml")
    reasons = {option.name: option.no_flag for option in OPTIONS}
    return resolve_option_names(
        (removed["options"] | removed["flags"] | reasons).get(name, ""), inputs=False
    )


def _shown(text: str, most: int = 60) -> str:
    from gradegate.reports.format.escape import one_line

    return one_line(text, most)


def _parser(first: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of all commands; where the ``first`` word names one, or the version alone is asked for, it needs no others."""
    parser = _Parser(
        prog="gradegate", description="Gates pull requests on LLM evals.", epilog=epilog()
    )
    parser.add_argument("--version", action="version", version=f"gradegate {__version__}")
    parsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in (
        COMMANDS
        if {*first}.isdisjoint({*COMMANDS, "--version"})
        else {*COMMANDS}.intersection(first)
    ):
        command: Any = import_module(f"gradegate.cli.commands.{name}")
        texts: dict[str, Any] = {
            "description": f"{command.ABOUT.capitalize()}.",
            "epilog": epilog(name),
        }
        if name != HIDDEN:
            texts["help"] = command.ABOUT
        own = parsers.add_parser(
            name, aliases=getattr(command, "ALIASES", ()), **texts, **getattr(command, "PARSER", {})
        )
        command.add(own)
        own.set_defaults(command=command.run)
    return parser
