"""What providers share that speak JSON over HTTP: sending, the vendor's words in an error, tokens and prices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gradegate.errors import ProviderError, Trouble
from gradegate.http import Answer, Client
from gradegate.model import Usage
from gradegate.prices import price

# The key, the model or the address is wrong: the same answer comes to every call.
SETUP_STATUSES = frozenset({401, 403, 404, 405, 407, 410})
SETUP_CODES = frozenset({"model_not_found", "invalid_api_key", "model_not_available", "DeploymentNotFound"})


def post(client: Client, url: str, headers: Mapping[str, str], body: Any) -> tuple[dict[str, Any], float]:
    """Send JSON, give the JSON object that came back and the seconds it took. Raises ProviderError."""
    answer = client.send("POST", url, headers=headers, body=body)
    if not 200 <= answer.status < 300:
        raise refusal(answer)
    found = answer.json()
    if not isinstance(found, dict):
        raise ProviderError(f"{answer.host} answered JSON that is no object", Trouble.MALFORMED)
    if found.get("error"):  # some gateways answer 200 with an error inside
        raise ProviderError(f"{answer.host}: {_words(found)}", Trouble.STATUS, answer.status)
    return found, answer.seconds


def refusal(answer: Answer) -> ProviderError:
    """The error that an answer with an error status stands for, in the vendor's words."""
    try:
        body = json.loads(answer.body)
    except (ValueError, RecursionError):
        body = answer.body[:300].decode("utf-8", "replace").strip()
    code = body["error"].get("code") if isinstance(body, dict) and isinstance(body.get("error"), dict) else None
    setup = answer.status in SETUP_STATUSES or code in SETUP_CODES
    what = {401: "the key was refused", 403: "access was denied", 404: "no such model or address"}.get(
        answer.status, ""
    )
    text = f"{answer.host} answered {answer.status}" + (f" ({what})" if what else "")
    words = _words(body)
    return ProviderError(
        text + (f": {words}" if words else ""), Trouble.SETUP if setup else Trouble.STATUS, answer.status
    )


def _words(body: Any) -> str:
    """The message in an error body: ``{"error": {"message"}}``, ``{"error": "..."}``, ``{"message"}``, or text."""
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, dict):
        error = body.get("error", body)
        if isinstance(error, dict):
            error = error.get("message") or error.get("type") or error.get("code") or json.dumps(error)
        body = error
    return " ".join(str(body).split())[:500]


def token_usage(config: Mapping[str, Any], model: str, prompt: Any, completion: Any, seconds: float) -> Usage:
    """The usage of one call. ``cost``, or ``inputCost`` and ``outputCost``, are US dollars per token."""
    given, wrote = _count(prompt), _count(completion)
    both = config.get("cost")
    own = (config.get("inputCost", both), config.get("outputCost", both))
    rates = own if own[0] is not None and own[1] is not None else price(model)
    if rates is None or (prompt is None and completion is None):
        return Usage(1, given, wrote, 0.0, 1, seconds)
    return Usage(1, given, wrote, given * float(rates[0]) + wrote * float(rates[1]), 0, seconds)


def _count(tokens: Any) -> int:
    return tokens if isinstance(tokens, int) and tokens > 0 else 0
