"""Every assertion has a page, the index knows them all, and what the pages show is right."""

import importlib.util
import re
from pathlib import Path

import yaml

from gradegate.grading.grader import GRADERS
from support.each import each

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "assertions"
PAGES = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
TYPES = {*GRADERS.names(), "assert-set"}


def generated():
    spec = importlib.util.spec_from_file_location("generated", ROOT / "scripts" / "generated.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_index_is_what_the_registry_and_the_pages_make_it():
    assert (FOLDER / "README.md").read_text() == generated().assertions(), "stale -> make generated"


def test_every_type_has_one_page_and_every_page_is_about_types():
    names = [name for page in PAGES for name in generated().names_of(page)]
    assert sorted(names) == sorted(TYPES)


@each("page", PAGES, ids=lambda page: page.stem)
def test_examples_are_yaml_with_types_that_there_are(page):
    examples = re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)
    shown = [found for example in examples for found in types_in(yaml.safe_load(example))]
    assert {kind.removeprefix("not-") for kind in shown} <= TYPES
    assert set(generated().names_of(page)) & {kind.removeprefix("not-") for kind in shown}


def types_in(value):
    if isinstance(value, dict):
        asserted = [item["type"] for item in value.get("assert", ()) if isinstance(item, dict)]
        return asserted + [kind for item in value.values() for kind in types_in(item)]
    return [kind for item in value for kind in types_in(item)] if isinstance(value, list) else []


@each("page", [*PAGES, FOLDER / "README.md"], ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (FOLDER / target).exists(), target


@each("page", PAGES, ids=lambda page: page.stem)
def test_defaults_are_those_of_the_code(page):
    """The threshold that a page gives is the one that the grader applies."""
    text = page.read_text()
    stated = re.search(r"^\| `threshold` \| ([\d.]+) |default `threshold` is ([\d.]+\d)", text, re.MULTILINE)
    for name in generated().names_of(page):
        kind = GRADERS.find(name)
        if stated and kind is not None:
            assert kind.scoring.default == float(stated[1] or stated[2]), name
