"""``gradegate view``: shows a results.json as a page in the browser."""

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path

from gradegate.cli.output import (
    load_checked_decision,
    path_of_results,
    print_error,
    print_line,
    working_folder,
)
from gradegate.core.settings import LAST_RUN
from gradegate.errors import ConfigError
from gradegate.gate.exit_codes import PASS
from gradegate.structs import replace

ABOUT = "make an HTML page from a results.json and open it in the browser; makes no call"
_GENERATOR = (
    b'<meta name="generator" content="gradegate">'  # in the head of every page of gradegate
)
_HEAD_BYTES = 2000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results", nargs="?", default=LAST_RUN, help="a results.json; default the last run"
    )
    parser.add_argument(
        "-o", "--output", default="", metavar="FILE", help="the page; default beside the results"
    )
    parser.add_argument(
        "--no-open", action="store_true", help="write the page, and open no browser"
    )


def run(args: argparse.Namespace) -> int:
    page = _write_page(path_of_results(args.results), args.output)
    print_line(str(page))
    if not args.no_open and not _open_browser(page):
        print_error("no browser was found; open the page by hand")
    return PASS


def _write_page(results: Path, output: str) -> Path:
    """Write the page next to the results, or to ``output``. Raises ConfigError."""
    from gradegate.reports.delivery.deliver import (
        check_against_inputs,
        find_places,
        find_reports,
        write_reports,
    )
    from gradegate.reports.delivery.report import Links
    from gradegate.security.environment import Environment
    from gradegate.security.secrets import document_redactor

    decision, links = load_checked_decision(results)
    output = output or str(results.with_suffix(".html"))
    if not output.endswith(".html"):
        what = f"the page `{output}` has another ending than .html"
        raise ConfigError.at(what, None, "end it with .html")

    outputs = find_places([output], working_folder(), Environment(os.environ))
    check_against_inputs(outputs, [results.resolve()])
    page = outputs[output].path
    _check_replaceable(page)
    links_of_page = replace(Links.from_results(links), results=results.name)
    failures = write_reports(
        find_reports([output]), outputs, decision, links_of_page, document_redactor(os.environ)
    )
    if failures:
        raise ConfigError.at(failures[output], None, "name another file with -o")
    return page


def _check_replaceable(page: Path) -> None:
    """Raise ConfigError if another file than a page of gradegate would be replaced."""
    from gradegate.files.plain_files import open_plain_file

    # If nothing can be read there, nothing is lost, or writing says what is wrong.
    with (
        suppress(OSError, ValueError),
        open_plain_file(page, sys.maxsize, follows_links=True) as file,
    ):
        if _GENERATOR not in file.read(_HEAD_BYTES).partition(b"<body")[0]:
            what = f"`{page}` exists already and is not a page of gradegate"
            raise ConfigError.at(what, None, "move it away, or name another with -o")


def _open_browser(page: Path) -> bool:
    """Whether a browser shows the page. A machine without a screen has only the one that BROWSER names."""
    import webbrowser

    variables = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    has_screen = sys.platform in ("darwin", "win32") or any(map(os.environ.get, variables))
    if not has_screen or os.environ.get("CI"):
        return False
    try:
        return webbrowser.open(page.as_uri())
    except (webbrowser.Error, OSError):
        return False
