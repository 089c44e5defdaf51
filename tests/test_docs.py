"""The pages for people: links lead somewhere, and the commands that they name exist."""

import re
from pathlib import Path

import yaml

from support.each import each

ROOT = Path(__file__).resolve().parent.parent
TOP = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
PAGES = [*(ROOT / name for name in TOP), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def without_code(page):
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def anchors(page):
    """The anchors that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.*)$", without_code(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_files_and_headings(page):
    for link in LINK.findall(without_code(page)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_stands_in_the_navigation_of_the_site_once():
    def names(entry):
        parts = entry.values() if isinstance(entry, dict) else entry
        return [entry] if isinstance(entry, str) else [name for part in parts for name in names(part)]

    groups = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in PAGES if "docs" in page.parts and page.parent.name != "screens"]
    assert [len(group) for group in groups] == [1] * 5
    assert sorted(names(groups)) == sorted(pages)


def test_the_readme_begins_with_the_two_commands_and_make_has_them():
    first_minute = (ROOT / "README.md").read_text().partition("## The first minute")[2].partition("\n## ")[0]
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake (\w+)", first_minute))
    assert {"demo", "test"} <= named <= targets


def test_every_folder_of_the_sources_is_a_room_of_the_design():
    rooms = (ROOT / "docs" / "design.md").read_text().partition("## The rooms")[2].partition("\n## ")[0]
    for path in sorted((ROOT / "src" / "gradegate").iterdir()):
        if path.stem not in ("__init__", "__pycache__"):
            name = f"`{path.name}/`" if path.is_dir() else f"`{path.stem}`"
            assert name in rooms, name
