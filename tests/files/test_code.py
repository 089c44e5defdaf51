import pytest

from gradegate.files.code import ENDINGS, is_code


@pytest.mark.parametrize("ending", sorted(ENDINGS))
@pytest.mark.parametrize("form", ["x{}", "file://x{}", "file://../a b/x{}:function", "file://*{}", "file:///a/x{}"])
def test_programs(form: str, ending: str):
    assert is_code(form.format(ending))
    assert is_code(form.format(ending.upper()))


@pytest.mark.parametrize(
    "reference",
    [
        "file://x.json",
        "x.yaml",
        "x.txt",
        "py",
        ".py",
        "",
        "file://",
        "https://host/x.php",
        "http://host/x.js",
        "openai:chat:m.js",
        "x.py.txt",
        "x.pyc",
    ],
)
def test_what_is_not_one(reference: str):
    assert not is_code(reference)


CODE = ["file://x.mts", "file://x.php:grade", "file://x.tsx", "file://x.ps1"]


@pytest.mark.parametrize("reference", CODE)
def test_every_place_of_a_config_says_so(gate, reference: str):
    name = reference.removeprefix("file://").partition(":")[0]
    fine = {"type": "contains", "value": "a"}
    places = [
        {"providers": [reference]},
        {"tests": reference},
        {"tests": [{"assert": [{"type": "contains", "value": reference}]}]},
        {"prompts": [reference]},
        {"tests": [{"vars": {"n": reference}, "assert": [fine]}]},
    ]
    for place in places:
        config = {"prompts": ["a"], "providers": ["echo"], "tests": [{"assert": [fine]}], **place}
        ran = gate(config, **{name: "exit 1"})
        assert ran.code == 2, place
        assert "code" in ran.err, place
