"""The site of the docs: built strictly, it shows what GitHub shows, and axe-core finds no serious fault in it."""

import re
from pathlib import Path

import cmarkgfm
import docs_site
import pytest

from support import chromium

BUILDER = docs_site.ROOT / ".venv" / "site" / "bin" / "zensical"
REQUIRED = chromium.required()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(not BUILDER.exists() and not REQUIRED, reason="`make site` installs what builds the site"),
]
MOUSE = ",primaryHoverType=2,availableHoverTypes=2"  # with one, the theme lets keys reach blocks that scroll
AXED = ("index.html", "assertions/index.html", "config.html")
SHOWN = ("li", "ol", "ul", "table", "tr", "pre", "h2", "h3", "strong")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site") / "built"
    docs_site.build(target, str(BUILDER))
    return target


def counts(html: str) -> dict[str, int]:
    return {tag: len(re.findall(rf"<{tag}[ >]", html)) for tag in SHOWN}


def test_a_page_has_the_lists_tables_and_blocks_that_it_has_at_github(site: Path) -> None:
    differing = {}
    pages = [page for page in docs_site.DOCS.rglob("*.md") if docs_site.LEFT_OUT not in page.parents]
    for page in pages:
        built = site / page.relative_to(docs_site.DOCS).with_name("index" if page.stem == "README" else page.stem).with_suffix(".html")
        article = re.search(r"<article.*</article>", built.read_text(), re.DOTALL)
        assert article, page
        here, there = counts(article[0]), counts(cmarkgfm.github_flavored_markdown_to_html(page.read_text()))
        if here != there:
            differing[page.name] = {tag: (here[tag], there[tag]) for tag in SHOWN if here[tag] != there[tag]}
    assert differing == {}


def test_links_out_of_the_docs_lead_to_github(site: Path) -> None:
    repository = re.findall(r"^repo_url: (\S+)$", (docs_site.ROOT / "mkdocs.yml").read_text(), re.MULTILINE)[0]
    assert f"{repository}/blob/main/examples/workflow.yml" in (site / "github.html").read_text()
    assert f"{repository}/blob/main/docs/screens/README.md" in (site / "report.html").read_text()


@pytest.mark.parametrize("wrong", ["[x](nowhere.md)", "[x](keys.md#nowhere)"])
def test_a_link_that_leads_nowhere_stops_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setattr(docs_site, "page_text", lambda page, repository: f"# A page\n\n{wrong if page.stem == 'costs' else ''}\n")
    with pytest.raises(SystemExit, match=r"costs\.md"):
        docs_site.build(tmp_path / "built", str(BUILDER))


@pytest.mark.skipif(bool(chromium.missing("npm")) and not REQUIRED, reason="no browser")
@pytest.mark.parametrize("scheme", [chromium.LIGHT, chromium.DARK], ids=["light", "dark"])
@pytest.mark.parametrize("name", AXED)
def test_axe_finds_no_serious_fault(site: Path, name: str, scheme: str) -> None:
    page = site / name
    assert chromium.faults(page.read_text(), page.parent, scheme + MOUSE) == []
