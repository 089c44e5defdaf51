"""What a pull request changes in its own gate, and who approved it."""

import enum
from typing import NamedTuple, Self

from gradegate.core.numbers import format_count
from gradegate.errors import Origin
from gradegate.structs import FrozenStruct, replace


class ChangeKind(enum.Enum):
    """How much a finding means: the first two make a gate easier to pass, the last may."""

    REMOVED = "removed"
    WEAKER = "weaker"
    CHANGED = "changed"


class GateChange(FrozenStruct):
    """One way in which the gate differs from that of the base, at its line."""

    kind: ChangeKind
    text: str
    origin: Origin | None = None


class GateChanges(FrozenStruct):
    """All findings, what is gone first. With ``block`` they fail the check, unless somebody ``approved`` them."""

    found: tuple[GateChange, ...] = ()
    block: bool = False
    approved: str = ""  # by what and whom, empty where nobody did
    refused: str = ""  # why an approval does not hold

    @property
    def parts(self) -> tuple[Self, Self]:
        """What makes the gate easier to pass, and what only changes it."""
        weaker = []
        other = []
        for change in self.found:
            if change.kind is ChangeKind.CHANGED:
                other.append(change)
            else:
                weaker.append(change)
        return replace(self, found=tuple(weaker)), replace(self, found=tuple(other))

    @property
    def has_weakening(self) -> bool:
        """Whether any finding makes the gate easier to pass."""
        return any(change.kind is not ChangeKind.CHANGED for change in self.found)


NO_CHANGES = GateChanges()
GUARD = "the gate is not weakened"  # the rule that is missed when the findings fail the check


def describe_changes(changes: GateChanges) -> str:
    """Say ``this pull request weakens its own gate in 2 places``."""
    verb = "changes"
    found = changes.found
    if changes.has_weakening:
        verb = "weakens"
        found = changes.parts[0].found
    return f"this pull request {verb} its own gate in {format_count(len(found), 'place')}"


def guard_reason(changes: GateChanges) -> str:
    """Why the guard is missed: how many findings there are, and the first. Empty without a finding."""
    if not changes.found:
        return ""
    return f"{describe_changes(changes)}: {changes.found[0].text}"


class Approval(NamedTuple):
    """The word of a person on the findings."""

    by: str = ""  # by what and whom, empty where none holds
    why: str = ""  # why not
