"""Checks the options of a provider: a slip of the pen must not change a run in silence.

One rule for all providers. An option that the provider knows is used. One that only promptfoo has a use for has no
effect. Of the rest, one that is nearly the name of a known option is a mistake, and so is one that says where a question
goes or with whose key, because else it would go elsewhere than the config means. Anything else is what the vendor may
know: services whose parameters are open are sent it, others are not, and a note says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from gradegate.asking.provider import Build, split_id
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.document import table
from gradegate.registry import near
from gradegate.values.suite import Note, ProviderSpec

_TABLE = table("asking", "options.yaml")
_PASSED, _TOOLS, PARAMETERS = (frozenset(_TABLE[key].split()) for key in ("promptfoos", "tools", "parameters"))
PROMPTFOOS = _PASSED | _TOOLS
_VALUES, _SERVERS = ({name: form for form, names in _TABLE[key].items() for name in names.split()} for key in ("values", "servers"))
_GROUPS = ("generationConfig", "inferenceConfig", "interfaceConfig", "textGenerationConfig", "options")  # which hold options, too
# Of the parameters, what `options` of a test may hold: its own metadata are no option.
TEST_PARAMETERS = PARAMETERS - {"metadata"}
_MAPPINGS = ("headers", "queryParams", "passthrough")  # what is written below them is read by name
_NAMES = {"number": "a number", "integer": "a whole number", "texts": "a text or a list of texts"}
_WAY = re.compile(r"url|host|endpoint|proxy|api_?key|token$|secret|password|credential|authorization", re.IGNORECASE)


def check(spec: ProviderSpec, build: Build) -> None:
    """Raises ConfigError for what is nearly a known option, and for what would lead a question elsewhere."""
    known = getattr(build, "options", None)
    mistakes = (*_mistakes(spec, build, known, getattr(build, "unsupported", {})), *_wrong_values(spec, known or (), build))
    if mistakes:
        raise ConfigError(*mistakes)


def notes(spec: ProviderSpec, build: Build) -> tuple[Note, ...]:
    """Which options are not sent, though nobody can say that they would change nothing."""
    known = getattr(build, "options", None)
    if known is None or getattr(build, "open", False):
        return ()
    sent = "; `passthrough` sends further options to the vendor" if "passthrough" in known else ""
    return tuple(
        Note(f"`{spec.id}` knows no option `{name}`, so it has no effect{sent}", _place(spec, name))
        for name in spec.config
        if _is_free(name, known) and name not in PARAMETERS
    )


def _place(spec: ProviderSpec, option: str) -> Origin:
    """The line of an option, else that of its provider."""
    found = spec.places.get(option, spec.origin)
    return found if found.line else spec.origin


def _wrong_values(spec: ProviderSpec, known: Sequence[str], build: Build) -> Iterator[Mistake]:
    """Values that the vendor's API does not take; a server of one's own may take more, but nothing of another kind."""
    forms = {**_VALUES, **({} if getattr(build, "bounded", True) else _SERVERS), **getattr(build, "values", {})}
    groups = [(name, inner) for name in _GROUPS if name in known and isinstance(inner := spec.config.get(name), Mapping)]
    written = [*spec.config.items(), *((f"{group}.{name}", value) for group, inner in groups for name, value in inner.items())]
    for name, value in written:
        option, place = name.rpartition(".")[2], name.partition(".")[0]
        if place not in known or option not in forms or value is None:
            continue
        kind, *limits = forms[option].split()
        form = _NAMES[kind] + "".join(f" {word} {limit}" for word, limit in zip(("from", "to"), limits, strict=False))
        if not _fits(value, kind, *map(float, limits)):
            yield Mistake(f"`{name}` of `{spec.id}` is not {form}", _place(spec, place), "write one, or leave it out")


def _fits(value: object, kind: str, least: float = -math.inf, most: float = math.inf) -> bool:
    """Whether a value is of its kind and range. A template may only give the text of a number."""
    if kind == "texts":
        return isinstance(value, str) or (isinstance(value, Sequence) and all(isinstance(text, str) for text in value))
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, int | float | str) else float(value)
    except (ValueError, OverflowError):
        return False
    return least <= number <= most and math.isfinite(number) and (kind == "number" or number.is_integer())


def free(config: Mapping[str, object], known: Sequence[str]) -> tuple[str, ...]:
    """The options that neither the provider nor promptfoo has a use for, in the order of the config."""
    return tuple(name for name in config if _is_free(name, known))


def parameters(options: Mapping[str, object]) -> Mapping[str, object]:
    """What a test's ``options`` set for the model that answers it: as in promptfoo, they win over its ``config``."""
    return {name: value for name, value in options.items() if name in TEST_PARAMETERS} if options else {}


def steers(name: str) -> bool:
    """Whether the name is that of an option, or says where a question goes: beside `config`, it stands in the wrong place."""
    return name in PROMPTFOOS or name in PARAMETERS or bool(_WAY.search(name))


def _is_free(name: str, known: Sequence[str]) -> bool:
    return name not in known and name not in PROMPTFOOS


def _is_on(value: object) -> bool:
    return bool(value.get("enabled", value) if isinstance(value, Mapping) else value)


def _mistakes(spec: ProviderSpec, build: Build, known: Sequence[str] | None, unsupported: Mapping[str, str]) -> Iterator[Mistake]:
    if known is None:  # a provider that says nothing about its options
        return
    for name in _MAPPINGS:
        if name in known and not isinstance(spec.config.get(name) or {}, Mapping):
            yield Mistake(f"`{name}` of `{spec.id}` is not a mapping", _place(spec, name), "write `name: text` below it, a line each")
    for name in spec.config:
        if name in unsupported:
            yield Mistake(f"`{name}` of `{spec.id}` is not supported", _place(spec, name), unsupported[name])
        elif name in _TOOLS and name not in known and _is_on(spec.config[name]):
            what = f"`{name}` of `{spec.id}` gives the model something that gradegate lacks, so a different answer would be graded"
            yield Mistake(
                what, _place(spec, name), "remove it; or grade answers made elsewhere (`gradegate cases`, `gradegate run --answers`)"
            )
        elif _is_free(name, known) and name not in PARAMETERS:
            likely = near(name, known)
            if likely and likely in getattr(build, "in_id", ()) and (split_id(spec.id) or ("", ""))[1]:
                continue  # the id says it, so that neither is read
            if likely or _WAY.search(name):
                listed = "its options are " + ", ".join(sorted(set(known))) if known else "it takes no options"
                what = f"`{spec.id}` has no option `{name}`"
                yield Mistake(what, _place(spec, name), f'did you mean "{likely}"?' if likely else listed)
