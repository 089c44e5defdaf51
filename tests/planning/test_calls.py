"""What `gradegate cases` writes, and what its ids say."""

import json

import pytest
import yaml

from gradegate.cli import main as cli
from support.answered import cases, config
from support.each import each, table
from support.runner import commands


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(folder, content):
    folder.mkdir(exist_ok=True)
    (folder / "promptfooconfig.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    return folder


def ids(folder, *arguments):
    return [case["id"] for case in cases(folder, *arguments)]


def test_prompts_that_tell_the_conversation_name_it(tmp_path):
    prompt = "{% for it in _conversation %}{{ it.output }}{% endfor %}{{q}}"
    tests = [{"vars": {"q": q}, "metadata": {"conversationId": talk}} for q, talk in (("a", "1"), ("b", "1"), ("c", "2"))]
    write(tmp_path, config(*tests, prompts=[prompt]))
    first, second, third = cases(tmp_path)
    assert first["conversation"] == second["conversation"] != third["conversation"]
    assert first["prompt"] == "a"


def test_a_stored_answer_is_named_where_it_is_made_and_where_it_is_used(tmp_path):
    tests = (
        {"vars": {"q": "Name a fruit."}, "options": {"storeOutputAs": "fruit"}},
        {"vars": {"q": "Is {{fruit}} sour?"}, "options": {"storeOutputAs": "sour"}},
        {"vars": {"q": "Bye."}, "assert": [{"type": "contains", "value": "{{fruit}}"}]},
        {"vars": {"q": "Both?"}, "options": {"suffix": " {{fruit}} {{ sour }}"}},
    )
    write(tmp_path, config(*tests, prompts=["{{q}}"]))
    found = cases(tmp_path)
    assert len({case["conversation"] for case in found}) == 1
    assert [case.get("stores") for case in found] == ["fruit", "sour", None, None]
    assert [case.get("uses") for case in found] == [None, ["fruit"], None, ["fruit", "sour"]]
    assert [case["prompt"] for case in found] == ["Name a fruit.", "Is {{fruit}} sour?", "Bye.", "Both? {{fruit}} {{sour}}"]


def test_ids_stay_where_the_case_stays(tmp_path):
    one, two = {"description": "one", "vars": {"q": "a"}}, {"vars": {"q": "b"}}
    write(tmp_path / "x", config(one, two))
    before = ids(tmp_path / "x")
    write(tmp_path / "x", config(two, {"vars": {"q": "new"}}, one))
    assert {before[0], before[1]} < set(ids(tmp_path / "x"))  # another order, one more
    assert ids(tmp_path / "x", "--filter-pattern", "one") == [before[0]]
    write(tmp_path / "x", config(one, two))
    assert ids(tmp_path / "x", "--repeat", "2")[::2] == before
    write(tmp_path / "x", config({**one, "assert": [{"type": "equals", "value": "other"}]}, two))
    assert ids(tmp_path / "x") == before  # what is asserted says nothing of the question


@each("changed", table(__file__, "another_question_has_another_id"))
def test_another_question_has_another_id(tmp_path, changed):
    before = ids(write(tmp_path, config({"vars": {"q": "a"}})))
    assert not set(before) & set(ids(write(tmp_path, config({"vars": {"q": "a"}}, **changed))))


def test_equal_cases_have_ids_of_their_own(tmp_path):
    (one,) = ids(write(tmp_path, config({"vars": {"q": "a"}})))
    three = ids(write(tmp_path, config(*[{"vars": {"q": "a"}}] * 3)))
    assert (len(set(three)), three[0]) == (3, one)


def test_a_line_is_no_command_to_a_runner(tmp_path, capsys):
    asked = "###[error]x ##[ ##vso[x] ::error::x\n::error::x"
    write(tmp_path, config({"vars": {"q": asked}}))
    assert cli.main(["cases"]) == 0
    out = capsys.readouterr().out
    assert commands(out) == []
    assert "##vso" not in out
    assert json.loads(out)["vars"]["q"] == asked


def test_ids_are_the_same_in_another_checkout(tmp_path, monkeypatch):
    found = []
    for checkout in ("one", "two"):
        root = tmp_path / checkout
        (root / ".git").mkdir(parents=True)
        write(root / "evals", config({"vars": {"q": "a"}}))
        monkeypatch.chdir(root)
        found.append(ids(root / "evals"))
    monkeypatch.chdir(tmp_path / "two/evals")  # from wherever it is called
    assert found[0] == found[1] == ids(tmp_path / "two/evals")


def test_configs_of_one_name_have_ids_of_their_own_whatever_else_is_planned(tmp_path):
    folders = [write(tmp_path / name, config({"vars": {"q": "a"}})) for name in ("a", "b")]
    alone = [ids(folder) for folder in folders]
    assert alone[0] != alone[1]
    both = [str(folder / "promptfooconfig.yaml") for folder in folders]
    for configs, expected in ((both, alone[0] + alone[1]), (both[::-1], alone[1] + alone[0])):
        assert cli.main(["cases", *configs, "-o", "all.jsonl"]) == 0
        assert [json.loads(line)["id"] for line in (tmp_path / "all.jsonl").read_text().splitlines()] == expected
