"""The headers of requests: those of API and config, and the credential field of the provider, which our own code fills.

The two stay apart up to the socket, so that whatever else a request holds can be looked at for credentials.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from gradegate.http.client import Client, Waits
from gradegate.http.response import Response
from gradegate.http.tokens import Minted

REFUSED = 401


@dataclass(frozen=True, slots=True)
class Headers:
    """``credential`` is the field with the provider's key; else ``token``, minted at the first request, is its bearer.

    ``plain`` ones win over both.
    """

    plain: Mapping[str, str] = field(default_factory=dict)
    credential: Mapping[str, str] = field(default_factory=dict, repr=False)
    token: Minted | None = None

    def over(self, more: Mapping[str, str]) -> Headers:
        """With more plain ones, which win."""
        return replace(self, plain={**self.plain, **more})


def bearer(key: str | None) -> Mapping[str, str]:
    """The field of a key that is a bearer token; none without a key."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def send(client: Client, url: str, headers: Headers, body: Any, waits: Waits | None = None) -> Response:
    """The response to a POST, without a body to a GET. A token that ended in the middle of a run is replaced once. Raises ProviderError."""
    token, method = headers.token, "GET" if body is None else "POST"
    ask = partial(client.send, method, url, headers=headers.plain, body=body, waits=waits)
    if token is None:
        return ask(credential=headers.credential)
    taken: list[str] = []

    def sign() -> Mapping[str, str]:
        taken.append(token.take())
        return bearer(taken[-1])

    answer = ask(credential=sign)
    if taken and answer.status == REFUSED and token.refused(taken[-1]):
        answer = ask(credential=sign)
    if taken and 200 <= answer.status < 300:
        token.accepted(taken[-1])
    return answer
