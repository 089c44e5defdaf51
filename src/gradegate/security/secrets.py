"""Recognizes secrets: by the name of a variable, in an address, in the options of a command, in a config."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from gradegate.security.redaction import Redact, redactor

# What the runner hands to the action itself. No config reads it, by no way and with nobody's leave: its tokens write to
# the repository, and its files steer the job.
_RUNNERS = re.compile(
    r"ACTIONS_.*|INPUT_.*|RUNNER_.*|GITHUB_TOKEN|GRADEGATE_CACHE_SECRET"
    r"|GITHUB_(?:ENV|OUTPUT|PATH|STATE|STEP_SUMMARY|EVENT_PATH|WORKSPACE|ACTION_PATH)",
    re.DOTALL,
)
# Variables whose values are hidden although no config reads them: a name cannot prove that a value is harmless, but
# these say that theirs is not.
_SECRET = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|WEBHOOK|COOKIE|(?:^|_)(?:PAT|AUTH|DSN|PWD|PASS|SAS|JWT|PRIVATE)(?:$|_)"
    r"|PASS$|PRIVATE|SIGNATURE|CONNECTION_?STRING|DATABASE_URL",
    re.IGNORECASE,
)
_NOT_SECRET = re.compile(
    r"INPUT_(?!GITHUB.TOKEN$|CACHE.SECRET$|.*API.KEY$).*|PWD|OLDPWD|.*_FILE|SSH_AUTH_SOCK",
    re.DOTALL,
)


def belongs_to_runner(name: str) -> bool:
    """Whether a variable is the runner's own."""
    return _RUNNERS.fullmatch(name) is not None


def sounds_secret(name: str) -> bool:
    """Whether the name of a variable, an option or a header says that its value is a secret."""
    return _SECRET.search(name) is not None and _NOT_SECRET.fullmatch(name) is None


_ADDRESS = re.compile(
    r"https?://[\w.-]+(?::\d+)?(?:/[\w.-]{0,40}){0,3}|[\w.-]+:\d{1,5}|localhost", re.IGNORECASE
)
# Words with one sign between: letters that may end in six letters or digits, or a date. Keys have longer words without a pattern.
_WORD = r"(?:[A-Za-z]{0,10}[A-Za-z0-9]{1,6}|\d{8})"
_MODEL = re.compile(rf"{_WORD}(?:[-._:/@]{_WORD})*")
_USERINFO = re.compile(
    r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}://[^\s/?#@:]{0,200}:([^\s/?#@]{1,2000})@",
    re.IGNORECASE,
)
# The last word of an option's or a header's name: `apiKey`, `X-Api-Key`, `auth_token`. A key of a cache is none.
_SECRET_OPTION = re.compile(
    r"(?:^|[-_. ]|(?<=[a-z])(?=[A-Z]))(?:(?i:api|x))?(?i:keys?|tokens?|secrets?|password|passwd|passphrase|credentials?"
    r"|auth|authorization|cookie|jwt|bearer|signature|webhook|pat|pwd)$"
)
_OTHER_OPTION = re.compile(r"(?i).*cache.?key|apiKeyEnvar|.*max.?tokens?|.*tokens")
_WRITTEN = re.compile(r"""["']?\b([\w.-]{1,60})["']?\s{0,5}[:=]\s{0,5}["']?([^\s"',}{]{3,4096})""")


def secret_variables(variables: Mapping[str, str], read: Iterable[str] = ()) -> dict[str, str]:
    """The variables whose values no report may show: those that sound secret, and those that were read.

    An address without a user, a query and a long path is none: reports say where questions went.
    With ``:password`` behind its name, a variable's part is the password of the address that it holds.
    """
    named = {name: value for name, value in variables.items() if sounds_secret(name)}
    named |= {
        name: variables[name]
        for name in read
        if name in variables and not _ADDRESS.fullmatch(variables[name])
    }
    for name, value in variables.items():
        named |= {f"{name}:password": password for password in address_passwords(value)}
    return {name: value for name, value in named.items() if value.strip()}


def is_model_name(provider_id: str) -> bool:
    """Whether the id of a provider looks like the name of a model: like no key, no address and no command."""
    return _MODEL.fullmatch(provider_id) is not None


def document_redactor(variables: Mapping[str, str]) -> Redact:
    """Hides them in finished documents, and in whatever else leaves the process."""
    return redactor(secret_variables(variables).values(), short=False)


def address_passwords(text: str) -> Iterator[str]:
    """The passwords in the addresses of a text: ``scheme://user:PASSWORD@host``."""
    if "://" in text and "@" in text:
        yield from (match[1] for match in _USERINFO.finditer(text))


def _names_secret(name: str) -> bool:
    """Whether the name of an option, a header or a parameter says that its value is a secret."""
    return _SECRET_OPTION.search(name) is not None and _OTHER_OPTION.fullmatch(name) is None


def literal_secrets(value: Any, name: str = "") -> Iterator[str]:
    """The texts in a nested value of a config whose key says that they are secret, and the secrets in addresses."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from literal_secrets(item, str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from literal_secrets(item, name)
    elif isinstance(value, str):
        if _names_secret(name):
            yield value
            yield from value.split()[1:]  # `Bearer KEY`: the key alone, too
        if "://" in value:
            yield from address_passwords(value)
            with suppress(ValueError):
                query = parse_qsl(urlsplit(value).query)
                yield from (text for key, text in query if _names_secret(key))


def secrets_in_text(text: str) -> Iterator[str]:
    """The same in a text that is not parsed: a config that is mistaken, or too large to be read twice."""
    yield from (value for name, value in _WRITTEN.findall(text) if _names_secret(name))
    yield from address_passwords(text)
