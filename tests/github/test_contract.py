"""What we send to GitHub is what GitHub publishes: for github.com and an Enterprise Server, each operation, and defects that must show."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import gradegate
from gradegate.asking.http import Client
from gradegate.github import behind, client, sticky
from gradegate.github.approval import approval
from gradegate.github.behind import with_pull_request
from gradegate.github.changed import changed_files
from gradegate.github.client import GitHub, connect
from gradegate.github.event import Event, Person, Stage
from gradegate.github.stamp import Stamp
from gradegate.github.sticky import Posted, upsert_comment
from support import contract
from support.fake_github import FakeGitHub, Token, serve
from support.installed import NotToBeHadError, Package, unpacked

HEAD = "a" * 40
REPOSITORY = "octo-org/octo-repo"
EVENT = Event("pull_request", REPOSITORY, 7, HEAD, "b" * 40, REPOSITORY, REPOSITORY)
LATER_STAGE = Event("workflow_run", REPOSITORY, stage=Stage("pull_request", HEAD, "topic/#1 &x", "stranger"))
LABEL = "gate-approved"
PACKAGE = Path(gradegate.__file__).parent
SERVERS = pytest.mark.parametrize("enterprise", [False, True], ids=["github.com", "enterprise"])

pytestmark = pytest.mark.skipif(bool(contract.missing()), reason=contract.missing() or "it is there")


def github(fake: FakeGitHub, token: str = "ghs_actions") -> GitHub:
    environ = {"GITHUB_API_URL": fake.url}  # as the runner says it; where GraphQL is, follows from it
    return replace(connect(environ, token), pause=lambda seconds: None)


def comment(fake: FakeGitHub, text: str = "report", token: str = "ghs_actions") -> None:
    assert isinstance(upsert_comment(github(fake, token), EVENT, text, Stamp("")), Posted)


def look_for_the_label(fake: FakeGitHub) -> None:
    pushed = replace(EVENT, author=Person("author", 1), updated=datetime(2026, 3, 1, 12, tzinfo=UTC))
    assert approval(github(fake), pushed, LABEL, (HEAD,), HEAD).by


def look_for_the_pull_request(fake: FakeGitHub) -> None:
    assert with_pull_request(github(fake), LATER_STAGE).number == 7


def look_for_the_files(fake: FakeGitHub) -> None:
    assert changed_files(github(fake), EVENT, "main").paths == {"a.md", "b.md", "c.md"}


def furnish(fake: FakeGitHub) -> None:
    """A pull request with something of all that we read."""
    fake.tokens["ghp_person"] = Token("Mona", "User")
    fake.pulls["stranger:topic/#1 &x"] = [{"number": 7, "head": {"sha": HEAD}}]
    fake.changes("a.md", "renamed", "b.md")
    fake.changes("c.md", "removed")
    fake.committed(HEAD, "2026-03-01T11:00:00Z")
    for event in ("head_ref_force_pushed", "commented", "base_ref_changed"):
        fake.happened(event, "2026-03-01T11:30:00Z", "hubot")
    fake.happened("labeled", "2026-03-01T13:00:00Z", label=LABEL)


def everything(fake: FakeGitHub) -> None:
    """Whatever we ask of GitHub, once at least."""
    comment(fake)
    comment(fake, "next report")
    fake.add("github-actions[bot]", f"{Stamp('').line}\nof a job that was at it together", "Bot")
    comment(fake, "last report")
    comment(fake, token="ghp_person")
    look_for_the_label(fake)
    look_for_the_pull_request(fake)
    look_for_the_files(fake)


def run(act: Callable[[FakeGitHub], object], enterprise: bool = False) -> list[contract.Exchange]:
    """The exchanges of what was done; the fake holds them to the documents when it ends."""
    with serve(enterprise=enterprise) as fake:
        furnish(fake)
        act(fake)
    return [contract.Exchange(it.method, it.path, it.query, it.headers, it.body, 0, None) for it, *_ in fake.exchanges]


# --- nothing is left out --------------------------------------------------------------------------------------------


@SERVERS
def test_every_operation_that_is_listed_is_used_and_no_other(enterprise: bool) -> None:
    used = {exchange.operation for exchange in run(everything, enterprise)}
    assert used == {*contract.OPERATIONS, contract.GRAPHQL}


def test_the_page_lists_what_is_asked() -> None:
    page = (PACKAGE.parents[1] / "docs" / "github.md").read_text()
    listed = re.findall(r"^\| `((?:GET|POST|PUT|PATCH|DELETE) [^`]+)` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted([*contract.OPERATIONS, contract.GRAPHQL])


Place = tuple[str, int, int, str]  # file, first and last line, text


def sites(path: Path, passing: dict[str, int]) -> Iterator[Place]:
    """Calls in a file that decide on an address; ``passing`` says which argument of which function is one, and grows."""
    tree = ast.parse(path.read_text())
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        given = [it.arg for it in function.args.args if it.arg != "self"]
        for call in [node for node in ast.walk(function) if isinstance(node, ast.Call)]:
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            if name not in passing:
                continue
            address = call.args[passing[name]]
            handed = {node.id for node in ast.walk(address) if isinstance(node, ast.Name)} & texts(function)
            if handed:
                passing[function.name] = given.index(handed.pop())
            else:
                yield path.name, call.lineno, call.end_lineno or call.lineno, ast.unparse(call)


def texts(function: ast.FunctionDef) -> set[str]:
    """Parameters that are texts: an address that comes in by one is the caller's."""
    return {it.arg for it in function.args.args if isinstance(it.annotation, ast.Name) and it.annotation.id == "str"}


def places() -> set[Place]:
    """Each place of the source that decides on an address of GitHub's, by calling `GitHub.send` or what passes on to it."""
    found: set[Place] = set()
    for path in sorted((PACKAGE / "github").glob("*.py")):
        passing, before = {"send": 1}, 0
        while len(passing) != before:
            before = len(passing)
            own = set(sites(path, passing))
        found |= own
    return found


@SERVERS
def test_every_place_of_the_code_that_asks_github_has_been_held_to_the_contract(
    monkeypatch: pytest.MonkeyPatch, enterprise: bool
) -> None:
    reached: set[tuple[str, int]] = set()
    send = GitHub.send

    def noted(self: GitHub, *arguments: Any) -> Any:
        frame = sys._getframe(1)
        while frame:
            reached.add((Path(frame.f_code.co_filename).name, frame.f_lineno))
            frame = frame.f_back  # type: ignore[assignment]
        return send(self, *arguments)

    monkeypatch.setattr(GitHub, "send", noted)
    run(everything, enterprise)
    found = places()
    assert len(found) >= 10
    missed = {
        f"{file}:{first} {text}"
        for file, first, last, text in found
        if not any((file, line) in reached for line in range(first, last + 1))
    }
    assert missed == set()


def test_nobody_but_the_client_knows_where_github_is() -> None:
    knowing = ("GITHUB_API_URL", "GITHUB_GRAPHQL_URL", "api.github.com", "client.send(")
    for path in PACKAGE.rglob("*.py"):
        own = path.relative_to(PACKAGE).as_posix()
        told = [words for words in knowing if words in path.read_text()]
        if own.startswith("github/") or any("GITHUB_" in words or "github" in words for words in told):
            assert not told or own in ("github/client.py", "commands/epilog.py"), (own, told)  # help names what is read


# --- defects of the client ------------------------------------------------------------------------------------------

Defect = Callable[[pytest.MonkeyPatch], object]


def request_changed(change: Callable[[str, str, Any], tuple[str, str, Any]]) -> Defect:
    """A client that sends another method, address or body than it was told."""
    send = GitHub.send

    def sent(self: GitHub, method: str, url: str, body: Mapping[str, Any] | None = None) -> Any:
        return send(self, *change(method, url, body))

    return lambda patch: patch.setattr(GitHub, "send", sent)


def address(old: str, new: str) -> Defect:
    return request_changed(lambda method, url, body: (method, url.replace(old, new), body))


def comment_sent(body: Any) -> Defect:
    return request_changed(
        lambda method, url, given: (method, url, body if given and not url.endswith("graphql") else given)
    )


def header(name: str, value: str | None) -> Defect:
    send = Client.send

    def sent(self: Client, method: str, url: str, headers: Mapping[str, str], **more: Any) -> Any:
        changed = {key: text for key, text in headers.items() if key != name} | ({name: value} if value else {})
        return send(self, method, url, headers=changed, **more)

    return lambda patch: patch.setattr(Client, "send", sent)


NO_OPERATION = "request: no operation of GitHub's that has been looked at"
BODY_MISSING = "request: it: 'body' is a required property"
# Of each: what is wrong, where it shows, and whether it is the documents that say so.
DEFECTS: dict[str, tuple[Defect, Callable[[FakeGitHub], object], str, bool]] = {
    "a path that is none": (address("/issues/", "/issue/"), comment, NO_OPERATION, True),
    "a number that is none": (address("/issues/7", "/issues/x"), comment, "issue_number", True),
    "another method": (
        request_changed(lambda method, url, body: ("PUT" if method == "PATCH" else method, url, body)),
        everything,
        NO_OPERATION,
        True,
    ),
    "too large a page": (
        lambda patch: patch.setattr(sticky, "PER_PAGE", 500),
        comment,
        "request: per_page=500 is more than the 100",
        True,
    ),
    "a page that is no number": (
        address("per_page=100", "per_page=all"),
        comment,
        "request: Query parameter error: per_page: ",
        True,
    ),
    "a parameter that nobody knows": (
        address("per_page", "perpage"),
        comment,
        "request: no parameter 'perpage'; there are page, per_page, since",
        True,
    ),
    "a parameter of another operation": (
        lambda patch: patch.setattr(behind, "PER_PAGE", "100&since=2026-01-01T00:00:00Z"),
        look_for_the_pull_request,
        "request: no parameter 'since'",
        True,
    ),
    "a parameter that is there twice": (
        address("per_page=100", "per_page=50&per_page=50"),
        comment,
        "request: the parameter 'per_page' is there 2 times",
        True,
    ),
    "a word that is not on the list": (
        address("state=open", "state=opened"),
        look_for_the_pull_request,
        "'opened' is not one of ['open', 'closed', 'all']",
        True,
    ),
    "no body": (comment_sent(None), comment, "request: Missing required request body", True),
    "a body without its text": (comment_sent({}), comment, BODY_MISSING, True),
    "a body under another name": (comment_sent({"text": "x"}), comment, BODY_MISSING, True),
    "a body that is no text": (comment_sent({"body": 5}), comment, "request: body: 5 is not of type 'string'", True),
    "a body with more": (comment_sent({"body": "x", "draft": True}), comment, "the body has no member 'draft'", True),
    "too long a body": (comment_sent({"body": "x" * 65_537}), comment, "a body of more than 65,536 characters", False),
    "another version": (
        lambda patch: patch.setattr(client, "API_VERSION", "2021-01-01"),
        comment,
        "request: the header x-github-api-version is '2021-01-01'",
        False,
    ),
    "no version": (header("X-GitHub-Api-Version", None), comment, "the header x-github-api-version is ''", False),
    "no user agent": (header("User-Agent", None), comment, "request: the header user-agent is", False),
    "another form of reply": (header("Accept", "text/html"), comment, "the header accept is 'text/html'", False),
    "no token": (header("Authorization", None), comment, "request: the header authorization is ''", False),
    "another form of request": (header("Content-Type", "text/plain"), comment, "text/plain", True),
    "a query that nobody looked at": (
        request_changed(
            lambda method, url, body: (method, url, {"query": "{me}"} if url.endswith("graphql") else body)
        ),
        comment,
        "request: the query {'query': '{me}'} is none",
        False,
    ),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_of_the_client_shows(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    defect, act, words, published = DEFECTS[name]
    defect(monkeypatch)

    def whatever_comes_of_it(fake: FakeGitHub) -> None:
        with suppress(AssertionError):  # what is refused is not done; what must show is why
            act(fake)

    with pytest.raises(AssertionError, match="GitHub is not like this") as told:
        run(whatever_comes_of_it)
    lines = [line for line in str(told.value).splitlines() if words in line]
    assert lines
    for server in contract.SERVERS if published else ():
        assert any(line.startswith(f"{server}: ") for line in lines), server


@pytest.mark.parametrize("path", ["/api", "/api/v4", ""])
def test_an_enterprise_server_is_not_asked_elsewhere(path: str) -> None:
    def astray(fake: FakeGitHub) -> None:
        fake.url = fake.url.replace("/api/v3", path)
        upsert_comment(github(fake), EVENT, "x", Stamp(""))

    with pytest.raises(AssertionError, match=r"ghes-3\.17: .*no operation of GitHub's"):
        run(astray, enterprise=True)


# --- defects of the GitHub that tests are given -----------------------------------------------------------------------


def answering(change: Callable[[str, str, Any], tuple[int, Any] | None]) -> Callable[[FakeGitHub], object]:
    """All is done against a fake that answers otherwise where ``change`` says so."""

    def act(fake: FakeGitHub) -> None:
        answer = fake.answer

        def other(seen: Any) -> Any:
            status, headers, value = answer(seen)
            changed = change(seen.method, seen.path, json.loads(json.dumps(value)))
            return (changed[0], headers, changed[1]) if changed else (status, headers, value)

        fake.answer = other  # type: ignore[method-assign]
        with suppress(AssertionError):
            everything(fake)

    return act


def without(item: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in names}


REPLIES: dict[str, tuple[Callable[[str, str, Any], tuple[int, Any] | None], str]] = {
    "a member that is always there is not": (
        lambda method, path, value: (201, without(value, "node_id")) if method == "POST" and "issues" in path else None,
        "reply 201: it: 'node_id' is a required property",
    ),
    "a member of another type": (
        lambda method, path, value: (200, {**value, "id": "1"}) if method == "PATCH" else None,
        "reply 200: id: '1' is not of type 'integer'",
    ),
    "another status": (
        lambda method, path, value: (200, value) if method == "POST" and "issues" in path else None,
        "reply 200: Unknown response http status: 200",
    ),
    "content where there is none": (
        lambda method, path, value: (204, {}) if method == "DELETE" else None,
        "reply 204: there is something where there is no content",
    ),
    "a label without who set it": (
        lambda method, path, value: (200, [without(it, "actor") for it in value]) if "timeline" in path else None,
        "reply 200: labeled: it: 'actor' is a required property",
    ),
    "a date that is none": (
        lambda method, path, value: (
            (200, [{**it, "created_at": "soon"} for it in value])
            if path.endswith("/7/comments") and method == "GET" and value
            else None
        ),
        "is not a 'date-time'",
    ),
    "a status of a file that is none": (
        lambda method, path, value: (200, [{**it, "status": "moved"} for it in value]) if "files" in path else None,
        "'moved' is not one of",
    ),
    "a refusal without its words": (
        lambda method, path, value: (403, {"error": "no"}) if method == "PATCH" else None,
        "reply 403: it: 'message' is a required property",
    ),
    "a refusal of a body without its code": (
        lambda method, path, value: (
            (422, {"message": "Validation Failed", "documentation_url": "u", "errors": [{}]})
            if method == "PATCH"
            else None
        ),
        "'code' is a required property",
    ),
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_that_github_would_not_give_shows(name: str) -> None:
    change, words = REPLIES[name]
    with pytest.raises(AssertionError, match="GitHub is not like this") as told:
        run(answering(change))
    for server in contract.SERVERS:
        mine = [line for line in str(told.value).splitlines() if line.startswith(server) or " 204: " in line]
        assert any(words in line for line in mine), told.value


def test_what_a_test_says_that_it_breaks_is_let_through_and_must_be_needed() -> None:
    def broken(fake: FakeGitHub) -> None:
        fake.add("mona", None)
        comment(fake)

    def said(*words: str) -> Callable[[FakeGitHub], None]:
        def act(fake: FakeGitHub) -> None:
            fake.unlike = words
            broken(fake)

        return act

    with pytest.raises(AssertionError, match=r"0\.body: None"):
        run(broken)
    run(said("0.body: None"))
    with pytest.raises(AssertionError, match="nothing is 'per_page'"):
        run(said("0.body: None", "per_page"))


def test_requests_that_differ_in_one_number_are_looked_at_each(monkeypatch: pytest.MonkeyPatch) -> None:
    run(comment)
    monkeypatch.setattr(sticky, "PER_PAGE", 101)
    with pytest.raises(AssertionError, match="per_page=101"):
        run(comment)


# --- where the documents come from ----------------------------------------------------------------------------------


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """An npm that packs a file of its own; or fails, where it is given a text to say."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "spec.json").write_text("{}")
    monkeypatch.setenv("GRADEGATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def has(failure: str) -> None:
        pack = f"tar -C {tmp_path} -czf x-1.tgz package"
        (tmp_path / "npm").write_text(f"#!/bin/sh\n{f'echo {failure} >&2; exit 1' if failure else pack}\n")
        (tmp_path / "npm").chmod(0o755)

    return has


def test_a_package_that_is_not_the_one_we_know_is_refused(registry: Callable[[str], None]) -> None:
    registry("")
    with pytest.raises(AssertionError, match=r"x-1\.tgz has the digest sha512-.*, and not sha512-other"):
        unpacked(Package("x", "1", "sha512-other"), "spec.json")


def test_a_registry_that_cannot_be_reached_is_said(registry: Callable[[str], None]) -> None:
    registry("ENOTFOUND")
    with pytest.raises(NotToBeHadError, match="npm cannot fetch x@1: ENOTFOUND"):
        unpacked(Package("x", "1", "sha512-other"), "spec.json")


def test_without_npm_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRADEGATE_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotToBeHadError, match="npm is not installed"):
        unpacked(Package("x", "1", "sha512-other"), "spec.json")


@pytest.mark.parametrize("demanded", [False, True])
def test_without_the_documents_checks_are_left_out_only_where_they_are_not_demanded(
    monkeypatch: pytest.MonkeyPatch, demanded: bool
) -> None:
    def not_there() -> None:
        raise NotToBeHadError("npm is not installed")

    monkeypatch.setattr(contract, "_documents", not_there)
    monkeypatch.setenv("GRADEGATE_CONTAINER", "required" if demanded else "")
    asked = contract.missing.__wrapped__
    if demanded:
        with pytest.raises(NotToBeHadError):
            asked()
    else:
        assert asked() == "npm is not installed"
