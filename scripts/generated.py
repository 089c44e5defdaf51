"""Writes the files that are made from the code; with --check, says which of them are stale."""

import sys
from pathlib import Path

import yaml

from gradegate.listing import schema

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def action() -> str:
    """The inputs and outputs of action.yml as a page."""
    found = yaml.safe_load((ROOT / "action.yml").read_text())
    lines = ["# Inputs and outputs of the action", "", "Made from [action.yml](../action.yml) by `make generated`.", ""]
    lines += ["| input | default | |", "|---|---|---|"]
    for name, keys in found["inputs"].items():
        default = " ".join(f"`{line}`" for line in str(keys.get("default") or "").split("\n") if line)
        lines.append(f"| `{name}` | {default} | {keys['description']} |")
    lines += ["", "| output | |", "|---|---|"]
    lines += [f"| `{name}` | {keys['description']} |" for name, keys in found["outputs"].items()]
    return "\n".join(lines) + "\n"


FILES = {
    DOCS / "action.md": action,
    DOCS / "config.schema.json": lambda: schema("config"),
    DOCS / "results.schema.json": lambda: schema("results"),
}


def main(arguments: list[str]) -> int:
    """Write what is stale; with --check, exit with 1 instead."""
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
