"""What stands below every page of help: the environment that is read, the exit codes, and an example."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

EXAMPLES: Mapping[str, str] = {
    "run": "gradegate run evals/support.yaml --grader openai:chat:MODEL -o results.json",
    "merge": "gradegate merge parts evals/support.yaml -o results.json",
    "validate": "gradegate validate evals/support.yaml",
    "cases": "gradegate cases evals/support.yaml -o cases.jsonl",
    "calibrate": "gradegate calibrate evals/support.yaml labels.jsonl -o calibration.html",
    "list": "gradegate list",
    "schema": "gradegate schema config > gradegate.schema.json",
    "init": "gradegate init",
    "view": "gradegate view results.json",
    "explain": 'gradegate explain "names the approval limit" results.json',
}
_MISTAKE = "a mistake in a config, a key or an argument"
_DECIDED = {"0": "passed, or only advice failed", "1": "blocked", "2": _MISTAKE, "3": "could not tell, or not run"}
_DONE = {"0": "done", "2": _MISTAKE}
# The meaning of each exit code, as docs/verdicts.md has it, by command; of the command without a name what all may give.
CODES: Mapping[str, Mapping[str, str]] = {
    **dict.fromkeys(("", "run", "merge", "action"), _DECIDED),
    "validate": {"0": "no mistake", "2": _MISTAKE},
    "calibrate": {"0": "something could be held against a label", "2": _MISTAKE, "3": "nothing could"},
}
OWN: Mapping[str, str] = {
    "NO_COLOR": "no colours, whatever else is set",
    "FORCE_COLOR": "colours where nothing is a terminal, too; 0: none",
    "TERM": "dumb: no colours and no bar",
    "CI": "no bar",
    "BROWSER": "what `view` opens, as DISPLAY or WAYLAND_DISPLAY lets it",
    "PROMPTFOO_PYTHON": "the Python for code of the repository, as --python",
    "GRADEGATE_DEBUG": "1: where in gradegate a defect is",
    "GRADEGATE_NETWORK": "set in the container image",
    "REQUESTS_CA_BUNDLE": "certificates that are trusted; SSL_CERT_FILE is the same",
    "SSL_CERT_FILE": "certificates that are trusted",
    "HTTPS_PROXY": "the proxy to hosts; HTTP_PROXY and NO_PROXY likewise",
}
# What GitHub's runner and the Action set, and what a process needs to start; nobody sets these by hand.
RUNNERS = frozenset(
    """
    ACTIONS_ID_TOKEN_REQUEST_TOKEN ACTIONS_ID_TOKEN_REQUEST_URL DYLD_LIBRARY_PATH GITHUB_ACTIONS GITHUB_ACTION_PATH
    GITHUB_ACTOR GITHUB_API_URL GITHUB_BASE_REF GITHUB_EVENT_NAME GITHUB_EVENT_PATH GITHUB_GRAPHQL_URL GITHUB_OUTPUT
    GITHUB_REF GITHUB_REPOSITORY GITHUB_RUN_ATTEMPT GITHUB_RUN_ID GITHUB_SERVER_URL GITHUB_SHA GITHUB_STEP_SUMMARY
    GITHUB_WORKSPACE GRADEGATE_ENV GRADEGATE_INPUTS HOME INPUT_ARGS LD_LIBRARY_PATH RUNNER_TEMP
    """.split()
)
# Keys and addresses of vendors, and who signs in to them.
VENDORS = tuple(
    """
    ABLIT_API_BASE_URL ABLIT_KEY AI21_API_BASE_URL AI21_API_KEY AIML_API_KEY AI_GATEWAY_API_KEY
    ANTHROPIC_API_KEY ANTHROPIC_BASE_URL ANTHROPIC_FEDERATION_RULE_ID ANTHROPIC_IDENTITY_AUDIENCE
    ANTHROPIC_ORGANIZATION_ID ANTHROPIC_SERVICE_ACCOUNT_ID ANTHROPIC_WORKSPACE_ID ATLASCLOUD_API_KEY
    AWS_ACCESS_KEY_ID AWS_BEARER_TOKEN_BEDROCK AWS_BEDROCK_REGION AWS_DEFAULT_REGION
    AWS_ENDPOINT_URL_BEDROCK_RUNTIME AWS_REGION AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AZURE_API_BASE_URL
    AZURE_API_HOST AZURE_API_KEY AZURE_CLIENT_ID AZURE_OPENAI_API_BASE_URL AZURE_OPENAI_API_HOST
    AZURE_OPENAI_API_KEY AZURE_OPENAI_API_VERSION AZURE_OPENAI_BASE_URL AZURE_TENANT_ID CEREBRAS_API_KEY
    CLOUDFLARE_ACCOUNT_ID CLOUDFLARE_API_KEY CLOUDFLARE_API_TOKEN CLOUDSDK_AUTH_ACCESS_TOKEN COHERE_API_KEY
    COMETAPI_KEY DASHSCOPE_API_KEY DATABRICKS_TOKEN DATABRICKS_WORKSPACE_URL DEEPINFRA_API_KEY DEEPINFRA_TOKEN
    DEEPSEEK_API_KEY DOCKER_MODEL_RUNNER_API_KEY DOCKER_MODEL_RUNNER_BASE_URL ENVOY_API_BASE_URL ENVOY_API_KEY
    FIREWORKS_API_BASE_URL FIREWORKS_API_KEY GEMINI_API_KEY GOOGLE_API_BASE_URL GOOGLE_API_HOST GOOGLE_API_KEY
    GOOGLE_APPLICATION_CREDENTIALS GOOGLE_CLOUD_LOCATION GOOGLE_CLOUD_PROJECT GOOGLE_GEMINI_BASE_URL
    GOOGLE_OAUTH_ACCESS_TOKEN GOOGLE_PROJECT_ID GROQ_API_KEY HF_API_TOKEN HF_TOKEN HYPERBOLIC_API_KEY
    LITELLM_API_BASE LITELLM_API_KEY LLAMA_API_KEY LM_API_TOKEN LM_STUDIO_API_BASE LOCALAI_API_KEY
    LOCALAI_BASE_URL MINIMAX_API_KEY MISTRAL_API_BASE_URL MISTRAL_API_HOST MISTRAL_API_KEY
    MLFLOW_GATEWAY_API_KEY MLFLOW_GATEWAY_URL MODEL_API_KEY MOONSHOT_API_KEY NOVITA_API_KEY NSCALE_API_KEY
    NSCALE_SERVICE_TOKEN NVIDIA_API_BASE_URL NVIDIA_API_KEY OLLAMA_API_KEY OLLAMA_BASE_URL OPENAI_API_BASE_URL
    OPENAI_API_HOST OPENAI_API_KEY OPENAI_BASE_URL OPENAI_IDENTITY_AUDIENCE OPENAI_IDENTITY_PROVIDER_ID
    OPENAI_ORGANIZATION OPENAI_SERVICE_ACCOUNT_ID OPENROUTER_API_KEY OPENROUTER_FEDERATION_POLICY_ID
    OPENROUTER_IDENTITY_AUDIENCE ORCAROUTER_API_KEY PERPLEXITY_API_KEY SAMBANOVA_API_KEY TOGETHER_API_KEY
    TRUEFOUNDRY_API_KEY VERCEL_AI_GATEWAY_API_KEY VERTEX_API_HOST VERTEX_API_KEY VERTEX_API_VERSION
    VERTEX_PROJECT_ID VERTEX_PUBLISHER VERTEX_REGION VLLM_API_KEY VLLM_BASE_URL VOYAGE_API_BASE_URL
    VOYAGE_API_KEY XAI_API_BASE_URL XAI_API_KEY
    """.split()
)
_COLUMNS = 78


def epilog(command: str = "") -> str:
    """The text below the options of a command, or of all commands; what is asked for most stands last, where it is in sight."""
    codes = {**CODES.get(command, _DONE), "130": "Ctrl-C", "143": "SIGTERM"}
    parts = ["environment variables:", *_table(OWN)]
    if command:
        parts.append("  keys and addresses of vendors, such as OPENAI_API_KEY: gradegate --help")
    else:
        vendors = ["keys and addresses of vendors (docs/keys.md, docs/providers.md):", *_wrapped(VENDORS), ""]
        parts = [*vendors, "set by GitHub's runner:", *_wrapped(sorted(RUNNERS)), "", *parts]
    example = EXAMPLES.get(command or "run", f"gradegate {command}")
    return "\n".join([*parts, "", "exit codes:", *_table(codes), "", "example:", f"  {example}"])


def _table(rows: Mapping[str, str]) -> list[str]:
    width = max(map(len, rows))
    return [f"  {name:<{width}}  {meaning}" for name, meaning in rows.items()]


def _wrapped(names: Iterable[str]) -> list[str]:
    return textwrap.wrap(", ".join(names), _COLUMNS, initial_indent="  ", subsequent_indent="  ")
