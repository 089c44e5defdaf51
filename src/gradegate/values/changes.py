"""Changes of a pull request to its own gate: findings, and their effect. Frozen values."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from gradegate.errors import Origin
from gradegate.values.figures import many


class ChangeKind(enum.Enum):
    """How much a finding means: the first two make a gate easier to pass, the last may."""

    REMOVED = "removed"
    WEAKER = "weaker"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class GateChange:
    """One way in which the gate differs from that of the base, at its line."""

    kind: ChangeKind
    text: str
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class GateChanges:
    """All findings, what is gone first. With ``block`` they fail the check, unless somebody ``approved`` them.

    ``approved`` says by what and whom, and ``refused`` why an approval does not hold; both are empty where none was looked for.
    """

    found: tuple[GateChange, ...] = ()
    block: bool = False
    approved: str = ""
    refused: str = ""

    @property
    def parts(self) -> tuple[GateChanges, GateChanges]:
        """What makes the gate easier to pass, and what only changes it."""
        worse, other = (tuple(it for it in self.found if (it.kind is ChangeKind.CHANGED) is only) for only in (False, True))
        return replace(self, found=worse), replace(self, found=other)

    @property
    def weakened(self) -> bool:
        """Whether any finding makes the gate easier to pass."""
        return any(change.kind is not ChangeKind.CHANGED for change in self.found)

    @property
    def blocking(self) -> bool:
        """Whether the findings fail the check."""
        return bool(self.found) and self.block and not self.approved


NO_CHANGES = GateChanges()
GUARD = "the gate is not weakened"  # the rule that is missed when the findings fail the check


def done(changes: GateChanges) -> str:
    """Say ``this pull request weakens its own gate in 2 places``."""
    verb, told = ("weakens", changes.parts[0]) if changes.weakened else ("changes", changes)
    return f"this pull request {verb} its own gate in {many(len(told.found), 'place')}"


def guarded(changes: GateChanges) -> str:
    """Why the guard is missed: what is done, and the first finding."""
    return f"{done(changes)}: {changes.found[0].text}" if changes.found else ""


@dataclass(frozen=True, slots=True)
class Approval:
    """The word of a person on the findings: ``by`` says by what and whom, empty where none holds; ``why`` says why not."""

    by: str = ""
    why: str = ""
