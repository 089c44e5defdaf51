"""bedrock: models of all vendors at Amazon Bedrock, through its Converse API.

API: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html; keys as bearer tokens:
https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.md. Ids, options and their order are those of promptfoo
(https://www.promptfoo.dev/docs/providers/aws-bedrock/), which asks ``bedrock:MODEL`` in each vendor's own form and
``bedrock:converse:MODEL`` in this one.
"""

import re
from typing import Any
from urllib.parse import quote

from gradegate.core.conversation import Reply, Request
from gradegate.core.usage import Usage
from gradegate.http.credentials import NO_FIELDS, Credential, FixedKey
from gradegate.http.tokens import Token
from gradegate.providers.api.aws_signing import SECONDS, Credentials, SignedRequests, signed_key
from gradegate.providers.api.bedrock_converse import OPTIONS, Converse
from gradegate.providers.api.chat_api import members
from gradegate.providers.api.chat_model import CHAT, REGION, ChatModel
from gradegate.providers.api.federation import strayed
from gradegate.providers.api.json_http import (
    Model,
    base_url,
    must_be,
    need_model,
    need_text,
    one_text,
)
from gradegate.providers.api.prices import price
from gradegate.providers.api.provider import PROVIDERS, Setting, secret
from gradegate.security.vendors import Vendor
from gradegate.structs import JsonObject, NamedTexts

_KEY = "AWS_BEARER_TOKEN_BEDROCK"
_ACCESS = "AWS_ACCESS_KEY_ID"
_SECRET = "AWS_SECRET_ACCESS_KEY"
_SESSION = "AWS_SESSION_TOKEN"
_REGIONS = ("AWS_BEDROCK_REGION", "AWS_REGION", "AWS_DEFAULT_REGION")
_ADDRESSES = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",)
VENDOR = Vendor(
    (_KEY, _ACCESS, _SECRET, _SESSION),
    addresses=_ADDRESSES,
    signing=((_ACCESS, "accessKeyId"), (_SECRET, "secretAccessKey"), (_SESSION, "sessionToken")),
    forms=(rf"bedrock-(?:agent-)?runtime(?:-fips)?\.{REGION}\.amazonaws\.com",),
    requests=(
        "POST /model/{model}/converse",
        "POST /retrieveAndGenerate",
        "POST /openai/v1/chat/completions",
    ),
)
# Served by an API in OpenAI's form at another host, and not by Converse.
_ELSEWHERE = re.compile(r"(?:[a-z]+\.)?(?:openai\.(?!gpt-oss)|xai\.grok-)")
# Of inference profiles, before the model
_PLACES = "us us-gov eu apac au jp ca in sa global".split()
_VERSION = re.compile(r"(-v\d+)?(:\d+)?$")
_SIGN_IN = "let aws-actions/configure-aws-credentials sign the job in (docs/sign-in.md)"


@PROVIDERS.register("bedrock", "bedrock:converse", "bedrock:completion")
class Bedrock(ChatModel):
    """A model at ``https://bedrock-runtime.{region}.amazonaws.com/model/{model}/converse``."""

    options = (
        *OPTIONS, *CHAT, "model", "region", "endpoint", "apiKey", "apiKeyEnvar",
        "accessKeyId", "secretAccessKey", "sessionToken", "headers",
    )  # fmt: skip
    values = {"temperature": "number 0 1"}
    unsupported = {
        "profile": f"leave it out: there are no profiles on GitHub; {_SIGN_IN}",
        "apiBaseUrl": "write `endpoint`, as promptfoo does",
        "apiHost": "write `endpoint`, as promptfoo does",
    }
    vendor = VENDOR
    fields = ("apiKey", "accessKeyId", "secretAccessKey", "sessionToken")

    def __init__(self, setting: Setting) -> None:
        config = setting.config
        model = need_model(setting, "bedrock:MODEL")
        if _ELSEWHERE.match(model):
            raise setting.mistake(
                f"Converse does not serve `{model}`",
                "name another model, or openai:chat:MODEL with `apiBaseUrl` of that API",
            )
        region = _region(setting)
        endpoint = config.get("endpoint") or setting.env.address(*_ADDRESSES)
        base = base_url(setting, endpoint or f"https://bedrock-runtime.{region}.amazonaws.com")
        url = f"{base}/model/{quote(model, safe='')}/converse"
        super().__init__(
            setting, Converse(model, config), url, _credential(setting, url, region), model
        )

    def _priced_as(self, response: JsonObject) -> str:
        """The name in the table of prices: with ``global.`` or ``regional.`` before it where that makes a difference."""
        bare = _VERSION.sub("", self._model.rpartition("/")[2])
        place, dot, rest = bare.partition(".")
        placed = dot and place in _PLACES
        rest = rest if placed else bare
        names = (f"{'global' if placed and place == 'global' else 'regional'}.{rest}", rest)
        return next((name for name in names if price(name)), bare)


@PROVIDERS.register("bedrock:kb")
class KnowledgeBase(Model):
    """A knowledge base that retrieves and has a model answer, at ``https://bedrock-agent-runtime.{region}.amazonaws.com``.

    API: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_agent-runtime_RetrieveAndGenerate.html. It takes no key of Bedrock,
    so each request is signed: https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-reference.html
    """

    options = (
        "knowledgeBaseId", "modelArn", "numberOfResults", "temperature", "max_tokens", "top_p", "top_k", "region", "accessKeyId",
        "secretAccessKey", "sessionToken",
    )  # fmt: skip
    unsupported = {
        **Bedrock.unsupported,
        "apiKey": f"a knowledge base takes no key of Bedrock: {_SIGN_IN}",
    }
    vendor = VENDOR
    fields = Bedrock.fields
    rates = None

    def __init__(self, setting: Setting) -> None:
        config = setting.config
        region = _region(setting)
        if not config.get("knowledgeBaseId"):
            raise setting.mistake(
                f"`{setting.spec.id}` does not say which `knowledgeBaseId` to ask",
                "write it into its `config`",
            )
        model = str(config.get("modelArn") or setting.model)
        if model in ("", "default"):
            raise setting.mistake(
                f"`{setting.spec.id}` names no model",
                "write bedrock:kb:MODEL, or `modelArn` in its config",
            )
        whole = model.startswith("arn:") or model.partition(".")[0] in _PLACES
        self._arn = model if whole else f"arn:aws:bedrock:{region}::foundation-model/{model}"
        url = f"https://bedrock-agent-runtime.{region}.amazonaws.com/retrieveAndGenerate"
        signing = SignedRequests(_given(setting) or _credentials(setting), region)
        super().__init__(setting, url, signing, model)

    def _headers_for(self, body: JsonObject) -> NamedTexts:
        return NO_FIELDS  # a config sets none

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        config = {**self._config, **request.options}
        names = {"temperature": "temperature", "max_tokens": "maxTokens", "top_p": "topP"}
        inference = {
            ours: config[name] for name, ours in names.items() if config.get(name) is not None
        }
        generation = {"inferenceConfig": {"textInferenceConfig": inference}} if inference else {}
        if (most := config.get("top_k")) is not None:
            nova = re.search(r"(^|[/.])amazon\.nova-", self._arn)
            command = re.search(r"(^|[/.])cohere\.command-r", self._arn)
            more = (
                {"inferenceConfig": {"topK": most}} if nova else {"k" if command else "top_k": most}
            )
            generation["additionalModelRequestFields"] = more
        base: dict[str, Any] = {
            "knowledgeBaseId": str(config["knowledgeBaseId"]),
            "modelArn": self._arn,
        }
        base |= {"generationConfiguration": generation} if generation else {}
        if config.get("numberOfResults") is not None:
            base["retrievalConfiguration"] = {
                "vectorSearchConfiguration": {"numberOfResults": config["numberOfResults"]}
            }
        about = {"type": "KNOWLEDGE_BASE", "knowledgeBaseConfiguration": base}
        response, seconds = self._post(
            {"input": {"text": one_text(request)}, "retrieveAndGenerateConfiguration": about}
        )
        text = need_text(members(response.get("output")).get("text"), self.host)
        usage = Usage(1, unpriced=1, seconds=seconds)
        stopped = response.get("guardrailAction") == "INTERVENED"
        return Reply(
            text,
            usage,
            "content_filter" if stopped else "stop",
            stopped,
            {"citations": response.get("citations") or []},
        )


def _region(setting: Setting) -> str:
    region = str(
        setting.config.get("region") or setting.env.address(*_REGIONS) or "us-east-1"
    ).strip()
    must_be("region", region, REGION, setting, "write a region of AWS, such as eu-central-1")
    return region


def _credential(setting: Setting, url: str, region: str) -> Credential:
    """The bearer key that is set, else one that the credentials sign. Raises ConfigError."""
    credentials = _given(setting)
    key = None if credentials else secret(setting, _KEY)
    if key:
        return FixedKey(key)
    signing = credentials or _credentials(setting, _KEY)
    if not VENDOR.serves(url):
        raise strayed(
            setting,
            "one that AWS credentials sign goes",
            url,
            f"set {_KEY}, or `apiKey` in its config",
        )
    return setting.client.tokens.for_account(
        (region, signing), lambda: Token(signed_key(signing, region), SECONDS)
    )


def _given(setting: Setting) -> Credentials | None:
    """The credentials of the config, which win over all else, as in promptfoo. Raises ConfigError."""
    values = [
        str(setting.config.get(name) or "")
        for name in ("accessKeyId", "secretAccessKey", "sessionToken")
    ]
    access, secret_key, _ = values
    if bool(access) != bool(secret_key):
        lacking = "secretAccessKey" if access else "accessKeyId"
        raise setting.keyless(f"no `{lacking}`", "write both, or neither")
    return Credentials(*values) if access else None


def _credentials(setting: Setting, instead: str = "") -> Credentials:
    """Those of the environment. Raises ConfigError where they are not there; ``instead`` is a variable that would do."""
    access, secret_key, session = (
        setting.key(name).strip() for name in (_ACCESS, _SECRET, _SESSION)
    )
    if not access and not secret_key:
        cure = f"{_SIGN_IN}, which sets {_ACCESS}, {_SECRET} and {_SESSION}" + (
            f"; or set {instead}" if instead else ""
        )
        raise setting.keyless("", cure, instead or _ACCESS)
    if not access or not secret_key:
        lacking = _SECRET if access else _ACCESS
        raise setting.keyless(f"{lacking} is not set", _SIGN_IN, lacking)
    return Credentials(access, secret_key, session)
