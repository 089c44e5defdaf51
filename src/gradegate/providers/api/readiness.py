"""Waits for an application that an earlier step started, so that a run does not begin before it listens."""

import re
import time
from collections.abc import Iterable, Sequence

from gradegate.core.options import parse_amount
from gradegate.errors import ConfigError, Mistake, ProviderError, Trouble
from gradegate.http.client import Client
from gradegate.security.hosts import explain_unreachable, host_at, is_metadata_service
from gradegate.structs import FrozenStruct, NamedTexts

DEFAULT_SECONDS = 60.0  # to wait if nothing is said
MAX_SECONDS = 3600.0
TRY_SECONDS = 10.0  # that one try may take
PAUSE_SECONDS = 0.25  # between two tries
NOT_IMPLEMENTED = 501  # whoever says so is there


class ReadyTarget(FrozenStruct):
    """An address that must answer within so many seconds."""

    url: str
    seconds: float = DEFAULT_SECONDS


def parse_targets(lines: Iterable[str], environ: NamedTexts) -> tuple[ReadyTarget, ...]:
    """The lines of ``ready``, each ``URL`` or ``URL SECONDS``. Raises ConfigError with every mistake."""
    targets = []
    mistakes = []
    for line in map(str.strip, lines):
        url, _, rest = line.partition(" ")
        seconds = parse_amount(rest.strip()) if rest.strip() else DEFAULT_SECONDS
        unreachable = explain_unreachable(url, environ)
        host = host_at(url)
        if host is None or seconds is None or seconds > MAX_SECONDS:
            # Without what may let somebody in: a user with a password, and a query.
            shown = re.sub(r"//[^/\s]*@", "//", re.sub(r"\?\S*", "", line))
            problem = f"`{shown}` in `ready` is not an address with seconds"
            cure = f"write an address and seconds up to {MAX_SECONDS:.0f}, such as http://127.0.0.1:8000/health 60"
            mistakes.append(Mistake(problem, None, cure))
        elif is_metadata_service(host.name):
            problem = f"`{host.name}` in `ready` is never called"
            mistakes.append(Mistake(problem, None, "write the address of your application"))
        elif unreachable:
            why, cure = unreachable
            mistakes.append(Mistake(f"`ready`: {why}", None, cure))
        else:
            targets.append(ReadyTarget(url, seconds))
    if mistakes:
        raise ConfigError(*mistakes)
    return tuple(targets)


def wait_until_ready(targets: Sequence[ReadyTarget], environ: NamedTexts) -> str:
    """Wait for each target in order, for any answer below 500, or 501.

    Returns why one is not there in time, or an empty string.
    """
    client = Client(timeout=TRY_SECONDS, retries=0, slots=1, environ=environ)
    for target in targets:
        problem = _wait_for(target, client)
        if problem:
            name = host_at(target.url) or target.url
            return f"{name} was not ready within {target.seconds:g} s (`ready`): {problem}"
    return ""


def _wait_for(target: ReadyTarget, client: Client) -> str:
    """Try a target until it answers; returns what was wrong last if it does not in time."""
    deadline = time.monotonic() + target.seconds
    while True:
        seconds_left = deadline - time.monotonic()
        timeout = max(min(seconds_left, TRY_SECONDS), 0.1)
        try:
            answer = client.send("GET", target.url, headers={}, timeout=timeout)
            if answer.status < 500 or answer.status == NOT_IMPLEMENTED:
                return ""
            problem = f"it answered {answer.status}"
        except ProviderError as e:
            problem = str(e)
            if e.trouble is Trouble.SETUP:  # more time does not help
                return problem
        if time.monotonic() + PAUSE_SECONDS >= deadline:
            return problem
        time.sleep(PAUSE_SECONDS)
