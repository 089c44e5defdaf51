"""A vendor's short-lived token for the identity that GitHub gives a job, so that no key has to be kept.

The identity token: https://docs.github.com/actions/reference/security/oidc, the exchanges RFC 8693 and RFC 7523. The
runner gives a job with ``permissions: id-token: write`` an address and a token to ask with; pull requests of forks get neither.
Which account is asked for is said by variables of the workflow, never by a config, which a pull request may write.
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
from gradegate.providers.api.provider import Setting, secret
from gradegate.security.environment import Environment, Use
from gradegate.security.hosts import host_at
from gradegate.security.redaction import excerpt, redactor, remember
from gradegate.security.vendors import Vendor
from gradegate.structs import FrozenStruct, JsonObject, NamedTexts

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
JWT = "urn:ietf:params:oauth:token-type:jwt"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ADDRESS = "ACTIONS_ID_TOKEN_REQUEST_URL"
REQUESTS = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
MOST_REPLY, MOST_TOKEN = 65_536, 16_384  # characters; a token has one or two thousand
# That the next request would meet, too; 408 and 429 pass, as the client knows
_REFUSALS = range(300, 500)
_PASSING = (408, 425, 429)
_TOKEN = re.compile(rf"[\x21-\x7e]{{8,{MOST_TOKEN}}}")
_ID = re.compile(r"[\w.:@/+-]{1,300}", re.ASCII)
# What rules of vendors look at, and no secret
_CLAIMS = ("sub", "aud", "environment", "job_workflow_ref")


class Federation(FrozenStruct):
    """How one vendor takes GitHub's identity token for a token of its own, which ``own`` hosts alone are sent.

    ``ids`` and ``optional`` map fields of the exchange to the variables of the workflow that fill them; one that ``url`` names in
    braces goes there.
    """

    vendor: str  # as messages name it
    url: str
    own: Vendor
    grant: NamedTexts
    subject: str  # the field for GitHub's token
    ids: NamedTexts
    audience: str
    audience_variable: str = ""
    optional: NamedTexts = {}
    headers: NamedTexts = {}
    form: bool = False  # it is sent as a form, not as JSON

    def credential(
        self,
        setting: Setting,
        url: str,
        keys: Sequence[str],
        *,
        header: str = "Authorization",
        needed: bool = True,
    ) -> Credential:
        """The fixed key of the config or of the variables ``keys``, which goes into a header, else a token for calls to an address.

        The token is minted at the first call. Where neither is set up, nor ``needed``, nobody signs in. Raises ConfigError.
        """
        if key := secret(setting, *keys):
            return FixedKey(key, header)
        env = setting.env
        values = {
            name: env.workflow(name).strip()
            for name in (*self.ids.values(), *self.optional.values())
        }
        named = any(values[name] for name in self.ids.values())
        own = self.own.serves(url)
        if not needed and not (named and own):
            return NO_CREDENTIAL
        static = f"set {keys[0]}, or `apiKey` or `apiKeyEnvar` in its config"
        if not named:
            cure = f"{static}; or have GitHub's identity sign in: {' and '.join(self.ids.values())} (docs/sign-in.md)"
            raise setting.keyless("", cure, str(setting.config.get("apiKeyEnvar") or keys[0]))
        if not own:
            raise strayed(setting, f"tokens of {self.vendor} go", url, static)
        missing = [name for name in self.ids.values() if not values[name]]
        if missing:
            raise setting.keyless(
                f"{' and '.join(missing)} is not set", f"set it, or {static}", missing[0]
            )
        strange = [name for name, value in values.items() if value and not _ID.fullmatch(value)]
        if strange:
            raise setting.keyless(
                f"{strange[0]} is not an identifier", "copy it from the vendor's settings"
            )
        check_identity(setting, static)
        setting.uses.update(map(Use, self.ids.values()))
        return setting.client.tokens.for_account(
            (self.url, *values.values()), lambda: self._mint(setting.client, env, values)
        )

    def _mint(self, client: Client, env: Environment, values: NamedTexts) -> Token:
        audience = env.workflow(self.audience_variable) or self.audience
        ours = identity_token(client, env, audience)
        fields = {
            name: values[variable]
            for name, variable in {**self.ids, **self.optional}.items()
            if values[variable]
        }
        url = self.url
        for name in [name for name in fields if f"{{{name}}}" in url]:
            url = url.replace(f"{{{name}}}", quote(fields.pop(name), safe=""))
        body = {**self.grant, **fields}
        subject = {self.subject: ours}
        headers = {**(FORM if self.form else {}), **self.headers}
        what = f"no token from {self.vendor} for GitHub's identity"
        answer = asked(client, "POST", url, what, headers=headers, body=body, secret=subject)
        names = ", ".join((*self.ids.values(), *self.optional.values()))
        variable = f" ({self.audience_variable})" if self.audience_variable else ""
        cure = f"check {names} and the audience {audience}{variable} against the vendor's rule{claims(ours)}"
        content = read(answer, what, cure, (ours, env.workflow(REQUESTS)))
        return granted(content, what, answer.host)


def strayed(setting: Setting, what: str, url: str, cure: str) -> ConfigError:
    """A credential that would leave its vendor; the address is shown without a user name and password."""
    scheme, mark, rest = url.rpartition("://")
    return setting.keyless(
        f"{what} to its own API alone, not to {excerpt(scheme + mark + rest.rpartition('@')[2], 200)}",
        cure,
    )


def check_identity(setting: Setting, otherwise: str) -> None:
    """Raises ConfigError where the job may ask for no identity token."""
    address = setting.env.workflow(ADDRESS)
    if not address or not setting.env.workflow(REQUESTS):
        cure = f"give the job `permissions: id-token: write` (pull requests of forks get none), or {otherwise}"
        raise setting.keyless("the job has no identity token", cure, REQUESTS)
    if not address.startswith("https://") or host_at(address) is None:
        raise setting.keyless(f"{ADDRESS} is not an https address", otherwise)


def identity_token(client: Client, env: Environment, audience: str) -> str:
    """GitHub's token for an audience. Raises ProviderError."""
    address = env.workflow(ADDRESS)
    ask = env.workflow(REQUESTS)
    url = f"{address}{'&' if '?' in address else '?'}audience={quote(audience, safe='')}"
    what = "no identity token from GitHub"
    key = FixedKey(f"bearer {ask}", "authorization")  # as GitHub documents it
    answer = asked(client, "GET", url, what, headers={}, credential=key)
    token = read(answer, what, "give the job `permissions: id-token: write`", (ask,)).get("value")
    if not isinstance(token, str) or not _TOKEN.fullmatch(token) or token.count(".") != 2:
        raise ProviderError(f"{what}: {answer.host} answered without one")
    remember(token)
    return token


def claims(token: str) -> str:
    """What rules of vendors look at in a token, as words; empty for one that cannot be read."""
    middle = token.split(".")[1]
    try:
        content = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
        shown_claims = [
            f"`{name}` {excerpt(str(content[name]), 200)}" for name in _CLAIMS if content.get(name)
        ]
    except (ValueError, RecursionError, AttributeError):
        return ""
    return f"; GitHub's token says {', '.join(shown_claims)}" if shown_claims else ""


def asked(client: Client, method: str, url: str, what: str, **request: Any) -> Response:
    """The answer of a token endpoint to ``Client.sign_in``. Raises ProviderError, without a status: it is not the call's own."""
    try:
        return client.sign_in(method, url, **request)
    except ProviderError as e:
        raise ProviderError(f"{what}: {e}", e.trouble) from e


def read(answer: Response, what: str, cure: str, secrets: Iterable[str]) -> JsonObject:
    """The JSON object of a token endpoint. Raises ProviderError, in whose message none of the ``secrets`` is."""
    problem = ""
    trouble = Trouble.MALFORMED
    content: Any = None
    if 300 <= answer.status < 400:
        problem = "it redirects, which is not followed"
        trouble = Trouble.SETUP
    elif len(answer.body) > MOST_REPLY:
        problem = f"{len(answer.body):,} bytes, which is not a token"
    else:
        try:
            content = answer.json()
        except ProviderError:
            problem = "something that is not JSON"
    if not answer.is_success:
        lasting = answer.status in _REFUSALS and answer.status not in _PASSING
        trouble = Trouble.SETUP if lasting else Trouble.STATUS
        # The words of an error, as OAuth and as APIs write them.
        error = content.get("error", content) if isinstance(content, dict) else content
        inside = error if isinstance(error, dict) else content if isinstance(content, dict) else {}
        parts = [
            error if isinstance(error, str) else "",
            *(inside.get(key) for key in ("code", "message", "error_description")),
        ]
        words = [
            " ".join(str(part).split()) for part in parts if isinstance(part, str | int) and part
        ]
        problem = problem or redactor(secrets)(
            excerpt(": ".join(dict.fromkeys(words)) or "no reason given", 400)
        )
        raise ProviderError(
            f"{what}: {answer.host} answered {answer.status}: {problem} -> {cure}",
            trouble,
            asked=answer.host,
        )
    if not problem and not isinstance(content, dict):
        problem = "no JSON object"
    if problem:
        raise ProviderError(f"{what}: {answer.host} answered {problem}", trouble)
    return dict(content)


def granted(content: JsonObject, what: str, host: str) -> Token:
    """The token of an OAuth answer, RFC 6749 section 5.1. Raises ProviderError."""
    text = content.get("access_token")
    kind = content.get("token_type", "Bearer")
    if not isinstance(text, str) or not _TOKEN.fullmatch(text) or str(kind).lower() != "bearer":
        raise ProviderError(f"{what}: {host} answered without a bearer token")
    remember(text)
    try:
        return Token(text, parse_lifetime(content.get("expires_in")))
    except ProviderError as e:
        raise ProviderError(f"{what}: {host}: {e}", e.trouble) from e


# --- Google's ---------------------------------------------------------------------------------------------------

# The file that google-github-actions/auth writes is an ``external_account`` of https://google.aip.dev/auth/4117, as the ``google-auth``
# package 2.62 reads it: GitHub's token becomes a federated one at
# https://cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token, and that one of a service account, where the file names any, at
# https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken. A pull request can write
# files: what this one says is followed to Google's own hosts alone, and GitHub's token comes from the runner's own address.
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
_LARGEST = 65_536  # bytes
_SECONDS = range(600, 43_201)
_SIGN_IN = "let google-github-actions/auth sign the job in with `workload_identity_provider` (docs/sign-in.md)"


class ExternalAccount(FrozenStruct):
    """What the file says, as far as it is followed."""

    audience: str  # of the federated token: the provider of a pool
    ours: str  # of GitHub's token
    # Where a token of a service account comes from; empty where the federated one is used
    account: str = ""
    seconds: int = 3600

    def mint(self, client: Client, env: Environment) -> Token:
        """Raises ProviderError."""
        ours = identity_token(client, env, self.ours)
        secrets = (ours, env.workflow(REQUESTS))
        what = "no token from Google for GitHub's identity"
        cure = f"check the pool's provider{claims(ours)}"
        asks = {
            "grant_type": EXCHANGE,
            "audience": self.audience,
            "scope": IMPERSONATE if self.account else SCOPE,  # no more than is needed
            "requested_token_type": _ACCESS,
            "subject_token_type": JWT,
        }
        answer = asked(
            client, "POST", STS, what, headers=FORM, body=asks, secret={"subject_token": ours}
        )
        federated = granted(read(answer, what, cure, secrets), what, answer.host)
        if not self.account:
            return federated
        what = "no token of the service account"
        cure = "grant the job's principal `roles/iam.workloadIdentityUser` on it"
        body = {"delegates": None, "scope": [SCOPE], "lifetime": f"{self.seconds}s"}
        answer = asked(
            client,
            "POST",
            self.account,
            what,
            headers={},
            body=body,
            credential=FixedKey(federated.text),
        )
        content = read(answer, what, cure, (*secrets, federated.text))
        # The token of a service account in OAuth's words. Its end is a time of day: what is left is told by the answer's own clock.
        seconds_left: float | None = None
        try:
            end = datetime.fromisoformat(str(content.get("expireTime")))
            seconds_left = (
                end - email.utils.parsedate_to_datetime(answer.headers.get("date", ""))
            ).total_seconds()
        except (ValueError, TypeError) as e:
            raise ProviderError(
                f"no token of the service account: {answer.host} does not say when it ends"
            ) from e
        token_reply = {"access_token": content.get("accessToken"), "expires_in": seconds_left}
        return granted(token_reply, what, answer.host)


def access_token(setting: Setting) -> Credential:
    """The token that the workflow gives, or the one that its file leads to. Raises ConfigError."""
    workflow_token = next(filter(None, (setting.key(name).strip() for name in ACCESS_TOKENS)), "")
    if workflow_token:
        return FixedKey(workflow_token)
    path = setting.env.workflow(FILE).strip()
    if not path:
        raise setting.keyless(
            "",
            f"{_SIGN_IN}, or set {ACCESS_TOKENS[0]} to its output `access_token`",
            ACCESS_TOKENS[0],
        )
    check_identity(setting, f"set {ACCESS_TOKENS[0]}")
    try:
        with Path(path).open("rb") as file:
            content = json.loads(file.read(_LARGEST))
    except OSError as e:
        raise _wrong(f"the file of {FILE} cannot be read ({e.strerror})", setting) from e
    except (ValueError, RecursionError) as e:
        raise _wrong(f"the file of {FILE} is not JSON", setting) from e
    if not isinstance(content, dict):
        raise _wrong(f"the file of {FILE} is not a JSON object", setting)
    kind = content.get("type")
    source = content.get("credential_source")
    if kind == "service_account":
        raise _wrong(
            f"{FILE} is a key of a service account, which gradegate never uses, because it would have to be stored",
            setting,
        )
    if (
        kind != "external_account"
        or not isinstance(source, dict)
        or not isinstance(source.get("url"), str)
    ):
        raise _wrong(f"{FILE} is not a file of google-github-actions/auth", setting)
    audience = content.get("audience")
    account = content.get("service_account_impersonation_url") or ""
    if (
        content.get("token_url") != STS
        or not _AUDIENCE.fullmatch(str(audience))
        or not (account == "" or _ACCOUNT.fullmatch(str(account)))
    ):
        raise _wrong(f"{FILE} names an address for tokens that is not Google's", setting)
    runner = host_at(setting.env.workflow(ADDRESS))
    named = host_at(source["url"])
    if named is None or named != runner:
        raise _wrong(f"{FILE} takes GitHub's token from an address that is not this job's", setting)
    ours = parse_qs(urlsplit(source["url"]).query).get("audience", [f"https:{audience}"])[-1]
    impersonation = content.get("service_account_impersonation")
    seconds = (
        impersonation.get("token_lifetime_seconds") if isinstance(impersonation, dict) else None
    )
    lifetime = seconds if isinstance(seconds, int) and seconds in _SECONDS else 3600
    external = ExternalAccount(str(audience), ours, account, lifetime)
    setting.uses.add(Use(FILE))
    return setting.client.tokens.for_account(
        external, lambda: external.mint(setting.client, setting.env)
    )


def _wrong(what: str, setting: Setting) -> ConfigError:
    return setting.keyless(what, _SIGN_IN)
