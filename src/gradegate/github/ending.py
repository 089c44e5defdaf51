"""What a step leaves behind when it ends before it could publish anything: outputs and a summary all the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from gradegate.access.environment import sealing
from gradegate.access.hiding import excerpt
from gradegate.deciding.exit import INCONCLUSIVE, INTERRUPTED, MISTAKE, TERMINATED
from gradegate.errors import ConfigError, Terminated
from gradegate.github import workflow
from gradegate.reporting.markdown import fence
from gradegate.values.result import GateOutcome

MISTAKEN = "mistake"  # the outcome when the config is wrong: there is no decision then
_LONGEST = 1000  # characters of an error


@dataclass
class Ending:
    """Around a step: whatever ends it, a later step finds outputs. ``settled`` once they are written."""

    environ: Mapping[str, str]
    settled: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Leave what is known of the end; nothing that fails here hides the error."""
        if error is None or self.settled:
            return
        # Outcome, exit code and words for an error, as the command exits with.
        if isinstance(error, ConfigError):
            outcome, code, said = MISTAKEN, MISTAKE, str(error)
        elif isinstance(error, KeyboardInterrupt):
            stopped = TERMINATED if isinstance(error, Terminated) else INTERRUPTED
            outcome, code, said = GateOutcome.INCONCLUSIVE.value, stopped, "The step was cancelled before any model was asked."
        else:
            outcome, code, said = GateOutcome.INCONCLUSIVE.value, INCONCLUSIVE, f"{type(error).__name__}: {error}"
        workflow.write_outputs(self.environ, {"outcome": outcome, "exit-code": str(code)})
        hide = sealing(self.environ)
        text = f"### gradegate could not run\n\nThere is no verdict.\n\n{fence(excerpt(hide(said), _LONGEST))}"
        workflow.append_summary(self.environ, text)
