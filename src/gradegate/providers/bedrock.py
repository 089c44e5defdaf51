"""bedrock: models of all vendors at Amazon Bedrock, through its Converse API.

API: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html; keys as bearer tokens:
https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.md. Ids, options and their order are those of promptfoo
(https://www.promptfoo.dev/docs/providers/aws-bedrock/), which asks ``bedrock:MODEL`` in each vendor's own form and
``bedrock:converse:MODEL`` in this one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from gradegate.access.hosts import Vendor
from gradegate.asking.bedrock_key import SECONDS, Credentials, signed_key
from gradegate.asking.chatmodel import CHAT, ChatModel
from gradegate.asking.converse import OPTIONS, Converse
from gradegate.asking.endpoint import REGION
from gradegate.asking.identity import strayed
from gradegate.asking.provider import PROVIDERS, Setting, secret
from gradegate.asking.shape import JsonObject
from gradegate.asking.wire import base_url, must_be, need_model, own_headers, price
from gradegate.http.headers import Headers, bearer
from gradegate.http.tokens import Token

_KEY = "AWS_BEARER_TOKEN_BEDROCK"
_ACCESS, _SECRET, _SESSION = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"
_REGIONS = ("AWS_BEDROCK_REGION", "AWS_REGION", "AWS_DEFAULT_REGION")
_ADDRESSES = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",)
_DEFAULT = "us-east-1"
VENDOR = Vendor(
    (_KEY, _ACCESS, _SECRET, _SESSION),
    addresses=_ADDRESSES,
    signing=((_ACCESS, "accessKeyId"), (_SECRET, "secretAccessKey"), (_SESSION, "sessionToken")),
    forms=(rf"bedrock-runtime(?:-fips)?\.{REGION}\.amazonaws\.com",),
)
# Served by an API in OpenAI's form at another host, and not by Converse.
_ELSEWHERE = re.compile(r"(?:[a-z]+\.)?(?:openai\.(?!gpt-oss)|xai\.grok-)")
_PLACES = "us us-gov eu apac au jp ca in sa global".split()  # of inference profiles, before the model
_VERSION = re.compile(r"(-v\d+)?(:\d+)?$")
_SIGN_IN = "let aws-actions/configure-aws-credentials sign the job in (docs/keys.md)"


class Bedrock(ChatModel):
    """A model at ``https://bedrock-runtime.{region}.amazonaws.com/model/{model}/converse``."""

    options = (
        *OPTIONS, *CHAT, "model", "region", "endpoint", "apiKey", "apiKeyEnvar",
        "accessKeyId", "secretAccessKey", "sessionToken", "headers",
    )  # fmt: skip
    values: Mapping[str, str] = {"temperature": "number 0 1"}
    unsupported: Mapping[str, str] = {
        "profile": f"leave it out: there are no profiles on GitHub; {_SIGN_IN}",
        "apiBaseUrl": "write `endpoint`, as promptfoo does",
        "apiHost": "write `endpoint`, as promptfoo does",
    }
    vendor = VENDOR
    fields = ("apiKey", "accessKeyId", "secretAccessKey", "sessionToken")

    def __init__(self, setting: Setting) -> None:
        config = setting.spec.config
        model = need_model(setting, "bedrock:MODEL")
        if _ELSEWHERE.match(model):
            cure = "name another model, or openai:chat:MODEL with `apiBaseUrl` of that API"
            raise setting.mistake(f"Converse does not serve `{model}`", cure)
        region = str(setting.spec.config.get("region") or setting.env.address(*_REGIONS) or _DEFAULT).strip()
        must_be("region", region, REGION, setting, "write a region of AWS, such as eu-central-1")
        given = config.get("endpoint") or setting.env.address(*_ADDRESSES)
        base = base_url(setting, given or f"https://bedrock-runtime.{region}.amazonaws.com")
        url = f"{base}/model/{quote(model, safe='')}/converse"
        super().__init__(setting, Converse(model, config), url, _headers(setting, url, region), model)

    def _priced_as(self, response: JsonObject) -> str:
        return priced_as(self._model)


def priced_as(model: str) -> str:
    """The name of a model in the table of prices: with ``global.`` or ``regional.`` before it where that makes a difference."""
    bare = _VERSION.sub("", model.rpartition("/")[2])
    place, dot, rest = bare.partition(".")
    placed = dot and place in _PLACES
    worldwide = placed and place == "global"
    rest = rest if placed else bare
    return next((name for name in (f"{'global' if worldwide else 'regional'}.{rest}", rest) if price(name)), bare)


def _headers(setting: Setting, url: str, region: str) -> Headers:
    """The bearer key that is set, else one that the credentials sign. Raises ConfigError."""
    own = own_headers(setting.spec.config)
    # The credentials of the config, which win over all else, as in promptfoo.
    given = [str(setting.spec.config.get(name) or "") for name in ("accessKeyId", "secretAccessKey", "sessionToken")]
    if any(given[:2]) and not all(given[:2]):
        raise setting.keyless(f"no `{'secretAccessKey' if given[0] else 'accessKeyId'}`", "write both, or neither")
    credentials = Credentials(*given) if any(given[:2]) else None
    key = None if credentials else secret(setting, _KEY)
    if key:
        return Headers(own, bearer(key))
    signing = credentials or _credentials(setting)
    if not Vendor(forms=VENDOR.forms).serves(url):
        raise strayed(setting, "one that AWS credentials sign goes", url, f"set {_KEY}, or `apiKey` in its config")
    return Headers(own, token=setting.client.tokens.of((region, signing), lambda: Token(signed_key(signing, region), SECONDS)))


def _credentials(setting: Setting) -> Credentials:
    """Those of the environment. Raises ConfigError where they are not there."""
    access, secret_key, session = (setting.key(name).strip() for name in (_ACCESS, _SECRET, _SESSION))
    if not access and not secret_key:
        cure = f"{_SIGN_IN}, which sets {_ACCESS}, {_SECRET} and {_SESSION}; or set {_KEY}"
        raise setting.keyless("", cure, _KEY)
    if not access or not secret_key:
        lacking = _SECRET if access else _ACCESS
        raise setting.keyless(f"{lacking} is not set", _SIGN_IN, lacking)
    return Credentials(access, secret_key, session)


PROVIDERS.register("bedrock", "bedrock:converse", "bedrock:completion")(Bedrock)
