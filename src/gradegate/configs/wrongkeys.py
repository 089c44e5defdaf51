"""What to say of a key that is not known where it stands: what it was meant for, and where that is written.

Keys are compared as people mix them up: in any case, with and without hyphens and underscores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from gradegate.asking.options import steers
from gradegate.configs import limits
from gradegate.grading.grader import GRADERS
from gradegate.registry import near, plain, suggest

# What promptfoo knows and gradegate does not do: the key, and what to do instead.
UNSUPPORTED = {
    "extensions": "hooks run code, which gradegate does not run; prepare the run in an earlier step",
    "nunjucksFilters": "they are JavaScript; write the value in the form that you need",
    "redteam": "gradegate gates evals; run red teaming as its own job",
}
# Keys that are known, and written at the wrong level, where that takes more words than the name of their place.
_TEST = "write it into a test or `defaultTest`"
MISPLACED = {
    "rubricPrompt": "write it into `options` of the test or of `defaultTest`, or into the assertion",
    "assert": _TEST,
    "vars": _TEST,
    "options": _TEST,
    "providerOutput": _TEST,
    "turns": _TEST,
    "threshold": "write it into a test or an assertion",
    "weight": "write it into an assertion",
    "blocking": "write it into an assertion",
    "second-opinions": "write it into the `gate` block or an assertion",
    "confirm": "write it into the `gate` block or an assertion",
    "repeat": "write it into `evaluateOptions`, or into `options` of a test",
    "provider": "write it into a test or an assertion, or `providers` at the top of the file",
    "providers": "write it at the top of the file, or into a test",
    "prompts": "write it at the top of the file, or into a test",
    "transform": "write it into `options` of a test or of `defaultTest`, or into an assertion or a provider",
    "metadata": "write it into a test or `defaultTest`",
}
# What people write for a key of that place, or for what is done in another way; each is a word as `plain` has it.
_MEANT: Mapping[str, Mapping[str, str]] = {
    "assertion": {
        "minscore score min minimum cutoff scorethreshold passscore": 'did you mean "threshold"?',
        "not negate negated inverse invert inverted": "write the opposite as a type: `type: not-TYPE`",
        "schema jsonschema": "write the schema as `value`",
        "ref": "write `$ref: '#/assertionTemplates/NAME'`",
        "grader judge model evaluator llm embedding": "write the model that grades as `provider`",
        "block blocks required mandatory optional severity level warn warning allowfailure continueonerror failonerror "
        "softfail": "what is reported and does not block says `blocking: false`",
        "skip skipped disable disabled enable enabled ignore ignored only": "remove the assertion, or report it alone "
        "with `blocking: false`",
        "postprocess": 'did you mean "transform"?',
        "ignorecase caseinsensitive casesensitive": "`icontains` and its relatives heed no case; `regex` takes `[Aa]`",
        "expected expect criteria criterion rubric pattern text expectedvalue reference answer ideal": 'did you mean '
        '"value"?',
        "prompt": "`value` says what to judge by, `rubricPrompt` is the whole prompt of the grader",
    },
    "test": {
        "evaluators evaluator graders checks check validate validation validations validator validators "
        "expect expects expectation expectations tests": 'did you mean "assert"?',
        "rubric criteria criterion": "write `assert: [{type: llm-rubric, value: ...}]`",
        "expected expectedoutput expectedanswer ideal golden goldenanswer reference": "write `assert: [{type: equals, "
        "value: ...}]`, or `type: factuality` for what means the same; keep what is not checked in `metadata`",
        "minscore minimum cutoff score": 'did you mean "threshold"?',
        "conversationid": "write it into `metadata`",
        "meta": 'did you mean "metadata"?',
        "variables inputs input context": 'did you mean "vars"?',
        "target targets model": 'did you mean "providers"?',
        "grader judge": "write `options: {provider: ...}`",
        "output response answer": 'did you mean "providerOutput"?',
        "skip skipped disable disabled enable enabled only": "remove the test, or leave it out with --filter-metadata",
    },
    "options": {
        "grader judge model evaluator": 'did you mean "provider"?',
        "text embedding classification moderation": "write the grader of one kind as `provider: {KIND: ID}`",
        "threshold minscore": "write it beside `assert`, or into an assertion",
    },
    "root": {
        "testcases cases examples": 'did you mean "tests"?',
        "grader judge": "write `defaultTest: {options: {provider: ...}}`, or --grader",
    },
    "provider": {
        "model": "the model is a part of the `id`, such as openai:chat:MODEL",
        "postprocess": 'did you mean "transform"?',
    },
    "select": {
        "type": 'did you mean "assertion"?',
        "label target model id": 'did you mean "provider"?',
        "name test case": 'did you mean "description"?',
    },
    "turn": {
        "user human": "write `{role: user, content: ...}`",
        "assistant ai bot agent model": "write `{role: assistant, content: ...}`",
        "text message value": 'did you mean "content"?',
        "speaker from author": 'did you mean "role"?',
        "context documents": 'did you mean "retrieval_context"?',
    },
    "budget": {
        "cost dollars dollar money price maxcost maxusd": 'did you mean "usd"? It takes US dollars',
        "requests request maxcalls": 'did you mean "calls"?',
        "time timeout minutes duration maxseconds": 'did you mean "seconds"?',
    },
    "command line": {
        "var vars": "give it on the command line: --var NAME=VALUE",
        "filterpattern filterfirstn filterproviders filtertargets filtermetadata": "a filter is for the command line: "
        "there reports say what was left out",
        "filterfailing filterfailingonly filtererrorsonly filtersample filtersampleseed filterrange filterprompts": "a "
        "gate runs all its tests; --filter-pattern and --filter-first-n of the command line take some",
        "promptprefix promptsuffix": "write `prefix` and `suffix` into `defaultTest.options`",
        "assertions": "write `assert` into `defaultTest`, or give --assert on the command line",
        "modeloutputs": "answers made elsewhere are graded with --answers FILE on the command line",
        "extension retryerrors resume": "remove it: nothing is done for it here",
        "config": "name the files on the command line",
        "output": "name reports on the command line: -o results.json",
    },
}  # fmt: skip
# What documents a test or an assertion, and nothing else; `timeout` has no effect in promptfoo either.
DOCUMENTS = frozenset(
    "description desc title name label summary reason reasons reasoning rationale explanation explain why note notes "
    "comment comments remark remarks todo category categories tag tags group topic kind priority owner author authors "
    "created updated date version source sources link links url id uid uuid key ticket issue issues displayprompt "
    "displayname display grading timeout subcategory subject area domain component module feature features suite section "
    "language lang locale difficulty complexity labels purpose background details story testid testname caseid casename "
    "testcaseid persona intent scenario requirement requirements risk".split()
)
# Words that speak of what is checked; keys at the top of a file and of providers may be names, but not of these.
_WORDS = frozenset(
    "test tests testing case cases assert asserts assertion assertions grade grades grader graders grading judge judges "
    "score scores scorer scoring pass passes passing fail fails failing failure rate rates threshold thresholds gate gates "
    "rubric rubrics transform transforms expect expects expected expectation expectations block blocks blocking criterion "
    "criteria evaluator evaluators check checks validate validation validator validators verify metric metrics rule rules "
    "filter filters".split()
)
_INSIDE = re.compile(
    "assert|threshold|rubric|testcase|passrate|transform|postprocess|evaluator|expected|minscore|criteria"
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
# Where a limit is meant for a rule; in a test and in an assertion it is meant for their own threshold.
_LIMITED = frozenset({"root", "gate", "rule", "evaluateOptions", "command line"})


def speaks_of_checks(key: str) -> bool:
    """Whether a key has a word for what is checked, in camelCase, snake_case or kebab-case."""
    words = {word.lower() for word in _WORD.findall(key)}
    return bool(words & _WORDS or _INSIDE.search(plain(key)))


def documents(key: str) -> bool:
    """Whether a key says something to people alone."""
    return plain(key) in DOCUMENTS


@cache
def _meant(place: str) -> Mapping[str, str]:
    return {word: cure for words, cure in _MEANT.get(place, {}).items() for word in words.split()}


def is_meant(key: str, place: str) -> bool:
    """Whether people write the key for another one of that place."""
    return plain(key) in _meant(place)


def said(
    key: str, place: str, known: Iterable[str], elsewhere: Callable[[str], str], value: Any = None
) -> tuple[str, str]:
    """What is wrong with an unknown key, and the cure.

    ``known`` are the keys of its place, ``elsewhere`` gives the place of a key that has one ("into an assertion").
    """
    if key in UNSUPPORTED:
        return f"`{key}` is not supported", UNSUPPORTED[key]
    unknown = f"unknown key `{key}`"
    word = plain(key)
    if cure := _meant(place).get(word):
        return unknown, cure
    if (place in _LIMITED and limits.is_limit(key)) or (place == "test" and limits.of_a_rule(key)):
        nothing = f"`{key}` is no key of a rule" if place == "rule" else f"`{key}` decides nothing there"
        return nothing, limits.as_rule(key, value, place)
    if place and (key in MISPLACED or (not documents(key) and elsewhere(key))):
        return f"`{key}` does not belong here", MISPLACED.get(key) or f"write it {elsewhere(key)}"
    if place == "assertion" and GRADERS.find(key.removeprefix("not-")):
        return unknown, f"write `type: {key}`, and what it compares or judges with as `value`"
    if place == "provider" and steers(key):
        return unknown, "write it into `config`"
    return unknown, _nearest(key, place, list(known))


def _nearest(key: str, place: str, known: Sequence[str]) -> str:
    """What a key is a slip of the pen for, else what to do about one that nobody knows."""
    if close := near(key, known):
        return f'did you mean "{close}"?'
    if close := near(key, _meant(place)):
        return _meant(place)[close]
    if place and (close := near(key, MISPLACED)):
        return f'did you mean "{close}"? {MISPLACED[close]}'
    return suggest(key, known) or _DEFAULT.get(place, "remove it; keys of your own start with x-")


_DEFAULT = {
    "assertion": "remove it; a `description` and keys that start with x- are passed over",
    "test": "write it into `metadata`, or remove it",
    "options": "remove it; what a model is sent belongs into `config` of the provider",
    "provider": "write it into `config`",
    **dict.fromkeys(
        ("gate", "rule", "select", "budget", "errors"), "remove it: the `gate` block has its own keys alone"
    ),
}
