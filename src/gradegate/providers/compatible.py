"""Services and servers with the API of OpenAI, each under its own address and key: chat, and embeddings where they serve any.

``SERVICE:MODEL`` and ``SERVICE:chat:MODEL`` ask a chat model, ``SERVICE:embedding:MODEL`` one for embeddings. The forms of
the ids, the addresses and the variables are promptfoo's (https://www.promptfoo.dev/docs/providers/) where it has the
service, else the vendor's own:

- tokens of OpenRouter for GitHub's identity: https://openrouter.ai/docs/api/api-reference/oauth/exchange-a-workload-identity-token
- ``usage.cost`` of OpenRouter: https://openrouter.ai/docs/use-cases/usage-accounting; ``usage.cost.total_cost`` of Perplexity:
  https://docs.perplexity.ai/api-reference/chat-completions-post
- https://console.groq.com/docs/openai, https://docs.x.ai/docs/api-reference, https://api-docs.deepseek.com,
  https://docs.together.ai/docs/openai-api-compatibility, https://docs.cohere.com/docs/compatibility-api,
  https://docs.sambanova.ai/docs/en/features/openai-compatibility, https://deepinfra.com/docs/openai_api,
  https://vercel.com/docs/ai-gateway/sdks-and-apis/openai-chat-completions, https://docs.voyageai.com/reference/embeddings-api,
  https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html, https://lmstudio.ai/docs/developer/openai-compat
"""

from __future__ import annotations

from gradegate.access.hosts import Vendor
from gradegate.asking.identity import EXCHANGE, JWT, Federation
from gradegate.asking.provider import PROVIDERS
from gradegate.asking.service import Service

_SAMPLING = ("top_k", "min_p", "repetition_penalty")
_ROUTING = ("models", "route", "provider", "transforms", "plugins", "reasoning", *_SAMPLING)
_SEARCH = (
    "search_domain_filter", "search_recency_filter", "return_related_questions", "return_images", "search_mode",
    "search_after_date_filter", "search_before_date_filter", "search_context_size", "top_k",
)  # fmt: skip
_GROQ = ("reasoning_format", "include_reasoning")
_CAMEL = {
    "maxTokens": "max_tokens",
    "topP": "top_p",
    "topK": "top_k",
    "frequencyPenalty": "frequency_penalty",
    "presencePenalty": "presence_penalty",
    "stopSequences": "stop",
}
_OPENROUTER = Federation(
    "OpenRouter",
    "https://openrouter.ai/api/v1/oauth/token",
    Vendor(hosts=("openrouter.ai",)),
    {"grant_type": EXCHANGE, "subject_token_type": JWT},
    subject="subject_token",
    ids={"federation_policy_id": "OPENROUTER_FEDERATION_POLICY_ID"},
    audience="https://openrouter.ai",
    audience_variable="OPENROUTER_IDENTITY_AUDIENCE",
    form=True,
)
_ACCOUNT = "https://api.cloudflare.com/client/v4/accounts/{accountId}/ai/v1"

# fmt: off
# --- models behind many vendors, and services of their own ---
PROVIDERS.register("openrouter")(Service(
    "OpenRouter", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",), extra=_ROUTING, embeds=True, tells_cost=True,
    federation=_OPENROUTER))
PROVIDERS.register("orcarouter")(Service("OrcaRouter", "https://api.orcarouter.ai/v1", ("ORCAROUTER_API_KEY",), embeds=True))
PROVIDERS.register("vercel")(Service(
    "Vercel's AI Gateway", "https://ai-gateway.vercel.sh/v1", ("VERCEL_AI_GATEWAY_API_KEY", "AI_GATEWAY_API_KEY"), extra=("top_k",),
    renamed=_CAMEL, unsupported={"baseUrl": "write `apiBaseUrl`, the address of its API in the form of OpenAI's"}, embeds=True))
PROVIDERS.register("truefoundry")(Service("TrueFoundry", "https://llm-gateway.truefoundry.com", ("TRUEFOUNDRY_API_KEY",), embeds=True))
PROVIDERS.register("groq")(Service("Groq", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",), extra=_GROQ))
PROVIDERS.register("xai")(Service("xAI", "https://api.x.ai/v1", ("XAI_API_KEY",), ("XAI_API_BASE_URL",), extra=("search_parameters",)))
PROVIDERS.register("deepseek")(Service("DeepSeek", "https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",)))
PROVIDERS.register("togetherai", "together")(Service(
    "Together AI", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",), embeds=True, open=True))
PROVIDERS.register("perplexity")(Service(
    "Perplexity", "https://api.perplexity.ai", ("PERPLEXITY_API_KEY",), extra=_SEARCH, tells_cost=True))
PROVIDERS.register("cerebras")(Service("Cerebras", "https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",), open=True))
PROVIDERS.register("fireworks")(Service(
    "Fireworks AI", "https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",), ("FIREWORKS_API_BASE_URL",), extra=_SAMPLING,
    embeds=True))
PROVIDERS.register("nvidia")(Service(
    "NVIDIA NIM", "https://integrate.api.nvidia.com/v1", ("NVIDIA_API_KEY",), ("NVIDIA_API_BASE_URL",), embeds=True))
PROVIDERS.register("sambanova")(Service(
    "SambaNova", "https://api.sambanova.ai/v1", ("SAMBANOVA_API_KEY",), extra=("top_k",), embeds=True))
PROVIDERS.register("deepinfra")(Service(
    "DeepInfra", "https://api.deepinfra.com/v1/openai", ("DEEPINFRA_API_KEY", "DEEPINFRA_TOKEN"), extra=_SAMPLING, embeds=True))
PROVIDERS.register("hyperbolic")(Service("Hyperbolic", "https://api.hyperbolic.xyz/v1", ("HYPERBOLIC_API_KEY",), extra=_SAMPLING))
PROVIDERS.register("nscale")(Service(
    "Nscale", "https://inference.api.nscale.com/v1", ("NSCALE_SERVICE_TOKEN", "NSCALE_API_KEY"), embeds=True, open=True))
PROVIDERS.register("novita")(Service("Novita AI", "https://api.novita.ai/openai/v1", ("NOVITA_API_KEY",), extra=_SAMPLING, embeds=True))
PROVIDERS.register("aimlapi")(Service("AI/ML API", "https://api.aimlapi.com/v1", ("AIML_API_KEY",), embeds=True))
PROVIDERS.register("cometapi")(Service("CometAPI", "https://api.cometapi.com/v1", ("COMETAPI_KEY",), embeds=True))
PROVIDERS.register("atlascloud")(Service("Atlas Cloud", "https://api.atlascloud.ai/v1", ("ATLASCLOUD_API_KEY",)))
PROVIDERS.register("abliteration")(Service("abliteration.ai", "https://api.abliteration.ai/v1", ("ABLIT_KEY",), ("ABLIT_API_BASE_URL",)))

PROVIDERS.register("jfrog", "qwak")(Service("JFrog ML", "https://models.qwak-prod.qwak.ai/v1/{model}", ("QWAK_TOKEN",)))

# --- vendors of models ----------------------------------------------------------------------------------------------
PROVIDERS.register("alibaba", "alicloud", "aliyun", "dashscope")(Service(
    "Alibaba Cloud", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", ("DASHSCOPE_API_KEY",),
    extra=("top_k", "enable_thinking", "thinking_budget"), embeds=True))
PROVIDERS.register("moonshot")(Service("Moonshot AI", "https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY",)))
PROVIDERS.register("minimax")(Service("MiniMax", "https://api.minimax.io/v1", ("MINIMAX_API_KEY",)))
PROVIDERS.register("meta")(Service("Meta's Model API", "https://api.meta.ai/v1", ("MODEL_API_KEY",)))
PROVIDERS.register("llamaapi")(Service("the Llama API", "https://api.llama.com/compat/v1", ("LLAMA_API_KEY",)))
PROVIDERS.register("ai21")(Service("AI21", "https://api.ai21.com/studio/v1", ("AI21_API_KEY",), ("AI21_API_BASE_URL",)))
PROVIDERS.register("cohere")(Service("Cohere", "https://api.cohere.ai/compatibility/v1", ("COHERE_API_KEY",), embeds=True))
PROVIDERS.register("voyage")(Service(
    "Voyage AI", "https://api.voyageai.com/v1", ("VOYAGE_API_KEY",), ("VOYAGE_API_BASE_URL",), chats=False))
PROVIDERS.register("huggingface:chat", "hf:chat")(Service(
    "Hugging Face", "https://router.huggingface.co/v1", ("HF_TOKEN", "HF_API_TOKEN"), extra=_SAMPLING,
    renamed={"apiEndpoint": "apiBaseUrl", "max_new_tokens": "max_tokens"}))

# --- clouds and servers of one's own ----------------------------------------------------------------------------------
PROVIDERS.register("databricks")(Service(
    "Databricks", "{workspaceUrl}/serving-endpoints", ("DATABRICKS_TOKEN",), parts={"workspaceUrl": "DATABRICKS_WORKSPACE_URL"},
    embeds=True))
PROVIDERS.register("cloudflare-ai")(Service(
    "Cloudflare Workers AI", _ACCOUNT, ("CLOUDFLARE_API_KEY", "CLOUDFLARE_API_TOKEN"), parts={"accountId": "CLOUDFLARE_ACCOUNT_ID"},
    embeds=True, open=True))
PROVIDERS.register("mlflow-gateway")(Service(
    "an MLflow gateway", "{gatewayUrl}/gateway/mlflow/v1", ("MLFLOW_GATEWAY_API_KEY",), parts={"gatewayUrl": "MLFLOW_GATEWAY_URL"},
    embeds=True, keyless=True))
PROVIDERS.register("cloudera")(Service(
    "Cloudera AI", "https://{domain}/namespaces/serving-default/endpoints/{model}/v1", ("CDP_TOKEN",), parts={"domain": "CDP_DOMAIN"},
    unsupported=dict.fromkeys(("namespace", "endpoint"), "write `apiBaseUrl`: https://DOMAIN/namespaces/NAMESPACE/endpoints/ENDPOINT/v1")))
PROVIDERS.register("helicone")(Service(
    "Helicone's gateway", "http://localhost:8080/ai", ("HELICONE_API_KEY",), keyless=True,
    unsupported=dict.fromkeys(("baseUrl", "router"), "write `apiBaseUrl`: http://HOST:8080/ai, or /router/ROUTER in place of /ai")))
PROVIDERS.register("envoy")(Service(
    "an Envoy AI gateway", "", ("ENVOY_API_KEY",), ("ENVOY_API_BASE_URL",), below="/v1", embeds=True, keyless=True))
PROVIDERS.register("litellm")(Service(
    "a LiteLLM proxy", "http://localhost:4000", ("LITELLM_API_KEY",), ("LITELLM_API_BASE",), extra=_SAMPLING, embeds=True,
    keyless=True, open=True))
PROVIDERS.register("vllm")(Service(
    "a vLLM server", "http://localhost:8000/v1", ("VLLM_API_KEY",), ("VLLM_BASE_URL",), extra=_SAMPLING, embeds=True, keyless=True,
    open=True))
PROVIDERS.register("lmstudio")(Service(
    "LM Studio", "http://localhost:1234/v1", ("LM_API_TOKEN",), ("LM_STUDIO_API_BASE",), extra=_SAMPLING, embeds=True, keyless=True,
    open=True))
PROVIDERS.register("localai")(Service(
    "LocalAI", "http://localhost:8080/v1", ("LOCALAI_API_KEY",), ("LOCALAI_BASE_URL",), extra=_SAMPLING, embeds=True, keyless=True,
    open=True))
PROVIDERS.register("docker")(Service(
    "Docker's model runner", "http://localhost:12434/engines/v1", ("DOCKER_MODEL_RUNNER_API_KEY",),
    ("DOCKER_MODEL_RUNNER_BASE_URL",), "/engines/v1", embeds=True, keyless=True, open=True))
