"""The inputs of promptfoo's action, each with what to write in its place: for messages, and for docs/from-promptfoo.md.

Its inputs are those of ``action.yml`` at promptfoo/promptfoo-action 77edad7; a few that people guess are here as well.
"""

from __future__ import annotations

from collections.abc import Mapping

_CONFIG = (
    "leave it out: prompts are those of the config; with `only-changed: true`, a pull request that changes nothing of what is read passes"
)
_OUTPUT = "leave it out: the log has no table and no bar; `output` names report files"
_START = "leave it out: everything is run unless `only-changed: true` is given, and then, too, when `.github/` is changed"
_BASE = "give `base`, a checkout of the base commit (docs/github.md)"
_KEY = "set the variable by `env:` of the step: `{}: ${{{{ secrets.{} }}}}`"
_REFUSED = "leave it out: gradegate does not ask this vendor; name a provider with an API like OpenAI's, or `http:`"

_AWS = "leave it out: aws-actions/configure-aws-credentials signs the job in, and `bedrock:` takes what it sets (docs/keys.md)"


def _key(name: str) -> str:
    return _KEY.format(name, name)


# What gradegate has under another name or in another place, or not at all.
ANSWERS: Mapping[str, str] = {
    "fail-on-threshold": "write it into the config as a share: `gate: {rules: [{name: most pass, min-pass-rate: 0.8}]}`",
    "repeat-min-pass": "give `runs: M/N` in place of `repeat: N` and `repeat-min-pass: M`: M of N runs of each test must pass",
    "disable-comment": "give `comment: off`",
    "env-files": "set the variables by `env:` of the step, from its secrets: a pull request could write the file",
    "no-cache": "leave it out: nothing is kept unless `cache` names a folder",
    "cache-path": "give `cache`, and keep the folder with `actions/cache` (examples/workflow-cache.yml)",
    "no-share": "leave it out: nothing is ever shared",
    "no-table": _OUTPUT,
    "no-progress-bar": _OUTPUT,
    "prompts": _CONFIG,
    "use-config-prompts": _CONFIG,
    "force-run": _START,
    "workflow-files": _START,
    "workflow-base": _BASE,
    "promptfoo-version": "leave it out: promptfoo is not installed; the version is that of `uses:`",
    "debug": "leave it out: reports hold all that was asked and answered",
    "azure-api-key": "give `azure-openai-api-key`",
    "palm-api-key": "give `google-api-key`",
    "groq-api-key": _key("GROQ_API_KEY"),
    "cohere-api-key": _key("COHERE_API_KEY"),
    "huggingface-api-key": _key("HF_TOKEN"),
    "openrouter-api-key": _key("OPENROUTER_API_KEY"),
    "vertex-api-key": _key("VERTEX_API_KEY"),
    "replicate-api-key": _REFUSED,
    "aws-access-key-id": _AWS,
    "aws-secret-access-key": _AWS,
    "promptfoo-api-key": "leave it out: promptfoo's service is not asked",
    "results-path": "give `output`, one path to a line; the output `results-path` says where the JSON is",
}
# What gradegate has under the same name.
SAME: Mapping[str, str] = {
    "config": "the same; several, one to a line",
    "github-token": "the same, and by default the job's own",
    "openai-api-key": "the same",
    "anthropic-api-key": "the same",
    "mistral-api-key": "the same",
    "working-directory": "the same",
    "max-concurrency": "the same",
    "repeat": "the same, from 1",
}
