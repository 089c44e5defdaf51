"""A transform in Python."""


def get_transform(output, context):
    """The answer without its greeting."""
    return output.replace("You said: ", "")
