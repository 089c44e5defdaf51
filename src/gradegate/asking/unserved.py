"""Ids that nobody here serves: what promptfoo has behind them, and the nearest id that is served.

The ids are those of promptfoo 0.123 (``src/providers/registry.ts``).
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from gradegate.asking.provider import PROVIDERS, split_id
from gradegate.errors import ConfigError
from gradegate.registry import closest, near
from gradegate.suite import ProviderSpec

ELSEWHERE = (
    "run it in a job of its own and have its answers graded: `gradegate cases` writes what to ask, "
    "`gradegate run --answers FILE` grades what came of it"
)
COMPATIBLE = "openai:chat:MODEL with `apiBaseUrl` and `apiKeyEnvar`"
_AGENT = ("is an agent or a tool, not a model that is asked over HTTP", ELSEWHERE)
_MEDIA = ("gives sound or pictures, and gradegate grades text", ELSEWHERE)
_OLD = ("asks an API for text completion, which takes no messages", "name a chat model of the same vendor")
_API = ("asks another API of that vendor, which gradegate does not speak", "write VENDOR:MODEL for its chat API")
_CLOUD = (
    "is signed in to with its cloud's own credentials, which gradegate cannot do yet",
    f"ask a gateway that speaks OpenAI's API ({COMPATIBLE}), or {ELSEWHERE}",
)
_RED = ("belongs to promptfoo's red teaming", "gradegate gates evals; run red teaming as its own job")
_OWN = ("has an API of its own, which gradegate does not speak", f"ask it with `http`, or through {COMPATIBLE}")
_LOCAL = ("runs a model inside promptfoo's own process", f"serve it, and ask it with {COMPATIBLE} or ollama:chat:MODEL")
_PROGRAM = ("runs a program in a language that gradegate does not run", f"serve it over HTTP (`http`), or {ELSEWHERE}")
_GONE = "was closed in {}, its API too"

_REPLICATE = (
    "the header `Prefer: wait`, `transformResponse: json.output.join('')`, and "
    "`url: https://api.replicate.com/v1/models/OWNER/MODEL/predictions`"
)

# The first parts of ids: what is behind them, and what to do.
_FAMILIES: dict[str, tuple[str, str]] = {
    **dict.fromkeys("a2a acp browser mcp n8n openclaw opencode openinterpreter slack".split(), _AGENT),
    **dict.fromkeys("claude-agent-sdk claude-code codex codex-sdk bedrock-agent agentic".split(), _AGENT),
    **dict.fromkeys("elevenlabs fal modelslab quiverai".split(), _MEDIA),
    **dict.fromkeys("vertex bedrock sagemaker".split(), _CLOUD),
    **dict.fromkeys("cloudera jfrog qwak snowflake watsonx f5".split(), _OWN),
    **dict.fromkeys("transformers transformers.js".split(), _LOCAL),
    **dict.fromkeys("golang ruby".split(), _PROGRAM),
    "sequence": ("asks a target several times in a row", "write the conversation as `turns` of a test"),
    "promptfoo": ("is a part of promptfoo itself", ELSEWHERE),
    "adaline": ("is a gateway's own software inside promptfoo", f"ask the vendor itself, or {COMPATIBLE}"),
    "bam": (_GONE.format("March 2025"), f"name another vendor, such as {COMPATIBLE}"),
    "github": (_GONE.format("July 2026"), "name the vendor of the model, such as openai:chat:MODEL"),
    "cloudflare-gateway": (
        "is a gateway in front of another vendor",
        "name that vendor, with the gateway's address as `apiBaseUrl`",
    ),
    "helicone": (
        "is a gateway in front of another vendor",
        "write openai:chat:VENDOR/MODEL with the gateway's address as `apiBaseUrl`",
    ),
    "portkey": (
        "is a gateway in front of another vendor",
        "write openai:chat:MODEL with `apiBaseUrl: https://api.portkey.ai/v1` and its keys in `headers`",
    ),
    "llama": (
        "asks llama.cpp's own API",
        "write openai:chat:MODEL with `apiBaseUrl: http://localhost:8080/v1`: llama.cpp serves OpenAI's API, too",
    ),
    "palm": ("is the former name of Google's models", "write google:MODEL"),
    "replicate": ("is asked in a way of its own", f"write the id `http` with {_REPLICATE}"),
    "webhook": ("is plain HTTP", "write the id `http`, with `url` and `body: {prompt: '{{prompt}}'}`"),
    **dict.fromkeys(
        "ws wss websocket".split(),
        ("is asked over a WebSocket, which gradegate does not do", f"serve it over HTTP (`http`), or {ELSEWHERE}"),
    ),
}
# The second parts of ids of vendors that are served: patterns, for any vendor and for some.
_KINDS = {
    "agents agents-api assistant chatkit claude-agent-sdk* claude-code* codex* foundry-agent interactions "
    "managed-agents* sdk": _AGENT,
    "audio image live realtime speech transcription tts video voice": _MEDIA,
    "completion text-generation": _OLD,
    "messages responses": _API,
    "moderation": ("moderates by an API that gradegate does not speak", "name openai:moderation"),
}
_MEDIA_MODELS = ("gpt-live-*", "*-realtime*", "gpt-realtime*", "*-tts*", "tts-*", "*-transcribe*", "whisper*",
                 "dall-e*", "*-image", "*-image-*", "gpt-image*", "sora*", "imagen-*", "veo-*")  # fmt: skip
_MEDIA_VENDORS = frozenset({"openai", "azure", "google"})

# Names of models by how they begin, and the prefix that serves them; the first that fits.
_MODELS = (
    (r"text-embedding-|embedding-", "openai:embedding"),
    (r"omni-moderation|text-moderation", "openai:moderation"),
    (r"[^:]*:(\d+(\.\d+)?b\b.*|latest)$", "ollama:chat"),
    (r"gpt-|chatgpt-|o\d(-|$)|gpt\d|ft:gpt", "openai:chat"),
    (r"claude", "anthropic:messages"),
    (r"gemini|learnlm", "google"),
    (r"(open-)?(mistral|mixtral)-(tiny|small|medium|large|nemo|\d+x)|ministral|codestral|magistral|devstral|pixtral", "mistral"),
    (r"mistral-embed|codestral-embed", "mistral:embedding"),
    (r"deepseek-(chat|reasoner|v\d)", "deepseek"),
    (r"grok", "xai"),
    (r"command(-|$)|c4ai-", "cohere"),
    (r"embed-(english|multilingual|v\d)", "cohere:embedding"),
    (r"sonar", "perplexity"),
    (r"kimi|moonshot-", "moonshot"),
    (r"qwen-|qwq-", "alibaba"),
    (r"voyage-", "voyage"),
    (r"minimax-", "minimax"),
    (r"llama|gemma|phi|qwen|mistral|mixtral|codellama|deepseek|vicuna|tinyllama|smollm|gpt-oss|granite|olmo", "ollama:chat"),
    (r"nomic-embed|mxbai-embed|all-minilm|bge-", "ollama:embedding"),
)  # fmt: skip
# Names under which people look for a vendor.
_VENDORS = {
    "gemini": "google",
    "claude": "anthropic:messages",
    "gpt": "openai:chat",
    "chatgpt": "openai:chat",
    "grok": "xai",
    "kimi": "moonshot",
    "qwen": "alibaba",
    "azure-openai": "azure:chat",
    "azure_openai": "azure:chat",
    "google_genai": "google",
    "googleai": "google",
    "google-ai-studio": "google",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
    "nvidia_nim": "nvidia",
    "hosted_vllm": "vllm",
    "lm_studio": "lmstudio",
    "cloudflare": "cloudflare-ai",
    "workers-ai": "cloudflare-ai",
    "vertexai": "vertex",
    "vertex_ai": "vertex",
    "aws": "bedrock",
}
_WITH_COMMAS = frozenset({"exec", "file", "python", "http", "https", "scripted"})
_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]*://|(localhost|(\d{1,3}\.){3}\d{1,3}|[\w-]+(\.[\w-]+)+)(:\d+)?/", re.IGNORECASE
)
_HOST = re.compile(r"(localhost|(\d{1,3}\.){3}\d{1,3}|[\w-]+(\.[\w-]+)*):\d{2,5}$", re.IGNORECASE)
_TAG = re.compile(r"\d+(\.\d+)?b\b.*|latest", re.IGNORECASE)
ANY = (
    f"write VENDOR:MODEL, such as openai:chat:MODEL; any server with OpenAI's API is {COMPATIBLE}, "
    "any application is `http` with `url`; `gradegate list` has them all"
)


def check(spec: ProviderSpec) -> None:
    """Raises ConfigError for an id that is nothing gradegate asks: an agent, a voice, a cloud, two in one, a slip of the pen."""
    found = _several(spec.id) or _slip(spec.id) or _known(spec.id)
    if found:
        raise ConfigError.at(f"`{spec.id}` {found[0]}", spec.origin, found[1])


def _several(provider_id: str) -> tuple[str, str] | None:
    """Ids with commas between them; a command or an address may have commas of its own."""
    ids = [part.strip() for part in provider_id.split(",")]
    served = [split_id(part) for part in ids if ":" in part]
    if len(served) < 2 or not all(parts and parts[0] not in _WITH_COMMAS for parts in served):
        return None
    cure = "name each by itself: in a list of the config, by an option each on the command line, graders as KIND=ID"
    return f"names {len(ids)} models in one", cure


def _slip(provider_id: str) -> tuple[str, str] | None:
    """A near miss of a form of its vendor, such as ``openai:chatt:MODEL``, which would else be taken for a model's name."""
    vendor, _, rest = provider_id.partition(":")
    kind, colon, model = rest.partition(":")
    served = split_id(provider_id)
    if not colon or served is None or served[0] != vendor or vendor in _WITH_COMMAS:
        return None
    forms = [form.partition(":")[2] for form in _forms(vendor)]
    meant = near(kind, filter(None, forms)) if kind not in forms else ""
    return (f"has no form `{vendor}:{kind}`", f'did you mean "{vendor}:{meant}:{model}"?') if meant else None


def _known(provider_id: str) -> tuple[str, str] | None:
    first, _, rest = provider_id.partition(":")
    kind, served = rest.partition(":")[0], split_id(provider_id)
    if served is None and first in _FAMILIES:
        return _RED if provider_id.startswith("promptfoo:redteam") else _FAMILIES[first]
    if served[0] != first if served else not _forms(first):  # it is served, or nobody knows the vendor
        return None
    if first in _MEDIA_VENDORS and any(fnmatchcase(kind, pattern) for pattern in _MEDIA_MODELS):
        return _MEDIA
    if served and kind in getattr(PROVIDERS.find(served[0]), "kinds", ()):
        return None
    words = ((pattern, found) for patterns, found in _KINDS.items() for pattern in patterns.split())
    return next((found for pattern, found in words if fnmatchcase(kind, pattern)), None)


def _forms(vendor: str) -> list[str]:
    """The prefixes of a vendor that are served."""
    return [name for name in PROVIDERS.names() if name.partition(":")[0] == vendor]


def nearest(provider_id: str) -> str:
    """What to write in place of an id that nobody knows."""
    if _ADDRESS.match(provider_id) or _HOST.match(provider_id):
        return _address(provider_id)
    first, colon, rest = provider_id.partition(":")
    vendor = _VENDORS.get(first.lower())
    if vendor in _FAMILIES:
        return f"{vendor} {_FAMILIES[vendor][0]}: {_FAMILIES[vendor][1]}"
    if vendor and rest:
        return f"write {vendor}:{rest}"
    if forms := _forms(first):
        return "write one of " + ", ".join(f"{form}:MODEL" for form in forms)
    if whole := _respelt(provider_id):
        return f"write {whole}"
    tagged = _TAG.fullmatch(rest) is not None  # `llama3.2:3b` is a model of Ollama's, and no vendor's
    name = _model(provider_id) or _model(rest)
    vendors = {known.split(":")[0] for known in PROVIDERS.names()} if (colon or not name) and not tagged else ()
    meant = near(first, vendors) or closest(first, vendors)
    if meant and rest and split_id(f"{meant}:{rest}") is None:
        return "write one of " + ", ".join(f"{form}:MODEL" for form in _forms(meant))
    if meant or name:
        return f'did you mean "{meant}{colon}{rest}"?' if meant else f"write {name}"
    owner, slash, model = provider_id.partition("/")
    if slash and PROVIDERS.find(owner.lower()):
        return f"write {owner.lower()}:{model}, or openrouter:{provider_id}"
    return f"write openrouter:{provider_id}, or {COMPATIBLE}" if slash and not colon else ANY


def _respelt(provider_id: str) -> str:
    """An id with other signs than colons or in other case (``openai.chat.m``, ``gemini/m``, ``models/gemini-m``); else empty."""
    parts = re.split(r"[.:/-]", provider_id, maxsplit=2)
    form = ":".join(parts[:2]).lower()
    if len(parts) == 3 and parts[2] and form in PROVIDERS.names():
        return f"{form}:{parts[2]}"
    owner, slash, model = provider_id.partition("/")
    vendor = _VENDORS.get(owner.lower()) if slash else ""
    if vendor and vendor not in _FAMILIES:
        return f"{vendor}:{model}"
    return _model(model) if owner == "models" else ""


def _model(name: str) -> str:
    """The id of a model by its bare name; empty where the name says nothing."""
    lower = name.lower()
    return next((f"{prefix}:{name}" for pattern, prefix in _MODELS if re.match(pattern, lower)), "")


def _address(written: str) -> str:
    url = written if written.lower().startswith(("http://", "https://")) else ""
    if not url and "://" in written:
        return f"gradegate asks over HTTP: serve it, and write the id `http` with `url`; or {ELSEWHERE}"
    local = re.match(r"localhost|127\.|\d", written)
    url = url or f"{'http' if local else 'https'}://{written}"
    return f"an application: write {url} and a `body`; a server with OpenAI's API: openai:chat:MODEL with `apiBaseUrl: {url}`"
