"""The REST client for GitHub: sends requests, repeats those that may succeed later, and explains refusals.

A request raises ``RetryableError`` if repeating it may help; ``retry_requests`` repeats it. Any other failure is a ``GitHubError``.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

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
SECONDARY_PAUSE = 60.0  # seconds that GitHub asks for if it names no time
_REMAINING = "x-ratelimit-remaining"
INSTALLATION = "ghs_"  # GITHUB_TOKEN and the tokens of apps: GET /user is not for them


class User(BaseModel):
    """An account. ``type`` is "User" or "Bot"."""

    login: str
    id: int | None = None
    type: str = ""


class GitHubError(GradegateError):
    """GitHub refuses a request, and repeating it cannot help."""


class RetryableError(GradegateError):
    """Repeating a request may help: after ``exact`` seconds if GitHub names them, else after ``base`` seconds.

    ``base`` is doubled after each attempt.
    """

    def __init__(self, reason: str, base: float = 1.0, exact: float | None = None) -> None:
        super().__init__(reason)
        self.base = base
        self.exact = exact


@dataclass(frozen=True)
class GitHub:
    """Where and as whom to send requests. ``pause`` waits, so that a caller can shorten it."""

    client: Client
    token: str = field(repr=False)
    api: str = "https://api.github.com"
    graphql: str = "https://api.github.com/graphql"
    patience: float = PATIENCE
    pause: Callable[[float], object] = time.sleep

    def send(self, method: str, url: str, body: JsonObject | None = None) -> Response:
        """Send one request. Raises RetryableError for outages and rate limits, GitHubError if there is no answer at all."""
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self.token}",
            "X-GitHub-Api-Version": API_VERSION,
        }
        return self._send(method, url, headers, body, MAX_BODY)

    def download(self, url: str, max_bytes: int) -> bytes:
        """Read what a reply led to. The URL may be of another host, so it gets no token. Raises as ``send`` does."""
        return self._send("GET", url, {"Accept": "*/*"}, None, max_bytes).body

    def _send(
        self, method: str, url: str, headers: NamedTexts, body: JsonObject | None, max_bytes: int
    ) -> Response:
        """Send a request with these headers, and turn what may pass later into a RetryableError."""
        headers = {**headers, "User-Agent": f"gradegate/{__version__}"}
        try:
            answer = self.client.send(method, url, headers=headers, body=body, max_bytes=max_bytes)
        except ProviderError as e:
            if e.trouble in NO_ANSWER:
                raise RetryableError(str(e)) from e
            raise GitHubError(str(e)) from e
        if answer.status >= 500:
            raise RetryableError(f"{answer.host} is unavailable ({status_text(answer)})")
        if _is_rate_limited(answer):
            reason = f"GitHub's rate limit is used up ({error_text(answer)})"
            raise RetryableError(reason, SECONDARY_PAUSE, _seconds_to_wait(answer))
        return answer

    def read_json(self, url: str, subject: str, permissions: str) -> Any:
        """Read JSON. Raises RetryableError, and GitHubError with the ``permissions`` that a job needs for the ``subject``."""
        answer = self.send("GET", url)
        if answer.status != 200:
            raise GitHubError(explain_unreadable(answer, subject, permissions))
        return parse_json(answer)

    def list_items(
        self, url: str, subject: str, kind: str, explain: Callable[[Response], str]
    ) -> Iterator[Any]:
        """Yield the items of a list, page by page. Raises RetryableError and GitHubError.

        In errors, ``subject`` names the list and ``kind`` what an answer must be, such as "a list of comments". ``explain`` says
        why GitHub refused a page.
        """
        for page in range(1, MOST_PAGES + 1):
            answer = self.send("GET", f"{url}?per_page={PER_PAGE}&page={page}")
            if answer.status != 200:
                raise GitHubError(explain(answer))
            items = parse_json(answer)
            if not isinstance(items, list):
                raise GitHubError(f"{answer.host} answered something that is not {kind}")
            yield from items
            has_next_page = 'rel="next"' in answer.headers.get("link", "")
            if not has_next_page and len(items) < PER_PAGE:
                return
        raise GitHubError(f"{subject} has more than {MOST_PAGES} pages")


def connect(environ: NamedTexts, token: str, hurry: bool = False) -> GitHub:
    """GitHub as the runner names it. ``hurry``: the job is being cancelled, so nothing waits."""
    # No retries in the client: GitHub's rate limits have their own rules, and a blind second POST is a second comment.
    client = Client(timeout=5.0 if hurry else 30.0, retries=0, slots=1, environ=environ)
    api = environ.get("GITHUB_API_URL", "").rstrip("/") or GitHub.api
    graphql = environ.get("GITHUB_GRAPHQL_URL", "") or f"{api.removesuffix('/v3')}/graphql"
    return GitHub(client, token, api, graphql, patience=0.0 if hurry else PATIENCE)


def retry_requests(github: GitHub, request: Callable[[], T]) -> T:
    """Call ``request``, and call it again after a RetryableError while there is patience. Raises GitHubError."""
    patience = github.patience
    for attempt in range(ATTEMPTS):
        try:
            return request()
        except RetryableError as e:
            wait = e.base * 2**attempt if e.exact is None else e.exact
            if wait > patience or attempt == ATTEMPTS - 1:
                raise GitHubError(str(e)) from e
            patience -= wait
            github.pause(wait)
    raise AssertionError("the last attempt returns or raises")


def _is_rate_limited(answer: Response) -> bool:
    if answer.status != 403:
        return answer.status == 429
    if answer.headers.get(_REMAINING) == "0" or "retry-after" in answer.headers:
        return True
    return "rate limit" in error_text(answer).lower()


def _seconds_to_wait(answer: Response) -> float | None:
    """How long GitHub asks to wait: its ``retry-after``, or until a used-up limit is renewed. None if it names no time."""
    with suppress(ValueError, KeyError):
        headers = answer.headers
        if "retry-after" in headers:
            return max(0.0, float(headers["retry-after"]))
        if headers.get(_REMAINING) == "0":
            return max(0.0, float(headers["x-ratelimit-reset"]) - time.time())
    return None


def token_owner(github: GitHub, event: Event) -> User:
    """The account that the token belongs to. Raises GitHubError."""
    # GET /user knows the token of a person, GraphQL that of an app (GITHUB_TOKEN is one).
    read_owner = _read_person
    is_person = not github.token.startswith(INSTALLATION)
    if is_person:
        answer = github.send("GET", f"{github.api}/user")
    if not is_person or answer.status != 200:
        answer = github.send("POST", github.graphql, {"query": "{viewer{login}}"})
        read_owner = _read_app
    try:
        return read_owner(parse_json(answer))
    except (KeyError, TypeError):
        if answer.status == 401:
            raise GitHubError(explain_refusal(answer, event)) from None
        what = f"{answer.host} does not say whose token this is ({status_text(answer)})"
        raise GitHubError(what) from None


def _read_person(content: Any) -> User:
    return User(login=str(content["login"]), type=str(content["type"]))


def _read_app(content: Any) -> User:
    login = str(content["data"]["viewer"]["login"])
    return User(login=f"{login.removesuffix('[bot]')}[bot]", type="Bot")


def explain_refusal(answer: Response, event: Event) -> str:
    """Why GitHub refused to read or write a comment, and what to do about it."""
    reason = status_text(answer)
    if answer.status == 401:
        return f"GitHub does not accept the token ({reason}); check the input `github-token`"
    if answer.status not in (403, 404):
        return f"GitHub rejects the comment ({reason})"
    if event.outsider:
        return f"the pull request comes from {event.outsider}, so its token is read-only ({reason}); see the job summary instead"
    return f"the token may not comment on pull request {event.number} ({reason}); give the job `permissions: pull-requests: write`"


def explain_unreadable(answer: Response, subject: str, permissions: str) -> str:
    """Why GitHub did not let the ``subject`` be read, and the ``permissions`` that a job needs for it."""
    reason = status_text(answer)
    return f"{subject} cannot be read ({reason}); give the job `permissions: {permissions}`"


def parse_json(answer: Response) -> Any:
    """Parse the body of an answer. Raises GitHubError."""
    try:
        return answer.json()
    except ProviderError as e:
        raise GitHubError(str(e)) from e


def status_text(answer: Response) -> str:
    """The status of an answer, and GitHub's own words: ``404: Not Found``."""
    return f"{answer.status}: {error_text(answer)}"


def error_text(answer: Response) -> str:
    """GitHub's own words about an error in one short line."""
    try:
        content = answer.json()
    except ProviderError:
        content = None
    if not isinstance(content, dict):
        return "no reason given"
    texts = [content.get("message")]
    match content.get("errors"):
        case [{"message": message}, *_]:
            texts.append(message)
    text = ": ".join(str(text) for text in texts if text)
    return excerpt(" ".join(text.split()), 300) or "no reason given"
