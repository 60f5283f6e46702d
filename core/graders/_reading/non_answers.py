"""Texts that are not an answer: reasoning, chat marks, refusals and service messages."""

from __future__ import annotations

import re
import string

_KIND = (
    r"[\w:. -]{0,24}?(?:think|thought|reason|rational|planning|internal|analys[ei]s|reflection"
    r"|scratch|deliberat|monologue|(?<![a-z])cot(?![a-z]))[\w:. -]{0,24}"
)
_CLOSES = re.compile(
    rf"(?:<\|?\s?/\|?|\[/|◁/){_KIND}\|?[>\]▷]|<\|end[_ ]?(?:of[_ ])?(?:think|thought"
    r"|reason)\w{0,8}\|>|<\|(?:think|thought|reason)\w{0,8}_end\|>"
    # gpt-oss, with and without its special tokens; Gemma; models that announce their answer in
    # plain words
    r"|<\|channel\|>\s?final\b[^<]{0,80}<\|message\|>|assistantfinal|<channel\|>|<unused95>"
    r"|\.\.\.done thinking\.|\bhere is my response:",
    re.IGNORECASE,
)
_OPENING = (
    rf"(?:<\|?|\[|◁){_KIND}\|?[>\]▷]|<\|(?:begin|start)[_ ]?(?:of[_ ])?(?:think|thought"
    rf"|reason)\w{{0,8}}\|>|<\|channel\|>\s?(?:analysis|commentary)\b|<\|channel>\s?thought\b"
    r"|<unused94>|thinking\.\.\.[ ]?\n"
)
_OPENS = re.compile(rf"\s*(?:{_OPENING})", re.IGNORECASE)
# A tag of any other name marks reasoning too, unless the name says that it holds the answer, a text
# from the prompt, or a form of text.
_NAME = (
    r"(?![\w:.-]{0,30}?(?:answ|respon|output|result|solution|final|conclu|decision|verdict|judg"
    r"|rating|rate|scor|grad|label|relevan|choice|option|letter|yes|no[>\]]|value|number|level|json"
    r"|quer|question|passage|document|context|text|title|cit|source|ref))(?!(?:a|b|i|p|q|s|u|br|dd"
    r"|dl|dt|em|h\d|hr|li|ol|td|th|tr|tt|ul|code|div|html|body|mark|pre|small|span|strong|su[bp]"
    r"|table|tbody|thead|article|section|blockquote|inst|eos|bos|pad)[\s>\]])[a-z][\w:.-]{1,30}"
)
_OTHER_OPENS = re.compile(rf"\s*[<\[]({_NAME})(?:\s[^<>]{{0,60}})?[>\]]", re.IGNORECASE)
_LEFT_OPEN = re.compile(rf"(?:{_OPENING}|<{_NAME}>)\s*\Z", re.IGNORECASE)
_LONGEST_MARK = 120
_OTHER_CLOSES = re.compile(rf"(?:</|\[/)({_NAME})\s?[>\]](?=\s*\S)", re.IGNORECASE)
# Special tokens of the turn precede an answer. After the answer, a model may continue with another
# turn.
_MARK = r"<[|｜](?![|｜])[^<>|｜\s]{1,40}[|｜]>"
_TURN = re.compile(
    rf"\A(?:\s*(?:{_MARK}|<s>|<bos>|<start_of_turn>)(?:\s?(?:assistant|model)\b(?=\s*(?:\n|<)))?)++"
)
_TURN_ENDS = re.compile(rf"{_MARK}|<end_of_turn>|<eos>|<pad>|<turn\|>|</s>\s*\Z|\[/?INST\]")
_WHOLE = re.compile(
    r"\A\s*<(answer|response|output|final_answer|solution)>(.*)</\1>\s*\Z",
    re.DOTALL | re.IGNORECASE,
)


def without_thoughts(text: str) -> str:
    """Return the answer alone; empty if the model only reasoned.

    The text up to the last closing mark of reasoning is reasoning, even without an opening mark:
    chat templates often write that into the prompt. Marks of chat turns, and an `<answer>` element
    around the whole answer, are removed.
    """
    answer = _TURN.sub("", text[reasoning_length(text) :], count=1)
    answer = _TURN_ENDS.split(answer, maxsplit=1)[0]
    return _WHOLE.sub(r"\2", answer)


def reasoning_length(text: str) -> int:
    """Return the number of leading characters that are reasoning: all of them if the reasoning is
    not closed.
    """
    length = max((mark.end() for mark in _CLOSES.finditer(text)), default=0)
    for mark in _OTHER_CLOSES.finditer(text, length):
        opens = _OTHER_OPENS.match(text, length)
        is_opened = re.search(
            rf"[<\[]{re.escape(mark[1])}\b", text[length : mark.start()], re.IGNORECASE
        )
        if opens or not is_opened:
            length = mark.end()
    is_open = _OPENS.match(text, length) is not None
    if not is_open and (opens := _OTHER_OPENS.match(text, length)):
        is_open = opens[0].endswith(">") and f"</{opens[1]}" not in text[length:]
    return len(text) if is_open else length


def opened_reasoning(prompt: str) -> str:
    """Return the opening mark of reasoning at the end of a prompt; empty without one."""
    mark = _LEFT_OPEN.search(prompt, max(len(prompt) - _LONGEST_MARK, 0))
    return mark[0] if mark else ""


_SORRY = (
    r"(?:(?:i am|i'm|we are|we're) (?:\w+ )?sorry|sorry|(?:i apologi[sz]e|apologies)(?: for \w+"
    r" \w+)?|unfortunately)"
)
_CANNOT = (
    r"(?:can ?not|can't|could not|couldn't|(?:will not|won't)(?: be able to)?|(?:am|'m) (?:unable"
    r"|not able) to|(?:do not|don't) (?:think|believe|feel) (?:i|we) (?:can|could|should)"
    r"|would rather not|'d rather not)"
)
_DO = (
    "answer|assess|assist|comment|complete|comply|continue|discuss|do|engage|evaluate|fulfil"
    "|fulfill|generate|give"
    "|grade|help|judge|offer|participate|process|produce|provide|rate|respond|score|support|write"
)

REFUSALS = {
    "cannot do it": rf"(?:i|we) ?{_CANNOT} (?:\w+ly )?(?:{_DO})\b",
    "is sorry that it cannot": (
        rf"{_SORRY}\W+(?:but |that )?(?:i|we) ?{_CANNOT}\b(?! (?:find(?! out)|locate|see)\b)"
    ),
    "must decline": (
        r"(?:i|we) (?:must|have to|need to|would have to) (?:\w+ly )?(?:decline|refuse)\b"
    ),
    "declines": r"(?:i|we) (?:\w+ly )?(?:decline|refuse) to\b",
    "is afraid that it cannot": rf"(?:i am|i'm|we are|we're) afraid(?: that)? (?:i|we) ?{_CANNOT}"
    rf" (?:\w+ly )?(?:{_DO})\b",
    "refuses": r"(?:i (?:must )?refuse|no comment|request denied|rating refused)\W*\Z",
    "speaks of itself": r"as an? (?:(?:ai|artificial intelligence)(?:(?: [\w-]+)? model| assistant"
    r"| system)?|(?:large )?language model|assistant)(?:\W*\Z|[^\w\s-]"
    r"|\s+(?:i|we|my|it|(?:built|created|designed|developed|made|trained) by|with|without)\b)",
    "says what it is": (
        r"(?:i am|i'm) (?:just |only )?an? (?:ai|large language model|language model)\b"
    ),
    "names its rules": r"(?:this|the|your) (?:request|content|prompt|response"
    r"|output)(?: (?:violates|goes against|(?:is|was) blocked)\b| (?:is|was|has been) (?:filtered"
    r"|flagged|refused|rejected)\b.{0,60}\b(?:content|guidelines|moderation|policy|safety)\b)",
    "is filtered": r"(?:blocked by (?:the |our )?(?:content|safety)"
    r"|content (?:filter(?:ed)?|policy violation)|content_filter)\b",
    "is held back by rules": r"my (?:guidelines|policy|policies|programming|rules) (?:prevents?"
    r"|forbids?|do(?:es)? not allow|prohibits?)\b",
    "is not comfortable": (
        r"(?:i am|i'm) not comfortable\b|i (?:do not|don't) feel (?:comfortable|able)\b"
    ),
    "in German": r"(?:(?:es )?tut mir (?:sehr )?leid|leider"
    r"|entschuldigung)\W+(?:\w+ )?(?:ich (?:kann|darf|werde)"
    r"|(?:kann|darf|werde) ich)\b(?!.{0,60}\bfinden\b)|ich (?:kann|darf"
    r"|werde) (?:\w+ ){0,4}nicht (?:\w+ )?(?:antworten|beantworten|bewerten|beurteilen|helfen)\b",
    "in French": r"(?:je suis (?:vraiment )?d[ée]sol[ée]e?"
    r"|d[ée]sol[ée]e?)\W+(?:mais )?je (?:ne (?:peux|puis)|refuse)\b(?!.{0,60}\btrouver\b)"
    r"|je ne (?:peux|puis) pas (?:\w+ )?(?:aider|[ée]valuer|noter|r[ée]pondre)\b",
    "in Spanish": r"lo siento\W+(?:pero )?no (?:puedo|podemos)\b(?!.{0,60}\bencontrar\b)"
    r"|no (?:puedo|podemos) (?:ayudar|calificar|evaluar|responder)\w*\b",
    "in Chinese": r"(?:很?抱歉|对不起|對不起)[，,。!！\s]*我?(?:无法|無法|不能|不可以)(?!找到)"
    r"|我(?:无法|無法|不能)(?:协助|協助|回答|帮助|幫助|评|評|提供)",
    "in Japanese": r"(?:申し訳(?:ありません|ございません)|すみません|ごめんなさい)(?:が|。|、|\s)*"
    r".{0,30}(?:できません|できない|出来ません)"
    r"|.{0,20}(?:お手伝い|回答|評価|お答え)(?:は|が|を|する(?:こと)?が|することは)?(?:できません|いたしかねます)",
}
"""Patterns of the beginning of refusals, by type.

They match the beginning of an answer in lower case, with plain apostrophes and single blanks. "I
cannot find it in the passage" is an answer and matches none of them.
"""

APOLOGY = (
    r"(?:(?:i am|i'm|we are|we're) (?:\w+ )?sorry|sorry|i apologi[sz]e|(?:my )?apologies)"
    r"(?:\W*[0-9]?\W*\Z|\W+(?:but |that |for \w+ \w+\W+)?(?:i|we|you|your|there was an?|to hear)\b"
    r"(?! (?:can ?not|can't|could not|couldn't|did not|didn't|do not|don't) (?:find|locate|see)\b))"
)
"""Pattern of apologies in which a model speaks of itself or of the asker.

"I'm sorry, the passage does not say" is about the passage and does not match.
"""

_LEAD = (
    r"(?:(?:error|warning|notice|oops|attention|unfortunately|sorry|(?:i'm|i am|we're|we are) sorry"
    r"|the|your|this|our|an?|api|llm|openai|request failed|request error)\W+(?:but )?)*"
)
_SHORT = r"(?:balance|calls?|credits?|funds|messages|quota|requests?|tokens?)"
_MACHINE = (
    r"(?:api|backend|deployment|endpoint|engine|gateway|model|server|service|system|upstream)"
)
_OVER = r"(?:exceeded|exhausted|hit|reached|used up)"

SERVICE_MESSAGES = {
    "limits the rate": _LEAD
    + r"(?:\w+ ){0,2}rate[- ]?limit(?:s|ed|er)?\b(?:\W*\Z|\W?[.:!]|(?: \w+){0,3} "
    rf"(?:error|{_OVER})\b)",
    "is the code of an error": r"[\"'{(\[]*\w*(?:insufficient_quota|rate_limit|context_length"
    r"|content_filter|invalid_api_key|invalid_request|model_not_found|overloaded_error|server_error"
    r"|authentication_error|permission_error)\w*[\"'})\]]*(?:\W*\Z|[:,.])",
    "is asked too often": _LEAD
    + r"too many (?:concurrent |parallel )?(?:calls|connections|requests|tokens)\b",
    "is asked too often, as a number": r"[0-9]\W{1,3}(?:too many requests"
    r"|please (?:re-?try|try again|wait))(?:\W*\Z|[,.;] (?:please|slow|try|wait)\b)",
    "names a quota": _LEAD
    + r"(?:\w+ ){0,3}(?:quota|(?:credit|daily|monthly|request|spending|token|usage) limit)"
    rf"(?: \w+){{0,3}} {_OVER}\b",
    "reports a limit that is used up": r"you(?:'ve| have| are)? "
    r"(?:\w+ )?(?:been (?:banned|blocked|throttled)\b|(?:exceeded|hit"
    r"|out of|reached|run out of|used (?:up|all)) (?:\w+ ){0,3}(?:allowance|credits?|limits?"
    r"|messages|quota|requests|tokens)\b)",
    "counts what is left": r"(?:you (?:\w+ )?have |your \w+ (?:has |have )?"
    r"|there (?:are|is) )?(?:only )?"
    rf"(?:\d[\d.,]*|no|zero) (?:\w+ ){{0,2}}{_SHORT} (?:available|left|remain|remaining)\b",
    "lacks money, it says": _LEAD
    + r"(?:\w+ ){0,2}(?:balance|credits?) (?:is|are) (?:too low|exhausted|insufficient|used up)\b",
    "names its longest text": _LEAD
    + r"(?:model's )?(?:maximum|max) context length (?:is|was|exceeded|of \d+)\b"
    r"|(?:the |your )?(?:input|prompt)(?: is)? too long\b",
    "lacks money": _LEAD
    + r"(?:you (?:\w+ )?have )?(?:insufficient|low|not enough|out of) (?:\w+ )?"
    r"(?:balance|credits?|quota|tokens)\b",
    "asks to come back": r"(?:please (?:re-?try|slow down|try again|wait)"
    r"|(?:re-?try|try again|wait) (?:\d|after|in|later)|(?:re-?try|slow down|try again)\W*\Z)",
    "speaks of an account": r"your (?:access token|account|api key|billing|ip address|key"
    r"|organi[sz]ation|payment|plan|subscription|trial)\b.{0,40}?\b(?:ended|exceeded|expired"
    r"|deactivated|disabled|denied|failed|inactive|invalid|required|revoked|suspended)\b",
    "asks to sign in": r"(?:please (?:authenticate|log ?in|sign in)|(?:please"
    r" )?(?:check|update|verify) your"
    r" (?:api|billing|plan)|(?:please )?contact (?:support|sales)|(?:please )?upgrade (?:to \w+"
    r"|your (?:account|plan)) (?:for|to)\b)",
    "is not there": rf"{_LEAD}(?:\w+ )?{_MACHINE}\b(?: \S+)? (?:does not exist"
    r"|(?:is|was|are|has been)(?: currently| temporarily)? (?:at capacity|busy|disabled|down"
    r"|loading|offline|overloaded|throttled|unavailable"
    r"|under maintenance|not (?:\w+ )?(?:available|found|loaded|ready)))\b",
    "is kept up": r"(?:we are |we're )?(?:currently )?(?:down for|scheduled|under|undergoing)"
    r" (?:scheduled )?maintenance\b",
    "has trouble": r"(?:we are|we're) (?:currently |temporarily )?(?:having (?:issues|technical"
    r"|trouble)|overloaded|(?:experiencing|receiving) (?:\w+ ){0,2}(?:demand|difficulties|issues"
    r"|load|outage|problems|requests|traffic|volume))",
    "names a fault": rf"{_LEAD}(?:internal (?:server )?error|bad (?:gateway|request)\b"
    r"|service (?:temporarily )?unavailable|gateway time-?out|unauthori[sz]ed\W*\Z|forbidden\W*\Z"
    r"|(?:access|permission) denied|payment required|no healthy upstream|upstream (?:connect"
    r"|request)|(?:request|connection|operation) (?:aborted|failed|refused|reset|timed[- ]?out)"
    r"|time[d-]* ?out\W*\Z|authentication (?:error|failed|required)"
    r"|(?:incorrect|invalid|missing) (?:api[- ]?key|credentials|request|token)"
    r"|context (?:length|window) exceeded|(?:cuda )?out of memory)",
    "is an error": r"(?:\w*(?:error|exception)|traceback|fatal|failure)(?:(?: \w+)?\s*[:([]"
    r"|(?: code| http| status)?\s*\b[45]\d\d\b)",
    "reports an error": r"(?:an?(?: \w+)? error (?:has )?(?:happened|occurred)|something went wrong"
    r"|oops\b|there was an? (?:error|issue|problem) (?:generating|processing|with your)"
    r"|(?:failed|unable) to \w+(?:\W*\Z|[:.]"
    r"|(?: an?| the| your| any)? (?:answer|completion|model|output|request|response|server)))",
    "names a status": r"(?:http(?:/\d(?:\.\d)?)?|status"
    r"|response)?\W{0,3}(?:code)?\W{0,3}[45]\d\d\W{1,3}(?:bad (?:gateway|request)|error|forbidden"
    r"|gateway time|internal server|not found|payment required"
    r"|request (?:time|ent)|server error|service unavailable|too many|unauthori)",
    "is a web page": r"<(?:!doctype|\?xml|html|head|body)\b",
    "is an error as JSON": (
        r"\{ ?[\"'](?:error|errors|detail|message|code|status|statuscode|status_code)[\"'] ?:"
    ),
}
"""Patterns of the beginning of service messages, by type; matched like refusals.

An answer about an error does not begin like this.
"""

_OF_THE_PASSAGE = r"(?:this|the) (?:context|document|passage|text)"
ABOUT_THE_PASSAGE = {
    "cannot answer from it": rf"(?:i|we) ?{_CANNOT} (?:\w+ly"
    r" )?(?:answer|assess|complete|judge)\b[^.!?:;]*"
    rf"\b(?:based on|from|given|in|using|with) {_OF_THE_PASSAGE}\b",
    "says when a machine rests": rf"(?:the |an? )?{_MACHINE} (?:is|are|was|were) \w+"
    r" (?:because|during|if|in|unless"
    r"|when) (?!\d|a few|maintenance|progress|the moment|use\b|your\b|you\b)\w",
    "explains a status": r"(?:http |status |error )?[45]\d\d(?: \w+){1,4}"
    r" (?:indicates|is|means|says|shows|stands|tells)\b",
    "speaks of errors": r"(?:access|permission) denied (?:errors?|messages?)\b",
    "says when an account is closed": r"your account is \w+ (?:if|unless|when)\b",
    "says where a thing is blocked": r"(?:this|the) (?:content|request) (?:is|was) blocked"
    r" (?:by (?!our\b|the\b|a\b)|in )\w",
}
"""Statements about the passage's content that begin like refusals or messages.

With a rating they are answers; without one they count as refusals or messages.
"""

_BEGINNINGS = {
    kind: re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
    for kind, patterns in (
        ("refusal", REFUSALS.values()),
        ("service message", SERVICE_MESSAGES.values()),
        ("apology", (APOLOGY,)),
        ("statement about the passage", ABOUT_THE_PASSAGE.values()),
    )
}
_LONGEST = 200
_AROUND = string.whitespace + "\u00a0\u200b\u3000\ufeff\"'“”«»*_#>([-`"
_QUOTES = str.maketrans("‘’`´", "'" * 4)


def begins_like(kind: str, text: str) -> bool:
    """Return whether a text begins like a text of a kind, after quotes and markup.

    Args:
        kind: refusal; service message (about the service itself, its limits or an account); apology
            (that is not about the passage); or statement about the passage (that begins like a
            refusal or message).
    """
    beginning = " ".join(text.lstrip(_AROUND)[:_LONGEST].lower().translate(_QUOTES).split())
    return _BEGINNINGS[kind].match(beginning.lstrip(_AROUND)) is not None
