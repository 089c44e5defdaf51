"""The begin of a run: what another run in this process read and evaluated is not its own."""

from gradegate.files import amounts
from gradegate.processes import evaluate


def begin() -> None:
    """Start all accounts anew."""
    amounts.start_anew()
    evaluate.start_anew()
