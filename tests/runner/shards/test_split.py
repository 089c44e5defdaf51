"""Which shard asks what: every job in one, evenly, together with what it belongs to, and mostly where it was before."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gradegate.config.context import Context
from gradegate.core.settings import Settings
from gradegate.planning.groups import assign_shards, group_jobs
from gradegate.runner.answers import group_by_conversation
from gradegate.runner.prepare import prepare
from gradegate.structs import replace
from support.each import each


@pytest.fixture(scope="module")
def many_jobs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    tests = [{"description": f"case {number}", "vars": {"q": str(number)}} for number in range(40)]
    config = {"prompts": ["{{q}}"], "providers": ["echo"], "tests": tests}
    text = yaml.safe_dump({**config, "defaultTest": {"assert": [{"type": "contains", "value": "1"}]}})
    (folder / "c.yaml").write_text(text)
    return prepare(Context(Settings(configs=("c.yaml",), cwd=folder))).plan.jobs


@given(count=st.integers(0, 40), of=st.integers(1, 50))
def test_every_job_is_in_one_shard_and_shards_are_even(many_jobs, count, of):
    planned = many_jobs[:count]
    shards = assign_shards(planned, of)
    assert sorted(shards) == list(range(count))
    assert set(shards.values()) <= set(range(1, of + 1))
    sizes = [list(shards.values()).count(number) for number in range(1, of + 1)]
    assert max(sizes) - min(sizes) <= 1


def test_repetitions_count(many_jobs):
    planned = [replace(job, repeats=7 if index == 3 else 1) for index, job in enumerate(many_jobs[:10])]
    shards = assign_shards(planned, 2)
    assert sum(job.repeats for index, job in enumerate(planned) if shards[index] == shards[3]) in (7, 8, 9, 10)


def test_a_case_that_is_added_moves_few_others(many_jobs):
    before, after = assign_shards(many_jobs[1:], 8), assign_shards(many_jobs, 8)
    assert sum(before[index - 1] != after[index] for index in range(1, 40)) <= 8


def test_the_order_of_cases_means_nothing(many_jobs):
    turned = assign_shards(many_jobs[::-1], 5)
    assert {39 - index: shard for index, shard in turned.items()} == assign_shards(many_jobs, 5)


def test_sides_of_a_base_and_answers_of_a_comparison_are_together(many_jobs):
    sides = [many_jobs[0], replace(many_jobs[0], of_base=True), many_jobs[1], replace(many_jobs[1], of_base=True)]
    assert group_jobs(sides) == [[0, 1], [2, 3]]


@each(
    "count, of, sizes",
    [(5, 2, [2, 3]), (3, 2, [1, 2]), (7, 3, [2, 3, 2]), (4, 4, [1, 1, 1, 1]), (2, 4, [0, 1, 0, 1]), (1, 1, [1]), (1, 2, [0, 1])],
)
def test_a_job_is_in_the_shard_in_which_its_middle_lies(many_jobs, count, of, sizes):
    shards = [*assign_shards(many_jobs[:count], of).values()]
    assert [shards.count(number) for number in range(1, of + 1)] == sizes


def test_jobs_of_one_conversation_are_together_and_those_of_the_base_apart(many_jobs):
    told = [replace(job, render=lambda _: "") for job in many_jobs[:3]]
    assert group_jobs(told) == [[0, 1, 2]]
    named = [replace(job, case=replace(job.case, metadata={"conversationId": str(n % 2)})) for n, job in enumerate(told)]
    assert group_jobs(named) == [[0, 2], [1]]
    base = [told[0], replace(told[0], of_base=True), told[1], replace(told[1], of_base=True)]
    assert group_jobs(base) == [[0, 1, 2, 3]]
    assert group_jobs(base, sides=False) == [[0, 2], [1, 3]]
    assert group_by_conversation(base, [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (3, 0)]) == [
        [(0, 0), (2, 0)],
        [(0, 1), (2, 1)],
        [(1, 0), (3, 0)],
    ]
    assert group_by_conversation(many_jobs, [(0, 0), (0, 1), (1, 0)]) == [[(0, 0)], [(0, 1)], [(1, 0)]]
