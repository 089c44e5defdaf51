"""Tokens that came to be while the process runs: whoever hides secrets hides them, too, from then on.

They are kept in module state, as the accounts of limits are: what hides secrets is made before the first token is.
"""

from __future__ import annotations

import threading

from gradegate.access.encodings import Traces

_lock = threading.Lock()
_tokens: set[str] = set()
_traces = _whole = Traces.of(())


def remember(token: str) -> None:
    """Have a token hidden in every text from now on."""
    global _traces, _whole  # values for whoever reads, each exchanged as a whole
    with _lock:
        if token not in _tokens:
            _tokens.add(token)
            _traces, _whole = Traces.of(_tokens), Traces.whole(_tokens)


def traces() -> Traces:
    """What would show one of them."""
    return _traces


def whole() -> Traces:
    """What would show the whole of one of them."""
    return _whole
