"""``gradegate view``: a results.json as a page in the browser."""

import argparse
import os
import sys
from contextlib import suppress

from gradegate.cli.output import complain, earlier, here, reread, say
from gradegate.core.settings import LAST_RUN
from gradegate.errors import ConfigError
from gradegate.gate.exit_codes import PASS
from gradegate.structs import replace

ABOUT = "make an HTML page from a results.json and open it in the browser; makes no call"
# A page of ours says so in its first bytes.
_OURS = b'<meta name="generator" content="gradegate">'
_HEAD = 2000


def add(parser: argparse.ArgumentParser) -> None:
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
    import webbrowser

    from gradegate.files.plain_files import regular
    from gradegate.reports.delivery.deliver import (
        check_against_inputs,
        find_places,
        find_reports,
        write_reports,
    )
    from gradegate.reports.delivery.report import Links
    from gradegate.security.environment import Environment
    from gradegate.security.secrets import document_redactor

    results = earlier(args.results)
    decision, links = reread(results)
    output, cwd = args.output or str(results.with_suffix(".html")), here()
    if not output.endswith(".html"):
        raise ConfigError.at(
            f"the page `{output}` has another ending than .html", None, "end it with .html"
        )
    where = find_places([output], cwd, Environment(os.environ))
    check_against_inputs(where, [results.resolve()])
    page = where[output].path
    with (
        suppress(OSError, ValueError),
        regular(page, sys.maxsize, links=True) as file,
    ):  # none, or none to be replaced: writing says so
        if _OURS not in file.read(_HEAD).partition(b"<body")[0]:
            what = f"`{page}` exists already and is not a page of gradegate"
            raise ConfigError.at(what, None, "move it away, or name another with -o")
    if failures := write_reports(
        find_reports([output]),
        where,
        decision,
        replace(Links.from_results(links), results=results.name),
        document_redactor(os.environ),
    ):
        raise ConfigError.at(failures[output], None, "name another file with -o")
    say(str(page))
    if args.no_open:
        return PASS
    # On a machine without a screen only a browser that its user names in BROWSER is told.
    seen = sys.platform in ("darwin", "win32") or any(
        map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    )
    try:
        opened = seen and not os.environ.get("CI") and webbrowser.open(page.as_uri())
    except (webbrowser.Error, OSError):
        opened = False
    if not opened:
        complain("no browser was found; open the page by hand")
    return PASS
