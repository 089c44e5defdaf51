"""Types of assertions that there are no graders for: those of promptfoo, those that run code, and what others mean."""

from __future__ import annotations

from gradegate.errors import ConfigError
from gradegate.grading.grader import GRADERS
from gradegate.registry import closest, plain
from gradegate.suite import Assertion

SET = "assert-set"
# promptfoo's types that run code of the repository, or need what only promptfoo has.
_CODE = frozenset({"ruby", "webhook"})
_TRACES = "use trajectory:tool-used and its relatives, which look at the calls that an answer tells"
_OTHERS = {
    "is-html": "use contains-html, or is-xml for markup that is well-formed",
    "is-sql": "use regex or llm-rubric, or let the target check its SQL",
    "contains-sql": "use regex or llm-rubric, or let the target check its SQL",
    "meteor": "use gleu or rouge-n",
    "rouge-l": "use rouge-n",
    "rouge-s": "use rouge-n",
    "is-refusal": "use llm-rubric with `value: declines to answer`, or icontains-any with the words of a refusal",
    "guardrails": "use moderation: what a content filter stops is an error here",
    "skill-used": "use trajectory:tool-used",
    "trace-span-count": _TRACES,
    "trace-span-duration": _TRACES,
    "trace-error-spans": _TRACES,
    "trajectory:goal-success": "use llm-rubric with the goal as `value`, and trajectory:tool-sequence for the way to it",
    "agent-rubric": "use llm-rubric",
    "search-rubric": "use factuality with the facts as `value`, or llm-rubric with a grader that searches by itself",
    "pi": "use llm-rubric or g-eval",
}
_NONE = "perplexity perplexity-score human is-valid-video".split()
# Types that no tool has and that configs name all the same: what they mean here.
_MEANT = {
    "is_string": "empty is-empty not-empty",
    "word-count": "min-length max-length length word_count words token-count min-words max-words",
    "is-json": "valid-json json is-valid-json json-schema json-schema-valid is-json-schema valid_json",
    "contains-json": "contains-json-property json-property has-json",
    "answer-relevance": "relevance answer_relevance answer-relevancy relevancy",
    "llm-rubric": "rubric llm-judge llm-grade llm_judge model-graded model-graded-rubric judge tone style helpfulness "
    "coherence quality correctness safety completeness politeness language",
    "factuality": "factual fact-check facts",
    "similar": "similarity semantic-similarity semantic_similarity embedding-similarity cosine-similarity",
    "javascript": "js",
    "python": "py",
    "equals": "eq equal exact exact-match exactly is",
    "regex": "matches match pattern matches-regex ends-with endswith not-null",
    "contains": "includes include has substring",
    "starts-with": "startswith begins-with",
    "latency": "response-time duration max-latency time",
    "cost": "price max-cost",
    "moderation": "toxicity is-toxic harmful",
}
_SAME = {plain(wrong): right for right, names in _MEANT.items() for wrong in names.split()}
_HOW = {
    "is_string": "; or `regex` with the value `\\S` for an answer that is not empty",
    "word-count": " with `value: {min: N, max: N}`, or char_ct_match for characters",
    "is-json": ", with a JSON Schema as `value` where one is meant",
}


def unknown(spec: Assertion) -> ConfigError:
    """The mistake of an assertion whose type there is no grader for."""
    base = spec.type.removeprefix("not-")
    if base in _CODE:
        cure = "use contains, regex, is-json or llm-rubric, or let the target check itself"
        return ConfigError.at(f"`{spec.type}` runs code, which gradegate does not run", spec.origin, cure)
    if base in _OTHERS or base in _NONE or base.startswith("promptfoo:"):
        cure = _OTHERS.get(base, "remove it here, or keep it for promptfoo in a file of its own")
        return ConfigError.at(f"`{spec.type}` is promptfoo's, and gradegate does not have it", spec.origin, cure)
    return ConfigError.at(f"unknown assertion type `{spec.type}`", spec.origin, _meant(spec.type, base))


def _meant(written: str, base: str) -> str:
    """What a type is meant for: as a whole, such as ``not-empty``, or as the opposite of what ``base`` is meant for."""
    opposite = "not-" if base != written and plain(written) not in _SAME else ""
    same = _SAME.get(plain(written)) or _SAME.get(plain(base)) or ""
    close = same or closest(base, [*GRADERS.names(), SET])
    return f'did you mean "{opposite}{close}"{_HOW.get(same, "")}?' if close else "see `gradegate list`"
