"""A variable that a template asks for and no test defines is a mistake at its line; one that some define is noted."""

from gradegate.texts.template import needs
from support.each import each, table


@each(("template", "names"), table(__file__, "what_a_template_does_not_work_without_2"))
def test_what_a_template_does_not_work_without(template, names):
    assert needs(template, comments=False) == frozenset(names.split())
