"""Checks the options of a provider: a slip of the pen must not change a run in silence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gradegate.asking.provider import Build
from gradegate.errors import ConfigError, Mistake
from gradegate.registry import near, suggest
from gradegate.suite import ProviderSpec

# Options that promptfoo knows and that change nothing of what is asked here: its display, its cache, its tracing,
# and those of vendors' features that gradegate has no use for.
PASSED_OVER = frozenset(
    "basePath showThinking mcp functionToolCallbacks functionToolStatefulApi maxRetries max_retries timeout timeoutMs "
    "stateful tokenEstimation useDefaultSuffix useDefaultPrefix audio stream streaming retryOptions best_of "
    "tool_resources modelName max_new_tokens omitDefaults apiKeyRequired organization region projectId vertexai "
    "useAssistantRole transform transformResponse responseParser prefix suffix linkedTargetId useHttps delay "
    "dataSources o1 audioCost audioInputCost audioOutputCost imageInputCost videoOutputCost azureClientId "
    "azureClientSecret azureTenantId azureAuthorityHost azureTokenScope use_cache wait_for_model inferenceProvider "
    "chatCompletion max_time do_sample return_full_text num_return_sequences repetition_penalty num_gqa "
    "rope_frequency_base rope_frequency_scale draft_num_predict max_tool_calls reasoning thinking verbosity "
    "reasoning_effort seed instructions speed effort store metadata background webSearchOptions disableCache "
    "cost inputCost outputCost inputs purpose context examples temperature top_p top_k max_tokens stop "
    "max_completion_tokens frequency_penalty presence_penalty response_format tools tool_choice functions "
    "function_call".split()
)


# Words of options that steer what is asked, of whom, or how: an option with one of them is meant.
_STEERING = frozenset(
    "url uri host endpoint base path address proxy port key keys token secret auth password header headers model models deployment "
    "region project account version tool tools function functions schema format response request body query method "
    "system prompt message messages role seed temperature max min top tokens penalty stop reasoning effort thinking "
    "budget file timeout retries api cache".split()
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def check(spec: ProviderSpec, build: Build) -> list[str]:
    """The options that mean nothing to the provider. Raises ConfigError for every one that may be meant for another."""
    known = getattr(build, "options", None)
    mistakes = tuple(_mistakes(spec, known, getattr(build, "unsupported", {})))
    if mistakes:
        raise ConfigError(*mistakes)
    return [] if known is None else [name for name in spec.config if name not in known and name not in PASSED_OVER]


def _is_meant(name: str, options: tuple[str, ...]) -> bool:
    """Whether an option may be meant for one that there is, or steers something."""
    return bool(near(name, options) or suggest(name, options)) or steers(name)


def steers(name: str) -> bool:
    """Whether the name of an option has a word for what steers a request."""
    return not _STEERING.isdisjoint(word.lower() for word in _WORD.findall(name))


def _mistakes(spec: ProviderSpec, options: tuple[str, ...] | None, unsupported: Mapping[str, str]) -> Iterator[Mistake]:
    if options is None:  # a provider that says nothing about its options
        return
    for name in spec.config:
        if name in unsupported:
            yield Mistake(f"`{name}` of `{spec.id}` is not supported", spec.origin, unsupported[name])
        elif name not in options and name not in PASSED_OVER and _is_meant(name, options):
            listed = "its options are " + ", ".join(sorted(set(options))) if options else "it takes no options"
            what = f"`{spec.id}` has no option `{name}`"
            yield Mistake(what, spec.origin, suggest(name, options) or listed)
