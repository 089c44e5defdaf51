"""Asks an endpoint in the way that it takes: what it refuses is left out of the request, and that is remembered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gradegate.conversation import Reply
from gradegate.errors import ProviderError

Send = Callable[[Mapping[str, Any]], Reply]
Way = Callable[[Mapping[str, Any]], Mapping[str, Any]]
REFUSALS = (400, 422)  # the statuses of a request that the endpoint does not understand


class Structure:
    """The ways to ask for JSON of a shape, best first; each turns a JSON Schema into what joins the request."""

    def __init__(self, *ways: Way) -> None:
        self._ways = ways
        self._first = 0  # the ways before this one were refused

    def ask(self, schema: Mapping[str, Any] | None, send: Send) -> Reply:
        """Send with the best way left; at the last without any. Raises ProviderError.

        A way counts as refused only when the same question without it is answered.
        """
        if schema is None:
            return send({})
        for index in range(self._first, len(self._ways)):
            try:
                reply = send(self._ways[index](schema))
            except ProviderError as e:
                if e.status not in REFUSALS:
                    raise
            else:
                self._first = max(self._first, index)
                return reply
        reply = send({})
        self._first = len(self._ways)
        return reply


class Temperature:
    """Temperature 0 where nobody asks for another one, until the model says that it takes none.

    ``taken`` says whether the model is thought to take any; where it is not, what the config sets is sent only if
    ``insists``.
    """

    def __init__(self, config: Mapping[str, Any], *, taken: bool = True, insists: bool = False) -> None:
        self._own = config.get("temperature")
        self._taken = taken
        self._insists = insists

    def ask(self, options: Mapping[str, Any], send: Send) -> Reply:
        """Send with ``temperature`` of the request's options, of the config, or 0. Raises ProviderError."""
        if not self._taken:
            return send({"temperature": self._own} if self._insists and self._own is not None else {})
        heat = options.get("temperature", 0 if self._own is None else self._own)
        try:
            return send({"temperature": heat})
        except ProviderError as e:
            if e.status not in REFUSALS or "temperature" not in str(e) or heat == self._own:
                raise
        reply = send({})
        self._taken = False
        return reply
