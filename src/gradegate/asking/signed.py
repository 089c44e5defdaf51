"""Headers with a token that is minted at the first request, and taken anew where it was refused for its age."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gradegate.asking.http import Client
from gradegate.asking.response import Response
from gradegate.asking.tokens import Minted

REFUSED = 401


@dataclass(frozen=True, slots=True)
class Signed:
    """The headers of requests to a vendor's own host, which ``token`` signs in as their bearer."""

    plain: Mapping[str, str]
    token: Minted


Headers = Mapping[str, str] | Signed


def signed(plain: Mapping[str, str], token: Minted | None) -> Headers:
    """The headers as they are where there is no token to mint."""
    return plain if token is None else Signed(plain, token)


def also(headers: Headers, more: Mapping[str, str]) -> Headers:
    """With more of them, which win."""
    if isinstance(headers, Signed):
        return replace(headers, plain={**headers.plain, **more})
    return {**headers, **more}


def send(client: Client, url: str, headers: Headers, body: Any) -> Response:
    """The response to a POST. A token that ended in the middle of a run is replaced once. Raises ProviderError."""
    if not isinstance(headers, Signed):
        return client.send("POST", url, headers=headers, body=body)
    taken: list[str] = []

    def sign() -> Mapping[str, str]:
        taken.append(headers.token.take())
        return {"Authorization": f"Bearer {taken[-1]}"}

    answer = client.send("POST", url, headers=headers.plain, body=body, sign=sign)
    if taken and answer.status == REFUSED and headers.token.refused(taken[-1]):
        answer = client.send("POST", url, headers=headers.plain, body=body, sign=sign)
    if taken and 200 <= answer.status < 300:
        headers.token.accepted(taken[-1])
    return answer
