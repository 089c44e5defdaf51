from gradegate.files.paths import ENDINGS, is_code
from support.each import each, table


@each("ending", sorted(ENDINGS))
@each("form", ["x{}", "file://x{}", "file://../a b/x{}:function", "file://*{}", "file:///a/x{}"])
def test_programs(form: str, ending: str):
    assert is_code(form.format(ending))
    assert is_code(form.format(ending.upper()))


@each("reference", table(__file__, "what_is_not_one"))
def test_what_is_not_one(reference: str):
    assert not is_code(reference)


def rubric_prompts(reference: str) -> list[dict]:
    graded = {"type": "llm-rubric", "value": "is kind", "provider": "openai:chat:m"}
    return [{"assert": [{**graded, "rubricPrompt": reference}]}, {"assert": [graded], "options": {"rubricPrompt": reference}}]


CODE = ["file://x.mts", "file://x.php:grade", "file://x.tsx", "file://x.ps1"]


@each("reference", CODE)
def test_every_place_of_a_config_says_so(gate, reference: str):
    name = reference.removeprefix("file://").partition(":")[0]
    fine = {"type": "contains", "value": "a"}
    places = [
        {"providers": [reference]},
        {"tests": reference},
        {"tests": [{"assert": [{"type": "contains", "value": reference}]}]},
        {"prompts": [reference]},
        {"tests": [{"vars": {"n": reference}, "assert": [fine]}]},
        *({"tests": [test]} for test in rubric_prompts(reference)),
    ]
    for place in places:
        config = {"prompts": ["a"], "providers": ["echo"], "tests": [{"assert": [fine]}], **place}
        ran = gate(config, **{name: "exit 1"})
        assert ran.code == 2, place
        assert "code" in ran.err, place


@each("reference", ["file://x.py", "file://x.py:f", "file://x.js", "file://x.JS:f"])
def test_a_grading_prompt_is_no_code(gate, reference: str):
    name = reference.removeprefix("file://").partition(":")[0]
    for test in rubric_prompts(reference):
        ran = gate({"prompts": ["a"], "providers": ["echo"], "tests": [test]}, **{name: "def f(): return 'yes'"})
        assert ran.code == 2
        assert "is code, which gradegate does not run here" in ran.err
