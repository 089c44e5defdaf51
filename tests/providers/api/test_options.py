"""Options of providers: slips, values that no vendor takes, and what has no effect; all of them in the YAML beside this module."""

from support.exchanges import exchanges
from support.scenes import scenes

test_an_option = exchanges(__file__)
test_values = scenes(__file__)
