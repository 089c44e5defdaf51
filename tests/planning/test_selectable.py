"""A rule that selects nothing is told what there is to select, nearest first."""


def test_the_list_is_short_and_so_is_each_value(gate):
    tests = [{"description": f"case {n} " + "long\n" * 40, "assert": [{"type": "contains", "value": "x"}]} for n in range(12)]
    rule = {"name": "r", "select": {"description": "case 7"}, "min-pass-rate": 1}
    said = gate({"prompts": ["x"], "providers": ["echo"], "tests": tests, "gate": {"rules": [rule]}}).mistakes
    cure = said.splitlines()[0].partition(" -> ")[2]
    assert cure.startswith("correct `select`: there is description `case 7 long long")
    assert cure.endswith("…` and 7 more")
    assert len(cure) < 450
