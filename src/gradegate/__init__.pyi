from gradegate.core.policy import Policy as Policy
from gradegate.core.policy import Rule as Rule
from gradegate.core.policy import Select as Select
from gradegate.gate.decision import decide as decide
from gradegate.results.results_file import load_results as load_results

REPOSITORY: str
__version__: str
