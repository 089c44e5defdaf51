from gradegate.access.hiding import redactor
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.reporting.redact import conceal, concealed_mistakes
from gradegate.values.account import AskedModel
from gradegate.values.result import Asserted, Grade, Outcome, Row, RunResult

SECRET = 'sk-"canary"/äö+& 1'


def test_a_run_is_concealed_in_depth_and_not_copied_without_need():
    def row(text):
        grade = Grade(Asserted("contains"), Outcome.FAIL, 0.0, reason=text, evidence={"list": [{"k": text}]})
        return Row("s", "d", "p", "l", text, {"v": text}, Outcome.FAIL, output=text, grades=(grade,))

    clean, dirty = row("nothing"), row(f"has {SECRET}")
    run = conceal(RunResult((clean, dirty)), redactor([SECRET]))
    assert run.rows[0] is clean
    assert SECRET not in repr(run)
    assert run.rows[1].grades[0].evidence == {"list": [{"k": "has ***"}]}
    assert conceal(run, redactor([SECRET])) is run


def test_the_names_of_models_are_hidden_too():
    model = AskedModel(f"http://h/{SECRET}", f"{SECRET}.example.com", "file")
    run = conceal(RunResult((), models=(model,)), redactor([SECRET]))
    assert [str(model) for model in run.models] == ["http://h/*** at ***.example.com"]
    assert run.models[0].replies_from == "file"


def test_mistakes_are_concealed_with_their_places():
    error = ConfigError(Mistake(f"no such provider `{SECRET}`", Origin(f"{SECRET}.yaml", 3), "x"), Mistake("plain"))
    assert str(concealed_mistakes(error, redactor([SECRET]))) == "***.yaml:3: no such provider `***` -> x\nplain"
