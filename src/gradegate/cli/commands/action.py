"""``gradegate action``: the entry point of the container."""

import argparse
import os

from gradegate.cli.output import here
from gradegate.errors import ConfigError

ABOUT = "the GitHub Action: reads INPUT_* and the event"
# `with: args: --help` must not end in a page of help and green: here is no option, and every argument a mistake.
PARSER = {"prefix_chars": "\0", "add_help": False}


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments: whatever there is, to be refused."""
    parser.add_argument("arguments", nargs="*")


def run(args: argparse.Namespace) -> int:
    from gradegate.github.action import run_action
    from gradegate.github.inputs import ENV, environment_of_step, settings_from_inputs
    from gradegate.github.step_files import LastOutputs
    from gradegate.reports.delivery.deliver import remove_earlier_outputs
    from gradegate.security.environment import Environment

    with LastOutputs(os.environ):
        cwd = here()
        try:
            environ = environment_of_step(os.environ)
        except ConfigError:  # an event can fill a variable: its text decides nothing about reports
            environ = environment_of_step({**os.environ, ENV: ""})
            remove_earlier_outputs(settings_from_inputs(environ, cwd).run, Environment(environ))
            raise
        os.environ.update(environ)  # what reads it by itself, as proxies and certificates are read
        if args.arguments and "INPUT_ARGS" not in environ:  # on GitHub, the inputs say it
            raise ConfigError.at(
                "the command `action` takes no arguments", None, "it reads INPUT_* and the event"
            )
    return run_action(environ, cwd)
