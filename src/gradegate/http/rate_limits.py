"""What a host says in its headers about its limits."""

import email.utils
import math
import re
import time
from contextlib import suppress
from datetime import datetime

from gradegate.http.pacing import Quota
from gradegate.structs import NamedTexts

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_EPOCH = 1e9  # a larger number is a time since 1970, not seconds from now
_REQUESTS = ("", "requests")  # what is counted, where it is calls


def parse_pause(headers: NamedTexts) -> float | None:
    """Seconds that a host asks to wait, or None where it says nothing that can be read.

    ``retry-after-ms`` has milliseconds, ``Retry-After`` seconds or a date (RFC 9110 section 10.2.3).
    """
    seconds = _seconds(headers.get("retry-after-ms", "") + "ms")
    return _seconds(headers.get("retry-after", "")) if seconds is None else seconds


def parse_quota(headers: NamedTexts) -> Quota | None:
    """How many more calls a host takes, by the fullest of its limits: ``x-ratelimit-remaining-requests`` and the like.

    Of tokens and others that are no calls, only a limit that is reached says something.
    """
    tightest = None
    for name, text in headers.items():
        if "ratelimit" not in name or "remaining" not in name or not text.isdecimal():
            continue
        counted = name.partition("ratelimit")[2].replace("remaining", "").strip("-")
        seconds = _seconds(headers.get(name.replace("remaining", "reset"), ""))
        left = int(text[:9])
        if seconds is None or (left and counted not in _REQUESTS):
            continue
        if tightest is None or left < tightest.calls:
            tightest = Quota(left, seconds)
    return tightest


def _seconds(text: str) -> float | None:
    """Seconds from now: a number, a duration such as `6m0s`, a time since 1970, or a date."""
    text = text.strip()
    try:
        seconds = float(text)
    except ValueError:
        parts = _DURATION.findall(text)
        if parts and not _DURATION.sub("", text):
            return sum(float(number) * _SECONDS[unit] for number, unit in parts)
        return _seconds_until(text)
    if seconds > _EPOCH:
        seconds -= time.time()
    return seconds if 0 <= seconds < math.inf else None


def _seconds_until(date: str) -> float | None:
    """Seconds until a date of RFC 9110 or RFC 3339; 0 for one that has passed."""
    for parse in (email.utils.parsedate_to_datetime, datetime.fromisoformat):
        with suppress(ValueError, TypeError, OverflowError):
            return max(0.0, parse(date).timestamp() - time.time())
    return None
