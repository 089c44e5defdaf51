"""gradegate: gates pull requests on LLM evals."""

__version__ = "0.1.0"
