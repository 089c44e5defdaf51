"""Waits for an application that an earlier step started, so that a run does not begin before it listens."""

import re
import time
from collections.abc import Iterable, Sequence

from gradegate.core.options import parse_amount
from gradegate.errors import ConfigError, Mistake, ProviderError, Trouble
from gradegate.http.client import Client
from gradegate.security.hosts import host_at, refused, unreachable
from gradegate.structs import FrozenStruct, NamedTexts

SECONDS, MOST = 60.0, 3600.0  # to wait where nothing is said, and at most
NO_SUCH_METHOD = 501  # whoever says so is there
PAUSE, ONE_TRY = 0.25, 10.0  # seconds between two tries, and that one may take


class Ready(FrozenStruct):
    """An address that must answer within so many seconds."""

    url: str
    seconds: float = SECONDS


def read(lines: Iterable[str], environ: NamedTexts) -> tuple[Ready, ...]:
    """The lines of ``ready``, each ``URL`` or ``URL SECONDS``. Raises ConfigError with every mistake."""
    awaited = []
    mistakes = []
    for line in lines:
        url, _, rest = line.strip().partition(" ")
        seconds = parse_amount(rest.strip()) if rest.strip() else SECONDS
        nowhere = unreachable(url, environ)
        host = host_at(url)
        if host is None or seconds is None or seconds > MOST:
            cure = f"write an address and seconds up to {MOST:.0f}, such as http://127.0.0.1:8000/health 60"
            # Without what may let somebody in: a user with a password, and a query.
            shown = re.sub(r"//[^/\s]*@", "//", re.sub(r"\?\S*", "", line.strip()))
            mistakes.append(
                Mistake(f"`{shown}` in `ready` is not an address with seconds", None, cure)
            )
        elif refused(host.name):
            mistakes.append(
                Mistake(
                    f"`{host.name}` in `ready` is never called",
                    None,
                    "write the address of your application",
                )
            )
        elif nowhere:
            mistakes.append(Mistake(f"`ready`: {nowhere[0]}", None, nowhere[1]))
        else:
            awaited.append(Ready(url, seconds))
    if mistakes:
        raise ConfigError(*mistakes)
    return tuple(awaited)


def wait(awaited: Sequence[Ready], environ: NamedTexts) -> str:
    """Wait for each in order: for any answer below 500, or 501. Gives why one is not there in time, or an empty string."""
    client = Client(timeout=ONE_TRY, retries=0, slots=1, environ=environ)
    for ready in awaited:
        deadline = time.monotonic() + ready.seconds
        is_final = False
        while True:
            seconds_left = deadline - time.monotonic()
            try:
                answer = client.send(
                    "GET", ready.url, headers={}, timeout=max(min(seconds_left, ONE_TRY), 0.1)
                )
                if answer.status < 500 or answer.status == NO_SUCH_METHOD:
                    break
                problem = f"it answered {answer.status}"
            except ProviderError as e:
                problem, is_final = str(e), e.trouble is Trouble.SETUP  # no time helps
            if is_final or time.monotonic() + PAUSE >= deadline:
                return f"{host_at(ready.url) or ready.url} was not ready within {ready.seconds:g} s (`ready`): {problem}"
            time.sleep(PAUSE)
    return ""
