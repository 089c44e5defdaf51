"""``gradegate explain``: one case by its number, id or a part of its name, told from the question to the decision."""

import shlex
from pathlib import Path

import pytest

from gradegate.cli import main as cli
from gradegate.reports.delivery.report import Links
from gradegate.results.accounts import Made
from gradegate.results.run_result import Decision
from gradegate.structs import replace
from support import samples, showcase
from support.each import table
from support.runner import commands


def write(decision: Decision) -> None:
    Path("results.json").write_text(samples.render_report("json", decision, Links()))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(showcase.showcase())


def explain(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert cli.main(["explain", *arguments, "results.json"]) == code
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_a_failure_with_what_differs_and_every_ask(capsys: pytest.CaptureFixture[str]) -> None:
    said = explain(capsys, "1")
    for line in table(__file__, "a_failure_with_what_differs_and_every_ask"):
        assert f"{line}\n" in said
    assert "for [-30-] days after delivery, [-in-] the" in said
    assert "for {+60+} days after delivery, {+also without+} the" in said
    assert "again: gradegate run evals/support.yaml" in said


def test_a_conversation_with_the_turn_that_fails(capsys: pytest.CaptureFixture[str]) -> None:
    said = explain(capsys, "oslo")
    assert "3 user: Where does my parcel go?\n4 assistant  <-- fails knowledge-retention: To Bergen.\n" in said
    assert "  document: Parcels go to the address of the order.\n" in said


def test_claims_with_the_sentences_they_are_held_against(capsys: pytest.CaptureFixture[str]) -> None:
    said = explain(capsys, "#2")
    assert (
        "  claim contradicted: The shop pays for sending the machine in.\n"
        "    because: The documents say that the buyer pays for sending it in.\n"
        "    nearest in the sources: The buyer pays for sending a machine in; the shop pays for sending it back.\n"
    ) in said


def test_a_case_by_its_id(capsys: pytest.CaptureFixture[str]) -> None:
    decision = showcase.showcase()
    rows = [replace(row, key=bytes([place]) * 32) for place, row in enumerate(decision.run.rows)]
    write(replace(decision, run=replace(decision.run, rows=tuple(rows))))
    said = explain(capsys, "02020202")
    assert said.startswith("#3 Moves to Oslo: failed, new\n")
    assert "  id 0202020202020202\n" in said


def test_a_case_without_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    write(samples.blocked_decision())
    assert "no answer: api.openai.com answered 503" in explain(capsys, "4")


def test_several_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    said = explain(capsys, "refund", code=2)
    assert said.startswith("4 cases match; name one by its number: gradegate explain 1\n#1  failed  Late refund  ")
    assert "\n#8  passed  Late refund 3  openai:chat:gpt-5  Answer as the support desk\n" in said


def test_a_whole_name_is_no_part_of_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(capsys, "LATE refund").startswith("#1 Late refund: failed")


def test_of_many_the_first_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    write(showcase.large(120))
    said = explain(capsys, "r", code=2)
    assert said.count("\n#") == 50
    assert said.endswith("and 70 more\n")


@pytest.mark.parametrize(("wanted", "cure"), table(__file__, "where_none_matches_the_nearest_is_named"))
def test_where_none_matches_the_nearest_is_named(capsys: pytest.CaptureFixture[str], wanted: str, cure: str) -> None:
    assert f"results.json: no case matches `{wanted}` -> {cure}\n" in explain(capsys, wanted, code=2)


def test_a_run_without_cases_has_none(capsys: pytest.CaptureFixture[str]) -> None:
    write(samples.decision(samples.passed_decision().outcome, ""))
    assert "no case matches `1` -> it has no case" in explain(capsys, "1", code=2)


def test_hostile_texts_command_no_runner_and_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    write(samples.odd())
    for number in range(1, len(samples.NASTY) + 1):
        said = explain(capsys, str(number))
        assert commands(said) == []
        assert "\x1b" not in said


def test_secrets_of_the_environment_are_hidden(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefghijklmnop")
    write(samples.decision(samples.passed_decision().outcome, "", samples.row("x", samples.Outcome.PASS, output="sk-abcdefghijklmnop")))
    assert "sk-abcdefghijklmnop" not in explain(capsys, "1")


@pytest.mark.parametrize(("options", "command"), table(__file__, "a_file_grants_no_rights"))
def test_a_file_grants_no_rights(capsys: pytest.CaptureFixture[str], options: list[str], command: str) -> None:
    decision = showcase.showcase()
    write(replace(decision, run=replace(decision.run, made=Made(options=tuple(options)))))
    said = explain(capsys, "1")
    assert said.splitlines()[-1] == f"again: gradegate run evals/support.yaml{command} --filter-pattern '^Late refund$'"
    assert ("\nThe run had more options. Add them yourself: " in said) == (shlex.split(command) != options)


@pytest.mark.parametrize(
    ("place", "suite"), [("../../etc; rm -rf ~", "c.yaml"), ("/etc", "c.yaml"), ("", "/c.yaml"), ("", "a/../../c.yaml")]
)
def test_no_command_leads_out_of_the_repository(capsys: pytest.CaptureFixture[str], place: str, suite: str) -> None:
    decision = showcase.showcase()
    first, *rows = decision.run.rows
    run = replace(decision.run, rows=(replace(first, suite=suite), *rows), made=Made(folder=place))
    write(replace(decision, run=run))
    assert "again: " not in explain(capsys, "1")
