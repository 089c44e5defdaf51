"""Recognizes secrets: by the name of a variable or option, in an address, and in the text of a config."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from gradegate.security.redaction import Redact, redactor

# Variables of the runner and the action itself. No config may ever read them: their tokens write to the repository, and their
# files control the job.
_RUNNERS = re.compile(
    r"ACTIONS_.*|INPUT_.*|RUNNER_.*|GITHUB_TOKEN|GRADEGATE_CACHE_SECRET"
    r"|GITHUB_(?:ENV|OUTPUT|PATH|STATE|STEP_SUMMARY|EVENT_PATH|WORKSPACE|ACTION_PATH)",
    re.DOTALL,
)
# Variables that are hidden although no config reads them: `OPENAI_API_KEY`, `GH_PAT`, `DB_PASS`. No name proves that a value is
# harmless, but these names say that it is a secret.
_SECRET_VARIABLE = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|WEBHOOK|COOKIE|(?:^|_)(?:PAT|AUTH|DSN|PWD|PASS|SAS|JWT|PRIVATE)(?:$|_)"
    r"|PASS$|PRIVATE|SIGNATURE|CONNECTION_?STRING|DATABASE_URL",
    re.IGNORECASE,
)
_PUBLIC_VARIABLE = re.compile(
    r"INPUT_(?!GITHUB.TOKEN$|CACHE.SECRET$|.*API.KEY$).*|PWD|OLDPWD|.*_FILE|SSH_AUTH_SOCK",
    re.DOTALL,
)
# The last word in the name of an option or header: `apiKey`, `X-Api-Key`, `auth_token`. The key of a cache is no secret.
_SECRET_OPTION = re.compile(
    r"(?:^|[-_. ]|(?<=[a-z])(?=[A-Z]))(?:(?i:api|x))?(?i:keys?|tokens?|secrets?|password|passwd|passphrase|credentials?"
    r"|auth|authorization|cookie|jwt|bearer|signature|webhook|pat|pwd)$"
)
_PUBLIC_OPTION = re.compile(r"(?i).*cache.?key|apiKeyEnvar|.*max.?tokens?|.*tokens")
# An address without user, query and long path: `https://app.example.com/v1`, `app:8080`
_PUBLIC_ADDRESS = re.compile(
    r"https?://[\w.-]+(?::\d+)?(?:/[\w.-]{0,40}){0,3}|[\w.-]+:\d{1,5}|localhost", re.IGNORECASE
)
# The password in an address: `postgres://user:PASSWORD@host`
_USERINFO = re.compile(
    r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}://[^\s/?#@:]{0,200}:([^\s/?#@]{1,2000})@",
    re.IGNORECASE,
)
# The name of a model: `meta-llama/Llama-3.3-70B-Instruct`, `gpt-4o-mini-2024-07-18`. It is made of words with one sign between
# them: letters that may end in six letters or digits, or a date. Keys have longer, random words.
_WORD = r"(?:[A-Za-z]{0,10}[A-Za-z0-9]{1,6}|\d{8})"
_MODEL = re.compile(rf"{_WORD}(?:[-._:/@]{_WORD})*")
# An option with its value in a text: `"apiKey": "VALUE"`, `token=VALUE`
_WRITTEN_OPTION = re.compile(
    r"""["']?\b([\w.-]{1,60})["']?\s{0,5}[:=]\s{0,5}["']?([^\s"',}{]{3,4096})"""
)


# --- variables ----------------------------------------------------------------------------------------------------


def belongs_to_runner(name: str) -> bool:
    """Whether a variable belongs to the runner or the action itself."""
    return _RUNNERS.fullmatch(name) is not None


def sounds_secret(name: str) -> bool:
    """Whether the name of a variable says that its value is a secret."""
    return _SECRET_VARIABLE.search(name) is not None and _PUBLIC_VARIABLE.fullmatch(name) is None


def secret_variables(variables: Mapping[str, str], read: Iterable[str] = ()) -> dict[str, str]:
    """The variables whose values no report may show: those that sound secret, and those in ``read``.

    An address without user, query and long path is public: reports say where requests went. The password in an address has
    the name of its variable, followed by ``:password``.
    """
    secrets = {name: value for name, value in variables.items() if sounds_secret(name)}
    for name in read:
        value = variables.get(name)
        if value is not None and not _PUBLIC_ADDRESS.fullmatch(value):
            secrets[name] = value
    for name, value in variables.items():
        for password in address_passwords(value):
            secrets[f"{name}:password"] = password
    return {name: value for name, value in secrets.items() if value.strip()}


def document_redactor(variables: Mapping[str, str]) -> Redact:
    """The redactor for finished documents and everything else that leaves the process."""
    return redactor(secret_variables(variables).values(), short=False)


# --- configs and texts --------------------------------------------------------------------------------------------


def is_model_name(provider_id: str) -> bool:
    """Whether the id of a provider looks like the name of a model, and not like a key, an address or a command."""
    return _MODEL.fullmatch(provider_id) is not None


def literal_secrets(value: Any, name: str = "") -> Iterator[str]:
    """The secrets in a nested value of a config: texts under a key that names a secret, and secrets in addresses.

    ``name`` is the key of the value.
    """
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from literal_secrets(item, str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from literal_secrets(item, name)
    elif isinstance(value, str):
        if _names_secret(name):
            yield value
            yield from value.split()[1:]  # also only the key of `Bearer KEY`
        if "://" in value:
            yield from address_passwords(value)
            yield from _query_secrets(value)


def secrets_in_text(text: str) -> Iterator[str]:
    """The secrets in a text that cannot be parsed, or that is too large to be parsed twice."""
    for name, value in _WRITTEN_OPTION.findall(text):
        if _names_secret(name):
            yield value
    yield from address_passwords(text)


def address_passwords(text: str) -> Iterator[str]:
    """The passwords in the addresses of a text: ``scheme://user:PASSWORD@host``."""
    if "://" in text and "@" in text:
        for match in _USERINFO.finditer(text):
            yield match[1]


def _query_secrets(url: str) -> Iterator[str]:
    """The secrets in the query of an address. Yields nothing if the address cannot be parsed."""
    try:
        parameters = parse_qsl(urlsplit(url).query)
    except ValueError:
        return
    for key, text in parameters:
        if _names_secret(key):
            yield text


def _names_secret(name: str) -> bool:
    """Whether the name of an option, a header or a parameter says that its value is a secret."""
    return _SECRET_OPTION.search(name) is not None and _PUBLIC_OPTION.fullmatch(name) is None
