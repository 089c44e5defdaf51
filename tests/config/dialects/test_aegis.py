"""Aegis custom runs as gate files: recognised, checked with paths and lines, gated with their thresholds."""

import copy
import json
import re
from pathlib import Path

import pytest

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.config.aegis import REMOVED, SHORTNAMES, UNSUPPORTED
from gradegate.config.dialect import DIALECTS
from gradegate.core.provider_spec import ProviderSpec
from gradegate.providers.api.provider import with_model
from support.each import each, table
from support.fake_llm import FakeLlm
from support.scenes import scenes

test_a_scene = scenes(__file__)

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "aegis" / "custom-run.json"
PAYLOAD = json.loads(EXAMPLE.read_text())
# What section E.7 of the definition names.
DOCUMENTED = """
ans_corr ans_rel content_consist entity_faith factfulness faith ctx_faith ctx_rank_prec ctx_recall ctx_rel ctx_suff
ctx_waste content_gen_faith format_align format_consist bias harmfulness misuse role_viol toxic ev_obf
instr_integ_subv_att pii_phi pii_phi_exfil_att role_hijack sys_data_exfil_att sys_data_leak alpha_perc alphanum_perc
bleu char_ct_match exact_match is_boolean is_date is_numeric is_string is_valid_json is_valid_python is_valid_sql
is_valid_xml json_equal json_schema_match numeric_match par_ct_match rouge sent_ct_match text_readability word_ct_match
xml_equal xml_schema_match
""".split()


def votes(*words: str):
    """A grader that finds one claim for each word, and says that word of it in every run."""

    def reply(path, body):
        if "seed" not in body:
            return json.dumps({"claims": [{"claim": f"fact {n}", "checkable": True} for n in range(len(words))]})
        ids = [int(n) for n in re.findall(r"^(\d+)\. ", body["messages"][-1]["content"], re.MULTILINE)]
        return json.dumps({"verdicts": [{"id": n, "reason": "so", "verdict": words[n - 1]} for n in ids]})

    return reply


@pytest.fixture
def run(gate, llm: FakeLlm, monkeypatch: pytest.MonkeyPatch):
    """Gate a payload with every model served on loopback."""

    def gated(payload, *arguments, grader="openai:chat:o4-mini", name="run.json", **files):
        monkeypatch.setenv("OPENAI_BASE_URL", llm.base)
        text = payload if isinstance(payload, str) else json.dumps(payload, indent=2)
        given = ("-g", grader) if grader else ()
        return gate(text, *given, *arguments, name=name, **files)

    return gated


def changed(**keys):
    """The example with other keys: of the run, or by path such as ``metrics__threshold``."""
    payload = copy.deepcopy(PAYLOAD)
    block = payload["evaluations"][0]
    places = {"run": payload, "block": block, "metric": block["metrics"][0], "row": block["data"][0]}
    for key, value in keys.items():
        place, _, name = key.partition("__")
        places[place][name] = value
    return payload


def simple(metric, row, **block):
    """One metric of one row."""
    return {"is_blocking": True, "evaluations": [{"metrics": [metric], "data": [row], **block}]}


# --- the example ----------------------------------------------------------------------------------------------


def test_the_example_is_gated_as_it_stands(run, llm: FakeLlm):
    llm.reply = votes("true", "true", "true")
    ran = run(EXAMPLE.read_text())
    assert (ran.code, ran.results["outcome"]) == (0, "pass")
    assert {body["model"] for body in llm.bodies} == {"o4-mini"}
    assert len(llm.bodies) == 4
    assert (ran.cases[0]["output"], ran.cases[0]["provider"]) == (PAYLOAD["evaluations"][0]["data"][0]["output"], "recorded")
    assert (ran.grades[0]["score"], ran.grades[0]["threshold"]) == (1, 0.8)


def test_the_example_blocks_when_too_little_is_true(run, llm: FakeLlm):
    llm.reply = votes("true", "true", "false")
    ran = run(EXAMPLE.read_text())
    assert (ran.code, ran.results["outcome"]) == (1, "blocked")
    assert [(it["rule"]["name"], it["outcome"]) for it in ran.results["rules"]] == [("every row", "fail"), ("the run", "fail")]
    assert "score 66.66 of 100, threshold 80" in ran.out
    assert "mean score 66.66 is below 80" in ran.out


def test_promptfoo_files_are_not_taken(gate):
    aegis = DIALECTS.find("aegis")
    assert aegis.recognises(PAYLOAD)
    assert not aegis.recognises({"evaluations": [], "tests": []})
    assert not aegis.recognises([PAYLOAD])


# --- mistakes -------------------------------------------------------------------------------------------------

ARGS = "evaluations[0].metrics[0].metric_args"


@each(
    ("keys", "path"),
    [
        *table(__file__, "mistakes_name_the_path_and_the_line"),
        ({"metric__metric_args": {"idk_penalty_weight": float("nan")}}, f"{ARGS}.idk_penalty_weight"),
        ({"run__alias": "x" * 256}, "alias"),
    ],
)
def test_mistakes_name_the_path_and_the_line(run, llm: FakeLlm, keys, path):
    ran = run(changed(**keys))
    assert (ran.code, llm.bodies) == (2, [])
    assert f"`{path}`" in ran.err
    assert re.match(r"run\.json:\d+: ", ran.err)
    assert "1 mistake;" in ran.err


def test_the_line_is_that_of_the_key(run):
    ran = run(changed(metric__metric_args={"n_runs": 3, "idk_penalty_weight": 2}))
    lines = (ran.folder / "run.json").read_text().splitlines()
    assert f"run.json:{1 + next(n for n, line in enumerate(lines) if 'idk_penalty' in line)}: " in ran.err


def test_all_mistakes_are_told_together(run):
    payload = changed(metric__metric_args={"n_runs": 0, "idk_penalty_weight": 2, "runs": 1})
    payload["evaluations"].append({"metrics": ["factfulnes", "bleu"], "data": [{"output": "x"}]})
    payload["evaluations"].append({"metrics": ["factfulness", "ans_corr"], "data": [{"output": "x"}]})
    ran = run(payload)
    for part in (".n_runs", ".idk_penalty_weight", ".runs", 'did you mean "factfulness"?', "`bleu`", "[0].input"):
        assert part in ran.err
    assert "[2].data[0].golden_answer" in ran.err
    assert "7 mistakes" in ran.err


# --- the other shortnames -------------------------------------------------------------------------------------


def test_every_shortname_is_known_as_judged_or_as_not_supported():
    assert sorted([*SHORTNAMES, *UNSUPPORTED, *REMOVED]) == sorted(DOCUMENTED)


@each("name", SHORTNAMES)
def test_what_a_shortname_maps_to_takes_its_arguments(name):
    entry = SHORTNAMES[name]
    kind = EVALUATORS.find(entry.assertion)
    fields = kind.__dataclass_fields__
    assert set(entry.args) | set(entry.always) <= set(fields)
    assert not entry.value or "value" in fields


@each("name", [*UNSUPPORTED, *REMOVED])
def test_what_is_not_supported_is_named(run, name):
    assert f"`{name}` is a metric of Aegis that is not supported" in run(simple(name, {"input": "a", "output": "b"})).mistakes


@each(("metric", "part"), table(__file__, "what_cannot_be_judged_by_is_a_mistake"))
def test_what_cannot_be_judged_by_is_a_mistake(run, metric, part):
    ran = run(simple(*metric))
    assert part in ran.mistakes
    assert "run.json:" in ran.err


def faithful(path, body):
    text = "\n".join(str(message["content"]) for message in body["messages"])
    if "what documents say" in text:
        return '{"truths": ["the sky is blue"]}'
    if "what an assistant claims" in text:
        return '{"claims": ["the sky is blue"]}'
    if "the facts in a submitted answer" in text:
        return '{"reason": "so", "category": "C"}'
    return json.dumps({"verdicts": [{"reason": "so", "verdict": "yes" if "SOURCE" in path else "idk"}]})


def test_metrics_that_read_one_field_differently_stand_in_cases_of_their_own(run, llm: FakeLlm):
    llm.reply = faithful
    row = {"input": "the input", "context": ["the context"], "output": "blue", "golden_answer": "blue"}
    payload = {"is_blocking": True, "evaluations": [{"metrics": ["faith", "ctx_faith", "ans_corr"], "data": [row]}]}
    ran = run(payload)
    assert [[grade["assertion"]["metric"] or grade["assertion"]["type"] for grade in case["grades"]] for case in ran.cases] == [
        ["faith", "ans_corr"],
        ["ctx_faith"],
    ]
    asked = [prompt for prompt in llm.prompts if "what documents say" in prompt]
    assert sorted(("the input" in prompt, "the context" in prompt) for prompt in asked) == [(False, True), (True, False)]
    # What the source does not settle is not faithful to it.
    assert [grade["score"] for grade in ran.grades] == [0, 1, 0]


ROW = {"input": "Where is it?", "context": ["It is in Paris.", "It rains."], "output": "In Paris.", "golden_answer": "It stands in Paris."}


@each(("metric", "reply", "shown", "score"), table(__file__, "model_graded_shortnames_show_the_grader_their_fields"))
def test_model_graded_shortnames_show_the_grader_their_fields(run, llm: FakeLlm, metric, reply, shown, score):
    llm.reply = lambda path, body: json.dumps(reply)
    ran = run(simple(metric, ROW))
    assert ran.grades[0]["score"] == score, ran.grades[0]["reason"]
    for name in shown:
        for text in [ROW[name]] if isinstance(ROW[name], str) else ROW[name]:
            assert text in llm.prompts[0], name
    assert run(simple(metric, {**ROW, shown[-1]: None})).code == 2


def test_the_example_runs_without_a_key(run):
    replies = (EXAMPLE.parent / "replies.yaml").read_text()
    assert run(EXAMPLE.read_text(), grader="scripted:replies.yaml", **{"replies.yaml": replies}).code == 0


def test_the_docs_have_every_shortname_with_its_default():
    text = (EXAMPLE.parents[2] / "docs" / "from-others.md").read_text().partition("\n## Aegis\n")[2]
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| `")]
    for name, entry in SHORTNAMES.items():
        (found,) = [row for row in rows if f"`{name}`" in row[0]]
        assert found[1] == str(entry.threshold), name


@each(("written", "asked"), table(__file__, "a_provider_serves_another_model"))
def test_a_provider_serves_another_model(written, asked):
    assert with_model(ProviderSpec(written), "o4-mini").id == asked
