import base64
import html
import json
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from gradegate.reporting.redact import conceal, redactor
from gradegate.result import AskedModel, Asserted, Grade, Outcome, Row, RunResult, cases_of

SECRET = 'sk-"canary"/äö+& 1'


def test_every_form_of_a_secret_is_hidden():
    forms = [SECRET, quote(SECRET, safe=""), json.dumps(SECRET)[1:-1], html.escape(SECRET)]
    forms += [base64.b64encode(SECRET.encode()).decode(), base64.urlsafe_b64encode(SECRET.encode()).decode()]
    hide = redactor([SECRET])
    assert [hide(f"<{form}>") for form in forms] == ["<***>"] * len(forms)


def test_a_key_that_ends_in_a_newline_is_hidden_without_it_too():
    assert redactor(["sk-canary-1\n"])("the key sk-canary-1 was refused") == "the key *** was refused"


def test_a_secret_that_holds_another_goes_as_a_whole():
    assert redactor(["abcdefgh", "abcdefgh-more"])("x abcdefgh-more y abcdefgh") == "x *** y ***"


def test_a_run_is_concealed_in_depth_and_not_copied_without_need():
    def row(text):
        grade = Grade(Asserted("contains"), Outcome.FAIL, 0.0, reason=text, evidence={"list": [{"k": text}]})
        return Row("s", "d", "p", "l", text, {"v": text}, Outcome.FAIL, output=text, grades=(grade,))

    clean, dirty = row("nothing"), row(f"has {SECRET}")
    run = conceal(RunResult(cases_of((clean, dirty))), redactor([SECRET]))
    assert run.rows[0] is clean
    assert SECRET not in repr(run)
    assert run.rows[1].grades[0].evidence == {"list": [{"k": "has ***"}]}
    assert conceal(run, redactor([SECRET])) is run


@given(st.text(min_size=8), st.text(), st.text())
def test_no_text_keeps_a_secret(secret, before, after):
    if secret.strip():
        assert secret not in redactor([secret])(before + secret + after).replace("***", "\0")


def test_the_names_of_models_are_hidden_too():
    model = AskedModel(f"http://h/{SECRET}", f"{SECRET}.example.com", "file")
    run = conceal(RunResult((), models=(model,)), redactor([SECRET]))
    assert [str(model) for model in run.models] == ["http://h/*** at ***.example.com"]
    assert run.models[0].replies_from == "file"
