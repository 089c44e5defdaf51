from pathlib import PurePath

from gradegate.files.paths import holds_credentials, is_hidden, is_material
from support.each import each


@each(
    "path",
    ".git/config .git sub/.git/config .GIT/HEAD .npmrc app/.npmrc .netrc .aws/credentials .ssh/known_hosts .env .env.local "
    ".env.production .pypirc .docker/config.json keys/id_rsa id_ed25519 gha-creds-0a1b2c.json tls/server.pem private_key.txt "
    "app-private-key.json .kube/config .git-credentials .vault-token service-account.json terraform.tfstate server.key .config/gh/hosts.yml pip.conf .condarc credentials.json secrets.yaml auth.json .netrc. .npmrc.bak .env~ .bash_history".split(),
)
def test_files_in_which_tools_keep_credentials(path):
    assert holds_credentials(PurePath(path))


@each(
    "path",
    "prompts/x.txt .github/prompts/a.md .claude/skills/x/SKILL.md .env.example docs/git/config environment.md keys.csv "
    "api-keys.md credentials-policy.md .promptfoo/x.yaml envs/dev.yaml ssh/notes.txt .gitignore tokens.csv keyboard.yaml secrets.csv auth.md".split(),
)
def test_files_that_prompts_are_made_of(path):
    assert not holds_credentials(PurePath(path))


def test_what_is_hidden_or_no_material_is_not_read():
    hidden = (
        ".secrets .dev.vars .streamlit/secrets.toml .snowflake/config.toml .env.example a/.dbt/x.yml .github/.x .x/.github/y.md".split()
    )
    endings = "gradle.properties rclone.conf Makefile kubeconfig app.ini .secrets .dev.vars x.pem x.".split()
    assert [path for path in hidden if not is_hidden(PurePath(path))] == []
    assert [path for path in endings if is_material(PurePath(path))] == []
    read = "prompts/x.txt .github/prompts/a.prompt.yml .claude/skills/x/SKILL.md src/App.TSX data/cases.jsonl shots/dot.PNG x.diff page.j2".split()
    assert [path for path in read if is_hidden(PurePath(path)) or not is_material(PurePath(path))] == []
