"""What the address of an endpoint says of it: whether it is a vendor's own, and what it does with a JSON Schema."""

from __future__ import annotations

from urllib.parse import urlsplit

from gradegate.access.hosts import Vendor
from gradegate.asking.provider import Setting

ENFORCED, REQUESTED, NONE = "enforced", "requested", "none"  # values of the option `structured`
# Of AWS. Only letters before the first dash: `s3-us-west-2.amazonaws.com` has buckets of anybody below it.
REGION = r"[a-z]{2,4}(?:-[a-z]+){1,3}-\d{1,2}"
_AWS = r"(?:amazonaws\.(?:com|com\.cn|eu)|api\.aws|api\.amazonwebservices\.(?:com\.cn|eu))"
_ANTHROPIC = Vendor(hosts=("api.anthropic.com",))
# The hosts of the vendors whose APIs document strict schemas and always say why an answer ended, whoever may ask there:
# wider than where a key may go, since anybody can have a resource of Azure's or an endpoint in a network of AWS's.
_OWN = Vendor(
    hosts=_ANTHROPIC.hosts,
    forms=(
        r"(?:[a-z]{2}\.)?api\.openai\.com",
        r"[a-z0-9-]+\.(?:openai|cognitiveservices)\.azure\.(?:com|us|cn)",
        r"(?:[a-z0-9-]+[.-])?(?:aiplatform|generativelanguage)(?:\.mtls|\.[a-z0-9-]+\.rep)?\.googleapis\.com",
        r"(?:api|codestral)(?:\.[a-z]{2})?\.mistral\.ai",
        rf"(?:vpce-[a-z0-9-]+\.)?bedrock-runtime(?:-fips)?\.{REGION}\.(?:vpce\.)?{_AWS}",
    ),
)


def is_vendors_own(url: str) -> bool:
    """Whether an address is at a host of a vendor whose API is known to enforce schemas and to tell why an answer ended."""
    return _OWN.owns(url)


def structured(setting: Setting, url: str) -> str:
    """What the endpoint does with a schema: the option ``structured``, else what its host is known for. Raises ConfigError."""
    written = setting.spec.config.get("structured")
    if written is None:
        # https://platform.claude.com/docs/en/api/openai-sdk: Anthropic ignores a schema in the form of OpenAI's API.
        ignored = _ANTHROPIC.owns(url) and not urlsplit(url).path.endswith("/messages")
        return ENFORCED if _OWN.owns(url) and not ignored else REQUESTED
    if written not in (ENFORCED, REQUESTED, NONE):
        raise setting.mistake(f"`structured` of `{setting.spec.id}` is `{written}`", "write enforced, requested or none")
    return str(written)
