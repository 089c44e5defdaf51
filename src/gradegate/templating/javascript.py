"""Looks at a program of JavaScript as text, without running it.

Its sections say which tokens it has, what it uses and the engine does not have, what a derived metric means, what a program
reads, and which function's body is run for it. Except for ``split_tokens``, a position in a program is the number of a token.

A name counts as used only where it is called, constructed or looked into, is not declared, and no test asks first whether it is
there. A word in a text or a comment is no use. What this module does not find is an error when the program runs.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from gradegate.files.documents import table
from gradegate.registry import near_miss
from gradegate.structs import JsonObject

# --- tokens; each pattern matches at the beginning of one
_SKIPPED = re.compile(
    r"(?:\s++|//[^\n]*+|/\*(?s:.*?\*/|.*))++"
)  # white space, `// ...` and `/* ... */`
# `"a \" b"` and `'a'`, closed or not
_TEXT = re.compile(r"\"(?:[^\"\\\n]|\\(?s:.))*+\"?|'(?:[^'\\\n]|\\(?s:.))*+'?")
_PATTERN = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*+\])++/[a-z]*+")  # `/a[/]b/gi`
# The text of a template literal, up to its end or the next `${`
_TEMPLATE_PART = re.compile(r"(?:[^`\\$]|\\(?s:.)|\$(?!\{))*+(`|\$\{)?")
_WORD = re.compile(r"[\w$]++")  # `name`, `$`, `12`
_PUNCTUATION = re.compile(r"=>|\.\.\.|\?\.(?!\d)|[=!]==?|(?s:.)")

# --- parts of a program
_NAME = re.compile(r"(?!\d)[\w$]+")
_DECLARES = re.compile(r"(?:const|let|var)\s")  # at the beginning of a line
FINAL_SEMICOLON = re.compile(r"(?<![;\s])\s*+;[;\s]*+$")
# Types, in a program that JavaScript cannot read: `(a: string)`, `a as any`, `interface A`
TYPESCRIPT = re.compile(
    r"[)\w]\??\s*:\s*(?:string|number|boolean|any|unknown|void|Record<|Promise<)|\bas\s+(?:any|string|number|const)\b"
    r"|^[^\S\n]*+(?:interface|type)\s+\w+",
    re.MULTILINE,
)
_CONDITIONS = frozenset({"if", "while", "for", "with"})  # their brackets do not end a value
# Words after which a slash begins a pattern, as after most signs.
_BEFORE_VALUES = frozenset(
    "return typeof case in of delete void throw new do else instanceof yield await".split()
)
_KEYWORDS = _CONDITIONS.union(
    _BEFORE_VALUES,
    "arguments async break case catch class const continue debugger default export extends false finally function get import let null of "
    "set static super switch this true try var".split(),
)
# Keywords that can be names
_NAME_KEYWORDS = frozenset("async await get let of set static yield".split())
# Keywords with which no expression of a derived metric makes sense
_RESERVED_IN_FORMULAS = _KEYWORDS.difference(
    _NAME_KEYWORDS, "arguments const false in instanceof null return true typeof void".split()
)
_NAME_SOURCES = frozenset({"eval", "with", "globalThis"})
ELSEWHERE = "check it in the job that makes the answers (docs/answers.md), or write it without"
SCORES = "namedScores"  # the name under which derived metrics find all scores
_MATH_SHOWN = "abs, ceil, exp, floor, log, max, min, pow, round and sqrt"
_NUMBERS = frozenset({"Infinity", "NaN", "undefined"})  # names that no metric replaces
_COMPARISONS = frozenset({"<", ">", "==", "!=", "===", "!=="})


class Refusal(NamedTuple):
    """Why a program cannot be used: what is wrong, in which line, and what to do instead."""

    problem: str
    line: int
    cure: str


class Token(NamedTuple):
    """A word or punctuation, with its position and the number of brackets around it. Texts and patterns have ``text`` "''"."""

    text: str
    position: int
    depth: int


Tokens = Sequence[Token]


@lru_cache(maxsize=1)  # a program is looked at for one thing after another
def split_tokens(code: str) -> tuple[Token, ...]:
    """All tokens of a program that is supposed to be valid; of any other program, some tokens."""
    return tuple(_Tokenizer(code).read_tokens())


class _Tokenizer:
    """Reads the tokens of a program, from its start to its end."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._position = 0
        self._depth = 0  # the number of open brackets
        self._previous = ""  # the token before this one; empty behind the brackets of a condition
        self._words_before_brackets: list[str] = []  # of each open round bracket
        # Where a `}` continues the text of a template literal
        self._template_depths: list[int] = []
        # A slash before this position begins no pattern: the rest of its line was searched once.
        self._no_pattern_before = 0

    def read_tokens(self) -> Iterator[Token]:
        """Yield each token."""
        self._skip_comments()
        while self._position < len(self._code):
            start = self._position
            sign = self._code[start]
            continues_template = sign == "}" and self._template_depths[-1:] == [self._depth]
            if continues_template:
                self._template_depths.pop()
                self._depth -= 1
            if sign == "`" or continues_template:
                text = self._read_template_part()
            else:
                text = self._read_text(sign)

            if text == "${":
                self._depth += 1
                self._template_depths.append(self._depth)
            elif text in (")", "]", "}"):
                self._depth -= 1
            yield Token(text, start, self._depth)
            if text in ("(", "[", "{"):
                self._depth += 1

            is_end_of_condition = False
            if text == "(":
                self._words_before_brackets.append(self._previous)
            elif text == ")" and self._words_before_brackets:
                is_end_of_condition = self._words_before_brackets.pop() in _CONDITIONS
            self._previous = "" if is_end_of_condition else text
            self._skip_comments()

    def _skip_comments(self) -> None:
        """Go to the next token, behind white space and comments."""
        skipped = _SKIPPED.match(self._code, self._position)
        if skipped:
            self._position = skipped.end()

    def _read_template_part(self) -> str:
        """Read the text of a template literal up to its end, or up to the ``${`` of an expression. Returns the token's text."""
        match = _TEMPLATE_PART.match(self._code, self._position + 1)
        assert match
        self._position = match.end()
        return "${" if match[1] == "${" else "''"

    def _read_text(self, sign: str) -> str:
        """Read a word, a text, a pattern or punctuation that begins with a sign. Returns the token's text."""
        start = self._position
        if sign in "\"'":
            kind = _TEXT
        elif sign == "/" and start >= self._no_pattern_before and not _ends_value(self._previous):
            # Behind a value, a slash divides. Elsewhere it begins a pattern.
            kind = _PATTERN
        else:
            kind = _WORD

        match = kind.match(self._code, start) or _PUNCTUATION.match(self._code, start)
        assert match
        self._position = match.end()
        text = match[0]
        if kind is _PATTERN and text == "/":
            end_of_line = self._code.find("\n", start)
            self._no_pattern_before = len(self._code) if end_of_line < 0 else end_of_line
        return "''" if kind is _TEXT or (sign == "/" and len(text) > 1) else text


def _ends_value(text: str) -> bool:
    """Whether a value may end with this token."""
    if text in (")", "]", "}", "''"):
        return True
    return text not in _BEFORE_VALUES and _WORD.fullmatch(text) is not None


def _text_at(program: Tokens, number: int) -> str:
    """The text of the token with that number; empty before the first and behind the last."""
    return program[number].text if 0 <= number < len(program) else ""


def _is_member(program: Tokens, number: int) -> bool:
    """Whether a token is a name behind a dot, a private name, or the rest of an escaped letter, and so no name of its own."""
    return _text_at(program, number - 1) in (".", "?.", "#", "\\")


def _refusal_at(code: str, token: Token, problem: str, cure: str) -> Refusal:
    return Refusal(problem, code.count("\n", 0, token.position) + 1, cure)


def _words(kind: str) -> JsonObject:
    """Words that snippets cannot use, with what to write instead."""
    return table("templating", "javascript.yaml")[kind]  # type: ignore[no-any-return]


# --- what a program uses and the engine does not have -----------------------------------------------------------


def find_unsupported(code: str) -> Refusal | None:
    """The first use of modules, network, timers or rules of languages, which the engine does not have; None if there is none."""
    program = split_tokens(code)
    lacking = _words("lacking")
    uses = [*_module_loads(program), *_language_uses(program)]
    for name, number in _free_names(program).items():
        if name in lacking and _text_at(program, number + 2) != "Segmenter":
            problem, cure = lacking[name]
            uses.append((number, f"`{name}` {problem}, and there is none here", cure))
    if not uses:
        return None
    number, problem, cure = min(uses)
    return _refusal_at(code, program[number], problem, cure)


def find_unknown_name(code: str, known: Collection[str]) -> Refusal | None:
    """The first name that a valid program does not declare and that is not ``known``; None if there is none."""
    program = split_tokens(code)
    if any(token.text in _NAME_SOURCES for token in program):
        return None
    unknown = {name: number for name, number in _free_names(program).items() if name not in known}
    if not unknown:
        return None
    name = min(unknown, key=unknown.__getitem__)
    declared = {token.text for token in program if token.text.isidentifier()}
    candidates = (declared - unknown.keys() - _KEYWORDS).union(known)
    cure = f"declare it, or, if it is part of Node: {ELSEWHERE}"
    if close := near_miss(name, sorted(candidates)):
        cure = f"did you mean `{close}`?"
    problem = f"`{name}` is not declared, and the engine does not have it"
    return _refusal_at(code, program[unknown[name]], problem, cure)


def _module_loads(program: Tokens) -> Iterator[tuple[int, str, str]]:
    """Each token that loads a module, with what is wrong and what to do instead."""
    for number, token in enumerate(program):
        after = _text_at(program, number + 1)
        if token.text == "import" and after != ":" and not _is_member(program, number):
            cure = f"write what you need of it into the file; or {ELSEWHERE}"
            yield number, "`import` loads a module", cure
        elif (
            token.text in ("export", "}")
            and after == "from"
            and (_text_at(program, number + 2) == "''")
        ):
            yield number, "`export ... from` loads a module", "write it into the file"


def _language_uses(program: Tokens) -> Iterator[tuple[int, str, str]]:
    """Each method that needs the rules of a language, which would give another result here."""
    languages = _words("languages")
    functions = {
        token.text for number, token in enumerate(program) if not _is_member(program, number)
    }
    brackets = _round_brackets(program)
    for number, token in enumerate(program):
        if token.text not in languages or token.text in functions:
            continue
        max_arguments, cure = languages[token.text]
        opening = number + 1
        if _text_at(program, opening) == "?.":
            opening += 1
        if opening not in brackets:
            continue
        closing, arguments = brackets[opening]
        # Each `undefined` at the end is no argument
        while _text_at(program, closing - 1) == "undefined" and (
            _text_at(program, closing - 2) in ("(", ",")
        ):
            closing -= 2
            arguments -= 1
        if arguments > max_arguments:
            problem = f"`{token.text}` needs language rules, which gradegate does not have"
            yield number, problem, cure


def _free_names(program: Tokens) -> dict[str, int]:
    """The names that are only called, constructed or looked into, with the number of the first such token."""
    used: dict[str, int] = {}
    declared: set[str] = set()
    # `name (...) {` declares a function: behind its brackets comes its body.
    methods = set()
    for opening, (closing, _) in _round_brackets(program).items():
        if _text_at(program, closing + 1) == "{":
            methods.add(opening - 1)
    for number, token in enumerate(program):
        name = token.text
        if not _NAME.fullmatch(name) or name in _KEYWORDS or name in declared:
            continue
        if _is_member(program, number):
            continue
        before = _text_at(program, number - 1)
        after = _text_at(program, number + 1)
        if after == ":" and before in ("{", ","):
            continue  # a key of an object
        is_call = after == "(" and number not in methods
        if is_call or before == "new" or after in (".", "?.", "["):
            used.setdefault(name, number)
        else:
            declared.add(name)
    return {name: number for name, number in used.items() if name not in declared}


def _round_brackets(program: Tokens) -> dict[int, tuple[int, int]]:
    """For each opening round bracket, the number of its closing token and the number of arguments between them."""
    openings: list[int] = []
    commas: list[int] = []  # in each open bracket
    brackets = {}
    for number, token in enumerate(program):
        if token.text in ("(", "[", "{"):
            openings.append(number)
            commas.append(0)
        elif token.text == "," and commas:
            commas[-1] += 1
        elif token.text in (")", "]", "}") and openings:
            opening = openings.pop()
            arguments = commas.pop() + 1
            if program[opening].text == "(":
                brackets[opening] = (number, 0 if number == opening + 1 else arguments)
    return brackets


# --- derived metrics --------------------------------------------------------------------------------------------


def find_misreading(
    code: str, global_names: Collection[str], math_names: Collection[str]
) -> Refusal | None:
    """The first part of a derived metric that mathjs and JavaScript read differently, or an unknown function.

    ``global_names`` are those of the engine, ``math_names`` the members of ``Math``.
    """
    program = split_tokens(code)
    chained_comparisons = _chained_comparisons(program)
    for number, token in enumerate(program):
        objection = _objection_to(program, number, global_names, math_names)
        if number in chained_comparisons:
            problem = "comparisons in a row mean something else in JavaScript"
            objection = problem, "write `a < b && b < c`"
        if objection:
            return _refusal_at(code, token, *objection)
    return None


def _objection_to(
    program: Tokens, number: int, global_names: Collection[str], math_names: Collection[str]
) -> tuple[str, str] | None:
    """What is wrong with a token of a derived metric, and what to write instead."""
    text = program[number].text
    formula_words = _words("formula words")
    is_call = _text_at(program, number + 1) == "(" and _NAME.fullmatch(text) is not None

    if _is_member(program, number):
        is_of_math = _text_at(program, number - 2) == "Math"
        if is_call and is_of_math and text not in math_names:
            return f"`Math.{text}` is not a function", _cure_function(text, math_names)
    elif text in formula_words:
        kind = "a power" if text == "^" else "an operator"
        return f"`{text}` is not {kind} in JavaScript", f"write {formula_words[text]}"
    elif text == "=" and _text_at(program, number - 1) not in ("<", ">"):
        return "`=` does not compare in JavaScript", "write `==`"
    elif text in ("=>", "function"):
        cure = f"write one function, `({SCORES}) => ...`"
        return "an expression cannot contain a function", cure
    elif text in _RESERVED_IN_FORMULAS:
        cure = f'write `{SCORES}["{text}"]` for a metric of this name'
        return f"`{text}` is a reserved word of JavaScript", cure
    elif is_call and text not in global_names and text not in _KEYWORDS:
        return f"the function `{text}` is unknown", _cure_function(text, math_names)
    return None


def _chained_comparisons(program: Tokens) -> set[int]:
    """The numbers of tokens such as the second ``<`` of `a < b < c`, which compares a truth value in JavaScript."""
    chained = set[int]()
    compared = set[int]()  # the depths of brackets at which a comparison has begun
    for number, token in enumerate(program):
        if token.text in _COMPARISONS:
            if token.depth in compared:
                chained.add(number)
            compared.add(token.depth)
        elif token.text in ("&", "|", "?", ":", ","):
            compared.discard(token.depth)
        elif token.text in ("(", "["):
            compared.discard(token.depth + 1)
    return chained


def _cure_function(name: str, math_names: Collection[str]) -> str:
    """What to write instead of a function that JavaScript does not have."""
    if cure := _words("formula functions").get(name):
        return f"write {cure}"
    if name in math_names:
        return f"write `Math.{name}(...)`"
    if close := near_miss(name, sorted(math_names)):
        return f"did you mean `Math.{close}`?"
    return f"`Math` has {_MATH_SHOWN}; for anything else write a function, `({SCORES}) => ...`"


def score_names(
    code: str, global_names: Collection[str]
) -> tuple[frozenset[str], frozenset[str] | None]:
    """The variables of a derived metric's expression, and the members of ``namedScores``; None if it may read any of them.

    ``global_names`` are those of the engine: one of them that is called or looked into is no variable.
    """
    program = split_tokens(code)
    variables = set[str]()
    members = set[str]()
    reads_any = False
    for number, token in enumerate(program):
        name = token.text
        after = _text_at(program, number + 1)
        is_keyword = name in _KEYWORDS and name not in _NAME_KEYWORDS
        if not _NAME.fullmatch(name) or is_keyword or _is_member(program, number):
            continue
        if name == SCORES:
            member = _member_name(code, program, number + 1)
            if member is None:
                reads_any = True
            else:
                members.add(member)
            continue
        is_global = name in global_names and after in (".", "?.", "[", "(")
        if name not in _NUMBERS and not is_global:
            variables.add(name)
    return frozenset(variables), None if reads_any else frozenset(members)


def _member_name(code: str, program: Tokens, number: int) -> str | None:
    """The name in ``.name`` or ``["name"]`` at this token; None for anything else."""
    sign = _text_at(program, number)
    after = _text_at(program, number + 1)
    if sign in (".", "?.") and _NAME.fullmatch(after):
        return after
    if sign == "[" and after == "''" and _text_at(program, number + 2) == "]":
        text = _TEXT.match(code, program[number + 1].position)
        if text and "\\" not in text[0]:
            return text[0][1:-1]
    return None


# --- what a program reads, and what it is -----------------------------------------------------------------------


def reads_member(code: str, name: str, whole: str = "") -> bool:
    """Whether a program names a member, or uses the name ``whole`` in another way than to look up a named member."""
    program = split_tokens(code)
    if any(token.text == name for token in program):
        return True
    if re.search(rf"\[\s*([\"'`]){name}\1\s*\]", code):
        return True
    for number, token in enumerate(program):
        is_whole = token.text == whole and not _is_member(program, number)
        if is_whole and not _looks_up_name(program, number + 1):
            return True
    return False


def _looks_up_name(program: Tokens, number: int) -> bool:
    """Whether ``.name``, ``?.name``, ``["name"]`` or ``?.["name"]`` begins at this token."""
    if _text_at(program, number) == "?." and _text_at(program, number + 1) == "[":
        number += 1
    if _text_at(program, number) in (".", "?."):
        return True
    texts = [_text_at(program, number + offset) for offset in range(3)]
    return texts == ["[", "''", "]"]


def is_arrow(code: str) -> bool:
    """Whether code begins as an arrow function: `output => ...`, `async (output, context) => ...`."""
    program = split_tokens(code)
    end = 1 if _text_at(program, 0) == "async" else 0  # of the parameters
    if _text_at(program, end) == "(":
        closing_brackets = (
            number for number, token in enumerate(program) if token.text == ")" and not token.depth
        )
        end = next(closing_brackets, len(program))
    return _text_at(program, end + 1) == "=>"


def is_function(code: str) -> bool:
    """Whether the whole is one function, written with an arrow or the word ``function``."""
    program = split_tokens(code)
    word = _text_at(program, 0)
    if word == "async":
        word = _text_at(program, 1)
    return word == "function" or is_arrow(code)


# --- the body that is run: where promptfoo puts `return`, and modules without imports -----------------------------


def assertion_body(code: str) -> str:
    """Several lines are the body of a function. One line is an expression, behind declarations if it starts with one."""
    code = code.rstrip()
    if "\n" in code:
        return code
    code = FINAL_SEMICOLON.sub("", code.strip())
    if not _DECLARES.match(code):
        return f"return {code}"
    semicolons = [
        token.position for token in split_tokens(code) if token.text == ";" and not token.depth
    ]
    if not semicolons:
        return code
    end = max(semicolons) + 1
    return f"{code[:end]} return {code[end:].strip()}"


def value_expression(code: str, parameters: Sequence[str]) -> str:
    """An expression in brackets; a function is called with the parameters."""
    call = f"({', '.join(parameters)})" if is_function(code) else ""
    return in_brackets(code) + call


def in_brackets(code: str, opening: str = "(", closing: str = ")") -> str:
    """An expression in brackets, without the semicolon at its end. The line break ends a comment."""
    return f"{opening}{FINAL_SEMICOLON.sub('', code.strip())}\n{closing}"


def has_return(code: str) -> bool:
    """Whether code is the body of a function, and not an expression."""
    return re.search(r"\breturn\b", code) is not None and not is_function(code)


def request_body(code: str, parameters: Sequence[str]) -> str:
    """The body for ``transformRequest``: an expression, a function of the parameters, or a body with ``return``."""
    code = code.strip()
    if has_return(code):
        return code
    return f"return {value_expression(code, parameters)};"


def module_body(code: str) -> str:
    """A file as the body of a function of ``module`` and ``exports``. Raises ValueError for an unknown form of export.

    Lines stay the same. A module that exports is in strict mode, as Node has it.
    """
    program = split_tokens(code)
    exports = [
        number for number, token in enumerate(program) if token.text == "export" and not token.depth
    ]
    if not exports:
        return code
    parts = ['"use strict"; ']
    local_names = dict[str, str]()  # by exported name
    position = 0
    for number in exports:
        export = _parse_export(program, number)
        start = program[number].position
        parts.append(code[position:start])
        parts.append(export.replacement)
        position = len(code)
        if export.end < len(program):
            position = program[export.end].position
        parts.append("\n" * code.count("\n", start, position))
        local_names |= export.local_names
    parts.append(code[position:])
    for name, local in local_names.items():
        parts.append(f"\nexports.{name} = {local};")
    return "".join(parts)


class _Export(NamedTuple):
    """An ``export``: the token where its statement continues, the code in its place, and local names by exported name."""

    end: int
    replacement: str
    local_names: dict[str, str]


def _parse_export(program: Tokens, number: int) -> _Export:
    """The export at a token. Raises ValueError for an unknown form."""
    first = _text_at(program, number + 1)
    if first == "default":
        return _Export(number + 2, "exports.default = ", {})
    if first in ("const", "let", "var", "function", "class", "async"):
        name_at = number + 2
        if first == "async":
            name_at += 1
        if _text_at(program, name_at) == "*":
            name_at += 1
        name = _text_at(program, name_at)
        if name.isidentifier() or "$" in name:
            return _Export(number + 1, "", {name: name})
    if first != "{":
        raise ValueError(
            "`export` is written in a way that is not known here: write `export default (output, context) => ...`"
        )

    # `{ a, b as c }`
    local_names: dict[str, str] = {}
    at = number + 2
    while at < len(program) and program[at].text != "}":
        local = name = program[at].text
        if at + 2 < len(program) and program[at + 1].text == "as":
            name = program[at + 2].text
            at += 2
        local_names[name] = local
        at += 1
        if _text_at(program, at) == ",":
            at += 1
    return _Export(at + 1, "", local_names)
