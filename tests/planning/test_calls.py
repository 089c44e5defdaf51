"""What `gradegate cases` writes, and what its ids say."""

import json

import yaml

from gradegate import cli
from support.answered import cases, config
from support.each import each, table
from support.runner import commands


def write(folder, content):
    folder.mkdir(exist_ok=True)
    (folder / "promptfooconfig.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    return folder


def ids(folder, *arguments):
    return [case["id"] for case in cases(folder, *arguments)]


def test_every_planned_call_is_a_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chat = json.dumps([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "{{q}}"}])
    tests = ({"description": "Two ways", "vars": {"q": ["a", "b"]}, "options": {"repeat": 2}},)
    write(tmp_path, config(*tests, prompts=["Answer: {{q}}", chat], providers=["exec:run.sh", {"id": "x.py", "label": "app"}]))
    found = cases(tmp_path)
    assert len(found) == len({case["id"] for case in found}) == 2 * 2 * 2 * 2
    assert found[0] == {
        "id": found[0]["id"],
        "description": "Two ways",
        "prompt": "Answer: a",
        "vars": {"q": "a"},
        "provider": "exec:run.sh",
        "repeat": 0,
    }
    assert found[2]["messages"] == [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "a"}]
    assert "prompt" not in found[2]
    assert {case["provider"] for case in found} == {"exec:run.sh", "app"}
    assert all(case["id"].startswith("two-ways-") and len(case["id"]) <= 64 for case in found)


def test_a_conversation_is_one_line_with_the_turns_of_the_user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    turns = [{"role": "user", "content": "hello"}, {"role": "user", "content": "bye"}]
    write(tmp_path, config({"turns": turns}, prompts=["Be kind."]))
    (case,) = cases(tmp_path)
    assert case["turns"] == turns
    assert case["prompt"] == "Be kind."


def test_prompts_that_tell_the_conversation_name_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    prompt = "{% for it in _conversation %}{{ it.output }}{% endfor %}{{q}}"
    tests = [{"vars": {"q": q}, "metadata": {"conversationId": talk}} for q, talk in (("a", "1"), ("b", "1"), ("c", "2"))]
    write(tmp_path, config(*tests, prompts=[prompt]))
    first, second, third = cases(tmp_path)
    assert first["conversation"] == second["conversation"] != third["conversation"]
    assert first["prompt"] == "a"


def test_a_stored_answer_is_named_where_it_is_made_and_where_it_is_used(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
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


def test_what_the_config_answers_itself_is_no_call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, config({"vars": {"q": "a"}, "providerOutput": "hi"}, {"vars": {"q": "b"}}))
    assert [case["vars"] for case in cases(tmp_path)] == [{"q": "b"}]


def test_ids_stay_where_the_case_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
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
def test_another_question_has_another_id(tmp_path, monkeypatch, changed):
    monkeypatch.chdir(tmp_path)
    before = ids(write(tmp_path, config({"vars": {"q": "a"}})))
    assert not set(before) & set(ids(write(tmp_path, config({"vars": {"q": "a"}}, **changed))))


def test_equal_cases_have_ids_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one = ids(write(tmp_path, config({"vars": {"q": "a"}})))
    three = ids(write(tmp_path, config(*[{"vars": {"q": "a"}}] * 3)))
    assert len(set(three)) == 3
    assert three[0] == one[0]


def test_no_key_is_needed_and_none_is_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GH_SECRET", "s3cr3t-s3cr3t-s3cr3t")
    keyed = {"id": "openai:chat:m", "config": {"apiKey": "{{env.NOBODY_SET_THIS}}"}}
    tests = ({"vars": {"q": "{{env.GH_SECRET}}"}, "assert": [{"type": "llm-rubric", "value": "nice", "provider": keyed}]},)
    content = config(*tests, providers=[keyed], env={"X": "{{env.NOBODY_SET_THIS}}"}, gate={"second-opinions": [keyed]})
    write(tmp_path, content)
    assert cli.main(["cases", "--allowed-env", "GH_SECRET"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out)["provider"] == "openai:chat:m"
    assert "s3cr3t" not in out


def test_a_line_is_no_command_to_a_runner(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    asked = "###[error]x ##[ ##vso[x] ::error::x\n::error::x"
    write(tmp_path, config({"vars": {"q": asked}}))
    assert cli.main(["cases"]) == 0
    out = capsys.readouterr().out
    assert commands(out) == []
    assert "##vso" not in out
    assert json.loads(out)["vars"]["q"] == asked


def test_a_line_is_plain_ascii(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, config({"vars": {"q": "é\u2028\x1b[31m ::error::x"}}))
    assert cases(tmp_path)[0]["vars"]["q"].startswith("é\u2028")
    assert (tmp_path / "cases.jsonl").read_text().isascii()


def test_mistakes_of_a_config_are_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, config({"vars": {"other": "x"}}))
    assert cli.main(["cases"]) == 2
    assert "asks for the variable `q`" in capsys.readouterr().err


def test_the_lines_overwrite_no_input(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, config())
    assert cli.main(["cases", "-o", "promptfooconfig.yaml"]) == 2
    assert "is a file that this run reads" in capsys.readouterr().err


NAMES = table(__file__, "NAMES")


@each(("written", "labels"), NAMES)
def test_whatever_a_config_names_as_a_target_is_a_label(tmp_path, monkeypatch, written, labels):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "providers.yaml").write_text("[one, {id: exec:two, label: two}]")
    write(tmp_path, config(providers=written))
    assert [case["provider"] for case in cases(tmp_path)] == labels


def test_a_target_of_a_test_and_of_the_command_line_is_a_label_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, config({"vars": {"q": "a"}, "provider": "file://own.py"}, {"vars": {"q": "b"}}))
    assert [case["provider"] for case in cases(tmp_path)] == ["file://own.py", "file://app.py"]
    assert [case["provider"] for case in cases(tmp_path, "--provider", "exec:other")] == ["file://own.py", "exec:other"]


def test_a_target_that_a_prompt_configures_is_a_label_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    prompt = {"raw": "Say {{q}}", "label": "p", "config": {"temperature": 0.5}}
    write(tmp_path, config({"vars": {"q": "a"}}, prompts=[prompt], providers=["my application"]))
    assert [case["provider"] for case in cases(tmp_path)] == ["my application"]


@each("written", [5, [["x", 5]], [{"config": {}}], [{"id": 5}]])
def test_what_names_no_target_is_a_mistake(tmp_path, monkeypatch, capsys, written):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, config(providers=written))
    assert cli.main(["cases"]) == 2
    assert "promptfooconfig.yaml:" in capsys.readouterr().err


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


def test_configs_of_one_name_have_ids_of_their_own_whatever_else_is_planned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders = [write(tmp_path / name, config({"vars": {"q": "a"}})) for name in ("a", "b")]
    alone = [ids(folder) for folder in folders]
    assert alone[0] != alone[1]
    both = [str(folder / "promptfooconfig.yaml") for folder in folders]
    for configs, expected in ((both, alone[0] + alone[1]), (both[::-1], alone[1] + alone[0])):
        assert cli.main(["cases", *configs, "-o", "all.jsonl"]) == 0
        assert [json.loads(line)["id"] for line in (tmp_path / "all.jsonl").read_text().splitlines()] == expected
