"""The REST client for GitHub: who we are, which answers are worth asking again, and what a refusal means."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gradegate import __version__
from gradegate.errors import NO_ANSWER, GradegateError, ProviderError
from gradegate.files.limits import MAX_BODY
from gradegate.http.client import Client
from gradegate.http.exchange import Response
from gradegate.security.event import Event
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject, NamedTexts

T = TypeVar("T")
API_VERSION = "2022-11-28"
PER_PAGE = 100
READ_RIGHTS = "pull-requests: read` or `write"  # of a token that reads a pull request
MOST_PAGES = 300
ATTEMPTS = 4
PATIENCE = 180.0  # seconds of waiting for a rate limit or an outage to pass, in all
SECONDARY_PAUSE = 60.0  # what GitHub asks for when it names no time
INSTALLATION = "ghs_"  # GITHUB_TOKEN and the tokens of apps: GET /user is not for them


class Never(GradegateError):
    """GitHub does not do it, and asking again cannot help."""


class Later(GradegateError):
    """Asking again may help: after ``exact`` seconds if GitHub named them, else after ``base``, doubled each time."""

    def __init__(self, reason: str, base: float = 1.0, exact: float | None = None) -> None:
        super().__init__(reason)
        self.base = base
        self.exact = exact


@dataclass(frozen=True)
class GitHub:
    """Where and as whom to ask. ``pause`` waits, so that a caller can cut it short."""

    client: Client
    token: str = field(repr=False)
    api: str = "https://api.github.com"
    graphql: str = "https://api.github.com/graphql"
    patience: float = PATIENCE
    pause: Callable[[float], object] = time.sleep

    def send(
        self, method: str, url: str, body: JsonObject | None = None, elsewhere: int = 0
    ) -> Response:
        """One request. Raises Later for outages and rate limits, Never when there is no answer at all.

        ``elsewhere``: how many bytes may come from where a reply led to, another host, which is given no token.
        """
        own = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self.token}",
            "X-GitHub-Api-Version": API_VERSION,
        }
        headers = {
            "Accept": "*/*",
            "User-Agent": f"gradegate/{__version__}",
            **({} if elsewhere else own),
        }
        try:
            answer = self.client.send(
                method, url, headers=headers, body=body, max_bytes=elsewhere or MAX_BODY
            )
        except ProviderError as e:
            passing = e.trouble in NO_ANSWER
            raise (Later(str(e)) if passing else Never(str(e))) from e
        if answer.status >= 500:
            raise Later(f"{answer.host} is unavailable ({answer.status}: {said(answer)})")
        spent = answer.headers.get("x-ratelimit-remaining") == "0"
        limited = answer.status == 403 and (
            spent or "retry-after" in answer.headers or "rate limit" in said(answer).lower()
        )
        if limited or answer.status == 429:
            exact = None  # seconds to wait, in GitHub's order: `retry-after`, else the reset of a spent budget
            with suppress(ValueError, KeyError):
                if "retry-after" in answer.headers:
                    exact = max(0.0, float(answer.headers["retry-after"]))
                elif spent:
                    exact = max(0.0, float(answer.headers["x-ratelimit-reset"]) - time.time())
            raise Later(f"GitHub's rate limit is used up ({said(answer)})", SECONDARY_PAUSE, exact)
        return answer

    def read_json(self, url: str, what: str, needs: str) -> Any:
        """What is at an address, as JSON. Raises Later, and Never as ``unreadable`` says it."""
        answer = self.send("GET", url)
        if answer.status != 200:
            raise Never(unreadable(answer, what, needs))
        return as_json(answer)

    def pages(
        self, url: str, what: str, kind: str, refusal: Callable[[Response], str]
    ) -> Iterator[Any]:
        """The items of a list. Raises Later, and Never for a list that cannot be read, for the reason that ``refusal`` gives."""
        for page in range(1, MOST_PAGES + 1):
            answer = self.send("GET", f"{url}?per_page={PER_PAGE}&page={page}")
            if answer.status != 200:
                raise Never(refusal(answer))
            items = as_json(answer)
            if not isinstance(items, list):
                raise Never(f"{answer.host} answered something that is not {kind}")
            yield from items
            if 'rel="next"' not in answer.headers.get("link", "") and len(items) < PER_PAGE:
                return
        raise Never(f"{what} has more than {MOST_PAGES} pages")


def connect(environ: NamedTexts, token: str, hurry: bool = False) -> GitHub:
    """GitHub as the runner names it. In a hurry (the job is being cancelled) nothing is waited for."""
    # No retries in the client: GitHub's rate limits have their own rules, and a blind second POST is a second comment.
    client = Client(timeout=5.0 if hurry else 30.0, retries=0, slots=1, environ=environ)
    api = environ.get("GITHUB_API_URL", "").rstrip("/") or GitHub.api
    graphql = environ.get("GITHUB_GRAPHQL_URL", "") or f"{api.removesuffix('/v3')}/graphql"
    return GitHub(client, token, api, graphql, patience=0.0 if hurry else PATIENCE)


def patiently(github: GitHub, ask: Callable[[], T]) -> T:
    """What ``ask`` gives, asked again where that may help. Raises Never."""
    left = github.patience
    for attempt in range(ATTEMPTS):
        try:
            return ask()
        except Later as e:
            wait = e.base * 2**attempt if e.exact is None else e.exact
            if wait > left or attempt == ATTEMPTS - 1:
                raise Never(str(e)) from e
            left -= wait
            github.pause(wait)
    raise AssertionError("the last attempt returns or raises")


def whoami(github: GitHub, event: Event) -> tuple[str, str]:
    """Whose token this is, "User" or "Bot": a person's by GET /user, an app's (also GITHUB_TOKEN's) by GraphQL. Raises Never."""
    try:
        if not github.token.startswith(INSTALLATION):
            answer = github.send("GET", f"{github.api}/user")
            if answer.status == 200:
                reply = as_json(answer)
                return str(reply["login"]), str(reply["type"])
        answer = github.send("POST", github.graphql, {"query": "{viewer{login}}"})
        login = str(as_json(answer)["data"]["viewer"]["login"])
    except (KeyError, TypeError):
        if answer.status == 401:
            raise Never(refusal(answer, event)) from None
        raise Never(
            f"{answer.host} does not say whose token this is ({answer.status}: {said(answer)})"
        ) from None
    return login.removesuffix("[bot]") + "[bot]", "Bot"


def refusal(answer: Response, event: Event) -> str:
    """Why GitHub refused to read or write a comment, and what to do about it."""
    words = f"{answer.status}: {said(answer)}"
    if answer.status == 401:
        return f"GitHub does not accept the token ({words}); check the input `github-token`"
    if answer.status not in (403, 404):
        return f"GitHub rejects the comment ({words})"
    if event.outsider:
        return f"the pull request comes from {event.outsider}, so its token is read-only ({words}); see the job summary instead"
    return f"the token may not comment on pull request {event.number} ({words}); give the job `permissions: pull-requests: write`"


def unreadable(answer: Response, what: str, needs: str) -> str:
    """Why GitHub did not let ``what`` be read, and the permissions that it ``needs``."""
    return f"{what} cannot be read ({answer.status}: {said(answer)}); give the job `permissions: {needs}`"


def as_json(answer: Response) -> Any:
    """The body as JSON. Raises Never."""
    try:
        return answer.json()
    except ProviderError as e:
        raise Never(str(e)) from e


def said(answer: Response) -> str:
    """GitHub's own words, as one short line."""
    try:
        value = answer.json()
    except ProviderError:
        value = None
    if not isinstance(value, dict):
        return "no reason given"
    errors = value.get("errors")
    first = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else {}
    words = ": ".join(str(part) for part in (value.get("message"), first.get("message")) if part)
    return excerpt(" ".join(words.split()), 300) or "no reason given"
