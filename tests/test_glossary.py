"""Public names are made of the words of docs/glossary.md, of the keys of a config, or of the lists in test_glossary.yaml.

The lists have plain English connectives, the names of formulas as their papers write them, and ordinary words of programming and
evals. A word counts with its endings, such as -s, -ed and -ing, and with un- and re-. A name that users read or write keeps its
spelling: a key of config.schema.json or results.schema.json, and an option.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from gradegate.core.settings import OPTIONS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "gradegate"
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
PACKAGES = ("gate", "results", "core", "runner")
WORDS = {kind: words.split() for kind, words in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text()).items()}
MOST_NOUNS = 60
MOST_ORDINARY_WORDS = 125
# An ending, and what stands in its place in the plain form.
ENDINGS = {
    "s": ("",),
    "es": ("", "e"),
    "ies": ("y",),
    "ed": ("", "e"),
    "ied": ("y",),
    "ing": ("", "e"),
    "er": ("", "e"),
    "est": ("", "e"),
    "ion": ("", "e"),
    "ation": ("e",),
    "ness": ("",),
}
# Names that say nothing about what they mean.
VAGUE = frozenset("again asked beside found given heard held it its known made own said told".split())

# The status "known" of the glossary, which is also a key of a part file.
EXPLAINED = {"KNOWN", "known"}


def plain_forms(word: str) -> set[str]:
    """The word, and what may be its form without an ending or a beginning: ``stopped`` gives ``stop``."""
    forms = {word}
    for ending, replacements in ENDINGS.items():
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2:
            forms.update(stem + replacement for replacement in replacements)
            if stem[-1] == stem[-2]:
                forms.add(stem[:-1])
    bare = {form[2:] for form in forms if form.startswith(("un", "re")) and len(form) > 4}
    return forms | bare


def words_of(name: str) -> list[str]:
    """The words of a name in any case: ``GradeId``, ``grade_id``, ``GRADE_ID``."""
    return [word.lower() for word in re.findall(r"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]{2,}", name)]


def public_names(path: Path) -> Iterator[str]:
    """The name of a module, and the public names that it defines at its level and in its public classes."""
    yield path.parent.name if path.stem == "__init__" else path.stem
    yield from defined_names(ast.parse(path.read_text()).body)


def defined_names(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        names = []
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        yield from (name for name in names if not name.startswith("_"))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from defined_names(node.body)


def published_names() -> set[str]:
    """Keys and words of the files that users read and write, and the names of options, as Python spells them."""
    names = {name for option in OPTIONS for name in (option.name, option.field)}
    for file in ("config.schema.json", "results.schema.json"):
        names.update(schema_names(json.loads((ROOT / "docs" / file).read_text())))
    return {name.replace("-", "_").lower() for name in names}


def schema_names(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for item in schema:
            yield from schema_names(item)
    elif isinstance(schema, dict):
        yield from schema.get("properties", {})
        values = [*schema.get("enum", []), schema.get("const")]
        yield from (value for value in values if isinstance(value, str))
        for item in schema.values():
            yield from schema_names(item)


PUBLISHED = published_names()


def unexplained_words(vocabulary: set[str], name: str) -> list[str]:
    """The words of a name that are not in the vocabulary."""
    if "_".join(words_of(name)) in PUBLISHED:
        return []
    return [word for word in words_of(name) if not plain_forms(word) & vocabulary]


def known_forms() -> set[str]:
    config_keys = set(schema_names(json.loads((ROOT / "docs" / "config.schema.json").read_text())))
    words = {*re.findall(r"[a-z]+", GLOSSARY.lower()), *config_keys}
    for listed in WORDS.values():
        words.update(listed)
    return {form for word in words for form in plain_forms(word)}


def test_public_names_are_made_of_the_words_of_the_glossary():
    vocabulary = known_forms()
    unexplained = {}
    for package in PACKAGES:
        for path in sorted((PACKAGE / package).rglob("*.py")):
            for name in public_names(path):
                words = unexplained_words(vocabulary, name)
                if words:
                    unexplained[f"{path.relative_to(PACKAGE).as_posix()}: {name}"] = words
    assert unexplained == {}


def test_a_word_that_nobody_has_explained_is_noticed():
    vocabulary = known_forms()
    assert unexplained_words(vocabulary, "blamed_rows") == ["blamed"]
    assert unexplained_words(vocabulary, "SparedCases") == ["spared"]
    for name in ("blocking_rows", "count_votes", "BallotState", "unconfirmed_grades", "pre_existing"):
        assert unexplained_words(vocabulary, name) == [], name


def test_no_public_name_is_vague():
    vague = []
    for path in sorted(PACKAGE.rglob("*.py")):
        names = {name for name in public_names(path) if name.lower() in VAGUE - PUBLISHED} - EXPLAINED
        vague += [f"{path.relative_to(PACKAGE).as_posix()}: {name}" for name in sorted(names)]
    assert vague == []


def test_the_lists_stay_short_and_sorted():
    nouns = GLOSSARY.partition("| verb |")[0].count("\n| ") - 1
    assert nouns <= MOST_NOUNS
    assert len(WORDS["ordinary"]) <= MOST_ORDINARY_WORDS
    for words in WORDS.values():
        assert words == sorted(set(words))


def test_every_listed_word_is_in_a_name():
    forms = set()
    for package in PACKAGES:
        for path in (PACKAGE / package).rglob("*.py"):
            for name in public_names(path):
                forms.update(form for word in words_of(name) for form in plain_forms(word))
    listed = {word for words in WORDS.values() for word in words}
    assert {word for word in listed if not plain_forms(word) & forms} == set()
