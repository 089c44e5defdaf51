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
from dataclasses import dataclass
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
DIGESTS = FOLDER / "digests.json"  # of the pages that the pictures show, by the name of the picture
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
    """Write the pictures, or check them; gives the exit code."""
    pages = dict(picture_pages())
    digests = {name: digest_of(page) for name, page in pages.items()}
    if "--check" in arguments:
        return check_digests(digests)
    obstacle = chromium.missing()
    if obstacle:
        print(f"no pictures: {obstacle} -> apt-get install chromium", file=sys.stderr)
        return 2

    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        for name, page in pages.items():
            take_picture(Path(folder), page, FOLDER / f"{name}.png")
    for path in FOLDER.glob("*.png"):
        if path.stem not in pages:
            path.unlink()
    DIGESTS.write_text(json.dumps(digests, indent=1) + "\n")
    size = sum(path.stat().st_size for path in FOLDER.glob("*.png"))
    print(f"{len(pages)} pictures, {size:,} bytes")
    return 0


def check_digests(digests: dict[str, str]) -> int:
    """Say which pictures show something else than their pages do now; gives the exit code."""
    kept = json.loads(DIGESTS.read_text()) if DIGESTS.exists() else {}
    names = sorted(digests.keys() | kept.keys())
    stale = [name for name in names if digests.get(name) != kept.get(name)]
    if stale:
        print(f"stale: {', '.join(stale)} -> python scripts/pictures.py", file=sys.stderr)
        return 1
    print("the pictures show what is there", file=sys.stderr)
    return 0


# --- what the pictures show -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Page:
    """What a picture shows: the part of a page that a window shows."""

    html: str
    width: int  # pixels
    height: int = 0  # pixels; 0 for all of the page
    anchor: str = ""  # ``#case-1``: where the window is scrolled to
    flags: tuple[str, ...] = ()  # of Chromium


def picture_pages() -> Iterator[tuple[str, Page]]:
    """Yield each picture's name and page."""
    markdown = screens.screens()
    for name in COMMENTS:
        yield f"comment-{name}", Page(looks_on_github(markdown[f"comment-{name}.md"]), WIDE)
    yield "summary", Page(looks_on_github(markdown["summary-12-mixed.md"]), WIDE)

    report = REPORTS.find("html")
    assert report is not None
    html = report.render(showcase.showcase(), screens.LINKS).text
    yield "report", Page(html, 1200, 1000)
    yield "report-dark", Page(html, 1200, 1000, flags=(chromium.DARK,))
    yield "report-phone", Page(html, 400, 900)
    yield "report-head", Page(html, 940, 620)
    yield "report-case", Page(html, 940, 660, anchor="#case-1")

    yield "terminal", Page(TERMINAL.format(record_terminal()), 960)


def digest_of(page: Page) -> str:
    """16 hexadecimal digits of what a page shows, the same in every checkout."""
    content = page.html.replace(ROOT.as_uri(), "")
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def record_terminal() -> str:
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


# --- pictures ---------------------------------------------------------------------------------------------------


def take_picture(folder: Path, page: Page, target: Path) -> None:
    """Write a picture. ``folder`` is for the pages that Chromium opens."""
    page_file = folder / "page.html"
    page_file.write_text(page.html, encoding="utf-8")
    height = page.height or measure_height(folder, page)
    frame = folder / "frame.html"
    address = page_file.name + page.anchor
    frame.write_text(FRAME.format(address, page.width, height), encoding="utf-8")
    chromium.picture(frame, target, page.width, height, *page.flags)

    from PIL import Image  # the check needs none

    image = Image.open(target).convert("RGB")
    image = image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    image.save(target, optimize=True)


def measure_height(folder: Path, page: Page) -> int:
    """The height of a whole page in pixels, which a script of ours writes into it."""
    measured_file = folder / "measured.html"
    html = page.html.replace("<style>", f"<script>{HEIGHT}</script><style>", 1)
    measured_file.write_text(html, encoding="utf-8")
    dom = chromium.dom(measured_file, f"--window-size={page.width},600")
    height: int = chromium.read_attribute(dom, "height")
    return height


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
