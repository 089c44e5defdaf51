"""Explains assertion types that gradegate does not have: names of other tools, other spellings, and near misses."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.core.assertion import ASSERT_SET, Assertion
from gradegate.errors import ConfigError
from gradegate.files.documents import table
from gradegate.registry import fold_word, near_miss

# How people write the opposite of a type: `not_contains`, `NOT contains`, `notContains`, `doesNotContain`, `isn't-json`.
# A word such as `notice` matches, too, so a type must follow.
_NOT = re.compile(
    r"(?i:(?:(?:does|do|is|must|should)[\s_-]*(?:not|n['’]?t)|isn['’]?t|doesn['’]?t|not|never)[\s_:-]*)(?P<base>.+)"
)
# What to write beside the type, by the type or by the word that means it
_HOW = {
    "notempty": " with the value `\\S`",
    "word-count": " with `value: {min: N, max: N}`, or `javascript` with `output.length <= N` for characters",
    "is-json": ", with a JSON Schema as `value` where one is meant",
}
_ALL_TYPES = (
    "docs/assertions/README.md has all types; `llm-rubric` judges anything else in your own words"
)


def unknown_type_error(spec: Assertion) -> ConfigError:
    """The mistake of an assertion with an unknown type. A known name wins over a near miss."""
    base = spec.type.removeprefix("not-")
    if base.startswith("promptfoo:"):
        what = f"`{spec.type}` is a type of promptfoo that gradegate does not have"
        cure = "remove it here, or keep it for promptfoo in a file of its own"
        return ConfigError.at(what, spec.origin, cure)

    same_type = _find_spelling(base)
    foreign = _FOREIGN_TYPES.get(fold_name(base))
    if foreign and not same_type:
        what = f"`{spec.type}` is a type of {foreign.tool} that gradegate does not have"
        return ConfigError.at(what, spec.origin, foreign.way)

    negated = _negated_type(spec.type)
    if same_type:
        cure = f"write `type: {spec.type.removesuffix(base)}{same_type}`"
    elif negated:
        cure = f"write `type: not-{negated}`"
    else:
        cure = _suggest_type(spec.type, base)
    return ConfigError.at(f"unknown assertion type `{spec.type}`", spec.origin, cure)


def _own_types() -> list[str]:
    return [*EVALUATORS.names(), ASSERT_SET]


@cache
def _synonyms() -> Mapping[str, str]:
    """Types that no tool has but that configs name, with the types that they mean."""
    synonyms = {}
    for own_type, words in table("planning.binding", "types.yaml").items():
        for word in words.split():
            synonyms[fold_word(word)] = own_type
    return synonyms


def _find_spelling(base: str) -> str:
    """The type that is spelled differently, such as by its class (``FaithfulnessMetric``); empty if there is none."""
    spellings = {fold_name(name): name for name in _own_types()}
    return spellings.get(fold_name(base), "")


def _negated_type(written: str) -> str:
    """The type that is negated in another way than by ``not-``; empty if there is none.

    To suggest the type itself would turn the check into its opposite.
    """
    match = _NOT.fullmatch(written)
    if match is None or written.startswith("not-") or fold_word(written) in _synonyms():
        return ""
    base = match["base"]
    own_type = _find_spelling(base) or _synonyms().get(fold_word(base))
    return own_type or near_miss(base, _own_types())


def _suggest_type(written: str, base: str) -> str:
    """A cure that names the type that is meant: by the whole text, such as ``not-empty``, or by ``base``."""
    own_types = EVALUATORS.names()
    foreign = {spell_as_type(name.name): name for name in foreign_types()}
    names = [*own_types, ASSERT_SET, *foreign]
    synonym = _synonyms().get(fold_word(written)) or _synonyms().get(fold_word(base)) or ""
    close = synonym or near_miss(base, names)
    if not close:
        longer = [name for name in names if name.startswith(f"{base}-")]
        if len(longer) == 1:  # `pii` is the first word of one name
            close = longer[0]
    if not close:
        return _ALL_TYPES
    if close in foreign and close not in own_types:
        return f'did you mean "{close}"? It is {foreign[close].tool}\'s: {foreign[close].way}'
    opposite = "not-" if base != written and fold_word(written) not in _synonyms() else ""
    how = _HOW.get(fold_word(written)) or _HOW.get(synonym, "")
    return f'did you mean "{opposite}{close}"{how}?'


# --- names of other tools -----------------------------------------------------------------------------------------


class ForeignType(NamedTuple):
    """A name of another tool in `metrics.yaml`; ``cure`` starts with the type to write in its place, or says to remove it."""

    tool: str
    name: str
    cure: str

    @property
    def here(self) -> str:
        """The nearest type of gradegate; empty if there is none."""
        return "" if self.cure.startswith("remove it") else self.cure.split()[0].rstrip(",:")

    @property
    def way(self) -> str:
        """What to do, as a sentence without a full stop."""
        return f"use {self.cure}" if self.here else self.cure


def foreign_types() -> Iterator[ForeignType]:
    """Every name of every tool in its own spelling, and the types that gradegate once had."""
    for tools in (
        table("planning.binding", "metrics.yaml"),
        table("config", "removed.yaml")["types"],
    ):
        for tool, names in tools.items():
            for name, cure in names.items():
                yield ForeignType(tool, name, cure)


def fold_name(name: str) -> str:
    """The form in which names are compared: `PlanQualityMetric`, `Plan Quality` and `plan-quality` are equal."""
    word = fold_word("".join(name.split()))
    return word.removesuffix("metric") or word


def spell_as_type(name: str) -> str:
    """A tool's own spelling, written like a type: ``PlanQualityMetric`` is ``plan-quality``."""
    if not name.endswith(("GEval", "JevEval")):
        name = name.removesuffix("Metric")
    letters = []
    for index, letter in enumerate(name):
        if index and letter.isupper():
            previous = name[index - 1]
            following = name[index + 1 : index + 2]
            # In `PIILeakage`, the L begins a word, and the second I does not.
            begins_word = not previous.isupper() or following.islower()
            if begins_word and previous not in "-: ":
                letters.append("-")
        letters.append(letter)
    return "".join(letters).lower()


# Of two tools with the same name, the first one counts.
_FOREIGN_TYPES = {fold_name(name.name): name for name in reversed([*foreign_types()])}
