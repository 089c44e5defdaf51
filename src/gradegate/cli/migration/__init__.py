"""Moves a repository from promptfoo: `eval_command` reads a shell command, `migration` changes configs and workflows."""
