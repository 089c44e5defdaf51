"""Texts in other signs, in which a model could write a key."""


def tag_letters(text: str) -> str:
    """The text in letters that nobody sees, and that mirror ASCII."""
    return "".join(chr(0xE0000 + ord(sign)) for sign in text)


def bold(text: str) -> str:
    """The text in mathematical letters, which JSON writes as surrogate pairs."""
    firsts = {"a": 0x1D41A, "A": 0x1D400, "0": 0x1D7CE}
    signs = []
    for sign in text:
        ascii_first = "a" if sign.islower() else "A" if sign.isupper() else "0" if sign.isdigit() else ""
        signs.append(chr(firsts[ascii_first] + ord(sign) - ord(ascii_first)) if ascii_first else sign)
    return "".join(signs)


def entities(text: str) -> str:
    """The text in HTML entities."""
    return "".join(f"&#{ord(sign)};" for sign in text)
