"""The kinds of options that have a form of their own: graders, hosts, budgets, selectors, paths and names of variables.

Each kind says how the text that a user wrote becomes a value, and how the value is written as text again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from gradegate.core.options import OptionKind, parse_amount, parse_whole_number, write_pairs
from gradegate.core.policy import Limits
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.security.environment import parse_variable_names

if TYPE_CHECKING:
    from gradegate.security.hosts import Host

# --- graders ------------------------------------------------------------------------------------------------------

# A line break, or a comma before the next `KIND=`: the id of a grader may contain other commas.
_BETWEEN_GRADERS = re.compile(r"\n|,(?=\s*[\w-]+\s*=)")
_KIND = re.compile(r"([\w-]+)\s*=")  # before the id of a grader, which may contain an `=`, too
_ANY_KIND = "*"


def parse_graders(written: Iterable[str]) -> Mapping[str, str]:
    """Read graders written as ``ID`` or ``KIND=ID``, several to a text by commas or lines.

    Gives the ids by their kinds, with "*" for an id without a kind. Raises ConfigError with every mistake.
    """
    lines: list[str] = []
    for text in written:
        lines += _BETWEEN_GRADERS.split(text)

    provider_of: dict[str, str] = {}
    mistakes = []
    for line in lines:
        kind, provider = _split_grader(line)
        mistake = _grader_mistake(kind, provider, provider_of.get(kind, provider))
        if mistake is not None:
            mistakes.append(mistake)
        elif provider:
            provider_of[kind] = provider
    if mistakes:
        raise ConfigError(*mistakes)
    return provider_of


def _split_grader(line: str) -> tuple[str, str]:
    """The kind and the id of ``KIND=ID`` or ``ID``."""
    grader = line.strip()
    prefix = _KIND.match(grader)
    if prefix is None:
        return _ANY_KIND, grader
    return prefix[1], grader[prefix.end() :].strip()


def _grader_mistake(kind: str, provider: str, earlier: str) -> Mistake | None:
    """What is wrong with a grader. ``earlier`` is the grader of this kind that was read before it, or the same one."""
    from gradegate.core.provider_spec import KINDS
    from gradegate.registry import suggest

    is_second = provider not in ("", earlier)
    if kind not in (*KINDS, _ANY_KIND):
        problem = f"there is no kind of grader `{kind}`"
        cure = suggest(kind, KINDS) or "the kinds are " + ", ".join(KINDS)
    elif kind != _ANY_KIND and not provider:
        problem = f"the grader for {kind} is empty"
        cure = f"write {kind}=PROVIDER:MODEL"
    elif is_second and kind == _ANY_KIND:
        problem = f"there are two graders without a kind: `{earlier}` and `{provider}`"
        cure = "write the kind of each: text=..., embedding=..."
    elif is_second:
        problem = f"there are two graders for {kind}: `{earlier}` and `{provider}`"
        cure = "leave one of them out"
    else:
        return None
    return Mistake(problem, Origin("<--grader>"), cure)


def _write_graders(value: Mapping[str, str]) -> list[str]:
    texts = []
    for kind, provider in value.items():
        texts.append(provider if kind == _ANY_KIND else f"{kind}={provider}")
    return texts


GRADERS = OptionKind(gather=parse_graders, write=_write_graders)


# --- hosts, paths and variables -----------------------------------------------------------------------------------


def _parse_hosts(written: Iterable[str]) -> tuple[Host, ...]:
    from gradegate.security.hosts import parse_hosts  # late, so that --version is quick

    return parse_hosts(written)


HOSTS = OptionKind(gather=_parse_hosts, write=lambda value: map(str, value))
# No path or pattern below the root of the repository: `/etc`, `../x`, `a/../b`, `~`, `!src`, `[ab]`, `{a,b}`, `?`
_OUTSIDE = re.compile(r"^(?:[/!~]|\.\.?(?:/|$))|[\\\[\]{}?]|/\.\.(?:/|$)")
PATH_PATTERNS = OptionKind(
    lambda text: None if _OUTSIDE.search(text) else text,
    "a path from the root of the repository, where * and ** match any name: src/**",
    gather=tuple,
)
SHOWN_VARIABLES = OptionKind(gather=parse_variable_names, write=sorted)
EXEC_VARIABLES = OptionKind(gather=partial(parse_variable_names, option="exec-env"))

# --- budget -------------------------------------------------------------------------------------------------------

# `2000 calls`, `5 usd`, `900 s`
_BUDGET_PART = re.compile(r"([\d.]+)\s*(calls?|usd|s)", re.ASCII)


def parse_budget(text: str) -> Limits | None:
    """The limits of a text such as ``2000 calls, 5 usd, 900 s``; None if a part is unknown or comes twice."""
    limits: dict[str, Any] = {}
    for part in text.split(","):
        match = _BUDGET_PART.fullmatch(part.strip())
        if not match:
            return None
        number, unit = match.groups()
        limit: float | None
        if unit == "usd":
            name = "usd"
            limit = parse_amount(number)
        elif unit == "s":
            name = "seconds"
            limit = parse_amount(number)
        else:
            name = "calls"
            limit = parse_whole_number(number, 1)
        if limit is None or name in limits:
            return None
        limits[name] = limit
    return Limits(**limits)


def _write_budget(limits: Limits) -> list[str]:
    units = ((limits.calls, "calls"), (limits.usd, "usd"), (limits.seconds, "s"))
    return [", ".join(f"{limit:g} {unit}" for limit, unit in units if limit is not None)]


BUDGET = OptionKind(
    parse_budget,
    "one to three limits, each once, such as 2000 calls, 5 usd, 900 s",
    write=_write_budget,
)


# --- selectors ----------------------------------------------------------------------------------------------------


def _read_selector(text: str) -> tuple[str, str] | None:
    """Read the key and the glob of a selector. None for any other text."""
    before, _, after = text.partition("=")
    key = before.strip()
    glob = after.strip()
    if key == "first":
        is_valid = bool(parse_whole_number(glob, 1))
    else:
        is_field = key in ("description", "provider") or re.fullmatch(r"metadata\..+", key)
        is_valid = bool(is_field and glob)
    return (key, glob) if is_valid else None


def _gather_selectors(selectors: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """All selectors. Raises ConfigError if `first` is among them twice: a case cannot be in either of two beginnings."""
    if sum(key == "first" for key, _ in selectors) > 1:
        raise ConfigError.at("`first` stands in <--select> twice", None, "leave one of them out")
    return tuple(selectors)


SELECT = OptionKind(
    _read_selector,
    "metadata.KEY=GLOB, description=GLOB, provider=GLOB or first=N, such as metadata.topic=refunds",
    gather=_gather_selectors,
    write=write_pairs,
)
