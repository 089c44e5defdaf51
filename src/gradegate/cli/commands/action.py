"""``gradegate action``: the entry point of the container."""

import argparse
import os

from gradegate.cli.output import working_folder
from gradegate.errors import ConfigError

ABOUT = "the GitHub Action: reads INPUT_* and the event"
# No option exists here, and every argument is a mistake: `with: args: --help` must not print a help page and pass.
ARGPARSE = {"prefix_chars": "\0", "add_help": False}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("arguments", nargs="*")


def run(args: argparse.Namespace) -> int:
    from gradegate.github.action import run_action
    from gradegate.github.inputs import ENV, environment_of_step, settings_from_inputs
    from gradegate.github.step_files import LastOutputs
    from gradegate.reports.delivery.deliver import remove_earlier_outputs
    from gradegate.security.environment import Environment

    with LastOutputs(os.environ):
        cwd = working_folder()
        try:
            environ = environment_of_step(os.environ)
        except ConfigError:
            # An event can set a variable, so the text of `env` must not decide which reports are removed.
            environ = environment_of_step({**os.environ, ENV: ""})
            remove_earlier_outputs(settings_from_inputs(environ, cwd).run, Environment(environ))
            raise
        os.environ.update(environ)  # libraries read proxies and certificates there
        if args.arguments and "INPUT_ARGS" not in environ:  # on GitHub, the inputs report it
            raise ConfigError.at(
                "the command `action` takes no arguments", None, "it reads INPUT_* and the event"
            )
    return run_action(environ, cwd)
