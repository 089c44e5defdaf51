"""Names of assertions and metrics of other tools: what they are here, or what comes nearest and the way to it.

The lists are facts: promptfoo 0.123 (``BaseAssertionTypesSchema``), DeepEval 4.3 (``deepeval.metrics``), Ragas 0.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gradegate.registry import plain


class Foreign(NamedTuple):
    """A name of another tool; ``cure`` starts with the type to write in its place, or says to remove it."""

    tool: str
    name: str
    cure: str

    @property
    def here(self) -> str:
        """The type that comes nearest; empty where none does."""
        return "" if self.cure == _KEEP else self.cure.split()[0].rstrip(",:")

    @property
    def way(self) -> str:
        """What to do, as a sentence without its full stop."""
        return f"use {self.cure}" if self.here else self.cure


_CODE = (
    "javascript, which runs in an engine of its own, python or exec: with --allow-exec, or let the target check itself"
)
_CALLS = "trajectory:tool-used and its relatives, which look at the calls that an answer tells"
_HEARD = "llm-rubric on what was said as text: no sound is graded here"
_SEEN = "conversational-g-eval, which shows the grader the images of a conversation, with `criteria`"
_KEEP = "remove it here, or keep it for promptfoo in a file of its own"
_RAG = "which grades one answer: give each turn a test of its own"

PROMPTFOO: Mapping[str, str] = {
    "ruby": _CODE,
    "webhook": _CODE,
    "is-html": "contains-html, or is-xml for markup that is well-formed",
    "is-sql": "regex or llm-rubric, or let the target check its SQL",
    "contains-sql": "regex or llm-rubric, or let the target check its SQL",
    "meteor": "gleu or rouge-n",
    "rouge-l": "rouge-n",
    "rouge-s": "rouge-n",
    "is-refusal": "llm-rubric with `value: declines to answer`, or icontains-any with the words of a refusal",
    "guardrails": "moderation: what a content filter stops is an error here",
    "skill-used": "trajectory:tool-used",
    "trace-span-count": _CALLS,
    "trace-span-duration": _CALLS,
    "trace-error-spans": _CALLS,
    "trajectory:goal-success": "goal-accuracy with the goal as `value`",
    "agent-rubric": "llm-rubric",
    "search-rubric": "factuality with the facts as `value`, or llm-rubric with a grader that searches by itself",
    "pi": "llm-rubric or g-eval",
    "perplexity": _KEEP,
    "perplexity-score": _KEEP,
    "human": _KEEP,
    "is-valid-video": _KEEP,
}

DEEPEVAL: Mapping[str, str] = {
    "ExactMatchMetric": "exact_match",
    "PatternMatchMetric": "regex, which matches anywhere: `^` and `$` make it the whole answer",
    "GEval": "g-eval",
    "JevEval": "g-eval with the same criteria",
    "ArenaGEval": "select-best with the criteria as `value`",
    "ConversationalGEval": "conversational-g-eval",
    "ConversationalJevEval": "conversational-g-eval with the same criteria",
    "DAGMetric": "assert-set with an llm-rubric for each decision",
    "DeepAcyclicGraph": "assert-set with an llm-rubric for each decision",
    "ConversationalDAGMetric": "conversational-g-eval for each decision",
    "AnswerRelevancyMetric": "answer-relevance, which needs an embedding model; turn-relevancy needs none",
    "FaithfulnessMetric": "faithfulness",
    "ContextualRecallMetric": "contextual-recall",
    "ContextualRelevancyMetric": "contextual-relevancy",
    "ContextualPrecisionMetric": "contextual-precision",
    "MCPTaskCompletionMetric": "goal-accuracy",
    "MultiTurnMCPUseMetric": "tool-correctness with the expected tools as `value`",
    "MCPUseMetric": "tool-correctness with the expected tools as `value`",
    "HallucinationMetric": "hallucination",
    "BiasMetric": "llm-rubric with `value: shows no bias of gender, race, religion or politics`",
    "ToxicityMetric": "moderation, or llm-rubric with `value: is not toxic`",
    "SummarizationMetric": "faithfulness with the original in `context`, and llm-rubric for what must not be left out",
    "PIILeakageMetric": "llm-rubric with `value: reveals no personal data`, or not-regex with the form of such data",
    "NonAdviceMetric": "llm-rubric with `value: gives no financial, legal or medical advice`",
    "MisuseMetric": "llm-rubric with what the application is for as `value`",
    "RoleViolationMetric": "role-adherence with the role as `value`",
    "ToolPermissionMetric": "not-trajectory:tool-used with the forbidden tools as `value`",
    "RoleAdherenceMetric": "role-adherence",
    "ToolCorrectnessMetric": "tool-correctness",
    "JsonCorrectnessMetric": "is-json with the JSON Schema as `value`",
    "PromptAlignmentMetric": "llm-rubric with the instructions as `value`",
    "TaskCompletionMetric": "goal-accuracy",
    "ArgumentCorrectnessMetric": "trajectory:tool-args-match with the arguments that are right",
    "KnowledgeRetentionMetric": "knowledge-retention",
    "TopicAdherenceMetric": "topic-adherence",
    "StepEfficiencyMetric": "trajectory:step-count with `value: {max: N}`",
    "PlanAdherenceMetric": "goal-accuracy, which also scores the way, or trajectory:tool-sequence for steps that are known",
    "PlanQualityMetric": "goal-accuracy, which also scores the way to the goal, or conversational-g-eval with `criteria` for plans",
    "ToolUseMetric": "tool-correctness for which tools, and trajectory:tool-args-match for their arguments",
    "GoalAccuracyMetric": "goal-accuracy",
    "AgentLoopDetectionMetric": "trajectory:tool-used with `value: {name: TOOL, max: N}`, or trajectory:step-count",
    "TurnRelevancyMetric": "turn-relevancy",
    "ConversationCompletenessMetric": "conversation-completeness",
    "TurnFaithfulnessMetric": "turn-faithfulness",
    "TurnContextualPrecisionMetric": f"contextual-precision, {_RAG}",
    "TurnContextualRecallMetric": f"contextual-recall, {_RAG}",
    "TurnContextualRelevancyMetric": f"contextual-relevancy, {_RAG}",
    "TranscriptionAccuracyMetric": "levenshtein with the text that was spoken as `value`",
    "AudioGlitchMetric": _HEARD,
    "TextToImageMetric": _SEEN,
    "ImageEditingMetric": _SEEN,
    "ImageCoherenceMetric": _SEEN,
    "ImageHelpfulnessMetric": _SEEN,
    "ImageReferenceMetric": _SEEN,
    "VoiceNaturalnessMetric": _HEARD,
    "TurnTakingNaturalnessMetric": _HEARD,
    "SpeechIntelligibilityMetric": _HEARD,
    "VoiceConsistencyMetric": _HEARD,
    "AgentResponsivenessMetric": "latency with the milliseconds as `threshold`",
    "AudioIntegrityMetric": _HEARD,
    "VoiceReliabilityMetric": _HEARD,
    "CitationFaithfulnessMetric": "faithfulness",
}

RAGAS: Mapping[str, str] = {
    "AgentGoalAccuracy": "goal-accuracy",
    "AgentGoalAccuracyWithReference": "goal-accuracy with the outcome that is wanted as `value`",
    "AgentGoalAccuracyWithoutReference": "goal-accuracy",
    "TopicAdherenceScore": "topic-adherence with `mode: f1` in `config`",
    "ToolCallAccuracy": "trajectory:tool-args-match",
    "ContextPrecision": "contextual-precision",
    "ContextEntityRecall": "context-recall",
    "NoiseSensitivity": "faithfulness",
    "ResponseRelevancy": "answer-relevance",
    "ResponseGroundedness": "faithfulness",
    "FactualCorrectness": "factuality with the reference as `value`",
    "AnswerCorrectness": "factuality with the reference as `value`",
    "SemanticSimilarity": "similar with the reference as `value`",
    "AspectCritic": "llm-rubric with the aspect as `value`",
    "RubricsScore": "llm-rubric with the rubric as `value`",
    "SimpleCriteriaScore": "llm-rubric with the criterion as `value`",
    "InstanceRubrics": "llm-rubric with the rubric of each test as `value`",
    "AnswerAccuracy": "factuality with the reference as `value`",
    "ContextUtilization": "contextual-precision",
    "MultiModalFaithfulness": "turn-faithfulness, which shows the grader images among the documents",
    "MultiModalRelevance": "turn-faithfulness, which shows the grader images among the documents",
    "BleuScore": "bleu",
    "RougeScore": "rouge-n",
    "ChrfScore": "gleu or bleu",
    "StringPresence": "contains",
    "NonLLMStringSimilarity": "levenshtein",
    "LLMSQLEquivalence": "llm-rubric with the reference query as `value`",
    "DataCompyScore": "javascript, or let the target compare its rows",
    "SummarizationScore": "faithfulness with the original in `context`",
    "RAGAS": "faithfulness, context-recall, contextual-precision and answer-relevance, an assertion each",
}


def known() -> Iterator[Foreign]:
    """Every name of every tool, a tool's own spelling."""
    tools = (("promptfoo", PROMPTFOO), ("DeepEval", DEEPEVAL), ("Ragas", RAGAS))
    return (Foreign(tool, name, cure) for tool, names in tools for name, cure in names.items())


def folded(name: str) -> str:
    """A name as it is compared: `PlanQualityMetric`, `Plan Quality`, `plan_quality` and `plan-quality` are one."""
    word = plain("".join(name.split()))
    return word.removesuffix("metric") or word


def spelled(name: str) -> str:
    """A tool's own spelling as types are written here: ``PlanQualityMetric`` is ``plan-quality``."""
    whole = name if name.endswith(("GEval", "JevEval")) else name.removesuffix("Metric")
    parts: list[str] = []
    for at, letter in enumerate(whole):
        begins = letter.isupper() and at and not (whole[at - 1].isupper() and not whole[at + 1 : at + 2].islower())
        parts.append(f"-{letter}" if begins and whole[at - 1] not in "-: " else letter)
    return "".join(parts).lower()


_BY_NAME = {folded(it.name): it for it in reversed([*known()])}  # of two tools, the first one's


def find(name: str) -> Foreign | None:
    """The name in any of its spellings, or None."""
    return _BY_NAME.get(folded(name))
