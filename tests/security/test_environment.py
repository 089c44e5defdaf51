import pytest

from gradegate.security.environment import Environment
from gradegate.security.secrets import belongs_to_runner, secret_variables, sounds_secret
from support.each import table

VARIABLES = {"CI": "true", "GITHUB_SHA": "a" * 40, "TOWN": "Oslo", "API_KEY": "sk", "GITHUB_TOKEN": "ghs"}


def test_texts_of_a_config_show_literals_and_what_is_public_or_allowed():
    env = Environment(VARIABLES, frozenset({"TOWN"})).with_literals({"OWN": "x", "API_KEY": "mine"})
    assert env.open_variables() == {"API_KEY": "mine", "CI": "true", "GITHUB_SHA": "a" * 40, "OWN": "x", "TOWN": "Oslo"}
    assert [name for name in (*VARIABLES, "OWN", "NOTHING") if env.is_closed(name)] == ["GITHUB_TOKEN"]
    assert [name for name in VARIABLES if Environment(VARIABLES).is_closed(name)] == ["TOWN", "API_KEY", "GITHUB_TOKEN"]


def test_a_provider_reads_more_and_never_what_is_the_runners_own():
    env = Environment(VARIABLES)
    assert [env.read(name) for name in ("TOWN", "API_KEY", "GITHUB_TOKEN", "NOTHING")] == ["Oslo", "sk", "", ""]
    assert env.variables_behind("API_KEY") == {"API_KEY"}
    assert env.variables_behind("CI") == env.variables_behind("NOTHING") == frozenset()
    assert env.with_literals({"API_KEY": "mine"}).variables_behind("API_KEY") == frozenset()


def test_a_literal_that_shows_a_variable_gives_the_variable_away():
    env = Environment(VARIABLES).with_literals({"COPY": "sk"}, {"COPY": frozenset({"API_KEY"})})
    assert env.variables_behind("COPY") == {"API_KEY"}
    assert "COPY" not in env.open_variables()
    assert env.with_literals({"COPY": "plain"}).open_variables()["COPY"] == "plain"


@pytest.mark.parametrize(("name", "own"), table(__file__, "what_is_the_runners_own"))
def test_what_is_the_runners_own(name, own):
    assert belongs_to_runner(name) is own


@pytest.mark.parametrize(
    ("name", "secret"),
    [(name, True) for name in "NPM_AUTH PGPASS GH_PAT SENTRY_DSN SLACK_WEBHOOK SSH_PRIVATE DB_PWD AWS_SECRET".split()]
    + [(name, True) for name in "DATABASE_URL api_key MYSQL_PASSWORD SESSION_COOKIE INPUT_GITHUB-TOKEN".split()]
    + [(name, False) for name in "PATH HOME PWD OLDPWD GIT_AUTHOR_NAME PATIENCE INPUT_COMMENT-KEY LANG".split()],
)
def test_which_names_say_that_their_value_is_secret(name, secret):
    assert sounds_secret(name) is secret


def test_what_is_hidden_is_what_sounds_secret_what_was_read_and_passwords_in_addresses():
    variables = {"A_KEY": "k1", "PLACE": "p", "DB": "postgres://me:pw-42@db/x", "EMPTY_KEY": " ", "OTHER": "o"}
    addresses = {"U": "https://app.example.com:8080/v1", "H": "app:80", "WEBHOOK_URL": "https://h/x", "Q": "http://h/?k=1"}
    assert secret_variables(addresses, addresses) == {"WEBHOOK_URL": "https://h/x", "Q": "http://h/?k=1"}
    assert secret_variables(variables, ["PLACE", "NOWHERE"]) == {"A_KEY": "k1", "PLACE": "p", "DB:password": "pw-42"}
