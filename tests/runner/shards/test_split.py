"""Which shard asks what: every job in one, evenly, together with what it belongs to, and mostly where it was before."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gradegate.core.settings import Settings
from gradegate.runner.prepare import prepare
from gradegate.runner.rounds import groups, owners
from gradegate.structs import replace


@pytest.fixture(scope="module")
def many_jobs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    tests = [{"description": f"case {number}", "vars": {"q": str(number)}} for number in range(40)]
    config = {"prompts": ["{{q}}"], "providers": ["echo"], "tests": tests}
    text = yaml.safe_dump({**config, "defaultTest": {"assert": [{"type": "contains", "value": "1"}]}})
    (folder / "c.yaml").write_text(text)
    return prepare(Settings(configs=("c.yaml",), cwd=folder)).plan.jobs


@given(count=st.integers(0, 40), of=st.integers(1, 50))
def test_every_job_is_in_one_shard_and_shards_are_even(many_jobs, count, of):
    planned = many_jobs[:count]
    shards = owners(planned, of)
    assert sorted(shards) == list(range(count))
    assert set(shards.values()) <= set(range(1, of + 1))
    sizes = [list(shards.values()).count(number) for number in range(1, of + 1)]
    assert max(sizes) - min(sizes) <= 1


def test_repetitions_count(many_jobs):
    planned = [replace(job, repeats=7 if index == 3 else 1) for index, job in enumerate(many_jobs[:10])]
    shards = owners(planned, 2)
    assert sum(job.repeats for index, job in enumerate(planned) if shards[index] == shards[3]) in (7, 8, 9, 10)


def test_a_case_that_is_added_moves_few_others(many_jobs):
    before, after = owners(many_jobs[1:], 8), owners(many_jobs, 8)
    assert sum(before[index - 1] != after[index] for index in range(1, 40)) <= 8


def test_the_order_of_cases_means_nothing(many_jobs):
    turned = owners(many_jobs[::-1], 5)
    assert {39 - index: shard for index, shard in turned.items()} == owners(many_jobs, 5)


def test_sides_of_a_base_and_answers_of_a_comparison_are_together(many_jobs):
    sides = [many_jobs[0], replace(many_jobs[0], of_base=True), many_jobs[1], replace(many_jobs[1], of_base=True)]
    assert groups(sides) == [[0, 1], [2, 3]]
