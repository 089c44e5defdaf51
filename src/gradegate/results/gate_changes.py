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
        worse, other = (
            tuple(it for it in self.found if (it.kind is ChangeKind.CHANGED) is only)
            for only in (False, True)
        )
        return replace(self, found=worse), replace(self, found=other)

    @property
    def weakened(self) -> bool:
        """Whether any finding makes the gate easier to pass."""
        return any(change.kind is not ChangeKind.CHANGED for change in self.found)


NO_CHANGES = GateChanges()
GUARD = "the gate is not weakened"  # the rule that is missed when the findings fail the check


def done(changes: GateChanges) -> str:
    """Say ``this pull request weakens its own gate in 2 places``."""
    verb, told = ("weakens", changes.parts[0]) if changes.weakened else ("changes", changes)
    return f"this pull request {verb} its own gate in {format_count(len(told.found), 'place')}"


def guarded(changes: GateChanges) -> str:
    """Why the guard is missed: what is done, and the first finding."""
    return f"{done(changes)}: {changes.found[0].text}" if changes.found else ""


class Approval(NamedTuple):
    """The word of a person on the findings."""

    by: str = ""  # by what and whom, empty where none holds
    why: str = ""  # why not
