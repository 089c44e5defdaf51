"""What a config says about a model (a provider) and about a prompt, before it is bound to code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gradegate.errors import Mistake, Origin
from gradegate.security.environment import VariableUse
from gradegate.structs import JsonObject, PartlyEqual

NOWHERE = Origin("")

# JavaScript: a snippet, or a file that was read, as `file`, `function` and `code`
Code = str | Mapping[str, str]
# One for all: each of 100,000 tests has several mappings without anything in them
NOTHING: Mapping[str, Any] = {}


def nothing() -> JsonObject:
    """The default of a mapping."""
    return NOTHING


class Verbatim(str):
    """Text that is not a template, even if it contains braces."""

    __slots__ = ()


class ProviderSpec(PartlyEqual):
    """A model as the config names it."""

    not_compared = ("places", "written", "missing")
    id: str
    label: str = ""
    config: JsonObject = {}
    prompts: tuple[str, ...] = ()  # labels of the prompts that a target is restricted to
    transform: Code = ""  # of each answer of a target
    env: Mapping[str, str] = {}  # literals that win over the environment, for this model only
    # The variables of the environment that its templates show, and where
    reads: frozenset[VariableUse] = frozenset()
    drawn: Mapping[str, frozenset[str]] = {}  # by name of a literal, the variables that it shows
    origin: Origin = NOWHERE
    places: Mapping[str, Origin] = {}  # the origins of its options
    written: JsonObject = {}  # the options before a prompt or a test set others
    wrong: Mistake | None = None  # why it cannot be asked; reported only if something asks it
    missing: tuple[
        Mistake, ...
    ] = ()  # about variables that its templates need and that are not set

    @property
    def name(self) -> str:
        """The label, or the id if there is none."""
        return self.label or self.id

    @property
    def names(self) -> tuple[str, str]:
        """The id and the label, by which a config may refer to it."""
        return self.id, self.label


# In place of a grader that could not be read: what is wrong with it was said
UNREAD = ProviderSpec("")

# What a model gives, and so what it can grade by
KINDS = ("text", "embedding", "classification", "moderation")
Graders = Mapping[str, ProviderSpec]  # the models that may grade, by kind; "*" serves for any kind


@dataclass(frozen=True, slots=True)
class PromptSpec:
    """A prompt template, the label that reports show, and what it sets for the provider that is asked."""

    text: str
    label: str = ""
    origin: Origin = NOWHERE
    # Code of the repository that makes the template of `{vars, provider, config}`; raises ValueError.
    maker: Callable[[JsonObject], Any] | None = None
    # Over that of the provider, for this prompt
    config: JsonObject = field(default_factory=dict, hash=False)
