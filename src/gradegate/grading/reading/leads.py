"""Whether the words directly around an object give it as something else than the grader's own verdict: an example, a denial, a condition, a question, a quotation."""

from __future__ import annotations

import re

from gradegate.grading.reading import labels, vocabulary

LONGEST = 600  # characters before an object, or after it, that are looked at
_COLON = (":", "：")
_DENIED = re.compile(
    r"\b(?:not|never|no|none|nor|neither|nothing|cannot|without|except|besides|excluding|avoid|skip|forget|stop|nicht|kein\w*|nie(?:mals)?|ohne|außer|ne|n['’]\w+|pas|jamais|aucun\w*|sauf|sans"
    r"|nunca|jamás|ningún\w*|ninguna|excepto|salvo|sin|não|nao|jamais|nenhum\w*|exceto|sem|non|mai|nessun\w*|tranne|senza|niet|geen|nooit|behalve|zonder|nigdy|żad\w+|oprócz|bez|inte|aldrig|ingen|inget|utan"
    r"|ikke|değil|asla|hariç|yok|tidak|jangan|không|đừng)\b|\w(?:n['’`´]t|nt['’])\b|\b\w+(?:m[ae]yaca[ğk]\w*|m[ae]yece[ğk]\w*|m[ae]m|m[ae]z)\b"
    r"|\b(?:не|никогда|нет|кроме|без)\b|[不没沒别勿非]|ません|ない|ぬ\b|않|아니|못|말(?:고|아)|\b(?:لا|لن|لم|ليس|ما عدا|غير|دون)\b|\b(?:לא|אין|לעולם|אל|מלבד)\b|नहीं|मत\b|ไม่",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"(?:^|[,;:(–—-]\s*|\b(?:and|but|only|even|then|what)\s+)\W*(?:if|unless|when(?:ever)?|assuming|suppos(?:e|ing)|in\s+case|provided|had\s+it|were\s+it|should\s+it|wenn|falls|sofern|angenommen|si|s['’]il|à\s+condition|supposons|cuando|suponiendo|se|caso|quando|supondo|supponendo|als|indien|jeśli|jeżeli"
    r"|gdyby|om|ifall|hvis|eğer|jika|kalau|nếu|если|когда|при\s+условии|допустим)\b|如果|若|假如|もし|なら(?:ば)?|場合|만약|라면|경우|\b(?:إذا|لو|إن)\b|\b(?:אם|אילו)\b|यदि|अगर|ถ้า",
    re.IGNORECASE,
)
_SHOWN = re.compile(
    r"\b(?:reminder|illustrations?|illustrative|samples?|demos?|demonstrations?|mock\w*|dummy|specimen|drafts?|template|placeholder|imaginary|fictional|made[- ]up|counterexamples?|muster|vorlage|entwurf|exemples?|brouillon|modèle"
    r"|muestra|borrador|plantilla|amostra|rascunho|modelo|bozza|modello|voorbeeld\w*|przykład\w*|exempel|eksempel|örne(?:k|ğin)|contoh|ví\s+dụ|образец|черновик|шаблон|пример\w*|beispiel\w*|ejemplos?|exemplos?|esempi\w*)\b"
    r"|例|示范|样例|範例|サンプル|見本|예시|예제|보기|샘플|مثال|نموذج|דוגמ|उदाहरण|ตัวอย่าง",
    re.IGNORECASE,
)
_SAY = r"(?:say|said|write|written|wrote|reply|replied|answer|answered|respond|responded|output|give|given|gave|grade|graded|put|claim|claimed|conclude|concluded|produce|produced|return|returned)"
_ATTRIBUTED = re.compile(
    rf"\b(?:might|could|would|may|should)\s+(?:\w+\s+)?have\b|\bwhat\s+(?:an?|any|some|another|the|other|your)\s+(?:\w+\s+){{0,3}}?(?:grader|judge|model|reviewer|evaluator|person|user|author|candidate|student)s?\b"
    rf"|\b(?:lazy|careless|biased|bad|sloppy|dishonest|hasty|naive|gullible|lenient|other|different|previous|earlier|second|another|corrupt|fooled)\s+(?:\w+\s+)?(?:grader|judge|model|reviewer|evaluator)s?\b"
    rf"|\b(?:likes?|needs?|expects?|wish(?:es)?|wants?|has|have)\s+(?:me|us)\s+to\b|\b(?:they|he|she|people|others|users?|students?|authors?|candidates?|submissions?|attackers?|somebody|someone|anyone|nobody)\s+(?:\w+\s+){{0,2}}?(?:{_SAY}|says|writes|wants?|wanted|asks?|asked|demands?|claims)\b"
    rf"|\b(?:copied|pasted|taken|lifted|extracted|quoted|found|seen|supplied|inserted|planted|dictated|requested|suggested|demanded|written|generated|given|came|comes)\s+(?:\w+\s+){{0,2}}?(?:from|by|in|inside|within)\s+(?:the|it|its|that|this|a|an|somebody|someone|another)\b"
    rf"|^\W*(?:(?:the|this|its?|an?|original|user['’]?s?|candidate['’]?s?|student['’]?s?|model['’]?s?)\s+){{0,3}}(?:submission|submitted\s+\w+|candidate|input|question|prompt|context|document|passage|source|user|student|human|reference|quote|quotation|excerpt|snippet|payload|message|instructions?)(?:['’]s)?(?:\s+(?:answer|text|output|response|reply|content|says?|reads?|follows?))?\W*$",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(
    rf"^\W*(?:please\s+|but\s+|so\s+|and\s+)?(?:(?:do|must|should)\s+not|don['’]?t|never\s+(?:{_SAY}|use|accept|trust)|avoid|refrain|beware|ignore|disregard|under\s+no\s+circumstances)\b"
    rf"|\b(?:i|we)\s+(?:\w+\s+){{0,2}}?(?:cannot|can['’]?t|won['’]?t|(?:would|will|could|do|must|should)(?:\s+not|n['’]t))\s+(?:\w+\s+){{0,2}}?(?:{_SAY}|use|accept|endorse|sign)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[?？؟;]\W*\Z")
_INTRODUCTORY = frozenset(
    "json object format here as follows evaluation rating score verdict assessment output report it would give".split()
)
_AFTER = re.compile(
    r"\b(?:coerced|forced|compelled|pressured|threatened|bribed|tricked|manipulated|fooled|jailbroken|duress|against\s+my|joke|joking|kidding|sarcas\w*|provisional|preliminary|tentative\w*|unofficial|submission|candidate|injection|prompt"
    r"|(?:asked|told|made|wanted|ordered|instructed|begged)\s+(?:me|us)|errat(?:um|a)|corrigend\w*|fall[aoó]|fallido|échou\w*|échec|reprov\w*|reprob\w*|suspens[oa]|durchgefallen|durchfällt|nicht\s+bestanden|bocciat\w*|fallisce|gezakt|zakt|oblan\w*"
    r"|pensándolo\s+bien|pensando\s+bem|ripensandoci|réflexion\s+faite|bei\s+näherer|bij\s+nader|po\s+namyśle|rettung|berichtigung|rectificati\w*|rectificación|retificação|rectificatie|sprostowanie|the\s+above|from\s+the\s+(?:answer|text|document|context|response))\b"
    r"|провал|не\s+прош|поправк|失败|失敗|不合格|불합격|撤回|취소|取り消|راسب|يفشل",
    re.IGNORECASE,
)


def lead(before: str, clause: str) -> str:
    """The sentence that leads up to what follows ``before``; one that begins in small letters goes on from the line before it."""
    rows = [row for row in before[-LONGEST:].rstrip(" \t\r\n*_`[").splitlines() if row.strip()]
    if clause[:1].islower() and len(rows) > 1 and rows[-1].strip().startswith(clause[:20]):
        above = rows[-2].strip()
        return clause if above.endswith((".", "!", "?", "。", "…")) else f"{above} {clause}"
    return clause


def gives_another(before: str, clause: str) -> bool:
    """Whether what follows ``before``, whose last sentence is ``clause``, is not said as the speaker's own verdict."""
    ending = before[-LONGEST:].rstrip(" \t\r\n*_`[\"'”’)")
    if _QUESTION.search(ending[-3:]) and not ending.endswith(";"):
        return not labels.is_label(re.split(r"[\n.!?]", ending[:-1])[-1].strip("#*_ "), labels.NOUNS, _INTRODUCTORY)
    sentence = lead(before, clause)
    if _IMPERATIVE.search(sentence) or _ATTRIBUTED.search(sentence):
        return True
    if not sentence.rstrip("*_ ").endswith(_COLON):
        return _CONDITION.match(sentence) is not None and "," not in sentence
    if _SHOWN.search(sentence) or _CONDITION.search(sentence):
        return True
    own = re.split(r"[,;–—]", sentence)[-1].strip(":：*_ ")
    return _DENIED.search(sentence) is not None and (
        own == sentence or not labels.is_label(own, labels.NOUNS, _INTRODUCTORY)
    )


def disowns(line: str) -> bool:
    """Whether a line after an object says that the object is not the speaker's own, or not the last word."""
    speaks = vocabulary.turns(line) or vocabulary.refuses(line)
    return speaks or any(pattern.search(line) for pattern in (_AFTER, _SHOWN, _ATTRIBUTED))
