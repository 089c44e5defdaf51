"""Readers of what we write for people: the page that GitHub makes of Markdown, and a page for a browser."""

import re
import unicodedata
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path

import cmarkgfm
from cmarkgfm.cmark import Options

BREAK = "\u200b"  # ours: keeps words apart that GitHub would link
# What GitHub makes of plain text in a conversation, after Markdown has linked addresses: mentions, references to issues,
# advisories and commits, a repository's own prefixes, emoji, mathematics.
LIVE = re.compile(r"@\w|#\d|[a-z]-\d|ghsa-\w|(?<![^\W_])[0-9a-f]{7,40}(?![^\W_])|:[\w+-]+:|\$.+\$", re.IGNORECASE)
# Signs of numbers and verses that are drawn, though they are "format" to Unicode.
DRAWN = set("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
SIGNS = {"❌": ("no", "✘"), "✅": ("yes", "✔"), "❔": ("open", "?"), "⚠️": ("warn", "⚠")}
VOID = {"br", "meta", "hr", "img", "input", "link", "base"}


class Page(HTMLParser):
    """A page as a browser sees it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.comments: list[str] = []
        self.prose: list[str] = []  # outside of code
        self.unbalanced: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.unbalanced += self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)
        self.prose.append("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.prose.append("\n")
        if self._open and self._open[-1] == tag:
            self._open.pop()
        else:
            self.unbalanced.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if not {"code", "pre", "style", "script"} & set(self._open):
            self.prose.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_decl(self, decl: str) -> None:
        self.comments += [decl] if decl.lower() != "doctype html" else []

    def handle_pi(self, data: str) -> None:
        self.comments.append(data)

    def unknown_decl(self, data: str) -> None:
        self.comments.append(data)

    def others(self, allowed: dict[str, set[str]]) -> list[tuple[str, dict[str, str | None]]]:
        """Elements, or attributes of them, that are not allowed."""
        return [found for found in self.elements if found[0] not in allowed or set(found[1]) - allowed[found[0]]]

    @property
    def addresses(self) -> list[str]:
        """Where its links lead."""
        return [attributes["href"] or "" for _, attributes in self.elements if "href" in attributes]

    @property
    def live(self) -> list[str]:
        """Words outside of code that GitHub would take for more than words."""
        return LIVE.findall("".join(self.prose).replace("\n", "\n "))


def on_github(markdown: str) -> Page:
    """A comment or a summary as GitHub renders it, raw HTML included."""
    return Page(_rendered(markdown))


def _rendered(markdown: str) -> str:
    return str(cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES))


def looks_on_github(markdown: str) -> str:
    """A page for a browser that looks nearly as GitHub's. Machines without coloured signs draw ours."""
    body = re.sub(r"<blockquote>\s*<p>\[!WARNING\]\s*", '<blockquote class="warning"><b>⚠️ Warning</b><p>', _rendered(markdown))
    for sign, (kind, drawn) in SIGNS.items():
        body = re.sub(f"{sign}(\xa0[^\\s<]+)?", rf'<span class="sign"><i class="{kind}">{drawn}</i>\1</span>', body)
    style = Path(__file__).with_name("github.css").read_text(encoding="utf-8")
    return f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>.</title><style>{style}</style></head><body>{body}</body></html>'


def hiding(text: str, allowed: Iterable[str] = "\n\t" + BREAK) -> list[str]:
    """Signs that show nothing, reorder the text or move a cursor; joiners where they belong are none."""
    joined = re.sub("(?<=[^\x00-\x7f])[\u200c\u200d\ufe0f]", "", text)
    odd = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return [sign for sign in joined if unicodedata.category(sign) in odd and sign not in DRAWN | set(allowed)]
