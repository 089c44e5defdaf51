"""Reads the headers in which a host announces pauses and rate limits."""

import email.utils
import math
import re
import time
from contextlib import suppress
from datetime import datetime

from gradegate.http.pacing import Quota
from gradegate.structs import NamedTexts

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_EPOCH = 1e9  # a larger number is a time since 1970, not seconds from now
_CALL_LIMITS = ("", "requests")  # names of limits that count calls


def parse_pause(headers: NamedTexts) -> float | None:
    """Seconds that a host asks to wait, or None if it says nothing readable.

    ``retry-after-ms`` has milliseconds, ``Retry-After`` seconds or a date (RFC 9110 section 10.2.3).
    """
    seconds = _parse_seconds(headers.get("retry-after-ms", "") + "ms")
    if seconds is None:
        return _parse_seconds(headers.get("retry-after", ""))
    return seconds


def parse_quota(headers: NamedTexts) -> Quota | None:
    """How many more calls a host takes, by its tightest limit: ``x-ratelimit-remaining-requests`` and the like.

    A limit that does not count calls, but tokens for example, matters only when it is used up.
    """
    tightest = None
    for name, text in headers.items():
        if "ratelimit" not in name or "remaining" not in name or not text.isdecimal():
            continue
        limit = name.partition("ratelimit")[2].replace("remaining", "").strip("-")
        seconds = _parse_seconds(headers.get(name.replace("remaining", "reset"), ""))
        remaining = int(text[:9])
        if seconds is None or (remaining and limit not in _CALL_LIMITS):
            continue
        if tightest is None or remaining < tightest.calls:
            tightest = Quota(remaining, seconds)
    return tightest


def _parse_seconds(text: str) -> float | None:
    """Seconds from now: a number, a duration such as `6m0s`, a time since 1970, or a date."""
    text = text.strip()
    try:
        seconds = float(text)
    except ValueError:
        durations = _DURATION.findall(text)
        if durations and not _DURATION.sub("", text):
            return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in durations)
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
