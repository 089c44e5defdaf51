"""gradegate: gates pull requests on LLM evals."""

__version__ = "0.1.0"
REPOSITORY = (
    "OWNER/gradegate"  # every other file repeats it: `make owner OWNER=NAME` writes all of them
)
