"""Which files of a repository or a work tree hold credentials, and are therefore not read for any config."""

from __future__ import annotations

import re
from pathlib import PurePath

# Folders where tools keep theirs; a checkout's `.git/config` holds the token of older versions of actions/checkout.
_FOLDERS = frozenset(
    ".git .ssh .aws .azure .gcloud .gnupg .kube .docker .cargo .gem .m2 .gradle .composer .terraform.d .oci .password-store .config".split()
)
_FILES = re.compile(
    r"\.(?:npmrc|yarnrc(?:\.yml)?|netrc|pypirc|git-credentials|gitconfig|pgpass|my\.cnf|htpasswd|dockercfg|boto|s3cfg"
    r"|vault-token|terraformrc|databrickscfg|snowsql|env|envrc)"
    r"|\.env\.(?!example$|sample$|template$|dist$).*|_netrc|id_(?:rsa|dsa|ecdsa|ed25519)(?:_\w+)?"
    r"|gha-creds-[\w-]*\.json|application_default_credentials\.json|service[-_]account[\w-]*\.json"
    r"|.*\.(?:pem|key|p12|pfx|jks|keystore|ppk|kdbx|tfstate)|(?:.*[-_.])?private[-_.]?key(?:\..*)?|kubeconfig"
    r"|(?:credentials|secrets|auth)\.(?:json|ya?ml|toml|ini|env)|profiles\.yml|credentials|pip\.conf|\.condarc|\.\w*_history",
    re.IGNORECASE,
)


_COPY = re.compile(r"(?:~|\.(?:bak|old|orig|save|swp|tmp)|[. ])+$", re.IGNORECASE)  # of an editor, or by hand

# Hidden folders with what people write for models; all else that is hidden belongs to a tool.
_SHOWN = frozenset(".github .claude .cursor .agents .gemini .promptfoo .prompts".split())
# Texts, data, code and media, of which prompts and tests are made. Settings of tools have other endings, or none.
_MATERIAL = frozenset(
    "txt md rst html htm xml svg csv tsv log diff patch prompt j2 jinja njk json jsonl yaml yml toml py js mjs cjs ts tsx sql "
    "java go rs c sh png jpg jpeg gif webp pdf wav mp3".split()
)


def is_hidden(path: PurePath) -> bool:
    """Whether a relative path leads through what is hidden, apart from a few folders with texts for models."""
    return any(part.startswith(".") and part not in _SHOWN for part in path.parts)


def is_material(path: PurePath) -> bool:
    """Whether the ending of a file is one of those that prompts, tests and their variables have."""
    return path.suffix[1:].lower() in _MATERIAL


def holds_credentials(path: PurePath) -> bool:
    """Whether a path, relative to the workspace, is that of a file in which tools keep credentials."""
    *folders, name = path.parts or ("",)
    if any(folder.lower() in _FOLDERS for folder in (*folders, name)):
        return True
    return _FILES.fullmatch(_COPY.sub("", name)) is not None
