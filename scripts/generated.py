"""Writes the files that are made from the code; with --check, says which of them are stale."""

import sys
from pathlib import Path

from gradegate.listing import schema

DOCS = Path(__file__).resolve().parent.parent / "docs"
FILES = {
    DOCS / "config.schema.json": lambda: schema("config"),
    DOCS / "results.schema.json": lambda: schema("results"),
}


def main(arguments: list[str]) -> int:
    stale = [path for path, make in FILES.items() if not path.exists() or path.read_text() != make()]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.name} is stale -> make generated", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.write_text(FILES[path]())
        print(f"wrote {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
