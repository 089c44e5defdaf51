"""A vendor's short-lived token for the identity that GitHub gives a job, so that no key has to be kept.

The identity token: https://docs.github.com/actions/reference/security/oidc, the exchanges RFC 8693 and RFC 7523. The
runner gives a job with ``permissions: id-token: write`` an address and a token to ask with; pull requests of forks get neither.
Which account is asked for is said by variables of the workflow, never by a config, which a pull request may write.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from gradegate.access.environment import Environment, Use
from gradegate.access.hiding import excerpt, redactor, remember
from gradegate.access.hosts import Vendor, host_at
from gradegate.asking.provider import Setting
from gradegate.errors import ConfigError, ProviderError, Trouble
from gradegate.http.client import Client
from gradegate.http.response import Response
from gradegate.http.tokens import Minted, Token, life

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
JWT = "urn:ietf:params:oauth:token-type:jwt"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ADDRESS, REQUESTS = "ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
MOST_REPLY, MOST_TOKEN = 65_536, 16_384  # characters; a token has one or two thousand
_REFUSALS = range(300, 500)  # that the next request would meet, too; 408 and 429 pass, as the client knows
_PASSING = (408, 425, 429)
_TOKEN = re.compile(rf"[\x21-\x7e]{{8,{MOST_TOKEN}}}")
_ID = re.compile(r"[\w.:@/+-]{1,300}", re.ASCII)
_CLAIMS = ("sub", "aud", "environment", "job_workflow_ref")  # what rules of vendors look at, and no secret


@dataclass(frozen=True, slots=True)
class Federation:
    """How one vendor takes GitHub's identity token for a token of its own, which ``own`` hosts alone are sent.

    ``ids`` and ``optional`` map fields of the exchange to the variables of the workflow that fill them; one that ``url`` names in
    braces goes there.
    """

    vendor: str  # as messages name it
    url: str
    own: Vendor
    grant: Mapping[str, str]
    subject: str  # the field for GitHub's token
    ids: Mapping[str, str]
    audience: str
    audience_variable: str = ""
    optional: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    form: bool = False  # it is sent as a form, not as JSON

    def token(self, setting: Setting, url: str, keys: Sequence[str], *, needed: bool) -> Minted | None:
        """The token for calls to an address; None where none is set up and none is ``needed``. Raises ConfigError.

        ``keys`` are the variables of static keys. Nothing is asked before the first call.
        """
        env = setting.env
        values = {name: env.workflow(name).strip() for name in (*self.ids.values(), *self.optional.values())}
        named, own = any(values[name] for name in self.ids.values()), self.own.serves(url)
        if not needed and not (named and own):
            return None
        static = f"set {keys[0]}, or `apiKey` or `apiKeyEnvar` in its config"
        if not named:
            cure = f"{static}; or have GitHub's identity sign in: {' and '.join(self.ids.values())} (docs/sign-in.md)"
            raise setting.keyless("", cure, str(setting.spec.config.get("apiKeyEnvar") or keys[0]))
        if not own:
            raise strayed(setting, f"tokens of {self.vendor} go", url, static)
        missing = [name for name in self.ids.values() if not values[name]]
        if missing:
            raise setting.keyless(f"{' and '.join(missing)} is not set", f"set it, or {static}", missing[0])
        strange = [name for name, value in values.items() if value and not _ID.fullmatch(value)]
        if strange:
            raise setting.keyless(f"{strange[0]} is not an identifier", "copy it from the vendor's settings")
        check_identity(setting, static)
        setting.uses.update(map(Use, self.ids.values()))
        return setting.client.tokens.of((self.url, *values.values()), lambda: self._mint(setting.client, env, values))

    def _mint(self, client: Client, env: Environment, values: Mapping[str, str]) -> Token:
        audience = env.workflow(self.audience_variable) or self.audience
        ours = identity_token(client, env, audience)
        fields = {name: values[variable] for name, variable in {**self.ids, **self.optional}.items() if values[variable]}
        url = self.url
        for name in [name for name in fields if f"{{{name}}}" in url]:
            url = url.replace(f"{{{name}}}", quote(fields.pop(name), safe=""))
        content, subject = {**self.grant, **fields}, {self.subject: ours}
        headers = {**(FORM if self.form else {}), **self.headers}
        what = f"no token from {self.vendor} for GitHub's identity"
        answer = asked(client, "POST", url, what, headers=headers, body=content, secret=subject)
        names = ", ".join((*self.ids.values(), *self.optional.values()))
        variable = f" ({self.audience_variable})" if self.audience_variable else ""
        cure = f"check {names} and the audience {audience}{variable} against the vendor's rule{claims(ours)}"
        return granted(answer, what, cure, (ours, env.workflow(REQUESTS)))


def strayed(setting: Setting, what: str, url: str, cure: str) -> ConfigError:
    """A credential that would leave its vendor; the address is shown without a user name and password."""
    scheme, mark, rest = url.rpartition("://")
    return setting.keyless(f"{what} to its own API alone, not to {excerpt(scheme + mark + rest.rpartition('@')[2], 200)}", cure)


# --- GitHub's token ---------------------------------------------------------------------------------------------


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
    address, ask = env.workflow(ADDRESS), env.workflow(REQUESTS)
    url = f"{address}{'&' if '?' in address else '?'}audience={quote(audience, safe='')}"
    what = "no identity token from GitHub"
    answer = asked(client, "GET", url, what, headers={}, credential={"Authorization": f"bearer {ask}"})
    token = read(answer, what, "give the job `permissions: id-token: write`", (ask,)).get("value")
    if not isinstance(token, str) or not _TOKEN.fullmatch(token) or token.count(".") != 2:
        raise ProviderError(f"{what}: {answer.host} answered without one", Trouble.MALFORMED)
    remember(token)
    return token


def claims(token: str) -> str:
    """What rules of vendors look at in a token, as words; empty for one that cannot be read."""
    middle = token.split(".")[1]
    try:
        told = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
        said = [f"`{name}` {excerpt(str(told[name]), 200)}" for name in _CLAIMS if told.get(name)]
    except (ValueError, RecursionError, AttributeError):
        return ""
    return f"; GitHub's token says {', '.join(said)}" if said else ""


# --- what all exchanges share -----------------------------------------------------------------------------------


def asked(client: Client, method: str, url: str, what: str, **request: Any) -> Response:
    """The answer of a token endpoint to ``Client.sign_in``. Raises ProviderError, without a status: it is not the call's own."""
    try:
        return client.sign_in(method, url, **request)
    except ProviderError as e:
        raise ProviderError(f"{what}: {e}", e.trouble) from e


def read(answer: Response, what: str, cure: str, secrets: Iterable[str]) -> dict[str, Any]:
    """The JSON object of a token endpoint. Raises ProviderError, in whose message none of the ``secrets`` is."""
    problem, trouble = "", Trouble.MALFORMED
    content: Any = None
    if 300 <= answer.status < 400:
        problem, trouble = "it redirects, which is not followed", Trouble.SETUP
    elif len(answer.body) > MOST_REPLY:
        problem = f"{len(answer.body):,} bytes, which is not a token"
    else:
        try:
            content = answer.json()
        except ProviderError:
            problem = "something that is not JSON"
    if not 200 <= answer.status < 300:
        lasting = answer.status in _REFUSALS and answer.status not in _PASSING
        trouble = Trouble.SETUP if lasting else Trouble.STATUS
        problem = problem or redactor(secrets)(_said(content))
        raise ProviderError(f"{what}: {answer.host} answered {answer.status}: {problem} -> {cure}", trouble)
    if not problem and not isinstance(content, dict):
        problem = "no JSON object"
    if problem:
        raise ProviderError(f"{what}: {answer.host} answered {problem}", trouble)
    return dict(content)


def granted(answer: Response, what: str, cure: str, secrets: Iterable[str]) -> Token:
    """The token of an OAuth answer, RFC 6749 section 5.1. Raises ProviderError."""
    content = read(answer, what, cure, secrets)
    text, kind = content.get("access_token"), content.get("token_type", "Bearer")
    if not isinstance(text, str) or not _TOKEN.fullmatch(text) or str(kind).lower() != "bearer":
        raise ProviderError(f"{what}: {answer.host} answered without a bearer token", Trouble.MALFORMED)
    remember(text)
    try:
        return Token(text, life(content.get("expires_in")))
    except ProviderError as e:
        raise ProviderError(f"{what}: {answer.host}: {e}", e.trouble) from e


def _said(content: Any) -> str:
    """The words of an error, as OAuth and as APIs write them."""
    error = content.get("error", content) if isinstance(content, dict) else content
    inside = error if isinstance(error, dict) else content if isinstance(content, dict) else {}
    parts = [error if isinstance(error, str) else "", *(inside.get(key) for key in ("code", "message", "error_description"))]
    words = [" ".join(str(part).split()) for part in parts if isinstance(part, str | int) and part]
    return excerpt(": ".join(dict.fromkeys(words)) or "no reason given", 400)
