"""What an answer is called, and what is asked of it: equal in two runs where they ask for the same, and only there."""

import copy
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gradegate.assertions.grading.bound import BoundAssertion
from gradegate.config.context import Context
from gradegate.config.load import load_suites
from gradegate.core.settings import Settings
from gradegate.planning.identity import answer_key, conversation_id, digest, plan_digest, planned_calls, request_digest
from gradegate.planning.planner import build_client, make_plan
from gradegate.structs import replace
from support.checkouts import edit_by, write
from support.each import each, table

ROW, DEFINITION, KEY = "e4e5308d2802", "d213996c8620", "e6c751203301"
CONFIG = table(__file__, "CONFIG")


def planned(tmp_path, config=CONFIG, **settings):
    write(tmp_path, {"promptfooconfig.yaml": config})
    context = Context(Settings(cwd=tmp_path, **settings))
    suites = load_suites(context)
    return make_plan(suites, context, build_client(suites, context)).jobs


def changed(**test):
    return {**CONFIG, "tests": [{**CONFIG["tests"][0], **test}]}


def edited(rows):
    config = copy.deepcopy(CONFIG)
    edit_by(config, rows)
    return config


def asserted(job):
    members = {id(binding): () if isinstance(binding, BoundAssertion) else binding.members for binding in job.assertions}
    return [it.assertion for binding in job.assertions for it in (binding, *members[id(binding)])]


def test_every_assertion_of_an_answer_has_a_key_of_its_own(tmp_path):
    keys = [it.key for it in asserted(planned(tmp_path)[0])]
    assert len(set(keys)) == len(keys) == 5
    assert all(len(key) == 32 for key in keys)


def test_keys_and_definitions_are_the_same_in_every_run(tmp_path):
    """Fixed for good: a baseline that an earlier version recorded must find its counterparts."""
    (job,) = planned(tmp_path)
    assert answer_key(job).hex().startswith(ROW)
    assert job.definition.hex().startswith(DEFINITION)
    assert asserted(job)[0].key.hex().startswith(KEY)


def compare_definitions(tmp_path, config):
    """The job of the config and that of another one, and for each assertion whether its definition is the same."""
    (before,), (after,) = planned(tmp_path), planned(tmp_path, config)
    return before, after, [old.definition == new.definition for old, new in zip(asserted(before), asserted(after), strict=True)]


@each("edit", table(__file__, "what_pull_requests_change_is_in_neither"))
def test_what_pull_requests_change_is_in_neither(tmp_path, edit):
    (before,), (after,) = planned(tmp_path), planned(tmp_path, edited(edit))
    assert (answer_key(before), before.definition, asserted(before)) == (answer_key(after), after.definition, asserted(after))


@each("edit", table(__file__, "what_a_case_gives_defines_it_and_its_assertions"))
def test_what_a_case_gives_defines_it_and_its_assertions(tmp_path, edit):
    before, after, same = compare_definitions(tmp_path, edited(edit))
    assert answer_key(before) == answer_key(after)
    assert (before.definition == after.definition, any(same)) == (False, False)


@each("assertion", table(__file__, "what_is_asserted_defines_it_alone"))
def test_what_is_asserted_defines_it_alone(tmp_path, assertion):
    before, after, same = compare_definitions(tmp_path, changed(**{"assert": [assertion, *CONFIG["tests"][0]["assert"][1:]]}))
    assert same == [False, True, True, True, True]
    assert [it.key for it in asserted(before)] == [it.key for it in asserted(after)]


def test_a_member_defines_its_set(tmp_path):
    members = [{"type": "contains", "value": "z"}, {"type": "icontains", "value": "y"}]
    edited = changed(**{"assert": [*CONFIG["tests"][0]["assert"][:2], {"type": "assert-set", "assert": members}]})
    assert compare_definitions(tmp_path, edited)[2] == [True, True, False, False, True]


def test_answers_differ_by_case_target_label_and_repetition(tmp_path):
    config = {
        **CONFIG,
        "prompts": [{"raw": "Say {{q}}", "label": "a"}, {"raw": "Say {{q}}", "label": "b"}, "Say {{q}}", "And {{q}}"],
        "providers": ["echo", {"id": "echo", "label": "other"}],
        "tests": [*CONFIG["tests"], {"vars": {"q": "x"}}, {"vars": {"q": "y"}}],
    }
    jobs = planned(tmp_path, config, repeat=2)
    keys = [answer_key(job, repeat) for job in jobs for repeat in range(2)]
    assert len(keys) == 3 * 4 * 2 * 2
    assert len(set(keys)) == 3 * 3 * 2 * 2  # prompts without a label go by their place


def test_a_limit_is_the_one_that_applies(tmp_path):
    def definition(**written):
        config = {**CONFIG, "tests": [{"vars": {"q": "a"}, "assert": [{"type": "rouge-n", "value": "a", **written}]}]}
        return asserted(planned(tmp_path, config)[0])[0].definition

    default = definition()
    assert default == definition(threshold=0.75) != definition(threshold=0.7)
    assert definition(weight=2) != default


@each(
    "before, after",
    [({"threshold": 1}, {"threshold": 1.0}), ({"weight": 2}, {"weight": 2.0}), ({"weight": 1}, {}), ({"threshold": 0}, {"threshold": 0.0})],
)
def test_a_limit_and_a_weight_are_the_same_however_they_are_written(tmp_path, before, after):
    first, second = ([it.definition for it in asserted(planned(tmp_path, one_assertion(**written))[0])] for written in (before, after))
    assert first == second


def one_assertion(**written):
    test = {"vars": {"q": "a"}, "assert": [{"type": "rouge-n", "value": "a", **written}]}
    return {**CONFIG, "tests": [test]}


@each(
    "change",
    [
        {"threshold": 0.5},
        {"threshold": 0},
        {"weight": 2},
        {"weight": 1.5},
        {"weight": 0},
        {"value": "b"},
        {"transform": "output"},
        {"type": "not-rouge-n"},
    ],
)
def test_every_term_of_an_assertion_defines_it(tmp_path, change):
    (before,), (after,) = ([it.definition for it in asserted(planned(tmp_path, one_assertion(**written))[0])] for written in ({}, change))
    assert before != after


def test_a_case_goes_by_its_description_and_without_one_by_its_variables(tmp_path):
    def identities(*tests):
        config = {**CONFIG, "tests": [{**test, "assert": [{"type": "contains", "value": "x"}]} for test in tests]}
        return [answer_key(job) for job in planned(tmp_path, config)]

    named, other, renamed = identities(
        {"description": "one", "vars": {"q": "a"}}, {"description": "one", "vars": {"q": "b"}}, {"description": "two", "vars": {"q": "a"}}
    )
    assert named == other != renamed
    first, second, third = identities({"vars": {"q": "a"}}, {"vars": {"q": "b"}}, {"description": "", "vars": {"q": "a"}})
    assert first == third != second


def test_the_runs_of_a_case_are_one_and_its_repetitions_are_not(tmp_path):
    (repeated,) = planned(tmp_path, {**CONFIG, "evaluateOptions": {"repeat": 3}})
    (run,) = planned(tmp_path, changed(runs="2/3"))
    assert len({answer_key(repeated, number) for number in range(3)}) == 3
    assert len({answer_key(run, number) for number in range(3)}) == 1
    assert [(call.repeat, call.run_count) for call in planned_calls([repeated])] == [(0, 1), (1, 1), (2, 1)]
    assert [(call.repeat, call.run_count) for call in planned_calls([run])] == [(0, 3)]


@each(
    "description, begins",
    [
        ("Asks for Rome", "asks-for-rome-"),
        ("x" * 32, "x" * 32 + "-"),
        ("x" * 33, "x" * 32 + "-"),
        ("x" * 31 + " y", "x" * 31 + "-"),
        (" -- Rome!", "rome-"),
        ("???", "case-"),
        ("", "case-"),
    ],
)
def test_an_id_begins_with_the_first_32_signs_of_the_description(tmp_path, description, begins):
    (job,) = planned(tmp_path, changed(description=description))
    (call,) = planned_calls([job])
    assert call.id.startswith(begins)
    assert len(call.id) == len(begins) + 20
    assert set(call.id[len(begins) :]) <= set("0123456789abcdef")


def test_a_case_with_its_answer_in_the_config_has_no_id(tmp_path):
    recorded, live = planned(tmp_path, {**CONFIG, "tests": [{**CONFIG["tests"][0], "providerOutput": "x"}, CONFIG["tests"][0]]})
    assert [call.job for call in planned_calls([recorded, live])] == [live]
    assert [call.job_index for call in planned_calls([recorded, live])] == [1]


def test_only_an_answer_in_a_conversation_has_a_name_of_its_group(tmp_path):
    prompts = ["{% for said in _conversation %}{{said.output}}{% endfor %}{{q}}", "Say {{q}}"]
    tests = [{**CONFIG["tests"][0], "metadata": {"conversationId": name}} for name in ("a", "a", "b")]
    found = [conversation_id(job) for job in planned(tmp_path, {**CONFIG, "prompts": prompts, "tests": tests})]
    told = [it for it in found if it]
    assert (len(found), len(told), {len(it) for it in told}) == (6, 3, {20})
    assert told[0] == told[1] != told[2]


def digest_of(tmp_path, config=CONFIG):
    """The digest of a plan, of which nobody says which files it was read from."""
    write(tmp_path, {"promptfooconfig.yaml": config})
    context = Context(Settings(cwd=tmp_path))
    suites = load_suites(context)
    return plan_digest(replace(make_plan(suites, context, build_client(suites, context)), digests={}))


def test_a_digest_of_a_plan_is_the_same_for_the_same_plan(tmp_path):
    assert digest_of(tmp_path) == digest_of(tmp_path, copy.deepcopy(CONFIG))
    assert len(digest_of(tmp_path)) == 64


@each(
    "config",
    [
        changed(description="other"),
        changed(vars={"q": "b", "n": 1}),
        changed(threshold=0.6),
        changed(options={"repeat": 2}),
        changed(runs="2/3"),
        changed(flaky=datetime.now(UTC).date().isoformat()),
        changed(providerOutput="x"),
        {**CONFIG, "prompts": ["Please, say {{q}}"]},
        {**CONFIG, "providers": [{"id": "echo", "transform": "output"}]},
        {**CONFIG, "providers": [{"id": "echo", "config": {"a": 1}}]},
        changed(
            **{"assert": [{"type": "contains", "value": "{{q}}", "metric": "m", "blocking": False}, *CONFIG["tests"][0]["assert"][1:]]}
        ),
        {**CONFIG, "gate": {"rules": [{"name": "r", "min-pass-rate": 0.5}]}},
        {**CONFIG, "gate": {"errors": {"ignore-up-to": 0.5}}},
        {**CONFIG, "gate": {"reask": "off"}},
        {**CONFIG, "gate": {"reask": {"noise": 0.2}}},
        {**CONFIG, "gate": {"weakening": "block"}},
        {**CONFIG, "derivedMetrics": [{"name": "half", "value": "m / 2"}]},
    ],
)
def test_whatever_decides_changes_the_digest_of_a_plan(tmp_path, config):
    assert digest_of(tmp_path, config) != digest_of(tmp_path)


def test_a_request_has_the_names_of_settings_and_never_their_values(tmp_path):
    def asked(text="Say {{q}}", **config):
        (job,) = planned(tmp_path, {**CONFIG, "prompts": [text], "providers": [{"id": "echo", "label": "app", "config": config}]})
        return request_digest(job)

    first = asked(headers={"X-Key": "one"})
    assert first == asked(headers={"X-Key": "two"})
    assert first not in (asked(), asked("Tell {{q}}", headers={"X-Key": "one"}))


# --- digests ------------------------------------------------------------------------------------------------------

KEYS = st.text(max_size=3) | st.integers(0, 3) | st.booleans() | st.none()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_keys(item) for key, item in reversed(value.items())}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value


@given(VALUES)
def test_the_order_of_keys_does_not_matter(value: Any) -> None:
    assert digest(reversed_keys(value)) == digest(value)


@given(VALUES, VALUES)
def test_a_value_beside_another_is_another(one: Any, other: Any) -> None:
    assert digest([one, other, 1]) != digest([one, other])
    assert digest({"a": one, "b": 1}) != digest({"a": one, "b": 2})
    assert digest("1") != digest(1)


def test_text_of_any_kind_is_told_apart() -> None:
    values = ["", "a", "\ud800", "1", 1, 1.5, None, True, [], {}, [1], ["1"], {"1": 1}, 10**5000, 10**5000 + 1, {1: 2, "1": 2}]
    assert len({digest(value) for value in values}) == len(values)
