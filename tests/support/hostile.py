"""Texts as an attacker would have a model, a config or a branch say them, and decisions that are full of them."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gradegate.errors import Origin
from gradegate.values.account import AskedModel, DerivedMetric
from gradegate.values.conversation import Turn, Usage
from gradegate.values.result import Asserted, Decision, GateOutcome, Grade, Outcome, Row, RuleResult
from gradegate.values.suite import Note, Rule
from support.samples import decision

SHA = "a5c3785ed8d6a35868bc169f07e40e889087fd2e"
TO_THE_RUNNER = (
    *("::error::x", "  ::set-output name=outcome::pass", "x ##[error]y", "::set-env name=A::b", "::add-mask::a", "%0A"),
    *("::stop-commands::t", "::add-matcher::m.json", "\r::warning::x", "\u2028::notice::x", "::group::x", "##[set-env name=A]b"),
    *("\u200b::error::x", ":\u200b:error::x", "::ErRoR file=a,line=1::x", "##[\u200bendgroup]", "::", "##[", "\x85::debug::x"),
    *("name<<EOF\nv\nEOF\n", "outcome=pass", "gradegate_0", "$(id)", "`id`", "'; id; '"),
)
TO_MARKDOWN = (
    *("@octocat", "&#64;octocat", "&commat;octocat", "&#x40;a", "@org/team", "a@b.test", "mailto:a@b.test", "xmpp:a@b.test"),
    *("#12", "GH-12", "gh-1", "octo/shop#3", "octo/shop@" + SHA, "octo@" + SHA, SHA, SHA[:7], "1234567", "JIRA-7", "ABC-x1"),
    *("GHSA-8v63-cqqc-6r2c", "CVE-2021-44228", "https://x.test/", "http://x.test?a=b", "www.x.test", "WWW.x.test", "ftp://x.test"),
    *("https://github.com/octo/shop/issues/1", "x.test", "//x.test", "<https://x.test>", "<a@b.test>", "HTTPS://X.TEST"),
    *("[l](http://x.test)", "[l]: http://x.test", "[l][l]", "![i](http://x.test/i.png)", "[^1]", "[^1]: note", "![i][l]"),
    *("[l](javascript:alert(1))", "[x](<http://x.test> 't')", "](http://x.test)", "[", "]", "\\", "\\\\", "\\]"),
    *("<!-- gradegate: -->", "<!--", "-->", "<! --", "<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "<a href=//x.test>x</a>"),
    *("<details>", "</details>", "</summary>", "</code></pre>", "</td></tr></table>", "<b>", "<style>*{}</style>", "<svg/onload=x>"),
    *(
        "<iframe src=//x.test>",
        "<input type=checkbox>",
        "<table>",
        "<h1>",
        "&lt;img&gt;",
        "&amp;lt;",
        "&#60;b&#62;",
        "<?x?>",
        "<!DOCTYPE x>",
    ),
    *("```", "````", "~~~", "```mermaid\ngraph TD\n```", "`", "``", "$x$", "$$x$$", "```math\nx\n```", "$`x`$", "\\(x\\)"),
    *("> [!WARNING]\n> x", "> q", "- [x] done", "- [ ] todo", "* l", "1. one", "1) one", "# h", "x\n===", "x\n---", "***", "    code"),
    *("| a | b |\n|---|---|\n| c | d |", "|", "\\|", "|---|", "**b**", "__b__", "_e_", "*e*", "~~s~~", "H~2~O", "==m=="),
    *(":tada:", ":white_check_mark:", ":+1:", "::x::", ":a:b:", "#ffffff", "`#ffffff`", "✅ gradegate: passed", "### ✅ passed"),
)
TO_XML_AND_HTML = (
    *("]]>", "<![CDATA[", "&", "&#0;", "&bogus;", "<!ENTITY x 'y'>", "&#xD800;", "\"'><x y='", "</failure></testcase>"),
    *('" onmouseover="alert(1)', "' style='x", "javascript:alert(1)", "data:text/html,x", "url(//x.test)", "@import '//x.test'"),
    *("</title><script>", "</style>", "{{ 7*7 }}", "{% raw %}", "{#", "<base href=//x.test>", "<meta http-equiv=refresh content=0>"),
)
HIDDEN = (
    *("\x00", "\x07", "\x08", "\x1b[31m", "\x1b]8;;http://x.test\x07x\x1b]8;;\x07", "\x7f", "\x9b31m", "\x85", "\x0b", "\x0c", "\r"),
    *("\u202e", "\u2066", "\u200f", "\u200b", "\u2060", "\ufeff", "\u00ad", "\u2028", "\u2029", "\u180e", "\u3164", "\U000e0041"),
    *("\ud800", "\udfff", "\ufffe", "\uffff", "\ufdd0", "\ufffd", "👩\u200d👩", "❤\ufe0f", "é", "e\u0301", "نص", "汉字", "Ａ＠＃"),
)
PLAIN = ("a", "the answer", "Sacramento", "7", "0.5", "yes", " ", "  ", "\n", "\n\n", "\t", "x" * 90, "long words " * 12)
FRAGMENTS = (TO_THE_RUNNER, TO_MARKDOWN, TO_XML_AND_HTML, HIDDEN, PLAIN)
JOINTS = ("", "", " ", "\n", "\r\n", "\t", "a", "\n\n")


class Hostile:
    """An endless source of hostile texts, always the same for one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._made = 0

    def text(self) -> str:
        """Some fragments in a row; now and then random signs, or a text that is very long."""
        draw = self._random
        if draw.random() < 0.01:
            return draw.choice(draw.choice(FRAGMENTS)) * draw.randint(500, 3000)
        if draw.random() < 0.03:
            return "".join(chr(draw.randrange(0x110000)) for _ in range(draw.randint(1, 40)))
        parts = (draw.choice(draw.choice(FRAGMENTS)) + draw.choice(JOINTS) for _ in range(draw.randint(1, 5)))
        return "".join(parts)

    def texts(self, count: int) -> list[str]:
        return [self.text() for _ in range(count)]

    def outcome(self) -> Outcome:
        return self._random.choice(list(Outcome))

    def decision(self, rows: int) -> Decision:
        """A decision in which every text is hostile: those of the model, of the grader, of the config and of its place."""
        listed = [self._row(number) for number in range(rows)]
        rules = tuple(self._rule() for _ in range(2))
        notes = tuple(Note(self.text(), Origin(self.text(), 3)) for _ in range(2))
        models = tuple(AskedModel(self.text(), self.text()) for _ in range(2))
        result = self._random.choice(list(GateOutcome))
        more = {"interrupted": self._random.choice(["", self.text()]), "notes": notes, "models": models}
        more["derived"] = tuple(self._derived(row) for row in listed[:2])
        return decision(result, self.text(), *listed, rules=rules, **more)

    def _derived(self, row: Row) -> DerivedMetric:
        value = self._random.choice([None, 0.25])
        return DerivedMetric(self.text(), row.suite, row.provider, row.prompt_label, value, "" if value else self.text(), 3, 1)

    def _rule(self) -> RuleResult:
        least = self._random.choice([None, 0.5])
        return RuleResult(Rule(self.text(), min_score=least, suite=self.text()), self.outcome(), self.text(), score=0.25)

    def _row(self, number: int) -> Row:
        outcome, answered = self.outcome(), self._random.random() < 0.85
        value = {self.text(): [self.text(), {self.text(): self.text()}]}
        return Row(
            suite=self.text(),
            description=self._random.choice(["", self.text()]),
            provider=self.text(),
            prompt_label=self.text(),
            prompt=self.text(),
            vars=value,
            outcome=outcome,
            output=self.text() if answered else None,
            error="" if answered else self.text() or "down",
            grades=tuple(self._grades()),
            usage=Usage(calls=1, seconds=0.5),
            turns=(Turn("user", self.text()), Turn("assistant", self.text()), Turn("user", self.text())),
            case=number,
            origin=Origin(self._random.choice(["evals/a.yaml", self.text()]), 7),
        )

    def _grades(self) -> Iterator[Grade]:
        for _ in range(self._random.randint(0, 2)):
            asserted = Asserted(self.text(), self.text(), metric=self.text(), origin=Origin(self.text(), 2))
            evidence = {self.text(): self.text(), "steps": [self.text()]}
            yield Grade(asserted, self.outcome(), 0.25, 0.5, self.text(), evidence)
