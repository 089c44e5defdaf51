"""Makes the pictures of docs/pictures with headless Chromium: comments, summary, page and terminal.

usage: pictures.py [--check]     --check says whether what they show has changed since, and makes none
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from gradegate.reports.delivery.report import REPORTS  # noqa: E402
from support import chromium, screens, showcase, terminal  # noqa: E402
from support.pages import looks_on_github  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
DIGESTS = FOLDER / "digests.json"  # of the pages that the pictures show
COMMENTS = ("12-mixed", "300-with-40-failures", "base-comparison", "inconclusive", "weakened-gate")
CONFIG = "examples/quickstart/promptfooconfig.yaml"
WIDE = 1012
COLOURS = 256  # a third of the bytes, and nobody sees it
# Chromium has no window as narrow as a telephone, and draws a window that is scrolled with a gap: a frame is neither.
FRAME = '<!doctype html><body style="margin:0"><iframe src="{}" style="border:0;width:{}px;height:{}px"></iframe>'
HEIGHT = (
    "addEventListener('load',()=>document.documentElement.setAttribute('data-height',"
    "JSON.stringify(Math.ceil(document.body.getBoundingClientRect().height))));"
)
TERMINAL = (
    '<!doctype html><meta charset="utf-8"><style>body{{margin:0;padding:16px 20px;background:#0d1117;color:#e6edf3}}'
    'pre{{margin:0;font:14px/1.4 "Liberation Mono",monospace;white-space:pre-wrap}}</style><pre>{}</pre>'
)
_EIGHT = [
    (72, 79, 88),
    (255, 123, 114),
    (63, 185, 80),
    (210, 153, 34),
    (88, 166, 255),
    (188, 140, 255),
    (57, 197, 207),
    (177, 186, 196),
]
THEME = TerminalTheme((13, 17, 23), (230, 237, 243), _EIGHT, _EIGHT)
SECONDS = re.compile(r"\d+\.\d s\b")


def main(arguments: list[str]) -> int:
    """Write the pictures; gives the exit code."""
    pages = dict(sources())
    digests = {
        name: hashlib.sha256(html.replace(ROOT.as_uri(), "").encode()).hexdigest()[:16]
        for name, (html, *_) in pages.items()
    }
    if "--check" in arguments:
        kept = json.loads(DIGESTS.read_text()) if DIGESTS.exists() else {}
        stale = sorted(
            name for name in digests.keys() | kept.keys() if digests.get(name) != kept.get(name)
        )
        print(
            f"stale: {', '.join(stale)} -> python scripts/pictures.py"
            if stale
            else "the pictures show what is there",
            file=sys.stderr,
        )
        return int(bool(stale))
    if why := chromium.missing():
        print(f"no pictures: {why} -> apt-get install chromium", file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as scratch:
        for name, (html, at, width, height, *flags) in pages.items():
            take(Path(scratch), FOLDER / f"{name}.png", html, at, width, height, flags)
    for path in FOLDER.glob("*.png"):
        if path.stem not in pages:
            path.unlink()
    DIGESTS.write_text(json.dumps(digests, indent=1) + "\n")
    print(
        f"{len(pages)} pictures, {sum(path.stat().st_size for path in FOLDER.glob('*.png')):,} bytes"
    )
    return 0


def sources() -> Iterator[tuple[str, tuple[str, str, int, int, str] | tuple[str, str, int, int]]]:
    """What each picture shows: a page, a place on it, a width, and a height, 0 for all of it."""
    markdown = screens.screens()
    for name in COMMENTS:
        yield f"comment-{name}", (looks_on_github(markdown[f"comment-{name}.md"]), "", WIDE, 0)
    yield "summary", (looks_on_github(markdown["summary-12-mixed.md"]), "", WIDE, 0)
    report = REPORTS.find("html")
    assert report is not None
    page = report.render(showcase.showcase(), screens.LINKS).text
    yield "report", (page, "", 1200, 1000)
    yield "report-dark", (page, "", 1200, 1000, chromium.DARK)
    yield "report-phone", (page, "", 400, 900)
    yield "report-head", (page, "", 940, 620)
    yield "report-case", (page, "#case-1", 940, 660)
    yield "terminal", (TERMINAL.format(recording()), "", 960, 0)


def recording() -> str:
    """What a run of the quickstart shows on a terminal, as HTML; the seconds that it took stand as 0."""
    with TemporaryDirectory() as folder:
        environ = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "src"),
            "TERM": "xterm-256color",
            "LC_ALL": "C.UTF-8",
        }
        command = [sys.executable, "-m", "gradegate", "run", CONFIG, "-o", f"{folder}/results.json"]
        _, text = terminal.run(command, ROOT, environ, 100)
    shown = SECONDS.sub("0.0 s", text.replace(f"{folder}/", ""))
    console = Console(record=True, width=100, file=StringIO(), force_terminal=True)
    console.print(Text.from_ansi(f"$ gradegate run {CONFIG} -o results.json\n{shown}"))
    return console.export_html(inline_styles=True, code_format="{code}", theme=THEME)


def take(
    scratch: Path, target: Path, html: str, at: str, width: int, height: int, flags: list[str]
) -> None:
    """One picture."""
    page = scratch / "page.html"
    page.write_text(html, encoding="utf-8")
    if not height:
        measured = scratch / "measured.html"
        measured.write_text(
            html.replace("<style>", f"<script>{HEIGHT}</script><style>", 1), encoding="utf-8"
        )
        height = chromium.read_attribute(
            chromium.dom(measured, f"--window-size={width},600"), "height"
        )
    frame = scratch / "frame.html"
    frame.write_text(FRAME.format(page.name + at, width, height), encoding="utf-8")
    chromium.picture(frame, target, width, height, *flags)
    from PIL import Image  # the check needs none

    few = (
        Image.open(target)
        .convert("RGB")
        .quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    )
    few.save(target, optimize=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
