"""``gradegate init``: writes a first gate into a repository, and shows what the Action will do there."""

import argparse
import sys

from gradegate.cli.init.choices import TEMPLATES, Choices
from gradegate.cli.output import print_error, print_line, working_folder
from gradegate.core.numbers import format_count
from gradegate.errors import ConfigError, ProviderError, Trouble
from gradegate.gate.exit_codes import INCONCLUSIVE, MISTAKE, PASS

ABOUT = "write a first config and a workflow; makes no call without --live"
_CHOICES = ("folder", "template", "provider", "grader", "action", "key")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        nargs="?",
        metavar="FOLDER",
        help="the folder for the config; default is this folder",
    )
    parser.add_argument(
        "--template", choices=tuple(TEMPLATES), help="what is tested; default prompt"
    )
    parser.add_argument(
        "--provider",
        metavar="ID",
        help="who answers, such as openai:chat:MODEL, or an application's URL",
    )
    parser.add_argument(
        "--grader", metavar="ID", help="the model that grades; default is the model that answers"
    )
    config_group = parser.add_mutually_exclusive_group()
    config_group.add_argument(
        "--live",
        action="store_true",
        help="ask the models the first case, and record what they reply",
    )
    parser.add_argument(
        "--key",
        metavar="NAME",
        help="the variable that holds the key, where it is not the vendor's own",
    )
    parser.add_argument("--no-workflow", action="store_true", help="write no workflow")
    config_group.add_argument(
        "--only-workflow",
        action="store_true",
        help="write only a workflow, for a config that exists",
    )
    parser.add_argument(
        "--action", metavar="OWNER/REPO@COMMIT", help="the release that the workflow uses"
    )
    parser.add_argument(
        "-y", "--yes", action="store_true", help="ask no questions; use the defaults"
    )
    parser.add_argument(
        "--from-pr",
        action="store_true",
        help="write nothing; show what the workflows do on a pull request",
    )


def run(args: argparse.Namespace) -> int:
    values = {}
    for name in _CHOICES:
        value = getattr(args, name)
        if value is not None:
            values[name] = value

    empty = [name for name, value in values.items() if not value]
    if empty:  # a shell variable that is not set
        shown = " and ".join(map(_argument_of, empty))
        raise ConfigError.at(
            f"{shown}: nothing is given", None, "write what is meant, or leave it out"
        )
    if args.from_pr:
        if values:
            name = _argument_of(next(iter(values)), folder="FOLDER")
            what = f"--from-pr looks at the workflows that there are, and {name} chooses what is written"
            raise ConfigError.at(what, None, "give one of the two")
        return _describe_workflows()
    return _write_gate(args, values)


def _argument_of(name: str, folder: str = "folder") -> str:
    return folder if name == "folder" else f"--{name}"


def _describe_workflows() -> int:
    """Print what the workflows of the repository do on a pull request. Returns the exit code."""
    from gradegate.cli.init.workflows import describe_workflows
    from gradegate.files.git import repository_of
    from gradegate.reports.format.escape import harmless

    cwd = working_folder().resolve()
    description = describe_workflows(repository_of(cwd) or cwd)
    for line in description.lines:
        print(harmless(line))
    sys.stdout.flush()  # problems come below the lines that they are about
    for problem in description.problems:
        print_error(problem)
    if description.problems:
        print(f"{format_count(len(description.problems), 'problem')}; no call was made.")
        return MISTAKE
    print("No call was made.")
    return PASS


def _write_gate(args: argparse.Namespace, values: dict[str, str]) -> int:
    """Write a first gate and print the next steps. ``values`` are the choices of the command line. Returns the exit code."""
    from gradegate.cli.init.wizard import write_first_gate

    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    choices = Choices(
        **values, workflow=not args.no_workflow, config=not args.only_workflow, live=args.live
    )
    ask = _ask if is_terminal and not args.yes else None
    try:
        for line in write_first_gate(working_folder(), choices, values, ask):
            print_line(line)
    except ProviderError as e:
        cure = "check the key and the address (a variable such as OPENAI_BASE_URL), use another --grader, or init without --live"
        print_error(f"{e} -> nothing was written; {cure}")
        return MISTAKE if e.trouble is Trouble.SETUP else INCONCLUSIVE
    return PASS


def _ask(question: str) -> str:
    """Ask on standard output; ``input`` would print the question on standard error."""
    print(question, end="", flush=True)
    return input()
