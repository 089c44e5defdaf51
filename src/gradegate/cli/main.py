"""Finds and runs the command, and turns whatever happens into an exit code. The only place that exits."""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from gradegate import __version__, signals
from gradegate.cli.help import FIRST_STEPS, help_epilog
from gradegate.cli.output import print_error, print_mistake
from gradegate.core.options import resolve_option_names
from gradegate.errors import ConfigError, Terminated
from gradegate.files.documents import table
from gradegate.gate.exit_codes import INCONCLUSIVE, INTERRUPTED, MISTAKE, TERMINATED
from gradegate.registry import suggest
from gradegate.reports.format.streams import guard_streams

COMMANDS = tuple("init run validate view explain cases calibrate migrate merge schema".split())
CONTAINER_COMMAND = "action"  # started by the container; no help page lists it
_ALIAS_OF_RUN = "eval"
_MOST_SHOWN = 60  # characters of a wrong argument


def run_process() -> NoReturn:
    """Run the command of this process and exit.

    Only the verdict decides the exit code: whoever reads the streams may be gone.
    """
    gc.disable()  # imports and the plan leave no garbage; the collector starts with the run
    # An installed plug-in of pydantic must not change how a config is read.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "1"
    guard_streams()
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
        sys.stderr.flush()
    except KeyboardInterrupt as e:  # while the last lines were printed
        code = _get_exit_code(e)
    os._exit(code)  # threads that still wait for a dead server must not delay the exit


def main(argv: Sequence[str]) -> int:
    """Run a command and return its exit code.

    A signal decides the code even if its exception was lost: an import may wrap it in another one.
    """
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _end_at_lost_signal
    signals.start_listening()
    code = _run_command(argv)
    if signals.ending_signal():
        return 128 + signals.ending_signal()
    return code


def _run_command(argv: Sequence[str]) -> int:
    """Run the command of the arguments, and turn every exception into an exit code."""
    try:
        if not argv:
            print_error(FIRST_STEPS)
            return MISTAKE
        if not argv[0].startswith("-") and not _is_command(argv[0]):
            cure = _find_command(argv[0])
            print_error(f"gradegate: there is no command `{_shorten(argv[0])}` -> {cure}")
            return MISTAKE
        args = build_parser(argv[0]).parse_args(argv)
        return int(args.command(args))
    except ConfigError as e:
        from gradegate.core.numbers import format_count

        for mistake in e.mistakes:
            print_mistake(mistake)
        print_error(f"{format_count(len(e.mistakes), 'mistake')}; nothing was asked of any model")
        return MISTAKE
    except KeyboardInterrupt as e:
        return _get_exit_code(e)
    except SystemExit as e:
        return int(e.code or 0)
    except Exception as e:  # a defect of gradegate: one line, and never green
        if not signals.ending_signal():
            _print_defect(e)
        return INCONCLUSIVE
    finally:
        # Code of the repository ends before the command does. If none ran, the module was never imported.
        repository_code = sys.modules.get("gradegate.sandbox.repository_code")
        if repository_code:
            repository_code.stop_code()


def _print_defect(error: Exception) -> None:
    if os.environ.get("GRADEGATE_DEBUG"):
        import traceback

        print_error("".join(traceback.format_exception(error)))
    else:
        name = type(error).__name__
        print_error(f"gradegate failed: {name}: {error} (GRADEGATE_DEBUG=1 shows where)")


def _end_at_lost_signal(unraisable: Any) -> None:
    """End the process for a signal that came where Python cannot raise, as in a callback of an import."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        os._exit(_get_exit_code(unraisable.exc_value))
    sys.__unraisablehook__(unraisable)


def _get_exit_code(error: KeyboardInterrupt) -> int:
    return TERMINATED if isinstance(error, Terminated) else INTERRUPTED


# --- commands and their arguments -----------------------------------------------------------------------------------


def _is_command(word: str) -> bool:
    return word in (*COMMANDS, CONTAINER_COMMAND, _ALIAS_OF_RUN)


def _find_command(word: str) -> str:
    """Find what to write instead of a command that does not exist."""
    cures: dict[str, str] = table("config", "removed.yaml")["commands"]
    cure = cures.get(word) or suggest(word, COMMANDS)
    return cure or "`gradegate run` runs evals; gradegate --help lists all commands"


def build_parser(first_word: str = "") -> argparse.ArgumentParser:
    """Build the parser of all commands, or only of the command that the first word names."""
    parser = _Parser(
        prog="gradegate", description="Gates pull requests on LLM evals.", epilog=help_epilog()
    )
    parser.add_argument("-V", "--version", action="version", version=f"gradegate {__version__}")
    parsers = parser.add_subparsers(metavar="COMMAND", required=True)

    # Importing every command takes longer than running a short one.
    names = (*COMMANDS, CONTAINER_COMMAND)
    if first_word in ("-V", "--version"):
        names = ()
    elif first_word in names:
        names = (first_word,)
    for name in names:
        command: Any = import_module(f"gradegate.cli.commands.{name}")
        options = {
            "description": f"{command.ABOUT.capitalize()}.",
            "epilog": help_epilog(name),
            "aliases": getattr(command, "ALIASES", ()),
            **getattr(command, "ARGPARSE", {}),
        }
        if name != CONTAINER_COMMAND:
            options["help"] = command.ABOUT
        command_parser = parsers.add_parser(name, **options)
        command.add_arguments(command_parser)
        command_parser.set_defaults(command=command.run)
    return parser


class _Parser(argparse.ArgumentParser):
    """Reports a mistake in one line, with the nearest name and without the usage. Flags have to be written in full."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **options
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self._refuse(unknown)
        return parsed, unknown

    def _refuse(self, arguments: Sequence[str]) -> NoReturn:
        """Report the first wrong flag, or the first argument too many, and exit."""
        flags = [argument for argument in arguments if argument.startswith("-")]
        if flags:
            argument = flags[0].partition("=")[0]
            what = f"there is no option `{_shorten(argument)}`"
        else:
            argument = arguments[0].partition("=")[0]
            what = f"`{_shorten(argument)}` is one argument too many"

        cure = _find_replacement(argument.removeprefix("--"))
        if not cure:
            command_flags = [flag for flag in self._option_string_actions if flag.startswith("--")]
            cure = suggest(argument, command_flags)
        if cure:
            what += f" -> {cure}"
        self.error(what)

    def error(self, message: str) -> NoReturn:
        hint = "" if " -> " in message else f" -> see {self.prog} --help"
        print_error(f"{self.prog}: {_shorten(message.removeprefix('argument '), 400)}{hint}")
        self.exit(MISTAKE)


def _find_replacement(name: str) -> str:
    """Find what to write in place of a removed flag, or of an input that has no flag; else an empty string."""
    from gradegate.core.settings import OPTIONS
    from gradegate.reports.delivery.report import REPORTS

    report = REPORTS.find(name)
    if report:
        return f"write --output results{report.suffix}"

    inputs = {option.name: option.no_flag for option in OPTIONS}
    removed = table("config", "removed.yaml")
    for cures in (inputs, removed["flags"], removed["options"]):
        if name in cures:
            return resolve_option_names(cures[name], inputs=False)
    return ""


def _shorten(text: str, most: int = _MOST_SHOWN) -> str:
    from gradegate.reports.format.escape import one_line

    return one_line(text, most)
