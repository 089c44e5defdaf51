"""The environment variables of the process: what they say of the run, and which of them a config may read.

There are three ways to read one: ``read`` and ``read_first`` give the option of a provider, ``read_key`` gives its credential, and
``read_from_workflow`` gives what signs in. Texts outside a provider's config get only the ``open_variables``.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gradegate.errors import ConfigError, Mistake
from gradegate.security.secrets import belongs_to_runner
from gradegate.structs import replace

# Variables that any text of a config may show: they are public on the page of the run.
PUBLIC_VARIABLES = frozenset(
    {"CI", "GITHUB_SHA", "GITHUB_REF", "GITHUB_REPOSITORY", "GITHUB_RUN_ID"}
)

# Replaces a missing key in a plan. No call with that key is ever made. `http/guard` refuses every request with it.
# It is random, because a model that could name it could stop the requests that grade its answers.
STAND_IN = f"no-key-{secrets.token_hex(16)}"
# How a provider sends a value
FIELD = "field"  # as its credential
HEADER = "header"
MODEL = "model"  # as the name of its model
TEXT = "text"  # in any other way
# Events at merged code that only a person with write access or the clock can start. `workflow_run`, `issue_comment` and similar
# events run at the default branch, too, but anybody starts them. `pull_request_target` has the base's ref and the head's files.
TRUSTED_EVENTS = ("push", "workflow_dispatch", "schedule")
# Events with the commit that is judged. A person with write access starts them, or a fork gets no secrets. All other events,
# also those that GitHub may invent, do not say who wrote the files in the workspace.
JUDGED_EVENTS = frozenset(
    "merge_group pull_request pull_request_review pull_request_review_comment push schedule workflow_dispatch".split()
)


class VariableUse(NamedTuple):
    """A variable that a provider's config reads: at which place, as people write it, and how it is sent."""

    variable: str
    place: str = ""
    sent: str = FIELD


def split_names(written: Iterable[str]) -> list[str]:
    """The words of texts, separated by spaces, line breaks or commas."""
    return [word for text in written for word in re.split(r"[\s,]+", text) if word]


def parse_variable_names(written: Iterable[str], option: str = "allowed-env") -> frozenset[str]:
    """The names in ``allowed-env`` or a similar option. Raises ConfigError for variables of the runner and for other texts."""
    names = split_names(written)
    mistakes = []
    for name in names:
        if belongs_to_runner(name):
            mistakes.append(Mistake(f"`{name}` in `{option}` is the runner’s own"))
        elif not re.fullmatch(r"[A-Za-z_]\w*", name):
            mistakes.append(Mistake(f"`{name}` in `{option}` is not the name of a variable"))
    if mistakes:
        raise ConfigError(*mistakes)
    return frozenset(names)


def describe_event(event: str) -> str:
    """The name of an event in messages."""
    return f"the event `{event}`" if event else "an unknown event (GITHUB_EVENT_NAME is not set)"


@dataclass(frozen=True, slots=True)
class Environment:
    """The variables of the process, and the literals of a config's own ``env``, which win over them."""

    # By name: what the workflow and the runner set
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    # The names that the workflow allows everywhere in a config (`allowed-env`)
    open_: frozenset[str] = frozenset()
    # By name: what the config sets
    literals: Mapping[str, str] = field(default_factory=dict, repr=False)
    # For a literal that is a template, the variables of the process that it shows
    drawn: Mapping[str, frozenset[str]] = field(default_factory=dict)
    # Collects the variables that a provider reads through such literals. None: nobody asks for them.
    uses: set[VariableUse] | None = field(default=None, compare=False)
    # Variables that are needed and not set: reading one gives the stand-in
    missing: frozenset[str] = frozenset()

    @property
    def on_github(self) -> bool:
        """Whether GitHub's runner started the process."""
        return self.variables.get("GITHUB_ACTIONS") == "true"

    @property
    def event(self) -> str:
        """The event of the workflow. The runner sets it, and no workflow can change it. Empty off GitHub."""
        return self.variables.get("GITHUB_EVENT_NAME", "")

    @property
    def event_shown(self) -> str:
        """The name of the event in messages."""
        return describe_event(self.event)

    @property
    def commit(self) -> str:
        """The commit that the workflow runs at. Empty if the runner names none."""
        return self.variables.get("GITHUB_SHA", "")

    @property
    def workspace(self) -> str:
        """The folder of the job. Empty off GitHub."""
        return self.variables.get("GITHUB_WORKSPACE", "")

    @property
    def run(self) -> tuple[str, str]:
        """The id of the workflow run, and the number of the attempt. Empty off GitHub."""
        return self.variables.get("GITHUB_RUN_ID", ""), self.variables.get("GITHUB_RUN_ATTEMPT", "")

    @property
    def vouched_only(self) -> bool:
        """Whether the event allows only files of its commit. Off GitHub there is no event, and all files are allowed."""
        return (bool(self.event) or self.on_github) and self.event not in JUDGED_EVENTS

    def with_literals(
        self, literals: Mapping[str, str], drawn: Mapping[str, frozenset[str]] | None = None
    ) -> Environment:
        """The environment with more literals of a config. ``drawn`` has the variables that each of them shows."""
        if not literals:
            return self
        merged = {name: shown for name, shown in self.drawn.items() if name not in literals}
        merged |= {name: shown for name, shown in (drawn or {}).items() if name in literals}
        return replace(self, literals={**self.literals, **literals}, drawn=merged)

    def read(self, name: str) -> str:
        """The value of a variable as an option of a provider. Empty if it is not set or belongs to the runner.

        Notes which variables of the process the value shows.
        """
        if self.uses is not None:
            for variable in self.drawn.get(name, ()):
                self.uses.add(VariableUse(variable, f"env.{name}", TEXT))
        return self.read_key(name)

    def read_first(self, *names: str) -> str:
        """The first value that is not empty, as an option of a provider."""
        for name in names:
            value = self.read(name)
            if value:
                return value
        return ""

    def read_key(self, name: str) -> str:
        """The value of a variable as the credential of a provider, which nothing has to note: it goes into no other field."""
        if name in self.literals:
            return self.literals[name]
        if belongs_to_runner(name):
            return ""
        # A pasted value often ends in a line break, which no header may contain.
        return self.read_from_workflow(name).strip()

    def read_from_workflow(self, name: str) -> str:
        """The value that the workflow or the runner set, without the literals of a config. Empty if it is not set.

        Only for what signs in to vendors and is sent only to them: no text of a config gets it.
        """
        return STAND_IN if name in self.missing else self.variables.get(name, "")

    def variables_behind(self, name: str) -> frozenset[str]:
        """The closed variables of the process that the value of a name gives away.

        It is the variable itself, unless that is public, open or not set. Of a literal, it is what its template shows.
        """
        if name in self.literals:
            return self.drawn.get(name, frozenset())
        is_there = name in self.variables or name in self.missing
        is_closed = is_there and name not in PUBLIC_VARIABLES and name not in self.open_
        return frozenset({name}) if is_closed else frozenset()

    def is_closed(self, name: str) -> bool:
        """Whether texts outside a provider's config may not show a variable. A variable that is not set is not closed."""
        if self.variables_behind(name):
            return True
        return belongs_to_runner(name) and name in self.variables and name not in self.literals

    def open_variables(self) -> dict[str, str]:
        """The variables that any text of a config may show, with their values, sorted by name."""
        values = {**self.variables, **self.literals}
        names = {*self.literals, *PUBLIC_VARIABLES, *self.open_}
        return {
            name: values[name]
            for name in sorted(names)
            if name in values and not self.is_closed(name)
        }
