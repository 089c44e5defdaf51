"""Conversations as cases: recorded, held now, and prompts that see what was said before."""


def test_jobs_of_one_conversation_run_in_order_and_others_at_once(gate, llm):
    llm.latency, llm.together = 0.05, 4
    asked = {"assert": [{"type": "contains", "value": "ok"}]}
    tests = [{"vars": {"q": f"{talk}{n}"}, "metadata": {"conversationId": talk}, **asked} for talk in range(4) for n in range(3)]
    prompt = "{% for c in _conversation %}{{ c.output }}{% endfor %}{{ q }}"
    gate({"providers": [llm.spec()], "prompts": [prompt], "tests": tests}, "-j", "8")
    assert llm.peak == 4
