"""A sentence for each key of a config file, which editors show: by the class of its model, as in keys.py."""

from __future__ import annotations

from collections.abc import Mapping

_CODE = "JavaScript: an expression, the body of a function, or `file://` and a file"
_GRADER = (
    "the model that grades: an id, a mapping with `id`, or one for each of text, embedding, classification, moderation"
)
_PROMPT = "a prompt in place of gradegate's own for the model that grades: text, a chat, or `file://` and a file"
_NOTHING = "promptfoo's, and without effect here"
_OPINIONS = "models that grade a failure again, in turn, in place of the first grader"
_CONFIRM = (
    "how a failure is asked again: off, grader (the same answer is graded again) or answers (a new answer is asked for)"
)
_CALLS = "how many requests are under way at once"
_REPEAT = "how often each question is asked; every answer counts"

SENTENCES: Mapping[str, Mapping[str, str]] = {
    "ConfigKeys": {
        "$schema": "the JSON Schema for editors",
        "description": "what the config is about, for people",
        "tags": _NOTHING,
        "metadata": "data of your own, which nobody reads",
        "prompts": "what targets are asked: texts with `{{variables}}`, chats, or `file://` and files",
        "providers": "the targets: models or applications by their ids, such as openai:chat:MODEL",
        "targets": "another name for `providers`",
        "defaultTest": "what every test has, unless it says otherwise",
        "scenarios": "groups of tests: each entry of `config` is joined with each of its `tests`",
        "assertionTemplates": "assertions by name, for `$ref: '#/assertionTemplates/NAME'`",
        "tests": "the cases: variables and what is asserted of each answer; a list, or files of tests",
        "env": "variables of the environment for this config alone; never keys",
        "evaluateOptions": "how a run goes",
        "commandLineOptions": "what the command line says where it says nothing",
        "gate": "the rules by which the check passes or fails",
        "derivedMetrics": "metrics that are worked out of others; they are shown, and decide nothing",
        "outputPath": _NOTHING,
        "sharing": _NOTHING,
        "tracing": _NOTHING,
        "writeLatestResults": _NOTHING,
    },
    "TestKeys": {
        "description": "what the test is about; reports name it so",
        "vars": "variables of the prompts: a mapping, or files that hold one; a list makes a test of each of its items",
        "assert": "what is asserted of each answer; all of it has to hold",
        "options": "what the test sets for its prompts, its target and its graders",
        "threshold": "the weighted mean of the scores that is enough, from 0 to 1, in place of every assertion; `none`: no mean",
        "assertScoringFunction": "JavaScript that makes score and outcome of a test: `file://` and a file",
        "metadata": "data of your own; `conversationId` joins tests into a conversation",
        "provider": "the target of this test alone",
        "providers": "the targets that are asked, by id or label",
        "prompts": "the prompts that are asked, by label",
        "providerOutput": "a recorded answer: no target is asked",
        "turns": "a conversation that is graded or continued: turns with `role` and `content`, or a file of them",
    },
    "OptionKeys": {
        "provider": _GRADER,
        "rubricPrompt": _PROMPT,
        "prefix": "text before each prompt",
        "suffix": "text after each prompt",
        "disableVarExpansion": "true: a list among the variables stays a list",
        "disableDefaultAsserts": "true: the assertions of defaultTest are left out",
        "repeat": _REPEAT,
        "transform": f"changes each answer before anything is asserted of it. {_CODE}",
        "postprocess": "promptfoo's older name of `transform`",
        "transformVars": f"changes the variables before the prompt is filled in. {_CODE}",
    },
    "AssertionKeys": {
        "type": "what is asserted; `not-` before it is the opposite",
        "threshold": "the score from which it passes; `none`: the score is reported and decides nothing",
        "weight": "its weight in the score of the test; 0: reported, and never failing",
        "metric": "a name under which reports and rules of the gate know it",
        "provider": _GRADER,
        "rubricPrompt": _PROMPT,
        "config": "options of the type",
        "blocking": "false: reported, and never fails the check",
        "confirm": f"{_CONFIRM}; wins over that of the gate",
        "second-opinions": _OPINIONS,
        "transform": f"changes the answer for this assertion alone. {_CODE}",
        "contextTransform": f"finds the documents in the answer. {_CODE}",
        "assert": "the members of an assert-set",
    },
    "GateKeys": {
        "confirm": _CONFIRM,
        "noise": "the share of good answers that the grader may fail, without a block",
        "second-opinions": _OPINIONS,
        "rules": "what has to hold; without rules every case has to pass",
        "errors": "what comes of answers that could not be judged: inconclusive, block, or `{ignore-up-to: SHARE}`",
        "changes": "what it comes to when a pull request weakens or changes its own gate (--base): report or block",
        "budget": "what a run may take at most",
        "compare": "base: its prompts are asked beside those of the pull request, in the same run (--base)",
    },
    "RuleKeys": {
        "name": "the rule's name, in every report",
        "select": "which grades it looks at; without it, all",
        "min-pass-rate": "the share of cases that must pass, from 0 to 1",
        "min-score": "the mean score that must be reached",
        "min-cases": "fewer that passed or failed are too few to tell",
        "confidence": "the interval of the pass rate decides, such as 0.95: the cases are a sample",
        "blocking": "false: a miss is reported, and never fails the check",
        "max-new-failures": "cases that may fail here and not on the base (--baseline, or compare: base)",
        "max-drop": "share of the cases by which fewer may pass than on the base, where noise does not explain it",
    },
    "SelectKeys": {
        "assertion": "a pattern for types of assertions, such as `contains*`",
        "metric": "a pattern for names of metrics",
        "provider": "a pattern for ids or labels of targets",
        "description": "a pattern for descriptions of tests",
    },
    "IgnoreKeys": {"ignore-up-to": "the share of cases, from 0 to 1, that may be errors"},
    "BudgetKeys": {
        "calls": "requests to models",
        "usd": "US dollars; every price must be known",
        "seconds": "from the start of the run",
    },
    "DerivedKeys": {
        "name": "the metric's name",
        "value": "an expression of mathjs over metrics, a function of JavaScript, or a file of it",
    },
    "ScenarioKeys": {
        "description": "what the scenario is about",
        "config": "tests without assertions of their own, or files that hold them",
        "tests": "the tests that each entry of `config` is joined with",
    },
    "ProviderKeys": {
        "id": "the model, such as openai:chat:MODEL, or an application, such as https://HOST/PATH",
        "label": "its name in reports and in `providers` of tests",
        "config": "options of the model, such as temperature, and where it is asked",
        "prompts": "the prompts that it is asked, by label",
        "transform": f"changes each of its answers. {_CODE}",
        "env": "variables of the environment for this model alone; never keys",
        "delay": _NOTHING,
        "inputs": _NOTHING,
    },
    "EvaluateKeys": {
        "maxConcurrency": _CALLS,
        "repeat": _REPEAT,
        "timeoutMs": "milliseconds that one call may take",
        **dict.fromkeys(
            "maxEvalTimeMs delay cache showProgressBar generateSuggestions interactiveProviders silent".split(),
            _NOTHING,
        ),
    },
    "CommandLineKeys": {
        "maxConcurrency": _CALLS,
        "repeat": _REPEAT,
        "grader": "the id of the model that grades where nobody else is named",
        **dict.fromkeys(
            "description tags delay verbose cache write share noShare watch table tableCellMaxLength progressBar "
            "generateSuggestions suggestionsCount envPath".split(),
            _NOTHING,
        ),
    },
}
