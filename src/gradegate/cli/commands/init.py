"""``gradegate init``: a first gate in a repository, and what the Action will do there."""

import argparse
import sys

from gradegate.cli.init.choices import TEMPLATES, Choices
from gradegate.cli.output import complain, here, say
from gradegate.core.numbers import format_count
from gradegate.errors import ConfigError, ProviderError, Trouble
from gradegate.gate.exit_codes import INCONCLUSIVE, MISTAKE, PASS

ABOUT = "write a first config and a workflow; makes no call without --live"


def add(parser: argparse.ArgumentParser) -> None:
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
    of_config = parser.add_mutually_exclusive_group()
    of_config.add_argument(
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
    of_config.add_argument(
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
    names = ("folder", "template", "provider", "grader", "action", "key")
    given = {name: value for name in names if (value := getattr(args, name)) is not None}
    if empty := [
        name for name, value in given.items() if not value
    ]:  # a variable of the shell that is not set
        shown = " and ".join(name if name == "folder" else f"--{name}" for name in empty)
        raise ConfigError.at(
            f"{shown}: nothing is given", None, "write what is meant, or leave it out"
        )
    if args.from_pr:
        from gradegate.cli.init.wizard import outlook
        from gradegate.files.git import repository_of
        from gradegate.reports.format.escape import harmless

        if given:
            name = "FOLDER" if "folder" in given else f"--{next(iter(given))}"
            what = f"--from-pr looks at the workflows that there are, and {name} chooses what is written"
            raise ConfigError.at(what, None, "give one of the two")
        cwd = here().resolve()
        lines, problems = outlook(repository_of(cwd) or cwd)
        for line in lines:
            print(harmless(line))
        sys.stdout.flush()  # what is wrong comes below what it is about
        for problem in problems:
            complain(problem)
        print(
            "No call was made."
            if not problems
            else f"{format_count(len(problems), 'problem')}; no call was made."
        )
        return MISTAKE if problems else PASS
    from gradegate.cli.init.wizard import begin

    def ask(question: str) -> str:
        print(
            question, end="", flush=True
        )  # on standard output; `input` would have it on standard error
        return input()

    asking = ask if sys.stdin.isatty() and sys.stdout.isatty() and not args.yes else None
    try:
        choices = Choices(
            **given, workflow=not args.no_workflow, config=not args.only_workflow, live=args.live
        )
        for line in begin(here(), choices, given, asking):
            say(line)
    except ProviderError as e:
        cure = "check the key and the address (a variable such as OPENAI_BASE_URL), use another --grader, or init without --live"
        complain(f"{e} -> nothing was written; {cure}")
        return MISTAKE if e.trouble is Trouble.SETUP else INCONCLUSIVE
    return PASS
