"""Secrets that are written into a config."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from gradegate.access.environment import passwords

# The last word of an option's or a header's name: `apiKey`, `X-Api-Key`, `auth_token`. A key of a cache is none.
_SECRET = re.compile(
    r"(?:^|[-_. ]|(?<=[a-z])(?=[A-Z]))(?:(?i:api|x))?(?i:keys?|tokens?|secrets?|password|passwd|passphrase|credentials?"
    r"|auth|authorization|cookie|jwt|bearer|signature|webhook|pat|pwd)$"
)
_OTHER = re.compile(r"(?i).*cache.?key|apiKeyEnvar|.*max.?tokens?|.*tokens")


_TEXT = re.compile(r"""["']?\b([\w.-]{1,60})["']?\s{0,5}[:=]\s{0,5}["']?([^\s"',}{]{3,4096})""")


def secrets_in(text: str) -> Iterator[str]:
    """The same in a text that is not parsed: a config that is mistaken, or too large to be read twice."""
    for name, value in _TEXT.findall(text):
        if names_secret(name):
            yield value
    yield from passwords(text)


def written_secrets(value: Any, name: str = "") -> Iterator[str]:
    """The texts in a nested value whose key says that they are secret, and the secrets in addresses."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from written_secrets(item, str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from written_secrets(item, name)
    elif isinstance(value, str):
        if names_secret(name):
            yield value
            yield from value.split()[1:]  # `Bearer KEY`: the key alone, too
        if "://" in value:
            yield from passwords(value)
            with suppress(ValueError):
                query = parse_qsl(urlsplit(value).query)
                yield from (text for key, text in query if names_secret(key))


def names_secret(name: str) -> bool:
    """Whether the name of an option, a header or a parameter says that its value is a secret."""
    return _SECRET.search(name) is not None and _OTHER.fullmatch(name) is None
