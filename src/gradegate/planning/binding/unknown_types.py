"""Types of assertions that there are no graders for: those of other tools, other spellings, and what people mean."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from gradegate.assertions.grading.evaluator import GRADERS
from gradegate.core.assertion import ASSERT_SET, Assertion
from gradegate.errors import ConfigError
from gradegate.files.documents import table
from gradegate.registry import near, plain

# How people write the opposite of a type: `not_contains`, `NOT contains`, `notContains`, `doesNotContain`, `isn't-json`.
# Before small letters that run on (`notice`) it is none, unless a type follows.
_NOT = re.compile(
    r"(?i:(?:(?:does|do|is|must|should)[\s_-]*(?:not|n['’]?t)|isn['’]?t|doesn['’]?t|not|never)[\s_:-]*)(?P<base>.+)"
)
_HOW = {  # by the type that is meant, or by the word that means it
    "notempty": " with the value `\\S`",
    "word-count": " with `value: {min: N, max: N}`, or `javascript` with `output.length <= N` for characters",
    "is-json": ", with a JSON Schema as `value` where one is meant",
}


@cache
def _same() -> Mapping[str, str]:
    """Types that no tool has and that configs name all the same, with the types that they mean here."""
    return {
        plain(wrong): right
        for right, names in table("planning.binding", "types.yaml").items()
        for wrong in names.split()
    }


_OWN_WORDS = (
    "docs/assertions/README.md has all types; `llm-rubric` judges anything else in your own words"
)


def unknown_type_error(spec: Assertion) -> ConfigError:
    """The mistake of an assertion whose type there is no grader for. A name that is known wins over a near miss."""
    base = spec.type.removeprefix("not-")
    if base.startswith("promptfoo:"):
        cure = "remove it here, or keep it for promptfoo in a file of its own"
        return ConfigError.at(
            f"`{spec.type}` is a type of promptfoo that gradegate does not have", spec.origin, cure
        )
    ours, it, denied = _respelled(base), _BY_NAME.get(fold_name(base)), _denied(spec.type)
    if it and not ours:
        return ConfigError.at(
            f"`{spec.type}` is a type of {it.tool} that gradegate does not have",
            spec.origin,
            it.way,
        )
    known_as = (
        f"{spec.type.removesuffix(base)}{ours}" if ours else f"not-{denied}" if denied else ""
    )
    cure = f"write `type: {known_as}`" if known_as else _meant(spec.type, base)
    return ConfigError.at(f"unknown assertion type `{spec.type}`", spec.origin, cure)


def _respelled(base: str) -> str:
    """The type that another spelling stands for, such as that of a class (``FaithfulnessMetric``); empty where none does."""
    names = {fold_name(name): name for name in [*GRADERS.names(), ASSERT_SET]}
    return names.get(fold_name(base), "")


def _denied(written: str) -> str:
    """The type whose opposite is meant, written in another way than ``not-TYPE``; empty where none is.

    Its own name would turn the check into its opposite.
    """
    match = _NOT.fullmatch(written)
    if match is None or written.startswith("not-") or plain(written) in _same():
        return ""
    base = match["base"]
    return (
        _respelled(base) or _same().get(plain(base)) or near(base, [*GRADERS.names(), ASSERT_SET])
    )


def _meant(written: str, base: str) -> str:
    """What a type is meant for: as a whole, such as ``not-empty``, or as the opposite of what ``base`` is meant for."""
    opposite = "not-" if base != written and plain(written) not in _same() else ""
    same = _same().get(plain(written)) or _same().get(plain(base)) or ""
    others = {spell_as_type(it.name): it for it in foreign_types()}
    names = [*GRADERS.names(), ASSERT_SET, *others]
    longer = [
        name for name in names if name.startswith(f"{base}-")
    ]  # `pii` is the first word of one name
    close = same or near(base, names) or (longer[0] if len(longer) == 1 else "")
    if close in others and close not in GRADERS.names():
        return f'did you mean "{close}"? It is {others[close].tool}\'s: {others[close].way}'
    how = _HOW.get(plain(written)) or _HOW.get(same, "")
    return f'did you mean "{opposite}{close}"{how}?' if close else _OWN_WORDS


# --- names of other tools -----------------------------------------------------------------------------------------


class ForeignType(NamedTuple):
    """A name of another tool, as `metrics.yaml` has it; ``cure`` starts with the type to write in its place, or says to remove it."""

    tool: str
    name: str
    cure: str

    @property
    def here(self) -> str:
        """The type that comes nearest; empty where none does."""
        return "" if self.cure.startswith("remove it") else self.cure.split()[0].rstrip(",:")

    @property
    def way(self) -> str:
        """What to do, as a sentence without its full stop."""
        return f"use {self.cure}" if self.here else self.cure


def foreign_types() -> Iterator[ForeignType]:
    """Every name of every tool, a tool's own spelling; the types that gradegate once had are among them."""
    for tools in (
        table("planning.binding", "metrics.yaml"),
        table("config", "removed.yaml")["types"],
    ):
        for tool, names in tools.items():
            yield from (ForeignType(tool, name, cure) for name, cure in names.items())


def fold_name(name: str) -> str:
    """A name as it is compared: `PlanQualityMetric`, `Plan Quality`, `plan_quality` and `plan-quality` are one."""
    word = plain("".join(name.split()))
    return word.removesuffix("metric") or word


def spell_as_type(name: str) -> str:
    """A tool's own spelling as types are written here: ``PlanQualityMetric`` is ``plan-quality``."""
    whole = name if name.endswith(("GEval", "JevEval")) else name.removesuffix("Metric")
    parts = []
    for at, letter in enumerate(whole):
        begins = (
            letter.isupper()
            and at
            and not (whole[at - 1].isupper() and not whole[at + 1 : at + 2].islower())
        )
        parts.append(f"-{letter}" if begins and whole[at - 1] not in "-: " else letter)
    return "".join(parts).lower()


_BY_NAME = {
    fold_name(it.name): it for it in reversed([*foreign_types()])
}  # of two tools, the first one's
