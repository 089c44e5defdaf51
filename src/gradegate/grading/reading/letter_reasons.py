"""Whether the reason after a letter speaks of the letter itself: denies it, takes it back, names another, or says that nothing was judged."""

from __future__ import annotations

import re
import unicodedata

from gradegate.grading.reading import affirmations, labels, vocabulary

# What goes on about the letter: "(C) is wrong", "(C) does not apply", "(C) or (D)".
_GOES_ON = re.compile(
    r"\W*(?:is|isn|was|wasn|are|were|be|been|would|wouldn|will|won|could|couldn|should|shouldn|may|might|must|can|can't|cannot|couldn't|does|doesn|do|don|did|didn|has|hasn|had|have|seems|looks|appears|applies|holds"
    r"|fits|fails|and|or|nor|but|n't|rather|instead(?!\s+of\b)|over|vs|versus|to|through|than|if|unless|when|maybe|perhaps|possibly|probably|as\s+in|for\s+example|ist|war|est|es|era|è|é|oder|ou|o|y|und|et|e|или|и|не|nicht|pas|non|n['’]est|n['’]a"
    r"|ruled|excluded|rejected|out|invalid|impossible|unlikely|doubtful|n/a|inapplicable|unclear|unknown|undecided|undetermined|tempting|plausible|almost|nearly|close|(?:no|nope|none|never)(?=\W*$|\s*[,.;!])"
    r"|not(?=\W*$|\s*[,.;!]|\s+(?:really|sure|at\s+all|applicable|it|quite|this|that|correct|right|certain|so|fit\w*|valid|chosen|selected|my|possible|exactly|suitable|appropriate|(?:the|an?)\s+(?:right\s+|best\s+|correct\s+|good\s+)?(?:answer|option|choice|letter|category|fit|one)|graded|judged|decided|evaluated|assessed|determined|yet|available))"
    r"|(?:wrong|incorrect|false|falsch|faux|incorrecto|mistaken)(?=\W*$|\s*[.!\n]))(?!\w)",
    re.IGNORECASE,
)  # fmt: skip
_DENIED = re.compile(r"\W*(?:wrong|incorrect|false|falsch|faux|incorrecto|mistaken)\b", re.IGNORECASE)
# Another letter as the answer, or another line of a walk through all of them.
_ANOTHER = re.compile(
    r"[(\[]\s*([A-Za-z])\s*[)\]]|\b(?i:category|option|choice|letter|answer)\s+(?i:is\s+)?[\"'(*]{0,3}([A-E])\b(?!['’]|\s+[a-z])|(?:^|(?<=\s))([A-E])[):](?=\s)"
    r"|\b(?i:so|then|thus|hence|therefore|choose|pick|select|be|is|was|it['’]s|with|than|but|to|not|rather|instead|or|either)[\s,:]+[\"'*]{0,3}([A-E])[\"'*]{0,3}(?=\s*(?:[.,;!?)]|$))"
    r"|^\W{0,4}([A-Za-z])\W{0,3}$|^[^\S\n]*+([A-E])\.(?=\s|$)",
    re.MULTILINE,
)
# The letter taken back, wherever the reason says it.
_TAKEN_BACK = re.compile(
    r"(?:^|[.!?…;:–—-])[^\w\n.!?…;:–—-]*+(?:correction|errata|wait|oops|sorry|actually|apolog\w+|on\s+second\s+thoughts?|on\s+reflection|hold\s+on|disregard|ignore|retracted|withdrawn|i\s+mean|(?:no|nope|nein|non|nee|nie)(?=\s*[,.;:!–—-])|(?:this|that|it)(?:['’]s|\s+is|\s+was)\s+(?:\w+\s+)?(?:wrong|incorrect|mistaken|false|untrue|my|not\s+(?:it|right|my)))\b"
    r"|\b(?:wait,?\s+no|(?:scratch|strike)\s+that|take\s+(?:that|it|this)\s+back|changed?\s+my\s+mind|i\s+was\s+(?:wrong|mistaken)|i\s+am\s+mistaken|i\s+erred|misspoke|never\s?mind|my\s+mistake|not\s+my\s+(?:verdict|answer|grade|choice|letter)"
    r"|(?:i|we)(?:\s+\w+)?\s+(?:retract|withdraw|revoke|reconsider|doubt|refuse|withhold|reject|rule)\w*|quoted\s+from|is\s+quoted|a\s+quotation"
    r"|(?:this|that|the)\s+(?:one|option|letter|category|choice|mark|verdict|score)(?:\s+above)?\s+(?:is|was|does|do|cannot|can|would|fails|has|gets)(?:\s*n['’]?t|\s+not|\s+be)?\s+(?:\w+\s+)?(?:wrong|incorrect|apply|hold|fit|count|right|correct|false|work|match|out|excluded|mistaken)"
    r"|(?:does|do|did)(?:n['’]t|\s+not)\s+(?:apply|hold|fit|count)(?=[^\w\n]*$)|(?:is|was)\s+(?:out|excluded|ruled\s+out)(?=[^\w\n]*$)|none\s+of\s+(?:the\s+above|these|them)|the\s+above\s+(?:is|was))\b",
    re.IGNORECASE | re.MULTILINE,
)
# That nothing was compared: "timeout", "pending", "I cannot see the submission".
_UNJUDGED = re.compile(
    r"(?:pending|time[d\s-]*out|(?:internal\s+)?(?:server\s+)?error|tbd|todo|null|none|undefined|unavailable|skipped|aborted|cancell?ed|loading|placeholder|(?:to\s+be|not\s+yet|un)\s*(?:determined|decided|graded|judged)|no\s+(?:data|answer|verdict|submission|reference|comment|idea|information|response|content|text))\W*(?:\Z|\n)"
    r"|(?:\b(?:i|we)\b(?:['’]m|\s+am|\s+are|\s+was|\s+were)?\s+(?:\w+\s+)?(?:cannot|can\s?not|can['’]t|could\s?n[o'’]t|(?:not|un)\s*able\s+to|did\s+not|didn['’]t)|\Wunable\s+to)\s+(?:\w+\s+)?(?:see|read|find|open|access|view|compare|locate|receive|get|load|understand)\s+(?:the|these|them|this|that|those|it|both|either|your|two|what)\b",
    re.IGNORECASE,
)
_DIFFERING = re.compile(
    r"\b(?:contradict\w*|disagree\w*|conflict(?:s|ing)?|inconsistent|incompatible|wrong|incorrect|mistaken|false|fails?(?!\s+to\b)|failed(?!\s+to\b)|at\s+odds|mutually\s+exclusive)\b|\bnot\s+(?:the\s+same|equal|consistent|equivalent|match\w*|correct|right|true)\b|\b(?:does|do|did)(?:n['’]t|\s+not)\s+(?:match|agree)\b",
    re.IGNORECASE,
)
_SOFTENED = re.compile(
    r"\b(?:no|not|none|nothing|neither|nor|never|without|nowhere|hardly|both|free|lack\w*|avoid\w*|cannot|would|if|rather|although|though|don|doesn|isn|aren|didn|wasn|can|wouldn|corrects?|zero|same|also|too)\b",
    re.IGNORECASE,
)  # fmt: skip
_SENTENCES = re.compile(r"(?<![.!?;\n])[.!?;\n]+(?=\s|\Z)|\n")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_FEW = 2  # words of a remark that is too short to be a reason


def speaks_of(reason: str, letter: str, negative: str) -> bool:
    """Whether a text after a letter is not a reason for it, or there is none; ``negative``: the letter that means that the two disagree."""
    if not any(map(str.isalpha, reason)) or reason.startswith((".", "…", "?")) or reason.endswith(("?", "？")):
        return True
    if _GOES_ON.match(reason) or _TAKEN_BACK.search(reason) or vocabulary.corrects_abroad(reason):
        return True
    if _UNJUDGED.search(reason) or vocabulary.refuses(reason):
        return True
    others = {next(filter(None, letters)).upper() for letters in _ANOTHER.findall(reason)}
    if others - {letter} or vocabulary.is_of_replying(reason):
        return True
    return _is_remark(reason, letter == negative) or _is_contrary(reason, letter == negative, bool(negative))


def _is_remark(reason: str, negative: bool) -> bool:
    """Whether a denial is all that a reason says: "değil", "Wrong."; in a foreign script any denial may be about the letter."""
    if _is_foreign(reason):
        return vocabulary.turns(reason) or vocabulary.takes_back(reason)
    words = _WORD.findall(_SENTENCES.split(reason)[0])
    denied = [vocabulary.turns(word) for word in words]
    return 0 < len(words) <= _FEW and (all(denied) if negative else any(denied))


def _is_foreign(reason: str) -> bool:
    """Whether a reason begins in another script than the Latin one."""
    first = next(character for character in reason if character.isalpha())
    return "LATIN" not in unicodedata.name(first, "")


def _is_contrary(reason: str, negative: bool, known: bool) -> bool:
    """Whether a reason says the contrary of its letter: a contradiction after a letter of agreement, or a label that disagrees."""
    if known and labels.opposed(reason, affirmations.VERDICT_NOUNS, affirmations.meant, not negative):
        return True
    if negative:
        return False
    if _DENIED.match(reason):
        return True
    return any(_DIFFERING.search(part) and not _is_softened(part) for part in _SENTENCES.split(reason))


def _is_softened(sentence: str) -> bool:
    match = _DIFFERING.search(sentence)
    return match is not None and _SOFTENED.search(sentence[: match.start()]) is not None
