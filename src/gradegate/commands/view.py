"""``gradegate view``: a results.json as a page in the browser."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gradegate.commands.telling import complain, here, say
from gradegate.deciding.exit import PASS
from gradegate.errors import ConfigError

if TYPE_CHECKING:
    from gradegate.reporting.report import Links
    from gradegate.values.result import Decision

ABOUT = "make an HTML page from a results.json and open it in the browser; makes no call"
_OURS = '<meta name="generator" content="gradegate">'  # in the head of a page of ours


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("results", nargs="?", default="results.json", help="of a run; default results.json")
    parser.add_argument("-o", "--output", default="", metavar="FILE", help="the page; default beside the results")
    parser.add_argument("--no-open", action="store_true", help="write the page, and open no browser")


def run(args: argparse.Namespace) -> int:
    """Give the exit code."""
    from gradegate.reporting.report import Links
    from gradegate.results.file import reread_file

    path = Path(args.results)
    decision, links = reread_file(path)
    page = _write(args.output or str(path.with_suffix(".html")), path, decision, Links.of(links))
    say(str(page))
    if not args.no_open and not _opened(page):
        complain("no browser was found; open the page by hand")
    return PASS


def _write(output: str, results: Path, decision: Decision, links: Links) -> Path:
    from gradegate.access.environment import Environment, sealing
    from gradegate.reporting.deliver import check_inputs, check_outputs, places, write

    cwd = here()
    if not output.endswith(".html"):
        raise ConfigError.at(f"the page `{output}` has another ending than .html", None, "end it with .html")
    where = places([output], cwd, Environment(os.environ))
    check_inputs(where, [results.resolve()])
    page = where[output].path
    with suppress(OSError, ValueError):  # where it is not there, or cannot be replaced, writing says so
        if page.is_file() and _OURS not in page.read_text(encoding="utf-8", errors="replace").partition("<body")[0]:
            what = f"`{page}` exists already and is not a page of gradegate"
            raise ConfigError.at(what, None, "move it away, or name another with -o")
    seal = sealing(os.environ)
    failures = write(check_outputs([output]), where, decision, links, seal)
    if failures:
        raise ConfigError.at(failures[output], None, "name another file with -o")
    return page


def _opened(page: Path) -> bool:
    """Whether a browser was told. On a machine without a screen only one that its user names in BROWSER is."""
    import webbrowser

    seen = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))
    try:
        return seen and not os.environ.get("CI") and webbrowser.open(page.as_uri())
    except (webbrowser.Error, OSError):
        return False
