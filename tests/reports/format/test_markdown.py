"""Anybody's text stays text: rendered with GitHub's own renderer, it makes no structure, link or mention."""

import html
import re
from xml.etree import ElementTree as ET

import cmarkgfm
from cmarkgfm.cmark import Options
from hypothesis import example, given
from hypothesis import strategies as st

from gradegate.reports.format.escape import one_line, visible
from gradegate.reports.format.markdown import (
    BREAK,
    Markdown,
    code,
    details,
    fence,
    fit,
    inline,
    join_markdown,
    link,
    sentence,
    utf8_length,
    utf16_length,
)
from support.each import each
from support.samples import NASTY

PIECES = [
    *"\\`*_{}[]()#+-.!|<>@&~$:=^\"' \n\t1aé👩\u200b\u202e\x00\ud800",
    *("@octocat", "&#64;octocat", "&commat;a", "#12", "GH-12", "a/b#3", "http://x.test", "www.x.test", "a@b.test"),
    *("<!-- x -->", "<img src=x>", "<a href=x>", "</code>", "</details>", "```", "~~~", "![i](x)", "[l](x)", "[^1]"),
    *("|---|", "\n\n", "    ", "- ", "1. ", "> ", "# ", "---", "===", ":tada:", "mailto:a@b.test", "xmpp:a@b.test", "$x$"),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(st.characters(), max_size=3), max_size=12).map("".join)


def rendered(text: str) -> ET.Element:
    """What GitHub makes of a page, as a tree; raw HTML is kept."""
    page = cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE)
    return ET.fromstring(f"<body>{html_to_xml(page)}</body>")


def html_to_xml(page: str) -> str:
    return page.replace("<br>", "<br />").replace("<hr>", "<hr />")


def shape(tree: ET.Element) -> list[str]:
    """The elements in order; the span that keeps a dollar sign from being mathematics is none."""
    return [element.tag for element in tree.iter() if element.tag != "span"]


def prose(tree: ET.Element) -> str:
    """The text outside of code, where GitHub looks for mentions, references and emoji."""
    own = "" if tree.tag in ("code", "pre") else (tree.text or "") + "".join(map(prose, tree))
    return own + (tree.tail or "")


def settled(text: str) -> str:
    return " ".join(text.split())


# What GitHub links to a commit, where there is one of that name: a word of its own.
COMMIT = r"(?<![^\W_])[0-9a-f]{7,40}(?![^\W_])"


@given(TEXTS)
@example("1. one")
@example("www.example.com @a #1 :x: GH-1")
@example("a5c3785ed8d6a35868bc169f07e40e889087fd2e 1234567. GHSA-abcd-efgh-ijkl CVE-2026-1 JIRA-7 a/b@0123456")
@example(NASTY[2])
@example(NASTY[3])
@example(NASTY[4])
@example("\U000e0000")
def test_inline_text_looks_the_same_and_does_nothing(text: str) -> None:
    for before, after, elements in (("", "", ["p"]), ("**", "**", ["p", "strong"]), ("- ", "", ["ul", "li"])):
        if not inline(text):
            continue
        tree = rendered(f"{before}{inline(text)}{after}\n")
        assert shape(tree) == ["body", *elements]
        assert settled("".join(tree.itertext()).replace(BREAK, "")) == settled(one_line(text))
        assert not re.search(rf"@\w|#\d|[a-z]-\d|ghsa-\w|{COMMIT}|:[\w+-]+:", prose(tree), re.IGNORECASE)


@given(TEXTS)
@example("the rule `a-b: c` and ``x` `@a` `<b>` `a`b` :pass:")
def test_a_sentence_of_ours_has_names_as_code_and_does_nothing_else(text: str) -> None:
    tree = rendered(f"{sentence(text) or 'x'}\n")
    assert shape(tree)[:2] == ["body", "p"]
    assert {*shape(tree)[2:]} <= {"code"}
    assert not re.search(r"@\w|#\d|gh-\d|:[\w+-]+:", prose(tree), re.IGNORECASE)
    assert [it.text for it in rendered(sentence("`a-b` of `New York`") + "\n").iter("code")] == ["a-b", "New York"]


@given(TEXTS)
@example(NASTY[4])
def test_code_looks_the_same_and_does_nothing(text: str) -> None:
    if not code(text):
        return
    tree = rendered(f"{code(text)}\n")
    assert shape(tree) in (["body", "p"], ["body", "p", "code"])
    assert settled("".join(tree.itertext()).replace(BREAK, "")) == settled(one_line(text))
    assert not re.search(r"@\w|#\d|gh-\d|:[\w+-]+:", prose(tree), re.IGNORECASE)


@given(TEXTS)
@example(NASTY[4])
def test_a_fence_holds_everything(text: str) -> None:
    tree = rendered(f"before\n\n{fence(text)}\nafter\n")
    assert shape(tree) == ["body", "p", "pre", "code", "p"]
    assert "".join(tree[1].itertext()).strip("\n") == visible(text).replace("<!--", "<! --").strip("\n")


@each("length", [3, 199, 200, 201, 254, 255, 256, 600, 3000])
def test_no_run_of_backticks_ends_a_fence(length: int) -> None:
    tree = rendered(fence(f"a\n{'`' * length}\n<b>\n"))
    assert shape(tree) == ["body", "pre", "code"]
    assert "".join(tree.itertext()).count("`") == length


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=4))
def test_a_table_keeps_its_columns(cells: list[tuple[str, str, str]]) -> None:
    rows = [(inline(one) or "-", code(two) or "-", inline(three) or "-") for one, two, three in cells]
    lines = [("a", "b", "c"), ("---",) * 3, *rows]
    tree = rendered("".join(f"| {' | '.join(line)} |\n" for line in lines))
    assert len(tree) == 1
    seen = [[settled("".join(cell.itertext()).replace(BREAK, "")) for cell in line] for line in tree.iter("tr")]
    assert seen == [["a", "b", "c"], *([settled(one_line(text)) or "-" for text in line] for line in cells)]


@given(TEXTS, TEXTS)
def test_nothing_forges_the_opening_of_a_comment(one: str, two: str) -> None:
    assert "<!--" not in inline(one + two) + code(one + two) + fence(one + two)


@given(TEXTS)
def test_a_link_is_one_link(text: str) -> None:
    tree = rendered(link(inline(text) or "-", f"https://github.com/o/r/blob/c/{text}#L1") + "\n")
    assert shape(tree) == ["body", "p", "a"]


@each(("url", "made"), [("", "x"), ("https://x/a b(c).yaml#L1", "[x](https://x/a%20b%28c%29.yaml#L1)")])
def test_a_link_without_an_address_is_its_label(url: str, made: str) -> None:
    assert link("x", url) == made


def test_what_is_folded_is_rendered() -> None:
    tree = rendered(details("2 more", join_markdown("\n", [fence("a"), Markdown("**b**")])) + Markdown("\nafter\n"))
    assert shape(tree) == ["body", "details", "summary", "pre", "code", "p", "strong", "p"]


@each("text", ["plain", "é👩", "𝒳" * 3, ""])
def test_lengths_are_those_of_other_machines(text: str) -> None:
    assert (utf16_length(text), utf8_length(text)) == (len(text.encode("utf-16-le")) // 2, len(text.encode()))


@each(("room", "taken"), [(0, []), (3, ["aa"]), (5, ["aa", "bbb"]), (100, ["aa", "bbb", "c"])])
def test_only_whole_blocks_are_taken(room: int, taken: list[str]) -> None:
    assert fit(iter(["aa", "bbb", "c"]), room, len) == taken


@each(
    ("text", "made"),
    [
        ("66.7% of it: a-b (c), {{d}}", "66.7% of it: a-b (c), {{d}}"),
        ("a|b & <c>", "a&#124;b &amp; &lt;c&gt;"),
        ("- @me", f"\\- @{BREAK}me"),
        ("12. b", "12\\. b"),
        ("costs $5", "costs <span>$</span>5"),
        ("", ""),
    ],
)
def test_what_is_written_stays_readable(text: str, made: str) -> None:
    assert html.unescape(inline(text)) == html.unescape(made)
