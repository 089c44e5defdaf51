"""An access token of Google Cloud from the file that google-github-actions/auth writes, or one that the workflow gives.

The file is an ``external_account`` of https://google.aip.dev/auth/4117, as the ``google-auth`` package 2.62 reads it: GitHub's
identity token becomes a federated token at https://cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token, and that
one of a service account at
https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken, where the file
names any. A pull request can write files: what this one says is followed to Google's own hosts alone, and GitHub's token comes from the
runner's own address, not from one of the file.
"""

from __future__ import annotations

import email.utils
import json
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gradegate.access.environment import Environment, Use
from gradegate.access.hosts import host_at
from gradegate.asking.identity import ADDRESS, EXCHANGE, FORM, JWT, REQUESTS, asked, check_identity, claims, granted, identity_token, read
from gradegate.asking.provider import Setting
from gradegate.errors import ConfigError, ProviderError, Trouble
from gradegate.http.client import Client
from gradegate.http.headers import bearer
from gradegate.http.response import Response
from gradegate.http.tokens import Minted, Token

FILE = "GOOGLE_APPLICATION_CREDENTIALS"
ACCESS_TOKENS = ("GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN")
STS, SCOPE = "https://sts.googleapis.com/v1/token", "https://www.googleapis.com/auth/cloud-platform"
IMPERSONATE = "https://www.googleapis.com/auth/iam"
_ACCESS = "urn:ietf:params:oauth:token-type:access_token"
_ACCOUNT = re.compile(r"https://iamcredentials\.googleapis\.com/v1/projects/-/serviceAccounts/[\w.@-]{1,200}:generateAccessToken", re.ASCII)
_AUDIENCE = re.compile(r"//iam\.googleapis\.com/[\w./-]{1,500}", re.ASCII)
_LARGEST = 65_536  # bytes
_SECONDS = range(600, 43_201)
_SIGN_IN = "let google-github-actions/auth sign the job in with `workload_identity_provider` (docs/sign-in.md)"


@dataclass(frozen=True, slots=True)
class ExternalAccount:
    """What the file says, as far as it is followed."""

    audience: str  # of the federated token: the provider of a pool
    ours: str  # of GitHub's token
    account: str = ""  # where a token of a service account comes from; empty where the federated one is used
    seconds: int = 3600

    def mint(self, client: Client, env: Environment) -> Token:
        """Raises ProviderError."""
        ours = identity_token(client, env, self.ours)
        secrets = (ours, env.workflow(REQUESTS))
        what, cure = "no token from Google for GitHub's identity", f"check the pool's provider{claims(ours)}"
        asks = {
            "grant_type": EXCHANGE,
            "audience": self.audience,
            "scope": IMPERSONATE if self.account else SCOPE,  # no more than is needed
            "requested_token_type": _ACCESS,
            "subject_token_type": JWT,
        }
        answer = asked(client, "POST", STS, what, headers=FORM, body=asks, secret={"subject_token": ours})
        federated = granted(answer, what, cure, secrets)
        if not self.account:
            return federated
        what, cure = "no token of the service account", "grant the job's principal `roles/iam.workloadIdentityUser` on it"
        body = {"delegates": None, "scope": [SCOPE], "lifetime": f"{self.seconds}s"}
        answer = asked(client, "POST", self.account, what, headers={}, body=body, credential=bearer(federated.text))
        content = read(answer, what, cure, (*secrets, federated.text))
        # The token of a service account in OAuth's words. Its end is a time of day: what is left is told by the answer's own clock.
        left: float | None = None
        try:
            end = datetime.fromisoformat(str(content.get("expireTime")))
            left = (end - email.utils.parsedate_to_datetime(answer.headers.get("date", ""))).total_seconds()
        except (ValueError, TypeError) as e:
            raise ProviderError(f"no token of the service account: {answer.host} does not say when it ends", Trouble.MALFORMED) from e
        told = {"access_token": content.get("accessToken"), "expires_in": left}
        return granted(Response(answer.status, answer.headers, json.dumps(told).encode(), answer.host), what, cure, secrets)


def access_token(setting: Setting) -> Minted | str:
    """The token that the workflow gives, or the one that its file leads to. Raises ConfigError."""
    given = next(filter(None, (setting.key(name).strip() for name in ACCESS_TOKENS)), "")
    if given:
        return given
    path = setting.env.workflow(FILE).strip()
    if not path:
        raise setting.keyless("", f"{_SIGN_IN}, or set {ACCESS_TOKENS[0]} to its output `access_token`", ACCESS_TOKENS[0])
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
    kind, source = content.get("type"), content.get("credential_source")
    if kind == "service_account":
        raise _wrong(f"{FILE} is a key of a service account, which gradegate never uses, because it would have to be stored", setting)
    if kind != "external_account" or not isinstance(source, dict) or not isinstance(source.get("url"), str):
        raise _wrong(f"{FILE} is not a file of google-github-actions/auth", setting)
    audience, account = content.get("audience"), content.get("service_account_impersonation_url") or ""
    if content.get("token_url") != STS or not _matches(_AUDIENCE, audience) or not (account == "" or _matches(_ACCOUNT, account)):
        raise _wrong(f"{FILE} names an address for tokens that is not Google's", setting)
    runner, named = host_at(setting.env.workflow(ADDRESS)), host_at(source["url"])
    if named is None or named != runner:
        raise _wrong(f"{FILE} takes GitHub's token from an address that is not this job's", setting)
    ours = parse_qs(urlsplit(source["url"]).query).get("audience", [f"https:{audience}"])[-1]
    more = content.get("service_account_impersonation")
    seconds = more.get("token_lifetime_seconds") if isinstance(more, dict) else None
    kept = seconds if isinstance(seconds, int) and seconds in _SECONDS else 3600
    external = ExternalAccount(str(audience), ours, account, kept)
    setting.uses.add(Use(FILE))
    return setting.client.tokens.of(external, lambda: external.mint(setting.client, setting.env))


def _matches(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _wrong(what: str, setting: Setting) -> ConfigError:
    return setting.keyless(what, _SIGN_IN)
