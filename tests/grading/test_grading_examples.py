"""The examples of promptfoo's page on model-graded metrics, as printed there, against a model on loopback."""

import pytest
import yaml

GRADERS = """
defaultTest:
  options:
    provider:
      text:
        id: openai:chat:judge
      embedding:
        id: openai:embeddings:text-embedding-ada-002
"""
RAG = """
prompts:
  - |
    You are an internal corporate chatbot.
    Respond to this query: {{query}}
    Here is some context that you can use to write your response: {{context}}
providers: [openai:gpt-4]
tests:
  - vars:
      query: What is the max purchase that doesn't require approval?
      context: file://docs/reimbursement.md
    assert:
      - type: contains
        value: '$500'
      - type: factuality
        value: the employee's manager is responsible for approvals
      - type: answer-relevance
        threshold: 0.9
      - type: context-recall
        threshold: 0.9
        value: max purchase price without approval is $500. Talk to Fred before submitting anything.
      - type: context-relevance
        threshold: 0.9
      - type: context-faithfulness
        threshold: 0.9
  - vars:
      query: How many weeks is maternity leave?
      context: file://docs/maternity.md
    assert:
      - type: factuality
        value: maternity leave is 4 months
      - type: answer-relevance
        threshold: 0.9
      - type: context-recall
        threshold: 0.9
        value: The company offers 4 months of maternity leave, unless you are an elephant, in which case you get 22 months of maternity leave.
      - type: context-relevance
        threshold: 0.9
      - type: context-faithfulness
        threshold: 0.9
"""
TWEETS = """
prompts:
  - 'Write a tweet about {{topic}}'
  - 'Write a very concise, funny tweet about {{topic}}'

providers: [openai:gpt-4]

tests:
  - vars:
      topic: bananas
    assert:
      - type: select-best
        value: choose the funniest tweet

  - vars:
      topic: nyc
    assert:
      - type: select-best
        value: choose the tweet that contains the most facts
"""
POINTS = r"""
prompts: ['{{said}}']
providers: [echo]
defaultTest:
  options:
    rubricPrompt: >
      [
          {
              "role": "system",
              "content": "Grade the output by the following specifications, keeping track of the points scored:\n\nDid the output mention {{x}}? +1 point\nDid the output describe {{y}}? +1 point\nDid the output ask to clarify {{z}}? +1 point\n\nCalculate the score but always pass the test. Output your response in the following JSON format:\n{pass: true, score: number, reason: string}"
          },
          {
              "role": "user",
              "content": "Output: {{ output }}"
          }
      ]
tests:
  - vars: {said: 'He said "hello"', x: tea, y: milk, z: sugar}
    assert:
      - type: llm-rubric
"""  # as printed
DOCS = {
    "docs/reimbursement.md": "Purchases up to $500 need no approval. Talk to Fred before submitting anything.",
    "docs/maternity.md": "The company offers 4 months of maternity leave.\nElephants get 22 months.",
}
ANSWERS = {"max purchase": "You may spend $500; your manager approves the rest.", "maternity": "It is 4 months."}


def judge(asked):
    """A judge that answers each of our prompts in the words of promptfoo's own."""
    if "Which category" in asked:
        return "They agree.\n\n(C)"
    if "Which question" in asked:
        return "What is asked?"
    if "Give one verdict for each sentence" in asked:
        return "1. One. [Attributed]\n2. Two. [Attributed]"
    if "Which sentences of the context" in asked:
        return asked.split("<context ")[-1].split(">\n", 1)[1].split("\n</context")[0]
    if "Which statements" in asked:
        return "One is so.\nTwo is so."
    return "Final verdict for each statement in order: Yes. Yes."


@pytest.fixture
def run(gate, llm, monkeypatch):
    def run(config, reply, *arguments, **files):
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        monkeypatch.setenv("OPENAI_BASE_URL", llm.base)
        llm.reply = reply
        return gate(config, *arguments, **files)

    return run


def test_the_rag_example(run, llm):
    def reply(path, body):
        if path.endswith("/embeddings"):
            return {"data": [{"index": n, "embedding": [1.0, 0.1 * n]} for n in range(len(body["input"]))]}
        asked = "\n".join(message["content"] for message in body["messages"])
        if body["model"] == "judge":
            return judge(asked)
        return next(answer for word, answer in ANSWERS.items() if word in asked)

    ran = run(GRADERS + RAG, reply, **DOCS)
    assert [(g["assertion"], g["outcome"]) for g in ran.grades if g["outcome"] != "pass"] == []
    assert ran.code == 0
    assert len(ran.grades) == 11
    targets = [body["messages"][0]["content"] for body in llm.bodies if body.get("model") == "gpt-4"]
    assert any("Talk to Fred" in text and "internal corporate chatbot" in text for text in targets)
    embedded = [body["input"] for body in llm.bodies if "input" in body]
    assert sorted(texts[0] for texts in embedded) == [
        "How many weeks is maternity leave?",
        "What is the max purchase that doesn't require approval?",
    ]


def test_a_chat_model_alone_cannot_grade_the_rag_example(run, llm, monkeypatch):
    monkeypatch.setenv("DEEPSEEK_API_KEY", "k")
    ran = run(RAG, lambda path, body: "x", "-g", "deepseek:m", **DOCS)
    assert ran.code == 2
    assert "`answer-relevance` needs a model of the kind embedding, and `deepseek:m` is not one" in ran.err
    assert llm.requests == []


def test_the_example_without_any_grader_says_what_to_name(run, llm):
    ran = run(RAG, lambda path, body: "x", **DOCS)
    assert ran.code == 2
    assert "no grading model is configured" in ran.err
    assert "--grader openai:chat:MODEL" in ran.err
    assert llm.requests == []


def test_both_select_best_examples(run, llm):
    def reply(path, body):
        asked = body["messages"][-1]["content"]
        if "choose the" not in asked:
            return f"tweet for: {asked}"
        return "1" if "funniest" in asked else '{"reason": "has facts", "index": 0}'

    ran = run(GRADERS + TWEETS, reply)
    assert [grade["outcome"] for grade in ran.grades] == ["fail", "pass", "pass", "fail"]
    asked = [prompt for prompt in llm.prompts if "choose the" in prompt]
    assert len(asked) == 2
    assert all(prompt.index("tweet for: Write a tweet") < prompt.index("tweet for: Write a very concise") for prompt in asked)


@pytest.mark.parametrize(
    "prompt", ["Pick by {{criteria}}: {{outputs}}", "{% for output in outputs %}[{{loop.index0}}] {{output}}\n{% endfor %}{{criteria}}"]
)
def test_the_select_best_prompt_with_its_two_variables(run, llm, prompt):
    def reply(path, body):
        asked = body["messages"][-1]["content"]
        return "0" if "choose the" in asked else f"T({asked})"

    ran = run(yaml.safe_load(TWEETS) | {"defaultTest": {"options": {"provider": "openai:chat:judge", "rubricPrompt": prompt}}}, reply)
    assert [grade["outcome"] for grade in ran.grades] == ["pass", "fail", "pass", "fail"]
    asked = next(text for text in llm.prompts if "funniest" in text)
    assert "T(Write a tweet about bananas)" in asked
    assert "T(Write a very concise, funny tweet about bananas)" in asked


def test_the_custom_rubric_prompt_that_counts_points(run, llm):
    ran = run(POINTS, lambda path, body: '{pass: true, score: 2, reason: "tea and milk"}', "-g", "openai:chat:judge")
    assert (ran.grades[0]["outcome"], ran.grades[0]["score"]) == ("pass", 2)
    system, user = llm.bodies[0]["messages"]
    assert "Did the output mention tea? +1 point\nDid the output describe milk?" in system["content"]
    assert user == {"role": "user", "content": 'Output: He said "hello"'}


def test_a_judge_that_echoes_the_form_of_the_reply_has_given_no_verdict(run, llm):
    ran = run(POINTS, lambda path, body: "{pass: true, score: number, reason: string}", "-g", "openai:chat:judge")
    assert ran.grades[0]["outcome"] == "error"
