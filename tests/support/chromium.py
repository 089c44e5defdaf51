"""Headless Chromium for pages of ours: what it makes of one, how it looks, and what axe-core finds in it."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from html import unescape
from pathlib import Path
from typing import Any

from support import packages
from support.each import table

AXE = "axe-core@4.14.1"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = table(__file__, "FLAGS")
DARK, LIGHT = "--blink-settings=preferredColorScheme=0", "--blink-settings=preferredColorScheme=1"
_SECONDS = 120


def program() -> str:
    """The path of the browser, or an empty string."""
    return next(filter(None, map(shutil.which, NAMES)), "")


def missing(*more: str) -> str:
    """Why pages cannot be tried on this machine, or an empty string."""
    absent = [] if program() else ["chromium"]
    absent += [name for name in more if shutil.which(name) is None]
    return f"{' and '.join(absent)} not installed" if absent else ""


def _call(page: Path, *flags: str, at: str = "") -> str:
    with tempfile.TemporaryDirectory(prefix="gradegate-chromium-", ignore_cleanup_errors=True) as profile:
        command = [program(), *FLAGS, f"--user-data-dir={profile}", *flags, page.resolve().as_uri() + at]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True, cwd=profile)
    return done.stdout


def dom(page: Path, *flags: str, at: str = "") -> str:
    """The document as it stands once its scripts ran; ``at`` is a fragment of its address."""
    return _call(page, "--virtual-time-budget=20000", "--dump-dom", *flags, at=at)


def load_page(page: Path) -> str:
    """The document once it has loaded, by real time."""
    return _call(page, "--dump-dom")


def picture(page: Path, target: Path, width: int, height: int, *flags: str) -> None:
    """A PNG of what is in sight in a window of that size."""
    _call(page, f"--screenshot={target.resolve()}", f"--window-size={width},{height}", *flags)


def before_policy(html: str, script: str) -> str:
    """The page with a script of the test's that runs although the page's policy forbids it: the policy comes after it."""
    assert "</script" not in script.lower()
    return html.replace("<head>", f"<head><script>{script}</script>", 1)


def read_attribute(document: str, name: str) -> Any:
    """What a script of the test's left as JSON in the attribute of the root element."""
    found = re.search(rf'<html[^>]* data-{name}="([^"]*)"', document)
    assert found, f"nothing was left as {name}"
    return json.loads(unescape(found[1]))


def axe() -> str:
    """The source of axe-core."""
    path = packages.npm_folder(AXE, AXE) / "node_modules" / "axe-core" / "axe.min.js"
    return path.read_text(encoding="utf-8")


def faults(html: str, folder: Path, *flags: str) -> list[str]:
    """What axe-core finds at fault, whatever its impact: the rule, and the first elements. The page may use files of the folder."""
    run = (
        "window.addEventListener('load',async()=>{const found=await axe.run({resultTypes:['violations']});"
        "document.documentElement.dataset.axe=JSON.stringify({violations:found.violations.map(v=>"
        "[v.id,v.nodes.slice(0,5).map(n=>n.target.join(' ')+' '+n.failureSummary)]),passes:found.passes.length});});"
    )
    page = folder / "axe.html"
    page.write_text(before_policy(html, axe().replace("</script", "<\\/script") + ";" + run), encoding="utf-8")
    try:
        found = read_attribute(dom(page, *flags), "axe")
    finally:
        page.unlink()
    assert found["passes"] > 10, "axe-core looked at nothing"
    return [f"{rule}: {nodes}" for rule, nodes in found["violations"]]


def required() -> bool:
    """Whether a missing browser is a fault: in CI it is."""
    return os.environ.get("GRADEGATE_BROWSER") == "required"
