"""Says what axe-core finds at fault in the pages of a folder, such as the site of the docs, in light and in dark.

usage: axe.py FOLDER [PAGE ...]     all .html files of the folder, or those that are named
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support import chromium  # noqa: E402


def main(arguments: list[str]) -> int:
    """Exit code 1 where a page has a fault."""
    folder, *names = arguments
    found = False
    for page in [Path(folder, name) for name in names] or sorted(Path(folder).rglob("*.html")):
        for flag in (chromium.LIGHT, chromium.DARK):
            for fault in chromium.faults(page.read_text(encoding="utf-8"), page.parent, flag):
                found = True
                print(f"{page} ({'dark' if flag == chromium.DARK else 'light'}): {fault}")
    return int(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
