"""The site of the docs: the pages of docs/ as they stand, and links to other files of the repository as addresses at GitHub.

`make site` builds it strictly into `site/`: a link or an anchor that leads nowhere is a mistake.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
# Made for GitHub, whose reader of Markdown shows them as a pull request does.
LEFT_OUT = DOCS / "screens"
_FILE = re.compile(r"^```(\w+) (\S+)$", re.MULTILINE)  # a block that says which file it is
_LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?\)")


def page_text(page: Path, repository: str) -> str:
    """The text of a page for the site, with links to files that the site does not have as addresses in the repository."""

    def address(found: re.Match[str]) -> str:
        target = (page.parent / found[2]).resolve()
        if re.match(r"[a-z]+:", found[2]) or (
            target.is_relative_to(DOCS) and not target.is_relative_to(LEFT_OUT)
        ):
            return found[0]
        kind = "tree" if target.is_dir() else "blob"
        return f"]({repository}/{kind}/main/{target.relative_to(ROOT)}{found[3] or ''})"

    return _LINK.sub(address, _FILE.sub(r'```\1 title="\2"', page.read_text(encoding="utf-8")))


def build(target: Path, builder: str = "zensical") -> None:
    """Builds the site into a folder. Exits with what the builder printed where it finds a mistake."""
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    repository = re.findall(r"^repo_url: (\S+)$", config, re.MULTILINE)[0]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "docs")
        shutil.copytree(DOCS, copy, ignore=shutil.ignore_patterns(LEFT_OUT.name))
        Path(folder, "mkdocs.yml").write_text(config, encoding="utf-8")
        for page in copy.rglob("*.md"):
            page.write_text(page_text(DOCS / page.relative_to(copy), repository), encoding="utf-8")
        line = [builder, "build", "--strict", "--clean"]
        done = subprocess.run(
            line,
            cwd=folder,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            raise SystemExit(done.stdout)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(Path(folder, "site"), target)


if __name__ == "__main__":
    build(ROOT / "site", *sys.argv[1:])
