"""The page in a browser: it does what it says, forbids all else, and axe-core finds no fault in it."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gradegate.results.grades import Outcome
from gradegate.results.run_result import Decision
from support import chromium, samples, screens, showcase
from support.pages import looks_on_github

ROOT = Path(__file__).resolve().parents[2]
MISSING = chromium.missing("npm")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(bool(MISSING) and not chromium.required(), reason=f"pages are not tried in a browser: {MISSING}"),
]
# Said of the page before its policy holds: what the policy forbids, and what of the page's script does not work.
WATCH = (
    "const faults=[];addEventListener('securitypolicyviolation',e=>faults.push(e.violatedDirective+' '+e.blockedURI));"
    "addEventListener('error',e=>faults.push(e.message));"
    "const leave=(name,value)=>document.documentElement.setAttribute('data-'+name,JSON.stringify(value));"
    "const wait=ms=>new Promise(done=>setTimeout(done,ms));"
    "const set=async(selector,value)=>{const field=document.querySelector(selector);field.value=value;"
    "field.dispatchEvent(new Event('input',{bubbles:true}));await wait(300);};"
    "const inSight=()=>[...document.querySelectorAll('details.case:not([hidden])')].map(c=>+c.id.slice(5));"
)


def html(decision: Decision) -> str:
    return samples.render_report("html", decision, screens.LINKS)


def on_paper(page: str) -> str:
    """The page with the style that it has when it is printed."""
    assert page.count("@media print") == 1
    return restyled(page, {"@media print": "@media all", "@media screen": "@media speech"})


def restyled(page: str, styles: Mapping[str, str]) -> str:
    """The page with other styles, and without the policy that names its own by its hash."""
    for old, new in {**styles, "style-src": "x-style-src", "default-src 'none'; ": ""}.items():
        assert old in page
        page = page.replace(old, new)
    return page


def ran(folder: Path, page: str, steps: str, *flags: str, at: str = "") -> object:
    """What the steps of a test leave, once the page has loaded."""
    file = folder / "page.html"
    script = f"{WATCH}addEventListener('load',async()=>{{try{{{steps}}}catch(e){{faults.push(String(e));}}leave('faults',faults);}});"
    file.write_text(chromium.before_policy(page, script), encoding="utf-8")
    document = chromium.dom(file, *flags, at=at)
    assert chromium.read_attribute(document, "faults") == []
    return chromium.read_attribute(document, "left")


@pytest.mark.parametrize("scheme", [chromium.LIGHT, chromium.DARK], ids=["light", "dark"])
@pytest.mark.parametrize("view", ["desktop", "narrow", "paper"])
def test_axe_finds_no_fault(tmp_path: Path, scheme: str, view: str) -> None:
    page = html(showcase.showcase()).replace("<details", "<details open")
    at_once = restyled(page, {"content-visibility: auto": "content-visibility: visible"})  # or axe sees cases where they are not yet
    window = "--window-size=1280,900" if view == "desktop" else "--window-size=500,900"
    assert chromium.faults(on_paper(page) if view == "paper" else at_once, tmp_path, scheme, window) == []


@pytest.mark.parametrize("make", [showcase.showcase, screens.inconclusive, screens.not_run])
def test_axe_finds_no_fault_in_pages_as_they_open(tmp_path: Path, make: Callable[[], Decision]) -> None:
    assert chromium.faults(html(make()), tmp_path) == []


def test_axe_would_find_one(tmp_path: Path) -> None:
    (found,) = chromium.faults(html(screens.not_run()).replace("<main>", "<main><img>"), tmp_path)
    assert found.startswith("image-alt: ")


def test_nothing_is_cut_or_folded_on_paper_that_did_not_pass(tmp_path: Path) -> None:
    steps = (
        "const seen=(selector)=>[...document.querySelectorAll(selector)].map(e=>e.checkVisibility());"
        "const wide=[...document.querySelectorAll('main *')].filter(e=>e.getBoundingClientRect().right>innerWidth+1);"
        "leave('left',{hidden:seen('.case:not(.pass) :is(dd,.claims p):not(.fold *), .scores td').filter(s=>!s).length,"
        "folded:seen('.case.pass dd, form, .fold').filter(Boolean).length,wide:wide.length,"
        "ink:[getComputedStyle(document.body).color,getComputedStyle(document.body).backgroundColor]});"
    )
    assert ran(tmp_path, on_paper(html(showcase.showcase())), steps, "--window-size=720,900", chromium.DARK) == {
        "hidden": 0,
        "folded": 0,
        "wide": 0,
        "ink": ["rgb(0, 0, 0)", "rgb(255, 255, 255)"],
    }


@pytest.mark.parametrize("name", ["comment-12-mixed", "comment-300-with-40-failures"])
def test_a_comment_is_read_without_much_scrolling(tmp_path: Path, name: str) -> None:
    page = looks_on_github(screens.screens()[f"{name}.md"])
    steps = "leave('left',[document.body.scrollHeight,document.body.innerText]);"
    height, sight = ran(tmp_path, page, steps, "--window-size=1012,900")  # type: ignore[misc]
    assert height <= (900 if "12" in name else 1000)
    failed = [row for row in screens.DECISIONS[name.removeprefix("comment-")]().run.rows if row.outcome is Outcome.FAIL]
    assert [row.output for row in failed if not row.turns and row.output not in sight] == []


def test_dark_is_dark(tmp_path: Path) -> None:
    steps = "leave('left',getComputedStyle(document.body).backgroundColor);"
    page = html(showcase.showcase())
    assert ran(tmp_path, page, steps, chromium.DARK) == "rgb(13, 17, 23)"
    assert ran(tmp_path, page, steps, chromium.LIGHT) == "rgb(255, 255, 255)"


def test_cases_are_chosen_by_outcome_rule_metric_provider_base_and_words(tmp_path: Path) -> None:
    steps = (
        "const found={all:inSight().length};"
        "for(const [name,value] of [['outcome','error'],['rule','3'],['metric','2'],['provider','1'],['beside','fixed']])"
        "{await set(`select[name=${name}]`,value);found[name]=inSight();await set(`select[name=${name}]`,'');}"
        "await set('input','OSLO parcel');found.words=inSight();found.said=document.getElementById('in-sight').textContent;"
        "found.lists=[...document.querySelectorAll('section.cases:not([hidden])')].length;"
        "for(const [name,text] of [['phrase','“moved TO Oslo” parcel'],['mixed','“oslo to moved'],['figure','0.0031'],['id','evidence']])"
        "{await set('input',text);found[name]=inSight();}"
        "await set('input','OSLO parcel');await set('select[name=outcome]','pass');found.both=inSight();"
        "document.querySelector('button[type=reset]').click();await wait(300);found.reset=inSight().length;"
        "leave('left',found);"
    )
    assert ran(tmp_path, html(showcase.showcase()), steps) == {
        "all": 25,
        "outcome": [4],
        "rule": [3],
        "metric": [2],
        "provider": [6],
        "beside": [7],
        "words": [3],
        "phrase": [3],
        "mixed": [],
        "figure": [],  # what the grader cost
        "id": [],  # the title of a fold
        "said": "1 of 25 cases in sight",
        "lists": 1,
        "both": [],
        "reset": 25,
    }


def test_a_link_to_a_case_opens_it(tmp_path: Path) -> None:
    steps = "await wait(300);leave('left',[...document.querySelectorAll('details.case[open]')].map(c=>c.id));"
    assert ran(tmp_path, html(showcase.showcase()), steps, at="#case-5") == ["case-1", "case-5"]


def test_a_hostile_page_runs_nothing_but_our_script(tmp_path: Path) -> None:
    steps = "await wait(300);leave('left',[inSight().length,document.scripts.length]);"
    assert ran(tmp_path, html(samples.odd()), steps) == [len(samples.NASTY), 2]


def test_nothing_is_wider_than_a_telephone(tmp_path: Path) -> None:
    page = html(showcase.showcase()).replace("<details", "<details open")
    (tmp_path / "inner.html").write_text(page, encoding="utf-8")
    frame = (
        '<html><head></head><body style="margin:0"><iframe src="inner.html" style="width:400px;height:900px;border:0"></iframe>'
        "</body></html>"
    )
    steps = "const d=document.querySelector('iframe').contentDocument;leave('left',d&&d.documentElement.scrollWidth);"
    assert ran(tmp_path, frame, steps, "--allow-file-access-from-files") == 400


def test_without_scripts_every_case_is_there(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(html(showcase.showcase()).replace("script-src", "x-script-src"), encoding="utf-8")
    document = chromium.dom(page)
    assert document.count('<details class="case') == 25
    assert '<form id="filter" hidden' in document


def test_a_missing_browser_is_a_fault_in_ci() -> None:
    assert not MISSING, f"{MISSING} -> .ci/run installs them"


def test_the_pictures_show_what_is_there() -> None:
    done = subprocess.run([sys.executable, ROOT / "scripts" / "pictures.py", "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "the pictures show what is there\n")
    assert sum(path.stat().st_size for path in (ROOT / "docs" / "pictures").iterdir()) < 1_500_000
