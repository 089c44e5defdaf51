"""Makes pictures of the HTML report by headless Chromium: at a desk, on a telephone, in the dark.

usage: pictures.py [FOLDER]     the default is .cache/pictures, which git ignores

The two of docs/report.md, which are small, go to docs/pictures.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from gradegate.reporting.report import REPORTS  # noqa: E402
from support import chromium, screens, showcase  # noqa: E402

HEIGHT = 2200
# What docs/report.md shows: where on the page, and how much of it.
SHOWN = (("report-head", "", 940, 590), ("report-case", "#case-1", 940, 560))
# Chromium has no window as narrow as a telephone, and draws a window that is scrolled with a gap: a frame is neither.
FRAME = '<!doctype html><body style="margin:0"><iframe src="{}" style="border:0;width:{}px;height:{}px"></iframe>'


def main() -> int:
    """Write the pictures; gives the exit code."""
    if why := chromium.missing():
        print(f"no pictures: {why} -> apt-get install chromium", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / ".cache" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    report = REPORTS.find("html")
    assert report is not None
    page = folder / "report.html"
    html = report.render(showcase.showcase(), screens.LINKS).text
    page.write_text(html, encoding="utf-8")
    whole = folder / "unfolded.html"
    whole.write_text(html.replace("<details", "<details open"), encoding="utf-8")
    for source, at in ((page, ""), (whole, "#case-2")):
        for width, name, *flags in ((1280, "desktop"), (1280, "dark", chromium.DARK), (400, "400")):
            frame = folder / f"{source.stem}-{name}.html"
            frame.write_text(FRAME.format(source.name + at, width, HEIGHT))
            chromium.picture(frame, frame.with_suffix(".png"), width, HEIGHT, *flags)
    for name, at, width, height in SHOWN:
        frame = folder / f"{name}.html"
        frame.write_text(FRAME.format(page.name + at, width, height))
        target = ROOT / "docs" / "pictures" / f"{name}.png"
        target.parent.mkdir(exist_ok=True)
        chromium.picture(frame, target, width, height)
    print(f"pictures are in {folder}, and those of docs/report.md in docs/pictures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
