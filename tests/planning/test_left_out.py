"""What the command line leaves out, names in vain or cannot write is told, and never green in silence."""


def test_a_report_outside_makes_no_folder(gate, tmp_path_factory):
    inner = tmp_path_factory.mktemp("outside") / "no" / "r.json"
    test = {"vars": {"q": "a"}, "assert": [{"type": "contains", "value": "a"}]}
    said = gate({"prompts": ["{{q}}"], "providers": ["echo"], "tests": [test]}, "-o", str(inner)).mistakes
    assert f"the folder of the output `{inner}` does not exist -> create it, or name a file inside the workspace" in said
    assert not inner.parent.exists()
