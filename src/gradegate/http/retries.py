"""When a call is retried: which errors pass, how long to wait, and which hosts are down or too busy."""

from __future__ import annotations

import email.utils
import json
import math
import random
import time
from collections import Counter

from gradegate.http.response import Response

RETRIED = frozenset({408, 429, 500, 502, 503, 504, 524, 529})
# These 429s are about money, not speed: asking again cannot help.
HOPELESS = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "access_terminated"})
LONGEST_PAUSE = 60.0
TOO_MANY = 429
BUSY_SECONDS = 60.0  # the window of most rate limits
DEAD_AFTER = 3  # calls in a row that failed after all retries: further calls to that host are tried once


class Hosts:
    """How each host has answered so far; any number of threads report it."""

    def __init__(self) -> None:
        self._dead: Counter[str] = Counter()
        self._busy: dict[str, float] = {}  # since when a host answers nothing but 429

    def answered(self, host: str) -> None:
        """It gave an answer that counts."""
        self._dead[host] = 0
        self._busy.pop(host, None)

    def too_busy(self, host: str) -> None:
        """It answered 429."""
        self._busy.setdefault(host, time.monotonic())

    def failed(self, host: str) -> None:
        """A call to it failed after all retries."""
        self._dead[host] += 1

    def is_down(self, host: str) -> bool:
        """Whether it fails every call, or has said for a minute that it is too busy: then it is asked once a call."""
        busy = time.monotonic() - self._busy.get(host, math.inf)
        return self._dead[host] >= DEAD_AFTER or busy > BUSY_SECONDS


def passes(answer: Response) -> bool:
    """Whether asking again may help."""
    return answer.status in RETRIED and not _hopeless(answer)


def wait(answer: Response | None, pause: float) -> float:
    """Seconds before the next try: as the host asks, else ``pause``, and longer for a host that is overrun."""
    asked = _asked_pause(answer) if answer is not None else None
    if asked is not None:
        return asked
    if answer is not None and answer.status == TOO_MANY:
        pause *= 4
    return pause * random.uniform(0.5, 1.0)  # jitter, so that workers do not come back in step


def _hopeless(answer: Response) -> bool:
    if answer.status != TOO_MANY:
        return False
    try:
        error = json.loads(answer.body)["error"]
        return bool(HOPELESS & {error.get("code"), error.get("type")})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def _asked_pause(answer: Response) -> float | None:
    """Seconds of ``retry-after-ms`` or ``Retry-After`` (seconds or a date, RFC 9110 section 10.2.3)."""
    try:
        if "retry-after-ms" in answer.headers:
            return max(0.0, float(answer.headers["retry-after-ms"]) / 1000)
        asked = answer.headers.get("retry-after", "")
        if not asked:
            return None
        if asked.replace(".", "", 1).isdigit():
            return float(asked)
        return max(0.0, email.utils.parsedate_to_datetime(asked).timestamp() - time.time())
    except (ValueError, TypeError):
        return None
