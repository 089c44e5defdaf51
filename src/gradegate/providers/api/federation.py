"""A vendor's short-lived token for the identity that GitHub gives a job, so no key has to be stored.

The identity token: https://docs.github.com/actions/reference/security/oidc, the exchanges RFC 8693 and RFC 7523. The
runner gives a job with ``permissions: id-token: write`` an address and a token to ask with; pull requests of forks get neither.
Variables of the workflow name the account. A config never does, because a pull request may write it.
"""

import base64
import email.utils
import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from gradegate.errors import ConfigError, ProviderError, Trouble
from gradegate.http.client import Client
from gradegate.http.credentials import NO_CREDENTIAL, Credential, FixedKey
from gradegate.http.exchange import Response
from gradegate.http.tokens import Token, parse_lifetime
from gradegate.providers.api.chat_api import as_object
from gradegate.providers.api.provider import ProviderSetup, find_key
from gradegate.security.environment import Environment, VariableUse
from gradegate.security.hosts import host_at
from gradegate.security.redaction import excerpt, redact_from_now_on, redactor
from gradegate.security.vendors import Vendor
from gradegate.structs import FrozenStruct, JsonObject, NamedTexts

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
JWT = "urn:ietf:params:oauth:token-type:jwt"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ADDRESS = "ACTIONS_ID_TOKEN_REQUEST_URL"
REQUESTS = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
MOST_REPLY, MOST_TOKEN = 65_536, 16_384  # characters; a token has one or two thousand
# Statuses that the next request would meet, too, but for those that pass
_REFUSALS = range(300, 500)
_PASSING = (408, 425, 429)
_TOKEN = re.compile(rf"[\x21-\x7e]{{8,{MOST_TOKEN}}}")
_ID = re.compile(r"[\w.:@/+-]{1,300}", re.ASCII)
# Claims that rules of vendors check, and that are no secret
_CLAIMS = ("sub", "aud", "environment", "job_workflow_ref")


class Federation(FrozenStruct):
    """How a vendor exchanges GitHub's identity token for a token of its own, which only the hosts of ``token_hosts`` are sent.

    ``ids`` and ``optional`` are the variables of the workflow that fill fields of the exchange, by field. A field that ``url``
    names in braces goes there.
    """

    vendor: str  # as messages name it
    url: str
    token_hosts: Vendor
    grant: NamedTexts
    subject: str  # the field for GitHub's token
    ids: NamedTexts
    audience: str
    audience_variable: str = ""
    optional: NamedTexts = {}
    headers: NamedTexts = {}
    form: bool = False  # the exchange is sent as a form, not as JSON

    def credential(
        self,
        setup: ProviderSetup,
        url: str,
        keys: Sequence[str],
        *,
        header: str = "Authorization",
        needed: bool = True,
    ) -> Credential:
        """The fixed key of the config or of the variables ``keys``, else a token for requests to an address.

        The key goes into the ``header``. The token is minted at the first call. If neither is set up, nor ``needed``, there is
        no credential. Raises ConfigError.
        """
        key = find_key(setup, *keys)
        if key:
            return FixedKey(key, header)

        env = setup.env
        values = {
            name: env.read_from_workflow(name).strip()
            for name in (*self.ids.values(), *self.optional.values())
        }
        is_set_up = any(values[name] for name in self.ids.values())
        is_own_host = self.token_hosts.may_get_token(url)
        if not needed and not (is_set_up and is_own_host):
            return NO_CREDENTIAL

        static = f"set {keys[0]}, or `apiKey` or `apiKeyEnvar` in its config"
        if not is_set_up:
            cure = f"{static}; or have GitHub's identity sign in: {' and '.join(self.ids.values())} (docs/keys.md)"
            raise setup.keyless("", cure, str(setup.config.get("apiKeyEnvar") or keys[0]))
        if not is_own_host:
            raise wrong_host_mistake(setup, f"tokens of {self.vendor} go", url, static)
        missing = [name for name in self.ids.values() if not values[name]]
        if missing:
            raise setup.keyless(
                f"{' and '.join(missing)} is not set", f"set it, or {static}", missing[0]
            )
        for name, value in values.items():
            if value and not _ID.fullmatch(value):
                raise setup.keyless(
                    f"{name} is not an identifier", "copy it from the vendor's settings"
                )

        check_identity(setup, static)
        setup.uses.update(map(VariableUse, self.ids.values()))
        return setup.client.tokens.for_account(
            (self.url, *values.values()), lambda: self._mint(setup.client, env, values)
        )

    def _mint(self, client: Client, env: Environment, values: NamedTexts) -> Token:
        """Exchange GitHub's token for the vendor's; ``values`` are those of the variables. Raises ProviderError."""
        audience = env.read_from_workflow(self.audience_variable) or self.audience
        github_token = identity_token(client, env, audience)

        variables = {**self.ids, **self.optional}
        url = self.url
        body = dict(self.grant)
        for name, variable in variables.items():
            value = values[variable]
            if not value:
                continue
            if f"{{{name}}}" in url:
                url = url.replace(f"{{{name}}}", quote(value, safe=""))
            else:
                body[name] = value

        failure = f"no token from {self.vendor} for GitHub's identity"
        headers = {**(FORM if self.form else {}), **self.headers}
        secret = {self.subject: github_token}
        answer = call_endpoint(
            client, "POST", url, failure, headers=headers, body=body, secret=secret
        )

        names = ", ".join(variables.values())
        source = f" ({self.audience_variable})" if self.audience_variable else ""
        claims = describe_claims(github_token)
        cure = (
            f"check {names} and the audience {audience}{source} against the vendor's rule{claims}"
        )
        content = read_reply(
            answer, failure, cure, (github_token, env.read_from_workflow(REQUESTS))
        )
        return parse_token(content, failure, answer.host)


def wrong_host_mistake(setup: ProviderSetup, failure: str, url: str, cure: str) -> ConfigError:
    """A credential that would leave its vendor; the address is shown without a user name and password."""
    scheme, separator, rest = url.rpartition("://")
    shown = excerpt(scheme + separator + rest.rpartition("@")[2], 200)
    return setup.keyless(f"{failure} to its own API alone, not to {shown}", cure)


def check_identity(setup: ProviderSetup, otherwise: str) -> None:
    """Raises ConfigError if the job may not ask for an identity token."""
    address = setup.env.read_from_workflow(ADDRESS)
    if not address or not setup.env.read_from_workflow(REQUESTS):
        cure = f"give the job `permissions: id-token: write` (pull requests of forks get none), or {otherwise}"
        raise setup.keyless("the job has no identity token", cure, REQUESTS)
    if not address.startswith("https://") or host_at(address) is None:
        raise setup.keyless(f"{ADDRESS} is not an https address", otherwise)


def identity_token(client: Client, env: Environment, audience: str) -> str:
    """GitHub's token for an audience. Raises ProviderError."""
    address = env.read_from_workflow(ADDRESS)
    ask = env.read_from_workflow(REQUESTS)
    url = f"{address}{'&' if '?' in address else '?'}audience={quote(audience, safe='')}"
    failure = "no identity token from GitHub"
    key = FixedKey(f"bearer {ask}", "authorization")  # as GitHub documents it
    answer = call_endpoint(client, "GET", url, failure, headers={}, credential=key)
    token = read_reply(answer, failure, "give the job `permissions: id-token: write`", (ask,)).get(
        "value"
    )
    if not isinstance(token, str) or not _TOKEN.fullmatch(token) or token.count(".") != 2:
        raise ProviderError(f"{failure}: {answer.host} answered without one")
    redact_from_now_on(token)
    return token


def describe_claims(token: str) -> str:
    """What rules of vendors check in a token, as words; empty for a token that cannot be read."""
    middle = token.split(".")[1]
    try:
        content = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
        claims = [
            f"`{name}` {excerpt(str(content[name]), 200)}" for name in _CLAIMS if content.get(name)
        ]
    except (ValueError, RecursionError, AttributeError):
        return ""
    return f"; GitHub's token says {', '.join(claims)}" if claims else ""


def call_endpoint(client: Client, method: str, url: str, failure: str, **request: Any) -> Response:
    """The answer of a token endpoint to ``Client.sign_in``. Raises ProviderError without a status, which would be the call's own."""
    try:
        return client.sign_in(method, url, **request)
    except ProviderError as e:
        raise ProviderError(f"{failure}: {e}", e.trouble) from e


def read_reply(answer: Response, failure: str, cure: str, secrets: Iterable[str]) -> JsonObject:
    """The JSON object of a token endpoint. Raises ProviderError, in whose message none of the ``secrets`` is."""
    problem = ""
    content: Any = None
    if 300 <= answer.status < 400:
        problem = "it redirects, which is not followed"
    elif len(answer.body) > MOST_REPLY:
        problem = f"{len(answer.body):,} bytes, which is not a token"
    else:
        try:
            content = answer.json()
        except ProviderError:
            problem = "something that is not JSON"

    if not answer.is_success:
        is_lasting = answer.status in _REFUSALS and answer.status not in _PASSING
        if not problem:
            problem = redactor(secrets)(excerpt(_error_words(content), 400))
        raise ProviderError(
            f"{failure}: {answer.host} answered {answer.status}: {problem} -> {cure}",
            Trouble.SETUP if is_lasting else Trouble.STATUS,
            refusing_model=answer.host,
        )
    if not problem and not isinstance(content, dict):
        problem = "no JSON object"
    if problem:
        raise ProviderError(f"{failure}: {answer.host} answered {problem}", Trouble.MALFORMED)
    return dict(content)


def _error_words(content: Any) -> str:
    """The words of an error: OAuth's ``{"error": CODE, "error_description"}``, an API's ``{"error": {"code", "message"}}``, or a text."""
    error = as_object(content).get("error")
    details = error if isinstance(error, dict) else as_object(content)

    parts = [part for part in (content, error) if isinstance(part, str)]
    for key in ("code", "message", "error_description"):
        value = details.get(key)
        if value and isinstance(value, str | int):
            parts.append(str(value))
    lines = [" ".join(part.split()) for part in parts if part]
    return ": ".join(dict.fromkeys(lines)) or "no reason given"


def parse_token(content: JsonObject, failure: str, host: str) -> Token:
    """The token of an OAuth answer, RFC 6749 section 5.1. Raises ProviderError."""
    text = content.get("access_token")
    kind = content.get("token_type", "Bearer")
    if not isinstance(text, str) or not _TOKEN.fullmatch(text) or str(kind).lower() != "bearer":
        raise ProviderError(f"{failure}: {host} answered without a bearer token")
    redact_from_now_on(text)
    try:
        return Token(text, parse_lifetime(content.get("expires_in")))
    except ProviderError as e:
        raise ProviderError(f"{failure}: {host}: {e}", e.trouble) from e


# --- Google's ---------------------------------------------------------------------------------------------------

# The file that google-github-actions/auth writes is an ``external_account`` of https://google.aip.dev/auth/4117. It is read as the
# ``google-auth`` package 2.62 reads it:
# 1. GitHub's token is exchanged for a federated token:
#    https://cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token
# 2. If the file names a service account, that token is exchanged for a token of the account:
#    https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken
# A pull request can write files. So this file is followed only to Google's own hosts, and GitHub's token comes only from the address
# of the runner.
FILE = "GOOGLE_APPLICATION_CREDENTIALS"
ACCESS_TOKENS = ("GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN")
STS = "https://sts.googleapis.com/v1/token"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
IMPERSONATE = "https://www.googleapis.com/auth/iam"
_ACCESS = "urn:ietf:params:oauth:token-type:access_token"
_ACCOUNT = re.compile(
    r"https://iamcredentials\.googleapis\.com/v1/projects/-/serviceAccounts/[\w.@-]{1,200}:generateAccessToken",
    re.ASCII,
)
_AUDIENCE = re.compile(r"//iam\.googleapis\.com/[\w./-]{1,500}", re.ASCII)
_MAX_FILE = 65_536  # bytes
_LIFETIMES = range(600, 43_201)  # seconds
_SIGN_IN = "let google-github-actions/auth sign the job in with `workload_identity_provider` (docs/keys.md)"


class ExternalAccount(FrozenStruct):
    """What the file says, as far as it is followed."""

    audience: str  # of the federated token: the provider of a pool
    github_audience: str  # of GitHub's token
    # Where a token of a service account comes from; empty if the federated token is used
    account_url: str = ""
    seconds: int = 3600

    def mint(self, client: Client, env: Environment) -> Token:
        """Raises ProviderError."""
        github_token = identity_token(client, env, self.github_audience)
        secrets = (github_token, env.read_from_workflow(REQUESTS))
        failure = "no token from Google for GitHub's identity"
        body = {
            "grant_type": EXCHANGE,
            "audience": self.audience,
            "scope": IMPERSONATE if self.account_url else SCOPE,  # no more than is needed
            "requested_token_type": _ACCESS,
            "subject_token_type": JWT,
        }
        secret = {"subject_token": github_token}
        answer = call_endpoint(client, "POST", STS, failure, headers=FORM, body=body, secret=secret)
        cure = f"check the pool's provider{describe_claims(github_token)}"
        federated = parse_token(read_reply(answer, failure, cure, secrets), failure, answer.host)
        if not self.account_url:
            return federated
        return self._mint_for_account(client, federated, (*secrets, federated.text))

    def _mint_for_account(self, client: Client, federated: Token, secrets: Sequence[str]) -> Token:
        """Exchange a federated token for one of the service account. Raises ProviderError."""
        failure = "no token of the service account"
        answer = call_endpoint(
            client,
            "POST",
            self.account_url,
            failure,
            headers={},
            body={"delegates": None, "scope": [SCOPE], "lifetime": f"{self.seconds}s"},
            credential=FixedKey(federated.text),
        )
        cure = "grant the job's principal `roles/iam.workloadIdentityUser` on it"
        content = read_reply(answer, failure, cure, secrets)

        # The end of the token is a time of day. How long it lasts follows from the answer's own clock.
        try:
            end = datetime.fromisoformat(str(content.get("expireTime")))
            now = email.utils.parsedate_to_datetime(answer.headers.get("date", ""))
            seconds_left = (end - now).total_seconds()
        except (ValueError, TypeError) as e:
            raise ProviderError(f"{failure}: {answer.host} does not say when it ends") from e
        oauth = {"access_token": content.get("accessToken"), "expires_in": seconds_left}
        return parse_token(oauth, failure, answer.host)


def google_credential(setup: ProviderSetup) -> Credential:
    """The token that the workflow gives, or the one that its file leads to. Raises ConfigError."""
    for name in ACCESS_TOKENS:
        token = setup.key(name).strip()
        if token:
            return FixedKey(token)
    path = setup.env.read_from_workflow(FILE).strip()
    if not path:
        raise setup.keyless(
            "",
            f"{_SIGN_IN}, or set {ACCESS_TOKENS[0]} to its output `access_token`",
            ACCESS_TOKENS[0],
        )
    check_identity(setup, f"set {ACCESS_TOKENS[0]}")
    account = _read_account(path, setup)
    setup.uses.add(VariableUse(FILE))
    return setup.client.tokens.for_account(account, lambda: account.mint(setup.client, setup.env))


def _read_account(path: str, setup: ProviderSetup) -> ExternalAccount:
    """Read the file, and check that it leads to Google's hosts and this job only. Raises ConfigError."""
    try:
        with Path(path).open("rb") as file:
            content = json.loads(file.read(_MAX_FILE))
    except OSError as e:
        raise _wrong_file(f"the file of {FILE} cannot be read ({e.strerror})", setup) from e
    except (ValueError, RecursionError) as e:
        raise _wrong_file(f"the file of {FILE} is not JSON", setup) from e
    if not isinstance(content, dict):
        raise _wrong_file(f"the file of {FILE} is not a JSON object", setup)

    kind = content.get("type")
    source = content.get("credential_source")
    if kind == "service_account":
        raise _wrong_file(
            f"{FILE} is a key of a service account, which gradegate never uses, because it would have to be stored",
            setup,
        )
    url = source.get("url") if isinstance(source, dict) else None
    if kind != "external_account" or not isinstance(url, str):
        raise _wrong_file(f"{FILE} is not a file of google-github-actions/auth", setup)

    audience = str(content.get("audience"))
    account_url = content.get("service_account_impersonation_url") or ""
    if (
        content.get("token_url") != STS
        or not _AUDIENCE.fullmatch(audience)
        or not (account_url == "" or _ACCOUNT.fullmatch(str(account_url)))
    ):
        raise _wrong_file(f"{FILE} names an address for tokens that is not Google's", setup)
    host = host_at(url)
    if host is None or host != host_at(setup.env.read_from_workflow(ADDRESS)):
        raise _wrong_file(
            f"{FILE} takes GitHub's token from an address that is not this job's", setup
        )

    github_audience = parse_qs(urlsplit(url).query).get("audience", [f"https:{audience}"])[-1]
    impersonation = content.get("service_account_impersonation")
    seconds = None
    if isinstance(impersonation, dict):
        seconds = impersonation.get("token_lifetime_seconds")
    if not isinstance(seconds, int) or seconds not in _LIFETIMES:
        seconds = 3600
    return ExternalAccount(audience, github_audience, account_url, seconds)


def _wrong_file(failure: str, setup: ProviderSetup) -> ConfigError:
    return setup.keyless(failure, _SIGN_IN)
