"""Asks an endpoint in the way that it takes: what it refuses is left out of the request, and that is remembered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gradegate.errors import ProviderError
from gradegate.values.conversation import Reply

Send = Callable[[Mapping[str, Any]], Reply]
REFUSALS = (400, 422)  # the statuses of a request that the endpoint does not understand


@dataclass(frozen=True, slots=True)
class Way:
    """A way to ask for JSON; ``form`` turns a JSON Schema into what joins the request.

    ``holds`` says what the answer is where the endpoint keeps to it: "schema", JSON of the schema; "tool", the input of
    our own tool; empty where the schema is not sent.
    """

    form: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    holds: str = ""


PLAIN = Way(lambda _: {})
_SOME: Any = "any schema"  # in place of one: what a request asks for beside it is what counts
SendWay = Callable[[Mapping[str, Any], Way], Reply]


class Structure:
    """The ways to ask for JSON of a shape, best first, and at the last none of them."""

    def __init__(self, *ways: Way) -> None:
        self._ways = (*ways, PLAIN)
        self._first = 0  # the ways before this one were refused

    def is_set(self, body: Mapping[str, Any]) -> bool:
        """Whether a body has a form of its own already, so that no way goes with it."""
        return any(_collide(way.form(_SOME), body) for way in self._ways)

    def ask(self, schema: Mapping[str, Any] | None, send: SendWay) -> Reply:
        """Send with the best way left. Raises ProviderError.

        A way counts as refused only when the same question without it is answered.
        """
        if schema is None:
            return send({}, PLAIN)
        for index in range(self._first, len(self._ways)):
            way = self._ways[index]
            try:
                reply = send(way.form(schema), way)
            except ProviderError as e:
                if e.status not in REFUSALS or way is PLAIN:
                    raise
            else:
                break
        self._first = max(self._first, index)
        return reply


def _collide(form: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    """Whether both say something of the same: the same key, or the same key of an object that both have."""
    return any(
        not (isinstance(value, Mapping) and isinstance(body[key], Mapping)) or not value.keys().isdisjoint(body[key])
        for key, value in form.items()
        if key in body
    )


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
