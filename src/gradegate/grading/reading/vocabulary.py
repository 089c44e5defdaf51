"""The words that turn a verdict round, refuse one, or only lead up to one that is quoted; in the languages that judges write.

What is listed here only ever makes a reply unreadable: a word that is missing costs caution, never a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial


def _later(pattern: str, flags: int) -> Callable[[], re.Pattern[str]]:
    """A pattern that is compiled when it is needed first: these take a tenth of the time that a config does."""
    return cache(partial(re.compile, pattern, flags))


_TURNING_LATIN = (
    # English
    "no not none never neither nor nothing nope nay but however though although yet except unless rather instead wrong wrongly fail fails failed"
    " failing failure incorrect incorrectly correction corrected correcting wait hold actually mistake mistaken mistakenly error erroneous cannot"
    " can't false invalid disregard ignore oops sorry scratch retract retracted retraction withdraw withdrawn withdrawal revoke revoked reconsider"
    " reconsidered reconsidering unsure uncertain unclear unable refuse refused decline declined doubt doubtful opposite contrary reverse reversed"
    " overrule overruled strike void undo hypothetical hypothetically example template placeholder unverified unverifiable abstain withhold withheld"
    # German, Dutch, Scandinavian
    " nicht kein keine keinen nein aber doch jedoch falsch fehler irrtum korrektur moment stattdessen sondern leider niet geen nee maar fout onjuist"
    " correctie ikke inte nej men feil fel fejl"
    # French, Spanish, Portuguese, Italian, Catalan
    " non pas mais toutefois cependant pourtant faux fausse erreur erroné incorrecte attendez désolé pero sino incorrecto equivocado equivocada"
    " corrección espera esperen lo-siento não nao mas porém errado errada erro correção espere desculpe ma però invece sbagliato sbagliata errore"
    " correzione aspetta scusa però"
    # Polish, Czech, Turkish, Indonesian, Vietnamese
    " nie ale jednak błąd błędne czekaj ne však chyba špatně değil hayır ama ancak yanlış hata tidak bukan tapi tetapi salah không nhưng sai"
)
_TURNING_OTHER = (
    "不 没 沒 非 但 错 錯 误 誤 否 等等 更正 抱歉 ない ません しかし ただし 間違 誤 訂正 いいえ 待って 違 아니 않 못 하지만 그러나 틀 오류 정정 잠깐 "
    "не нет но однако ошиб неправ неверн исправ подожд لا ليس لم لن لكن خطأ خاطئ تصحيح انتظر לא אבל טעות नहीं लेकिन गलत ไม่ แต่ ผิด"
)
_NOT_SHORTENED = r"\w(?:n['’`´]t|nt['’])\b"

_LATIN = "|".join(sorted(map(re.escape, set(_TURNING_LATIN.split())), key=len, reverse=True))
_OTHER = "|".join(sorted(map(re.escape, set(_TURNING_OTHER.split())), key=len, reverse=True))
_TURNING = _later(rf"(?<!\w)(?:{_LATIN})(?!\w)|{_OTHER}|{_NOT_SHORTENED}", re.IGNORECASE)

_DECIDE = (
    r"(?:decid|tell|say|grad|judg|determin|confirm|verif|know|knew|assess|evaluat|answer|choos|pick|rat(?:e|ing)\b|scor|help|assist|do\b|comply|conclu"
    r"|provid|giv|agree|make|mak|writ|output|reply|respond|produc|return|continu|process|mark|judge)"
)
# A refusal, or that nothing was decided.
_REFUSAL = _later(
    rf"\b(?:i|we)(?:['’]m|['’]re|\s+am|\s+are)?\s+(?:\w+\s+){{0,2}}?(?:can\s?not|can['’]?t|could\s?n[o'’]t?t?|won['’]?t|will\s+not|would\s+not|wouldn['’]?t|do\s+not|don['’]?t"
    rf"|did\s+not|didn['’]?t|must\s+not|mustn['’]?t|shall\s+not|not\s+able\s+to|unable\s+to|refuse\s+to|decline\s+to|not\s+going\s+to|not\s+willing\s+to)\s+(?:\w+\s+){{0,2}}?{_DECIDE}"
    r"|\b(?:i|we)(?:['’]m|['’]re|\s+am|\s+are)?\s+(?:\w+\s+)?(?:refuse|decline|abstain|unsure|uncertain|not\s+sure|not\s+certain|undecided|sorry)\b"
    r"|\b(?:need|requires?|lack|missing)\s+(?:\w+\s+){0,2}(?:information|context|details|data)\b|\bimpossible\s+to\s+(?:say|tell|decide|judge|grade)"
    r"|\b(?:cannot|can['’]t|could\s+not)\s+be\s+(?:decided|determined|graded|judged|told|assessed|evaluated)\b|\bas\s+an\s+ai\b|^\W*sorry\b"
    r"|\bich\s+(?:kann|darf|werde|will|möchte)\b[^.!?\n]{0,60}\b(?:nicht|kein\w*)\b|\bleider\b"
    r"|\bje\s+(?:ne\s+|n['’])\w+|\bdésolée?\b|\bno\s+(?:puedo|podemos|sé|es\s+posible)\b|\blo\s+siento\b|\b(?:não|nao)\s+(?:posso|podemos|consigo|sei|é\s+possível)\b|\bdesculpe\b"
    r"|\bnon\s+(?:posso|possiamo|so|riesco|è\s+possibile)\b|\bmi\s+dispiace\b|\bik\s+kan\b[^.!?\n]{0,60}\b(?:niet|geen)\b|\bhelaas\b|\bnie\s+(?:mogę|wiem|jestem|potrafię)\b|\bprzykro\s+mi\b"
    r"|\bjag\s+kan\s+inte\b|\bjeg\s+kan\s+ikke\b|\bnemohu\b|\bomlouvám\b|\bnem\s+tudom\b|\bsajnálom\b|\b\w+(?:amam|emem|amıyorum|emiyorum)\b|\büzgünüm\b|\btidak\s+(?:bisa|dapat)\b|\bmaaf\b"
    r"|\bkhông\s+thể\b|\bxin\s+lỗi\b|не\s+мо(?:гу|жем)|не\s+зна[юе]|невозможно|извините|к\s+сожалению|не\s+можу|无法|無法|不能|不可以|抱歉|对不起|對不起|不知道|できません|できない|出来ません"
    r"|わかりません|分かりません|申し訳|할\s*수\s*없|모르겠|죄송|없습니다|لا\s*أستطيع|لا\s*يمكن|عذر|آسف|לא\s+יכול|מצטער|नहीं\s+(?:कर\s+)?सकत|माफ़|ไม่สามารถ|ขอโทษ|δεν\s+μπορώ|συγγνώμη",
    re.IGNORECASE,
)

_SPEAK = r"(?:say|says|said|saying|answer|answers|write|writes|reply|replies|respond|output|outputs|print|return|give|grant|award|produce|claim|claims|state|states|read|reads|end|ends|begin|begins|accept|conclude)"
# What is said of a verdict that is not the speaker's own: demonstrated, quoted, told, imagined, denied.
_AWAY = _later(
    rf"\b(?:examples?|for\s+instance|e\.\s?g\b|such\s+as|like\s+this|template|placeholder|sample|hypothetical\w*|schema|opposite|contrary|instead\s+of|rather\s+than|far\s+from|anything\s+but"
    rf"|retracted|withdrawn|naive|naïve|another\s+grader|other\s+graders|somebody|someone|some\s+would|one\s+(?:could|might|would)|you\s+(?:want|wanted|asked|told|expect)\s+me\b|you\s+(?:would|might|could|may|said)\b"
    rf"|(?:tells?|told|asks?|asked|wants?|wanted|instructs?|instructed|orders?|ordered|begs?|begged|urges?|urged|tempted|expects?|expected|supposed|forced|prompted|commands?|commanded|try|tries|tried|trying)"
    rf"\s+(?:\w+\s+){{0,3}}?(?:to\b|me\b|us\b|that\b)|wrong\s+to|absurd\s+to|mistake\s+to|tempting\s+to|premature\s+to|unfair\s+to|dishonest\s+to|if\s+(?:i|it|the|this|that|we|one|you)\b"
    rf"|(?:submission|submitted\s+answer|candidate|text|document|context|prompt|user|assistant|passage|instruction|instructions|message)(?:'s|\s+\w+)?\s+{_SPEAK}\b"
    rf"|(?:the|its?|this|that)\s+(?:answer|response|output|submission|candidate)\s+(?:itself\s+|also\s+|even\s+|then\s+|only\s+|just\s+)?"
    rf"(?:says|said|claims|claimed|states|stated|reads|contains|contained|includes|included|ends|begins|wrote|writes|outputs|holds|quotes|suggests|proposes|demands|requests|gives)\b"
    rf"|\bit\s+(?:says|said|claims|states|reads|contains|wrote|writes|ends|demands|quotes|wants)\b|quot(?:e|es|ed|ing)\b|pretend\w*|injected|smuggled|inject\w*|embedded|refus\w+|declin\w+|reject\w*|ignor\w+|disregard\w*"
    rf"|(?:would|could|should|shall|will|must|do|does|did|can|may|might)\s*(?:not|n['’]?t)\s+(?:\w+\s+){{0,2}}?(?:{_SPEAK}|be|deserve|merit|earn|pass|apply|hold)\b"
    rf"|(?:won|don|can|couldn|shouldn|wouldn|doesn|didn|mustn|isn|ain|wasn)['’`´]?t\s+(?:\w+\s+){{0,2}}?(?:{_SPEAK}|be|deserve|merit|earn|pass|apply|hold)\b|cannot\s+(?:\w+\s+){{0,2}}?(?:{_SPEAK}|be)\b"
    rf"|never\s+{_SPEAK}\b|without\s+(?:a|an|any|saying|giving)\b)"
    r"|^\W*(?:not|no|never|nope|wrong|incorrect|false|invalid|rejected|retracted|mistaken|falsch|faux|non|nein|nicht|kein|неверно|нет|не|不是|不|没有|いいえ|아니)\W*$"
    r"|^\W*you\s+\w+\W*$|^\W*(?:this|that|it)\s+(?:is|was)\s+(?:not|wrong)\b|\b(?:is|was|are|would\s+be)\s+(?:not|wrong|incorrect|false|mistaken|invalid)\W*$"
    r"|\b(?:zum\s+beispiel|beispiel|par\s+exemple|exemple|por\s+ejemplo|ejemplo|por\s+exemplo|exemplo|per\s+esempio|esempio|bijvoorbeeld|voorbeeld|na\s+przykład|przykład|örnek)\b|например|пример|例如|例えば|예를\s*들|示例|مثال",
    re.IGNORECASE,
)  # fmt: skip

# The same in a whole sentence, where it may also be about the matter: only what is said of replying itself.
_OF_REPLYING = _later(
    rf"\b(?:(?:wrong|absurd|tempting|premature|unfair|dishonest|a\s+mistake)\s+to\s+{_SPEAK}|(?:i|we)\s+(?:(?:will|would|can|could|shall|should|do|must)\s*(?:not|n['’]?t)|cannot|won['’]?t|can['’]?t|refuse\s+to|decline\s+to)\s+{_SPEAK}"
    rf"|(?:tells?|told|asks?|asked|wants?|wanted|instructs?|instructed|orders?|ordered)\s+me\s+(?:to|for)\b|naive\s+grader|example\s+of\s+(?:the|a)\s+(?:format|reply)|(?:the\s+)?opposite\s+of(?!\s+(?:what\s+)?the\s+(?:expert|reference|ideal|submission|submitted|truth))|anything\s+but|object\s+such\s+as|i\s+would\s+(?:reply|answer|say|write)"
    r"|je\s+ne\s+dirais|würde\s+ich|no\s+diría)\b|не\s+сказал|我不会说|とは言えない",
    re.IGNORECASE,
)

_TAKEN_BACK = _later(
    r"\b(?:correction|wait|oops|scratch\s+that|strike\s+that|hold\s+on|on\s+second\s+thoughts?|on\s+reflection|take\s+(?:that|it|this)\s+back|changed?\s+my\s+mind|i\s+was\s+wrong|i\s+erred|misspoke"
    r"|retract\w*|withdraw\w*|disregard\w*|revok\w*|reconsider\w*|never\s?mind|apolog\w+|mistaken|overrul\w+|not\s+my\s+(?:verdict|answer|grade|choice)|the\s+above|my\s+mistake|i\s+mean|actually"
    r"|(?:that|this|which)(?:['’]s|\s+is|\s+was|\s+would\s+be|\s+cannot\s+be|\s+can['’]t\s+be|\s+isn['’]t|\s+seems|\s+looks)\s+(?:\w+\s+)?(?:wrong|incorrect|mistaken|false|absurd|not\s+right|right|correct|untrue|it|my)"
    r"|(?:this|that|the)\s+(?:option|letter|category|choice|mark|verdict|score)(?:\s+above)?\s+(?:is|was|does|do|cannot|can|would)(?:\s*n['’]?t|\s+not|\s+be)?\s+(?:\w+\s+)?(?:wrong|incorrect|apply|hold|fit|count|right|correct|false)|quoted\s+from|is\s+quoted|a\s+quotation|(?:it|answer|submission|response)(?:['’]s|\s+is|\s+was|\s+would\s+be)?\s+(?:fail|fails|failed|wrong|incorrect|mistaken|false)[^\w\n]*$|i\s+(?:would\s+)?(?:doubt|refuse|withhold)"
    r"|(?:does|do|did)(?:n['’]t|\s+not)\s+(?:apply|hold|fit|count)[^\w\n]*$|is\s+(?:wrong|out|excluded|ruled\s+out)[^\w\n]*$"
    r")\b|^[^\w\n]*(?:no|nope|nein|non|não|nee|nie|нет|いいえ|不|아니)\b[ \t]*[,.;:!–—-]|[.!?…]\s+(?:no|nope|nein|non)\b\s*[,.;:!]",
    re.IGNORECASE | re.MULTILINE,
)
_TAKEN_BACK_ABROAD = _later(
    r"\b(?:korrektur|moment\s+mal|das\s+ist\s+falsch|das\s+stimmt\s+nicht|je\s+me\s+(?:suis\s+trompée?|corrige)|c['’]est\s+faux|correctie|errata|rettifica|corrección|me\s+equivoqué|es\s+incorrecto|está\s+mal|correção"
    r"|está\s+errado|sbagliato|poprawka|düzeltme)\b"
    r"|исправлени|ошиб|неверно|更正|不对|不對|错了|錯了|訂正|間違|待って|정정|틀렸|아니요|تصحيح|خطأ",
    re.IGNORECASE,
)

LONGEST_REASON = 20_000  # characters of prose after a verdict; more is never searched
LONGEST_CLAUSE = 400  # characters of a clause that are looked at, from its end


def turns(text: str) -> bool:
    """Whether a text has a word that may turn a verdict round: not, but, wrong, wait, falsch, ошибка ..."""
    return len(text) > LONGEST_REASON or _TURNING().search(text) is not None


def refuses(text: str) -> bool:
    """Whether a text says that nothing is decided, or excuses itself, in the first person."""
    return _REFUSAL().search(text) is not None


def takes_back(text: str) -> bool:
    """Whether a text goes back on the verdict before it, or says that there is none."""
    return (
        len(text) > LONGEST_REASON or _TAKEN_BACK().search(text) is not None or corrects_abroad(text) or refuses(text)
    )


def corrects_abroad(text: str) -> bool:
    """Whether a text goes back on what is before it in another language than English."""
    return _TAKEN_BACK_ABROAD().search(text) is not None


def is_of_replying(sentence: str) -> bool:
    """Whether a sentence speaks of a reply, in order to deny, quote or imagine it."""
    return _OF_REPLYING().search(sentence[:LONGEST_CLAUSE]) is not None


def leads_away(clause: str) -> bool:
    """Whether what comes after the clause is demonstrated, quoted, imagined or denied, and not said by the speaker."""
    clause = clause[-LONGEST_CLAUSE:]
    return _AWAY().search(clause) is not None or refuses(clause)
