"""A help desk that answers from a handbook; yours may call models, tools and databases."""

HANDBOOK = (
    "Purchases up to $500 need no approval. You can buy what you need for your work without asking anybody.",
    "Maternity leave is 16 weeks, paid in full.",
    "Laptops are replaced every three years.",
)


def answer(question: str) -> tuple[str, list[str]]:
    """The answer to a question, and the passages that it was given with."""
    words = {word.strip("?.,").lower() for word in question.split() if len(word) > 3}
    passages = [passage for passage in HANDBOOK if len(words & set(passage.lower().split())) > 1]
    return (passages[0] if passages else "I do not know."), passages
