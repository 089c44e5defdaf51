"""The environment: what the runner says of the run, and which variables a config may read."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gradegate.errors import ConfigError, Mistake
from gradegate.security.secrets import belongs_to_runner
from gradegate.structs import replace

# What any text of a config may show: it is public on the page of the run.
PUBLIC_VARIABLES = frozenset(
    {"CI", "GITHUB_SHA", "GITHUB_REF", "GITHUB_REPOSITORY", "GITHUB_RUN_ID"}
)

# In place of a key that is missing, in a plan that nobody runs without it. No request with it leaves (`http/guard`), so no text
# may name it: a model that could would keep its answers from being graded.
STAND_IN = f"no-key-{secrets.token_hex(16)}"
# As what a provider sends a value: its credential, a header, the name of its model, anything else.
FIELD = "field"
HEADER = "header"
MODEL = "model"
TEXT = "text"
# Started by somebody who may write or by the clock, at what is merged. `workflow_run`, `issue_comment` and their like run at the default
# branch, too, and are started by anybody; `pull_request_target` has the base's ref and the pull request's files.
TRUSTED_EVENTS = ("push", "workflow_dispatch", "schedule")
# Events whose own commit is what is to be judged: started by somebody who may write, or without secrets for a fork. All
# others, those that GitHub has yet to invent among them, say nothing about whose files lie in the workspace.
JUDGED_EVENTS = frozenset(
    "merge_group pull_request pull_request_review pull_request_review_comment push schedule workflow_dispatch".split()
)


class VariableUse(NamedTuple):
    """A variable of the environment, where a provider's config shows it, as people write that, and as what it leaves."""

    variable: str
    place: str = ""
    sent: str = FIELD


def split_names(written: Iterable[str]) -> list[str]:
    """The words of texts, which spaces, lines or commas part."""
    return [word for text in written for word in re.split(r"[\s,]+", text) if word]


def parse_variable_names(written: Iterable[str], option: str = "allowed-env") -> frozenset[str]:
    """The names of ``allowed-env``, or of another. Raises ConfigError for the runner's own and for what is not a name."""
    given = split_names(written)
    wrong = [
        Mistake(
            f"`{name}` in `{option}` is {'the runner’s own' if belongs_to_runner(name) else 'not the name of a variable'}"
        )
        for name in given
        if belongs_to_runner(name) or not re.fullmatch(r"[A-Za-z_]\w*", name)
    ]
    if wrong:
        raise ConfigError(*wrong)
    return frozenset(given)


def describe_event(event: str) -> str:
    """An event as messages call it."""
    return f"the event `{event}`" if event else "an unknown event (GITHUB_EVENT_NAME is not set)"


@dataclass(frozen=True, slots=True)
class Environment:
    """The variables of the process, under the literals that a config's own ``env`` lays over them.

    ``drawn`` says of a literal that is a template which variables it shows. ``open_`` are the names that the workflow
    allows everywhere in a config. ``uses`` gathers what a provider reads of such literals. ``missing`` are variables that are not
    set, in whose place the stand-in is read.
    """

    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    open_: frozenset[str] = frozenset()
    literals: Mapping[str, str] = field(default_factory=dict, repr=False)
    drawn: Mapping[str, frozenset[str]] = field(default_factory=dict)
    uses: set[VariableUse] | None = field(default=None, compare=False)
    missing: frozenset[str] = frozenset()

    @property
    def on_github(self) -> bool:
        """Whether GitHub's runner started the process."""
        return self.variables.get("GITHUB_ACTIONS") == "true"

    @property
    def event(self) -> str:
        """The event of the workflow: the runner always sets it, and lets no workflow change it. Empty off GitHub."""
        return self.variables.get("GITHUB_EVENT_NAME", "")

    @property
    def event_shown(self) -> str:
        """The event as messages call it."""
        return describe_event(self.event)

    @property
    def commit(self) -> str:
        """The commit that the workflow runs at; empty where the runner names none."""
        return self.variables.get("GITHUB_SHA", "")

    @property
    def workspace(self) -> str:
        """The folder of the job; empty off GitHub."""
        return self.variables.get("GITHUB_WORKSPACE", "")

    @property
    def run(self) -> tuple[str, str]:
        """The number of the workflow's run, and which attempt it is; empty off GitHub."""
        return self.variables.get("GITHUB_RUN_ID", ""), self.variables.get("GITHUB_RUN_ATTEMPT", "")

    @property
    def vouched_only(self) -> bool:
        """Whether the event allows files of its commit alone. Off GitHub there is no event, and everything is free."""
        return (bool(self.event) or self.on_github) and self.event not in JUDGED_EVENTS

    def over(
        self, literals: Mapping[str, str], drawn: Mapping[str, frozenset[str]] | None = None
    ) -> Environment:
        """With more of a config's own values."""
        if not literals:
            return self
        kept = {name: names for name, names in self.drawn.items() if name not in literals}
        own = {name: names for name, names in (drawn or {}).items() if name in literals}
        return replace(self, literals={**self.literals, **literals}, drawn={**kept, **own})

    def get(self, name: str) -> str:
        """The value as a provider's config reads it; empty when it is not set or the runner's own."""
        if self.uses is not None:
            self.uses.update(
                VariableUse(variable, f"env.{name}", TEXT) for variable in self.drawn.get(name, ())
            )
        return self.key(name)

    def key(self, name: str) -> str:
        """The same for a credential, which goes into the field of its provider alone."""
        if name in self.literals:
            return self.literals[name]
        # What is pasted often ends in a line break, which no header may hold.
        return "" if belongs_to_runner(name) else self.workflow(name).strip()

    def address(self, *names: str) -> str:
        """The first of these that is set: an address, or what else a provider takes beside a key."""
        return next(filter(None, map(self.get, names)), "")

    def workflow(self, name: str) -> str:
        """The value that the workflow or the runner set, whatever a config lays over it; empty when it is not set.

        For what signs in to vendors and is sent to them alone: no text of a config is given it.
        """
        return STAND_IN if name in self.missing else self.variables.get(name, "")

    def sources(self, name: str) -> frozenset[str]:
        """The variables that reading a name gives away: itself, unless it is plain, open, or written in the config."""
        if name in self.literals:
            return self.drawn.get(name, frozenset())
        is_there = name in self.variables or name in self.missing
        held = is_there and name not in PUBLIC_VARIABLES and name not in self.open_
        return frozenset({name}) if held else frozenset()

    def is_closed(self, name: str) -> bool:
        """Whether texts outside a provider's config may not show it. What nobody set is not closed."""
        return bool(self.sources(name)) or (
            belongs_to_runner(name) and name in self.variables and name not in self.literals
        )

    def texts(self) -> dict[str, str]:
        """All that any text of a config may show."""
        names = {*self.literals, *((PUBLIC_VARIABLES | self.open_) & self.variables.keys())}
        return {
            name: {**self.variables, **self.literals}[name]
            for name in sorted(names)
            if not self.is_closed(name)
        }
