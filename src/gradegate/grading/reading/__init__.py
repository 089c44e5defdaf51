"""Reads the replies of grading models: a grammar of the whole reply, so that nothing in it is taken for a verdict that is not one."""
