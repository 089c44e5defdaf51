"""Vertex AI: Gemini and Claude, where they are asked, and who is signed in."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from support import clouds as fake
from support.clouds import ACCOUNT, FEDERATED, OF_ACCOUNT, PROVIDER, RUNNER, Seen, google_file, world
from support.each import table
from support.exchanges import exchanges
from support.vendors import claude, gemini

PASSES = [{"type": "contains", "value": "yes"}]
SONNET = "claude-sonnet-4-5@20250929"
TOKEN = ("GOOGLE_OAUTH_ACCESS_TOKEN", "GOOGLE_CLOUD_PROJECT")


test_an_exchange = exchanges(__file__)


# --- who is signed in -----------------------------------------------------------------------------------------


def says(seen: Seen):
    answer = fake.google(seen)
    if answer is not None:
        return answer
    if seen.headers.get("authorization") not in (f"Bearer {FEDERATED}", f"Bearer {OF_ACCOUNT}"):
        return 401, {"error": {"message": "no such token"}}
    return claude({"type": "text", "text": "yes"}) if "anthropic" in seen.path else gemini({"text": "yes"})


@pytest.fixture
def cloud(gate, monkeypatch, tmp_path):
    for name in ("GOOGLE_API_KEY", "VERTEX_API_KEY", *TOKEN):
        monkeypatch.delenv(name, raising=False)
    with fake.job(monkeypatch, tmp_path, world(answer=says)) as clouds:
        monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p-1")
        yield clouds


def config(*written, **options):
    targets = [{"id": target, "config": options} for target in written or ("vertex:gemini-2.5-flash",)]
    tests = [{"vars": {"x": str(number)}, "assert": PASSES} for number in range(3)]
    return {"prompts": ["say {{x}}"], "providers": targets, "tests": tests}


def put(monkeypatch, folder, content, name="gha-creds-0123.json"):
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(folder / name))


@pytest.mark.parametrize(("account", "token"), [(ACCOUNT, OF_ACCOUNT), ("", FEDERATED)])
def test_the_file_of_the_sign_in_action_leads_to_one_token(gate, cloud, monkeypatch, tmp_path, account, token):
    put(monkeypatch, tmp_path, google_file(account))
    ran = gate(config("vertex:gemini-2.5-flash", f"vertex:{SONNET}"), "-o", "r.html")
    assert ran.code == 0, ran.err
    calls = cloud.to("aiplatform.googleapis.com")
    assert (len(calls), {seen.headers["authorization"] for seen in calls}) == (6, {f"Bearer {token}"})
    assert len(cloud.to("sts.googleapis.com")) == 1
    assert len(cloud.to("iamcredentials.googleapis.com")) == bool(account)
    shown = ran.out + ran.err + (ran.folder / "r.html").read_text() + (ran.folder / "results.json").read_text()
    assert "canary" not in shown
    paths = [(key["name"], key["path"].rpartition(":")[2]) for key in ran.results["keys"]]
    assert paths == [("GOOGLE_APPLICATION_CREDENTIALS", "generateContent"), ("GOOGLE_APPLICATION_CREDENTIALS", "rawPredict")]


@pytest.mark.slow
@pytest.mark.parametrize("account", [ACCOUNT, ""])
def test_google_auth_does_the_same_with_the_file(gate, cloud, monkeypatch, tmp_path, account):
    from google.auth import identity_pool
    from google.auth.transport.requests import Request

    put(monkeypatch, tmp_path, google_file(account))
    assert gate(config()).code == 0
    ours = [(seen.host, seen.method, seen.path, seen.body) for seen in cloud.seen if "aiplatform" not in seen.host]
    cloud.seen.clear()
    scopes = ["https://www.googleapis.com/auth/cloud-platform"]
    theirs = identity_pool.Credentials.from_info(google_file(account), scopes=scopes)
    theirs.refresh(Request())
    assert theirs.token == (OF_ACCOUNT if account else FEDERATED)
    assert [(seen.host, seen.method, seen.path, seen.body) for seen in cloud.seen] == ours


def test_a_token_that_the_workflow_gives_wins(gate, cloud, monkeypatch, tmp_path):
    put(monkeypatch, tmp_path, google_file())
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", FEDERATED)
    ran = gate(config())
    assert (ran.code, set(cloud.hosts)) == (0, {"aiplatform.googleapis.com"})
    assert [key["name"] for key in ran.results["keys"]] == ["GOOGLE_OAUTH_ACCESS_TOKEN"]


SOURCE = google_file()["credential_source"]
FILES = {
    "another token endpoint": google_file(token_url="https://evil.example.com/v1/token"),
    "another path of it": google_file(token_url="https://sts.googleapis.com/v1/other"),
    "another account": google_file("https://evil.example.com/v1/projects/-/serviceAccounts/a@b:generateAccessToken"),
    "a path out of it": google_file("https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b:generateAccessToken/../x"),
    "another identity": google_file(credential_source={**SOURCE, "url": "https://evil.example.com/?audience=x"}),
    "a file": google_file(credential_source={"file": "/proc/self/environ"}),
    "a program": google_file(credential_source={"executable": {"command": "env"}}),
    "an audience": google_file(audience="//evil.example.com/x"),
    "a key": {"type": "service_account", "private_key": "x"},
    "a user": {"type": "authorized_user", "refresh_token": "x"},
    "a list": "[]",
    "no json": "hello",
    "deep": "[" * 50_000,
    "numbers": google_file(token_url=1, audience=2),
}  # fmt: skip


@pytest.mark.parametrize("way", FILES)
def test_a_file_that_leads_elsewhere_is_a_mistake(gate, cloud, monkeypatch, tmp_path, way):
    put(monkeypatch, tmp_path, FILES[way])
    ran = gate(config())
    assert (ran.code, cloud.tunnels) == (2, [])
    assert "GOOGLE_APPLICATION_CREDENTIALS" in ran.err
    assert "let google-github-actions/auth sign the job in" in ran.err


def test_a_file_that_is_not_there_is_a_mistake(gate, cloud, monkeypatch, tmp_path):
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "gone.json"))
    ran = gate(config())
    assert (ran.code, cloud.tunnels) == (2, [])
    assert "cannot be read (No such file or directory)" in ran.err


@pytest.mark.parametrize("name", RUNNER)
def test_without_an_identity_token_the_message_says_what_to_allow(gate, cloud, monkeypatch, tmp_path, name):
    put(monkeypatch, tmp_path, google_file())
    monkeypatch.setenv(name, "")
    ran = gate(config())
    assert (ran.code, cloud.tunnels) == (2, [])
    assert "permissions: id-token: write" in ran.err


@pytest.mark.parametrize("base", table(__file__, "no_token_goes_to_a_foreign_host"))
def test_no_token_goes_to_a_foreign_host(gate, cloud, monkeypatch, tmp_path, base):
    put(monkeypatch, tmp_path, google_file())
    for allowed in ((), ("--allowed-hosts", "evil.example.com")):
        ran = gate(config(apiBaseUrl=base), *allowed)
        assert (ran.code, cloud.tunnels) == (2, [])
        said = "is not an address for" if base.endswith("?") else "tokens of Google go to its own API alone"
        assert said in ran.err


REFUSALS = {
    "sts.googleapis.com": ((400, {"error": "invalid_target", "error_description": "no such pool"}), "400: invalid_target: no such pool"),
    "iamcredentials.googleapis.com": ((403, {"error": {"code": 403, "message": "denied"}}), "403: 403: denied -> grant the job's principal"),
}  # fmt: skip


@pytest.mark.parametrize("host", REFUSALS)
def test_a_refusal_is_told_with_what_to_do(gate, cloud, monkeypatch, tmp_path, host):
    answer, words = REFUSALS[host]
    usual = cloud.reply
    cloud.reply = lambda seen: answer if seen.host == host else usual(seen)
    put(monkeypatch, tmp_path, google_file())
    ran = gate(config())
    assert ran.code == 2
    assert words in ran.cases[0]["error"]
    assert "canary" not in ran.out + ran.err + json.dumps(ran.results)
    assert len(cloud.to(host)) == 1
    assert not cloud.to("aiplatform.googleapis.com")


@pytest.mark.parametrize("end", [None, "soon", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00", 5])
def test_a_token_without_an_end_to_come_is_an_error(gate, cloud, monkeypatch, tmp_path, end):
    usual, host = cloud.reply, "iamcredentials.googleapis.com"
    answer = {"accessToken": OF_ACCOUNT, "expireTime": end}
    cloud.reply = lambda seen: answer if seen.host == host else usual(seen)
    put(monkeypatch, tmp_path, google_file())
    ran = gate(config())
    assert ran.code == 3
    assert "no token of the service account" in ran.cases[0]["error"]


def test_the_clock_of_the_machine_does_not_matter(gate, cloud, monkeypatch, tmp_path):
    """A token's end is a time of day: it is the answer's own clock that says how long that is."""
    usual, host = cloud.reply, "iamcredentials.googleapis.com"
    now = datetime(1999, 12, 31, tzinfo=UTC)
    answer = {"accessToken": OF_ACCOUNT, "expireTime": (now + timedelta(hours=1)).isoformat()}
    dated = {"Date": now.strftime("%a, %d %b %Y %H:%M:%S GMT")}
    cloud.reply = lambda seen: (200, answer, dated) if seen.host == host else usual(seen)
    put(monkeypatch, tmp_path, google_file())
    assert gate(config()).code == 0
    assert len(cloud.to(host)) == 1


def test_the_audience_is_that_of_the_file(gate, cloud, monkeypatch, tmp_path):
    put(monkeypatch, tmp_path, google_file())
    assert gate(config()).code == 0
    assert cloud.seen[0].query["audience"] == f"https:{PROVIDER}"
