"""Hides secrets in whatever leaves the program: as they are, and as base64, URL, JSON and HTML write them."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote

HIDDEN = "***"


def redactor(secrets: Iterable[str]) -> Callable[[str], str]:
    """A function that replaces every form of every secret."""
    forms = sorted({form for secret in secrets for form in _forms(secret)}, key=len, reverse=True)
    if not forms:
        return lambda text: text
    pattern = re.compile("|".join(map(re.escape, forms)))
    return lambda text: pattern.sub(HIDDEN, text)


def _forms(secret: str) -> Iterator[str]:
    if not secret.strip():
        return
    yield secret
    yield quote(secret, safe="")
    yield json.dumps(secret)[1:-1]
    yield html.escape(secret)
    encoded = secret.encode()
    yield base64.b64encode(encoded).decode()
    yield base64.urlsafe_b64encode(encoded).decode()
