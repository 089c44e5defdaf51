"""What the runner makes of a log line, checked with a port of its two parsers."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from gradegate.reports.format.escape import harmless, workflow_command
from support.each import each, table

# What the runner's comparison by culture does not see.
IGNORED = re.compile("[\x00-\x08\x0e-\x1f\x7f\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")


def parsed(line: str) -> str | None:
    """The command that the runner finds in one line of output, or None."""
    line = IGNORED.sub("", line)
    new = re.match(r"\s*::([^:\s][^:]*?)(?: [^:]*)?::", line)
    old = re.search(r"##\[([^\]\s]+)[^\]]*\]", line)
    found = new or old
    return found[1] if found else None


def lines(text: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", text)


NASTY = [
    "::error::x",
    "  ::set-output name=gate::pass",
    "\u3000\u00a0::set-output name=gate::pass",
    "text ##[error]x",
    "::set-env name=A::b",
    "::add-mask::a",
    "::stop-commands::x",
    "::add-matcher::m.json",
    "\r::warning::x",
    "a\r\n::warning::x",
    "\u2028::error::x",
    "\u200b::error::x",
    "\x00:\x00:error::x",
    "#\u00ad#[error]x",
    "é\u200d\u200d::error::x",
    "\u00a0\u200d::error::x",
    "###[error]x",
    "::::error::x",
    "\x1b[2K::error::x",
]


@each("line", NASTY)
def test_nothing_in_a_log_line_is_a_command(line: str) -> None:
    assert [parsed(part) for part in lines(harmless(line))] == [None] * len(lines(harmless(line)))


@each("line", ["a ##vso[task.setvariable variable=x]y", "##teamcity[buildStatus]", "###vso[x]##vso[y]"])
def test_nothing_is_a_command_of_other_systems_either(line: str) -> None:
    assert re.search(r"##\w*\[", harmless(line)) is None
    assert harmless(line).replace(" ", "") == line.replace(" ", "")


@given(st.text(st.sampled_from("::##[]error \t\r\n\u2028\u200b\u200d\ufe0f\x00\xadé"), max_size=30))
@example("é\ufe0f##[error]x")
def test_no_text_at_all_is_a_command(text: str) -> None:
    safe = harmless(text)
    assert all(parsed(part) is None for part in lines(safe))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u2028\u2029]", safe)
    safe.encode()


@each(("line", "safe"), table(__file__, "text_stays_readable"))
def test_text_stays_readable(line: str, safe: str) -> None:
    assert harmless(line) == safe


@each(
    ("made", "text"),
    [
        (workflow_command("error", "a\nb\r\n100%"), "::error::a%0Ab%0A100%25"),
        (workflow_command("error", "a\r\x1b[0m", file="b\u202e"), "::error file=b\\u202e::a\\x0d\\x1b[0m"),
        (
            workflow_command("warning", "m: a, b", file="a,b:c.yaml", line=3, title="50%\nof it"),
            "::warning file=a%2Cb%3Ac.yaml,line=3,title=50%25%0Aof it::m: a, b",
        ),
        (workflow_command("error", "m", file="", line=None, title="t"), "::error title=t::m"),
    ],
)
def test_commands_are_escaped_as_the_toolkit_does(made: str, text: str) -> None:
    assert made == text
