"""The pages for people: links lead somewhere, and the commands that they name exist."""

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest
import transcript
import yaml

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.files.documents import table
from gradegate.planning.binding.default_graders import DEFAULT_KINDS
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


def test_the_readme_names_two_commands_to_try_and_make_has_them():
    first = (ROOT / "README.md").read_text().partition("\n## Try it without a key\n")[2].partition("\n## ")[0]
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake (\w+)", first))
    assert {"demo", "test"} <= named <= targets


def test_the_design_lists_every_package():
    packages = (ROOT / "docs" / "design.md").read_text().partition("## The packages")[2].partition("\n## ")[0]
    for path in sorted((ROOT / "src" / "gradegate").iterdir()):
        if path.stem not in ("__init__", "__pycache__") and path.name != "py.typed":
            name = f"`{path.name}/`" if path.is_dir() else f"`{path.stem}`"
            assert name in packages, name


def test_pages_for_contributors_name_files_that_exist():
    """A renamed module or folder must be renamed in the pages that send people to it."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [Path("/", name) for name in listed.stdout.splitlines()]
    paths = {str(path) for file in files for path in (file, *file.parents)}

    def exists(name):
        return any(path.endswith("/" + name.rstrip("/")) for path in paths)

    pages = [ROOT / "CONTRIBUTING.md", ROOT / "docs" / "design.md"]
    missing = []
    for page in [*pages, *(ROOT / "docs" / "contributing").glob("*.md")]:
        text = page.read_text()
        names = re.findall(r"`([a-z_/]+(?:\.py|\.yaml|\.js|/))`", text)
        names += [f"{name}.py" for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)+)`", text) if not exists(name)]
        missing += [f"{page.name}: {name}" for name in names if not exists(name)]
    assert missing == []


def test_the_page_of_graders_names_every_default():
    page = (ROOT / "docs" / "providers.md").read_text()
    for entry in table("planning.binding", "default_graders.yaml"):
        names = [*entry["keys"], *entry.get("variables", ())]
        names += [model for kind, model in entry.items() if kind in DEFAULT_KINDS and "{" not in model]
        assert [name for name in names if f"`{name}`" not in page] == []


# --- assertion pages ------------------------------------------------------------------------------------------
FOLDER = ROOT / "docs" / "assertions"
ASSERTIONS = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
TYPES = {*EVALUATORS.names(), "assert-set"}


def generated():
    spec = importlib.util.spec_from_file_location("generated", ROOT / "scripts" / "generated.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_index_is_what_the_registry_and_the_pages_make_it():
    assert (FOLDER / "README.md").read_text() == generated().assertions(), "stale -> make generated"


SECTIONS = [(page, section) for page in ASSERTIONS for section in generated().sections(page)]
SECTION_IDS = [section.types[0] for _, section in SECTIONS]


def test_every_type_has_one_section_and_every_page_is_about_types():
    assert sorted(name for _, section in SECTIONS for name in section.types) == sorted(TYPES)
    assert {page for page, _ in SECTIONS} == set(ASSERTIONS)


@pytest.mark.parametrize(("page", "section"), SECTIONS, ids=SECTION_IDS)
def test_an_example_of_a_section_has_its_types(page, section):
    examples = re.findall(r"```yaml\n(.*?)```", section.text, re.DOTALL)
    shown = {kind.removeprefix("not-") for example in examples for kind in types_in(yaml.safe_load(example))}
    assert shown <= TYPES
    assert shown & set(section.types)


def types_in(value):
    if isinstance(value, dict):
        asserted = [item["type"] for item in value.get("assert", ()) if isinstance(item, dict)]
        return asserted + [kind for item in value.values() for kind in types_in(item)]
    return [kind for item in value for kind in types_in(item)] if isinstance(value, list) else []


@each("page", [*ASSERTIONS, FOLDER / "README.md"], ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (FOLDER / target).exists(), target


@pytest.mark.parametrize(("page", "section"), SECTIONS, ids=SECTION_IDS)
def test_defaults_are_those_of_the_code(page, section):
    """The threshold that a section gives is the one that the grader applies; without one, that of the page's first lines."""
    default = re.compile(r"^\| `threshold` \| ([\d.]+) |default `threshold` is ([\d.]+\d)", re.MULTILINE)
    stated = default.search(section.text) or default.search(page.read_text().partition("\n## ")[0])
    for name in section.types:
        kind = EVALUATORS.find(name)
        if stated and kind is not None:
            assert kind.scoring.default == float(stated[1] or stated[2]), name


# --- start ----------------------------------------------------------------------------------------------------
PAGE = transcript.PAGE.read_text()
TYPED = [command for block in transcript.BLOCK.findall(PAGE) for command in transcript.commands(block)]


@pytest.mark.slow
def test_every_command_says_what_the_page_shows():
    """Stale: `python scripts/transcript.py` writes it anew."""
    assert transcript.replayed(PAGE) == PAGE


@pytest.mark.slow
def test_what_a_command_says_is_compared():
    other = PAGE.replace("Blocked: ", "Passed: ").replace("$ echo $?\n1\n", "$ echo $?\n0\n")
    assert other != PAGE
    assert transcript.replayed(other) == PAGE


def test_a_decision_and_a_block_are_less_than_two_minutes_of_typing():
    blocked = TYPED[: TYPED.index("echo $?")]
    assert [command for command in blocked if command.startswith("gradegate")] == [
        "gradegate init --provider openai:chat:MODEL",
        "gradegate run",
        "gradegate run",
    ]
    assert sum(map(len, blocked)) < 2 * 120  # keys a minute: a slow hand
