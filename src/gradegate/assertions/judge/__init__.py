"""Reads the replies of grading models with a grammar of the whole reply: only a verdict is read as a verdict."""
