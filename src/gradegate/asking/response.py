"""What came back over HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gradegate.errors import ProviderError, Trouble


@dataclass(frozen=True, slots=True)
class Response:
    """A response; ``headers`` in lower case, ``seconds`` of the last attempt alone."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    host: str
    seconds: float = 0.0

    def json(self) -> Any:
        """The body as JSON. Raises ProviderError."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as e:
            start = self.body[:80].decode("utf-8", "backslashreplace")
            raise ProviderError(f"{self.host} answered something that is not JSON: {start!r}", Trouble.MALFORMED) from e
