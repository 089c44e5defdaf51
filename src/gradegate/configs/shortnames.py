"""Aegis's metrics by their shortnames: the assertion of ours that means the same, or why there is none.

Names, inputs, arguments and default thresholds: https://docs.aegisevals.ai/docs/metrics
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Shortname:
    """How a shortname is judged here. ``threshold`` is Aegis's default, None where none is documented."""

    assertion: str
    threshold: int | None
    needs: tuple[str, ...]  # fields that every row must have
    args: Mapping[str, str] = field(default_factory=dict)  # its argument -> our option
    lacks: tuple[str, ...] = ()  # its arguments that have no counterpart here
    required: tuple[str, ...] = ()  # arguments without which it judges nothing
    value: str = ""  # the field of a row that becomes the assertion's value
    variables: Mapping[str, str] = field(default_factory=dict)  # variable that our grader reads -> field of a row
    always: Mapping[str, Any] = field(default_factory=dict)  # options that are set whatever the payload says
    bounds: bool = False  # without min_count or max_count it can never fail


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


def _plain(assertion: str, *names: str, **more: Any) -> Shortname:
    return Shortname(assertion, 100, ("output",), _same(*names), **more)


def _golden(assertion: str, *names: str) -> Shortname:
    return Shortname(assertion, 100, ("output", "golden_answer"), _same(*names), value="golden_answer")


_STRICT = {"penalize_ambiguous_claims": True}  # what the source does not bear out is not faithful to it


def _faithful(source: str, lacks: str) -> Shortname:
    sources = {"retrieval_context": source}
    return Shortname("faithfulness", 80, (source, "output"), lacks=(lacks,), variables=sources, always=_STRICT)


SHORTNAMES: Mapping[str, Shortname] = {
    # General
    "ans_corr": Shortname(
        "factuality", 80, ("output", "golden_answer"), lacks=("max_n_statements",), value="golden_answer"
    ),
    "ans_rel": Shortname(
        "answer-relevance", 70, ("input", "output"), lacks=("max_n_statements",), variables={"query": "input"}
    ),
    "factfulness": Shortname("factfulness", 70, ("input", "output"), _same("n_runs", "idk_penalty_weight")),
    "faith": _faithful("input", "max_n_claims"),
    # RAG
    "ctx_faith": _faithful("context", "max_n_claims"),
    "ctx_rank_prec": Shortname(
        "contextual-precision",
        80,
        ("context", "golden_answer"),
        lacks=("ranks",),
        value="golden_answer",
        variables={"retrieval_context": "context"},
    ),
    "ctx_recall": Shortname("context-recall", 80, ("context", "golden_answer"), value="golden_answer"),
    "ctx_rel": Shortname(
        "context-relevance", 80, ("input", "context"), lacks=("max_n_statements",), variables={"query": "input"}
    ),
    # Content generation
    "content_gen_faith": _faithful("input", "max_n_claims"),
    # Structural: no model is asked
    "alpha_perc": Shortname("alpha_perc", None, ("output",)),
    "alphanum_perc": Shortname("alphanum_perc", None, ("output",)),
    "char_ct_match": _plain(
        "char_ct_match",
        "min_count",
        "max_count",
        "include_whitespace",
        "include_punctuation",
        "include_digits",
        "custom_exclude_pattern",
        "only_uppercase",
        bounds=True,
    ),
    "exact_match": _golden("exact_match", "case_sensitive", "strip_whitespace"),
    "is_boolean": _plain("is_boolean"),
    "is_date": _plain("is_date", "require_datetime", "require_timezone", "allowed_formats", "strict_type"),
    "is_numeric": _plain("is_numeric"),
    "is_string": _plain("is_string", "allow_empty", "allow_whitespace_only"),
    "is_valid_json": _plain("is-json"),
    "is_valid_xml": _plain("is_valid_xml"),
    "json_equal": _golden("json_equal", "ignore_order", "ignore_extra_keys"),
    "json_schema_match": Shortname(
        "is-json", 100, ("output",), {"schema": "value"}, lacks=("validator",), required=("schema",)
    ),
    "numeric_match": _golden("numeric_match", "tolerance", "relative_tolerance"),
    "par_ct_match": _plain(
        "par_ct_match",
        "min_count",
        "max_count",
        "min_sentences_in_paragraph",
        "min_words_in_paragraph",
        bounds=True,
    ),
    "sent_ct_match": _plain("sent_ct_match", "min_count", "max_count", "min_words_in_sentence", bounds=True),
    "word_ct_match": _plain(
        "word_ct_match",
        "min_count",
        "max_count",
        "exclude_punctuation",
        "min_word_length",
        "case_sensitive",
        "custom_delimiters",
        bounds=True,
    ),
    "xml_equal": _golden("xml_equal"),
}

_NOT_YET = "gradegate has no assertion of the same meaning yet"
UNSUPPORTED: Mapping[str, str] = {
    **dict.fromkeys(
        "content_consist entity_faith ctx_suff ctx_waste format_align format_consist bias harmfulness misuse role_viol "
        "toxic ev_obf instr_integ_subv_att pii_phi pii_phi_exfil_att role_hijack sys_data_exfil_att sys_data_leak "
        "text_readability bleu rouge".split(),
        _NOT_YET,
    ),
    **dict.fromkeys(
        ("is_valid_python", "is_valid_sql", "xml_schema_match"),
        "it needs a parser that gradegate does not have",
    ),
}
