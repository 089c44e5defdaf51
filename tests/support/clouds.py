"""Vendors' own hosts on loopback: a proxy that every request to them goes through, and that answers in their place over TLS.

So the rule that tokens go over https to the vendors' own hosts alone is met by tests, and not bent for them.
"""

import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import trustme

from support.each import fill_in_item, table
from support.loopback import JsonHandler, listening

IDENTITY = "https://pipelines.actions.example.com/abc/idtoken?api-version=2.0"
REQUEST_TOKEN = "runner-canary-0123456789"
RUNNER = {"ACTIONS_ID_TOKEN_REQUEST_URL": IDENTITY, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": REQUEST_TOKEN}
SUB = "repo:octo/app:environment:evals"


@dataclass
class Seen:
    """A request that came through the proxy, its body decoded from JSON or from a form."""

    host: str
    method: str
    path: str
    headers: dict[str, str]  # names in lower case
    body: Any

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.path).query))


Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]] | dict | bytes


@dataclass
class Clouds:
    """``reply`` gets a request and gives a body, (status, body), (status, body, headers) or raw bytes of a body."""

    reply: Callable[[Seen], Answer]
    seen: list[Seen] = field(default_factory=list)
    tunnels: list[str] = field(default_factory=list)  # every host that a connection was asked for
    lock: threading.Lock = field(default_factory=threading.Lock)

    def to(self, host: str) -> list[Seen]:
        return [request for request in self.seen if request.host == host]

    @property
    def hosts(self) -> list[str]:
        return [request.host for request in self.seen]


@cache
def authority() -> trustme.CA:
    return trustme.CA()


@cache
def context(host: str) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert(host).configure_cert(made)
    return made


class _Inside(JsonHandler):
    """What is asked inside a tunnel."""

    clouds: Clouds
    host: str
    date = ""

    def respond(self) -> None:
        raw, headers = self.read(), {name.lower(): text for name, text in self.headers.items()}
        body: Any = raw.decode()
        if raw and "json" in headers.get("content-type", ""):
            body = json.loads(raw)
        elif "form" in headers.get("content-type", ""):
            body = dict(parse_qsl(raw.decode()))
        seen = Seen(self.host, self.command, self.path, headers, body)
        with self.clouds.lock:
            self.clouds.seen.append(seen)
        answer = self.clouds.reply(seen)
        status, content, *more = answer if isinstance(answer, tuple) else (200, answer)
        headers = dict(*more)
        self.date = headers.pop("Date", "")
        self.answer(status, content, headers)

    def date_time_string(self, timestamp: float | None = None) -> str:
        return self.date or super().date_time_string(timestamp)


class _Proxy(JsonHandler):
    clouds: Clouds

    def do_CONNECT(self) -> None:  # noqa: N802  # the name that http.server looks for
        host = self.path.rpartition(":")[0]
        with self.clouds.lock:
            self.clouds.tunnels.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        # A client that goes away ends the tunnel, whatever was going on in it.
        with suppress(OSError), context(host).wrap_socket(self.connection, server_side=True) as secure:
            inside = type("Inside", (_Inside,), {"clouds": self.clouds, "host": host})
            inside(secure, self.client_address, self.server)
            secure.unwrap()


@contextmanager
def clouds(reply: Callable[[Seen], Answer]) -> Iterator[tuple[Clouds, int]]:
    """The fake with the port of its proxy."""
    fake = Clouds(reply)
    with listening(_Proxy, clouds=fake) as port:
        yield fake, port


def trust(folder: Path) -> str:
    """A file with the certificate that signs those of the hosts."""
    path = folder / "authority.pem"
    authority().cert_pem.write_to_path(path)
    return str(path)


@contextmanager
def job(monkeypatch: pytest.MonkeyPatch, folder: Path, reply: Callable[[Seen], Answer]) -> Iterator[Clouds]:
    """Every vendor's host, in the environment of a job on GitHub that may ask for an identity token."""
    with clouds(reply) as (fake, port):
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        settings = {
            **RUNNER,
            "HTTPS_PROXY": f"http://127.0.0.1:{port}",
            "https_proxy": f"http://127.0.0.1:{port}",
            "REQUESTS_CA_BUNDLE": trust(folder),
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": "pull_request",
        }
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        yield fake


# --- GitHub, and the endpoints for tokens -----------------------------------------------------------------------


def jwt(audience: str, sub: str = SUB, **more: Any) -> str:
    def part(value: dict) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    told = {"iss": "https://token.actions.githubusercontent.com", "sub": sub, "aud": audience, **more}
    return f"{part({'alg': 'RS256', 'typ': 'JWT'})}.{part(told)}.c2lnbmF0dXJlLWNhbmFyeQ"


def read_claims(token: str) -> dict:
    middle = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))


def github(seen: Seen) -> Answer:
    """What the runner's endpoint answers: it refuses who has not its token."""
    if seen.headers.get("authorization") != f"bearer {REQUEST_TOKEN}":
        return 401, {"message": "Unauthorized"}
    return {"value": jwt(seen.query["audience"])}


@dataclass(frozen=True)
class Endpoint:
    """A vendor's endpoint for tokens, which refuses whatever its documentation does."""

    host: str
    path: str
    body: dict[str, str]  # what it wants beside GitHub's token
    subject: str
    audience: str
    token: str
    form: bool = False
    beta: str = ""
    sub: str = SUB
    seconds: Any = 3600

    def __call__(self, seen: Seen) -> Answer:
        kind = "x-www-form-urlencoded" if self.form else "json"
        if (seen.method, seen.path) != ("POST", self.path) or kind not in seen.headers["content-type"]:
            return 404, {"error": "not_found"}
        if self.beta and set(self.beta.split(",")) - set(seen.headers.get("anthropic-beta", "").split(",")):
            return 400, {"error": {"type": "invalid_request_error", "message": "the beta is not named"}}
        ours = seen.body.get(self.subject, "")
        if {name: text for name, text in seen.body.items() if name != self.subject} != self.body or not ours:
            return 400, {"error": "invalid_request", "error_description": "a field is missing or wrong"}
        claims = read_claims(ours)
        if claims["aud"] != self.audience:
            return 401, {"error": "invalid_grant", "error_description": f"audience {claims['aud']} of {ours}"}
        if claims["sub"] != self.sub:
            return 401, {"error": "invalid_grant", "error_description": "no rule matches"}
        return {"access_token": self.token, "token_type": "Bearer", "expires_in": self.seconds}


EXCHANGE, JWT = "urn:ietf:params:oauth:grant-type:token-exchange", "urn:ietf:params:oauth:token-type:jwt"
ENDPOINTS = tuple(Endpoint(**row) for row in table(__file__, "ENDPOINTS"))
OPENAI, ANTHROPIC, OPENROUTER, ENTRA = ENDPOINTS
IDS = table(__file__, "IDS")


def world(*endpoints: Endpoint, answer: Callable[[Seen], Answer]) -> Callable[[Seen], Answer]:
    """GitHub, the endpoints for tokens, and ``answer`` for every other request."""

    def reply(seen: Seen) -> Answer:
        if seen.host == urlsplit(IDENTITY).hostname:
            return github(seen)
        found = [end for end in endpoints if (end.host, end.path) == (seen.host, seen.path)]
        return found[0](seen) if found else answer(seen)

    return reply


# --- Google ---------------------------------------------------------------------------------------------------

PROVIDER = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/github"
ACCOUNT = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/evals@p.iam.gserviceaccount.com:generateAccessToken"
FEDERATED, OF_ACCOUNT = "ya29.federated-canary-0123456789", "ya29.account-canary-0123456789"
_IMPERSONATE = "https://www.googleapis.com/auth/iam"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def google_file(account: str = ACCOUNT, **more: Any) -> dict:
    """What google-github-actions/auth writes."""
    asks = f"{IDENTITY}&audience=https%3A%2F%2Fiam.googleapis.com%2F{PROVIDER[21:].replace('/', '%2F')}"
    own = {"service_account_impersonation_url": account} if account else {}
    return {**fill_in_item(__file__, "google", asks=asks, provider=PROVIDER, jwt=JWT, token=REQUEST_TOKEN), **own, **more}


def google(seen: Seen) -> Answer | None:
    """The endpoints for tokens at Google, which refuse what their documentation does; None for other hosts."""
    if (seen.host, seen.path) == ("sts.googleapis.com", "/v1/token"):
        ours = seen.body.pop("subject_token", "")
        scope = seen.body.get("scope") if seen.body.get("scope") == _IMPERSONATE else _SCOPE
        wanted = {
            "grant_type": EXCHANGE, "audience": PROVIDER, "scope": scope, "subject_token_type": JWT,
            "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
        }  # fmt: skip
        if seen.body != wanted:
            return 400, {"error": "invalid_request", "error_description": "Invalid value for audience."}
        if read_claims(ours)["aud"] != f"https:{PROVIDER}":
            return 400, {"error": "invalid_grant", "error_description": "The audience in ID Token does not match."}
        return {"access_token": FEDERATED, "issued_token_type": wanted["requested_token_type"],
                "token_type": "Bearer", "expires_in": 3599}  # fmt: skip
    if seen.host == "iamcredentials.googleapis.com":
        if seen.headers["authorization"] != f"Bearer {FEDERATED}" or f"https://{seen.host}{seen.path}" != ACCOUNT:
            return 403, {"error": {"code": 403, "message": "Permission denied", "status": "PERMISSION_DENIED"}}
        if seen.body != {"delegates": None, "scope": [_SCOPE], "lifetime": "3600s"}:
            return 400, {"error": {"code": 400, "message": "Request contains an invalid argument."}}
        end = datetime.now(UTC) + timedelta(hours=1)
        return {"accessToken": OF_ACCOUNT, "expireTime": end.strftime("%Y-%m-%dT%H:%M:%SZ")}
    return None
