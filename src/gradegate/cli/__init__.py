"""The command line.

A *command* is one file of ``commands/``: ``ABOUT`` says what it does, ``add_arguments`` declares its arguments, and
``run`` returns its exit code. `main` finds the command, and is the only place that exits. `parser` turns the table of
options (`core/settings`) into flags, and flags into a `Context`. `output` prints: results on standard output, problems
on standard error. `init/` writes a first gate: `choices` asks for it, `files` writes it from the templates, and
`workflows` says what a workflow will do on a pull request.
"""
