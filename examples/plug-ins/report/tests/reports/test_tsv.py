import csv

CONFIG = {
    "prompts": ["{{said}}"],
    "providers": ["echo"],
    "tests": [
        {
            "description": "=1+1\tand more",
            "vars": {"said": "yes"},
            "assert": [{"type": "equals", "value": "yes"}],
        },
        {
            "description": "says yes",
            "vars": {"said": "no"},
            "assert": [{"type": "contains", "value": "yes"}],
        },
    ],
}


def test_each_assertion_is_a_line_of_five_cells(gate):
    ran = gate(CONFIG, "-o", "results.tsv")
    with (ran.folder / "results.tsv").open(newline="") as file:
        head, *lines = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    assert head == ["case", "provider", "assertion", "outcome", "reason"]
    assert [line[:4] for line in lines] == [
        ["'=1+1 and more", "echo", "equals", "pass"],
        ["says yes", "echo", "contains", "fail"],
    ]
    assert lines[1][4] == 'the answer does not contain "yes"'
