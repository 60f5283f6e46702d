"""Parsing of a model's text into a rating: pure functions that never guess a number and never
raise.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ...types import MAX_RATING, Status
from .non_answers import begins_like, without_thoughts
from .rating_marks import begins_with_rating, named_rating, names_number

_ADVERB = (
    r"(?:(?:also|clearly|completely|directly|entirely|equally|highly|indeed|therefore|thus)\s+)?"
)
_RIGHT = r"(?:correct|relevant|right|true)"
_WRONG = r"(?:false|incorrect|irrelevant|wrong)"
_IS = r"(?:is|are|was|were|seems|appears)(?:\s+to\s+be)?"
_IS_NOT = r"(?:(?:is|are|was|were)\s+not|(?:is|are|was|were)n't)"
_DOES_NOT = r"(?:does\s+not|doesn't|do\s+not|don't|did\s+not|didn't)"

_ENDS = r"(?![\w\u0300-\u036f]|[-‐‑'][^\W_])"
_FOUND = r"be\s+(?:answered|derived|found|inferred)"

_PATTERNS = (
    (1, rf"\byes{_ENDS}"),
    (0, rf"\bno{_ENDS}(?!\s*\w)"),  # "no" in "no evidence" is not an answer
    (1, rf"\A\W*{_ADVERB}{_RIGHT}\W*\Z"),
    (0, rf"\A\W*(?:not\s+{_ADVERB}{_RIGHT}|{_WRONG})\W*\Z"),
    (1, rf"\b{_IS}\s+{_ADVERB}(?:an?\s+)?{_RIGHT}\b"),
    (0, rf"\b{_IS_NOT}\s+{_ADVERB}(?:an?\s+)?{_RIGHT}\b"),
    (0, rf"\b{_IS}\s+{_ADVERB}(?:an?\s+)?{_WRONG}\b"),
    (0, r"\b(?:incorrectly|wrongly)\b"),
    (
        1,
        r"\b(?:answers\s+the|(?:contains|gives|includes|provides)\s+(?:an"
        r"|the)(?:\s+correct)?\s+answer)\b",
    ),
    (0, rf"\b{_DOES_NOT}\s+(?:directly\s+)?(?:answer|contain|give|include|provide)\b"),
    (1, rf"\bcan\s+{_FOUND}\b"),
    (0, rf"\b(?:can\s*not|can't|could\s+not|couldn't)\s+{_FOUND}\b"),
)
# A text with a comparison or a doubt says neither yes nor no.
_HEDGES = re.compile(
    r"\b(?:(?:do|did|does|would)(?:\s+not|n't)\s+(?:agree|believe|say|see|think)"
    r"|not\s+(?:an?\s+)?[\"'“]?(?:no|yes)|never\s+(?:answers?|contains?|gives?|includes?|provides?)"
    r"|barely|doubtful|few|hardly|neither|no\s+longer|nobody|none\s+of|nothing|rarely|scarcely"
    r"|unlikely|although|but|except|however|if|in\s+part|maybe|might|only|partial|partially|partly"
    r"|perhaps|possibly|somewhat"
    r"|though|unclear|uncertain|unless|whether|yet|(?:can\s*not|can't|could\s+not|unable\s+to)\s+"
    r"(?:be\s+(?:certain|determined|sure)|conclude|decide|determine|judge|say|tell))\b"
)


def _plain(text: str) -> str:
    return text.lower().replace("’", "'")


def _verdicts_of_patterns(plain: str) -> set[int]:
    return {verdict for verdict, pattern in _PATTERNS if re.search(pattern, plain)}


def _verdicts_in(text: str) -> set[int]:
    """Return 1 if prose says yes, and 0 if it says no; empty if the text doubts or compares the
    two.

    Examples with an answer: "I would say yes", "The passage is not relevant.", "It does not answer
    the question". Without one: "It is partially correct", "It is correct, but not complete", "There
    is no evidence".
    """
    plain = _plain(text)
    return set() if _HEDGES.search(plain) else _verdicts_of_patterns(plain)


_ITEM = re.compile(r"\A\W*1[.)]\s+")
_SENTENCE_ENDS = re.compile(r"[.!?](?=\s)|\n")
_TURNS = re.compile(
    r"\W*(?:although|but|except|however|nevertheless|on the other hand|still|though|unless|yet)\b",
    re.IGNORECASE,
)


def first_verdict(text: str) -> int | None:
    """Return 1 if the first sentence says yes, 0 if it says no, and nothing after it says otherwise
    or turns; else None.

    The text may be cut off after that sentence.
    """
    text = _ITEM.sub("", text.strip())
    ends = _SENTENCE_ENDS.search(text)
    if ends is None:
        return None
    first, rest = text[: ends.end()], text[ends.end() :]
    verdicts = _verdicts_in(first)
    if len(verdicts) != 1 or _TURNS.match(rest):
        return None
    (verdict,) = verdicts
    return None if _verdicts_of_patterns(_plain(rest)) - verdicts else verdict


UNANSWERABLE = (
    "unanswerable",
    "no",
    "no answer",
    "not enough information",
    "unknown",
    "it is not possible to tell",
    "it does not say",
    "no relevant information",
)
"""A model's text if the passage does not answer the question (EXAM++, section 4.2.1)."""

CUT_OFF = "cut off"
EMPTY = "empty"
REFUSED = "a refusal"
SERVICE = "the endpoint sent an error message instead of an answer"
NO_JSON = "not the requested JSON"
ABSTENTION = "XXX"
"""Reply of the Q and QA judges if they cannot tell (llm-judge-retriever-selection, the prompts for
Q and QA).
"""
UNDECIDED = "the model could not decide"
BOTH = "ambiguous: both yes and no"
NO_RATING = "a number that is not marked as the rating"
MALFORMED = "cut off or malformed JSON"
WITHOUT_JSON = "no JSON"
MORE_FIELDS = "the JSON has more fields than the requested"
ITEM_NOT_TEXT = "an item of the list is not text"
EMPTY_LIST = "the list is empty"


@dataclass(frozen=True)
class Parsed:
    """Result of parsing a model's text.

    `rating` is None exactly if `status` is failed, and `reason` then says why. `defaulted` means
    that the text does not name the rating.
    """

    rating: int | None
    status: Status
    reason: str | None = None


RULES_VERSION = 5
"""Version of these parsing rules. It is part of a grader's identity, so that grades by other rules
are kept apart.
"""


def parse_rating(text: str, complete: bool = True, top: int = MAX_RATING) -> Parsed:
    """Read a rating: a whole number of the scale that is the whole answer, or that is marked as the
    rating.

    Reasoning is removed first. `named_rating` defines the marks, and which of several ratings
    counts.

    An answer with a number but without a rating fails. Part of a range, a fraction, a decimal or a
    length ("4-6 weeks", "4.5") is not a rating.

    An answer without any number gets a default on the papers' scale of 0 to 5. The default is 0 if
    it denies an answer or is ill-formed, else 1 (EXAM++, sections 4.2.1 and 4.2.2). On the shorter
    scales of direct graders, which have no such default, it fails.

    A refusal or a service message fails, even if it contains digits. An apology without a rating
    fails, too. But a text that begins like a refusal may be about the passage. Then it has the
    rating that it names. Example: "We cannot answer it from this passage. Rating: 0".

    Args:
        text: the model's text.
        complete: False if a limit cut it off.
        top: top of the scale, which begins at 0.
    """
    text = without_thoughts(text)
    if (missing := missing_answer(text, complete)) is not None:
        return _failed_parse(missing)
    reason = no_answer(text)
    if reason is not None and not begins_like("statement about the passage", text):
        return _failed_parse(reason)
    rating = named_rating(text, top)
    if rating is not None:
        return Parsed(rating, "graded")
    if reason is not None:
        return _failed_parse(reason)
    if begins_like("apology", text):
        return _failed_parse(REFUSED)
    if top < MAX_RATING:
        return _failed_parse("no rating")
    if names_number(text):
        return _failed_parse(NO_RATING)
    return Parsed(0 if says_unanswerable(text) or ill_formed(text) else 1, "defaulted")


def missing_answer(text: str, complete: bool) -> str | None:
    """Return why a text without its reasoning cannot be read; None if it can."""
    if not complete:
        return CUT_OFF
    return EMPTY if _is_empty(text) else None


def no_answer(text: str) -> str | None:
    """Return why a text is not an answer: a refusal, or a service message; None if it may be an
    answer.
    """
    if begins_like("refusal", text):
        return REFUSED
    return SERVICE if begins_like("service message", text) else None


def settled_rating(text: str, top: int = MAX_RATING) -> bool:
    """Return whether a text begins with a complete rating, so that the model's further text can be
    skipped.

    Later text can change the rating only by marking another one.

    Args:
        text: the model's text so far.
        top: top of the scale, as for `parse_rating`.
    """
    return begins_with_rating(without_thoughts(text), top)


# Yes, no and letters must be at the beginning, except for quotes, markup and the word "answer".
_FILLER = (
    r"[\s\"'“”‘’«»`*_#>(\[\-\u200b\ufeff]*+"  # possessive, so that a megabyte of it takes no time
)
_LEAD = rf"{_FILLER}(?:(?:[Ff]inal )?(?:[Aa]nswer|ANSWER){_FILLER}[:=]{_FILLER})?"
_WORD_ENDS = r"(?![^\W_]|[\u0300-\u036f]|[-‐‑'’][^\W_])"
_VERDICTS = {"yes": 1, "true": 1, "no": 0, "false": 0}
_YES_NO = re.compile(
    rf"{_LEAD}(?:(?i:(?:(?:the|my|correct|final)\s+)*(?:answer|judge?ment"
    rf"|verdict)(?:\s+is\b)?){_FILLER}[:=]?{_FILLER})?"
    rf"([Yy][Ee][Ss]|[Nn][Oo]|[Xx]{{3}}|(?i:true|false)(?=[^\w\s]|\s*\Z|[ \t]*[\n\r])){_WORD_ENDS}"
)
_LETTER = re.compile(
    rf"{_FILLER}(?:(?:(?:the|my|correct|right|best|final)\s+)*(?:answer|option"
    rf"|choice)\b(?:\s+is\b)?{_FILLER}[:=]?{_FILLER}(?:option\b{_FILLER})?)?([^\W_]+){_WORD_ENDS}",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[^\W_]+|[/|\\&,.;:!?…]")
_CONNECTORS = frozenset("/|\\&,") | {"or", "and", "OR", "AND"}


def parse_yes_no(text: str, complete: bool = True) -> Parsed:
    """Read yes (1) or no (0) at the beginning of the answer, in any case, or prose with exactly one
    of them.

    "True" and "False" as the whole answer, and "The answer is: yes", begin with it. An answer with
    both fails, and so do doubts and refusals. A verdict in the first sentence of prose counts, even
    if the rest is cut off.

    Args:
        text: the model's text. XXX means that a Q or QA judge cannot tell.
        complete: False if a limit cut it off.
    """
    text = without_thoughts(text)
    match = _YES_NO.match(text)
    first = (
        first_verdict(text[:_LONGEST_PROSE]) if match is None and no_answer(text) is None else None
    )
    if first is not None:
        return Parsed(first, "graded")
    if (missing := missing_answer(text, complete)) is not None:
        return _failed_parse(missing)
    if (reason := no_answer(text)) is not None:
        return _failed_parse(reason)
    if match is None:
        return _verdict_in_prose(text)
    if match[1].upper() == ABSTENTION:
        return _failed_parse(UNDECIDED)
    if _goes_on(text, match.end(), _other_words(match[1]), bare=True)[0]:
        return _failed_parse(BOTH)
    return Parsed(_VERDICTS[match[1].lower()], "graded")


_LONGEST_PROSE = 100_000  # characters in which yes and no are searched; models write less


def _verdict_in_prose(text: str) -> Parsed:
    verdicts = _verdicts_in(text[:_LONGEST_PROSE])
    if len(verdicts) > 1:
        return _failed_parse(BOTH)
    return Parsed(verdicts.pop(), "graded") if verdicts else _failed_parse("neither yes nor no")


def settled_yes_no(text: str) -> bool:
    """Return whether further text cannot change the result of `parse_yes_no`."""
    text = without_thoughts(text)
    match = _YES_NO.match(text)
    return match is not None and _goes_on(text, match.end(), _other_words(match[1]), bare=True)[1]


def parse_letter(text: str, letters: Sequence[str], complete: bool = True) -> Parsed:
    """Read the letter of a choice: B, b., (B), B) rise, Answer: B, The answer is B.

    An article is not a choice: "A rise" fails, while "A. rise" and "A" are the letter A.

    Args:
        text: the model's text.
        letters: the letters to choose from.
        complete: False if a limit cut it off.

    Returns:
        A `rating` that is the index among the letters, from 0.
    """
    text = without_thoughts(text)
    if (missing := missing_answer(text, complete)) is not None:
        return _failed_parse(missing)
    match = _LETTER.match(text)
    position = (
        {letter.lower(): n for n, letter in enumerate(letters)}.get(match[1].lower())
        if match
        else None
    )
    if match is None or position is None:
        return _failed_parse(f"none of the letters {', '.join(letters)}")
    following = text[match.end() :]
    if (
        match[1] in ("a", "A", "i", "I")
        and following[:1].isspace()
        and following.lstrip(" \t\u00a0")[:1].isalnum()
    ):
        return _failed_parse(f"ambiguous: {match[1]} may be a word")
    if _goes_on(text, match.end(), _other_letters(match[1], letters), bare=False)[0]:
        return _failed_parse("ambiguous: more than one letter")
    return Parsed(position, "graded")


def settled_letter(text: str, letters: Sequence[str]) -> bool:
    """Return whether further text cannot change the result of `parse_letter`."""
    text = without_thoughts(text)
    match = _LETTER.match(text)
    if match is None or match[1].lower() not in {letter.lower() for letter in letters}:
        return False
    return _goes_on(text, match.end(), _other_letters(match[1], letters), bare=False)[1]


def _other_words(word: str) -> frozenset[str]:
    """Return the words for the opposite answer, spelled as in answers; other sentences rarely
    contain them.
    """
    others = ("no", "false") if _VERDICTS.get(word.lower()) else ("yes", "true")
    return frozenset(
        written for other in others for written in (other, other.title(), other.upper())
    )


def _other_letters(letter: str, letters: Sequence[str]) -> frozenset[str]:
    """Return the other letters in the case of the given one, so that the article in "C, a rise" is
    not a letter.
    """
    return frozenset(other.upper() if letter.isupper() else other.lower() for other in letters) - {
        letter
    }


def _goes_on(text: str, begin: int, others: Collection[str], bare: bool) -> tuple[bool, bool]:
    """Return whether another answer follows an answer, and whether that is settled.

    `others` are the other answers. With `bare`, another answer counts even without "or", a slash or
    a comma before it.
    """
    connected = bare
    for token in _TOKEN.finditer(text, begin):
        ended = token.end() < len(text) or not token[0].isalnum()
        if token[0] in _CONNECTORS:
            connected = True
            continue
        return connected and token[0] in others, ended
    return False, False


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object after a check that its keys differ, because an answer with two ratings is
    ambiguous.
    """
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("duplicate key")
    return fields


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys)


def _read_json(text: str, begin: int) -> Any:
    """Return the JSON value at a position, regardless of later text; None for invalid JSON."""
    try:
        return _DECODER.raw_decode(text, begin)[0]
    except (ValueError, RecursionError):  # malformed or cut off; nested too deeply for Python
        return None


def parse_object(text: str) -> dict[str, Any] | None:
    """Return the first JSON object in a text, which may have prose or a fence around it; None
    without one.
    """
    text = without_thoughts(text)
    opening = text.find("{")
    value = _read_json(text, opening) if opening >= 0 else None
    return value if isinstance(value, dict) else None


def parse_json_rating(text: str, top: int = MAX_RATING, complete: bool = True) -> Parsed:
    """Read `{"rating": 4}` as the whole answer, with or without a Markdown fence; anything else
    fails.

    Args:
        text: the model's text after a request for JSON with this schema.
        top: top of the scale, which begins at 0.
        complete: False if a limit cut it off.
    """
    rating = _only_value(text, "rating", complete)
    if isinstance(rating, Parsed):
        return rating
    if type(rating) is float and rating.is_integer():  # JSON Schema counts 4.0 as an integer
        rating = int(rating)
    if type(rating) is not int:  # True is an int as well
        return _failed_parse("the rating in the JSON is not a whole number")
    if not 0 <= rating <= top:
        return _failed_parse(f"rating {_short_number(rating)} is out of range (0 to {top})")
    return Parsed(rating, "graded")


def parse_json_answer(
    text: str, field: str = "answer", letters: Sequence[str] = (), complete: bool = True
) -> Parsed:
    """Read `{"answer": "Yes"}`, or a letter if there are `letters`, as the whole answer like
    `parse_json_rating`.

    Args:
        text: the model's text after a request for JSON with this schema.
        field: the key of the answer.
        letters: the letters to choose from; empty for yes/no questions.
        complete: False if a limit cut it off.
    """
    answer = _only_value(text, field, complete)
    if isinstance(answer, Parsed):
        return answer
    if not isinstance(answer, str):
        return _failed_parse(f"the JSON has no text under {field}")
    options = {letter.lower(): n for n, letter in enumerate(letters)} or _VERDICTS
    reply = answer.strip().lower()
    if reply not in options:
        return _failed_parse(
            UNDECIDED
            if reply.upper() == ABSTENTION
            else f"the {field} in the JSON is not among the choices"
        )
    return Parsed(options[reply], "graded")


_FENCE = re.compile(r"(?:```[a-zA-Z]*\s++)?(?=\{)")
_AFTER = re.compile(r"\s*+(?:```)?\s*+")


def _only_value(text: str, field: str, complete: bool) -> Any:
    """Return the only field's value of an object that is the whole text, or a `Parsed` with the
    reason of a failure.
    """
    text = without_thoughts(text)
    if (missing := missing_answer(text, complete)) is not None:
        return _failed_parse(missing)
    bare = text.lstrip("\ufeff").lstrip()
    opening = _FENCE.match(bare)
    if opening is None:
        return _failed_parse(no_answer(text) or NO_JSON)
    try:
        fields, end = _DECODER.raw_decode(bare, opening.end())
    except (ValueError, RecursionError):  # malformed or cut off; nested too deeply for Python
        return _failed_parse(MALFORMED)
    if not _AFTER.fullmatch(bare, end):
        return _failed_parse(NO_JSON)
    if field not in fields:
        return _failed_parse(f"the JSON has no {field}")
    if len(fields) > 1:
        return _failed_parse(f"{MORE_FIELDS} {field}")
    return fields[field]


def parse_list(text: str, field: str) -> tuple[list[str], str | None]:
    """Read a list of texts: `{"questions": [...]}` or a bare JSON list, with prose or a fence
    around it.

    Args:
        text: the model's text.
        field: the key of the list.

    Returns:
        The texts, stripped, without empty ones and repetitions, in order; and the reason for an
        empty list, else None.
    """
    text = without_thoughts(text)
    opening = re.search(r"[\[{]", text)
    if opening is None:
        return [], EMPTY if _is_empty(text) else WITHOUT_JSON
    value = _read_json(text, opening.start())
    if value is None:
        return [], MALFORMED
    if isinstance(value, dict):
        value = value.get(field)
        if not isinstance(value, list):
            return [], f"the JSON has no list under {field}"
    if not all(isinstance(item, str) for item in value):
        return [], ITEM_NOT_TEXT
    items = list(dict.fromkeys(filter(None, (item.strip() for item in value))))
    return items, None if items else EMPTY_LIST


_PASSAGE = (
    r"(?:(?:the|this|that|given|provided)"
    r" )*(?:article|context|document|excerpt|information|paragraph|passage|snippet"
    r"|text)(?: provided| given)?"
)
_NEVER = r"(?:(?:do|does|did)(?: not|n't)|fails to)(?: really| actually| even| seem to| appear to)?"
_NOT = r"(?:(?:is|was)(?: not|n't)|(?:cannot|can't|could not) be)"
_QUESTION = r"(?:(?:the|this|that|your|given) )*(?:key fact|nugget|query|question|statement)"
_ANSWER = r"(?:an?|any|the)(?: (?:clear|correct|relevant))? answer"
_INFORMATION = (
    r"(?:(?:any|enough|the|sufficient|relevant|useful|necessary|needed|required)"
    r" )+(?:details?|information)"
)
_SENTENCES = (
    rf"{_PASSAGE} {_NEVER} (?:address|answer|convey|cover|discuss|mention|state"
    rf"|support) {_QUESTION}",
    rf"{_PASSAGE} {_NEVER} (?:contain|give|have|include|offer|provide)"
    rf" (?:{_ANSWER}|{_INFORMATION})",
    rf"{_PASSAGE} {_NEVER} (?:say|tell|mention it)(?= ?[.;]|\Z)",
    rf"{_PASSAGE} is (?:completely |entirely )?(?:irrelevant|not relevant|not related"
    rf"|unrelated) to {_QUESTION}",
    rf"{_QUESTION} (?:{_NOT} (?:addressed|answered|answerable)|is unanswerable)",
    rf"{_ANSWER} {_NOT} (?:contained|determined|found|given|in|mentioned|present|provided|stated)",
    rf"there (?:is|are|was) (?:no (?:relevant )?(?:answer|information|mention)|not {_INFORMATION})",
    "unanswerable",
)
_SAYS_UNANSWERABLE = re.compile(
    rf"(?:no[,.:;] |(?:the )?answer(?: key)?(?: is)?: )?(?:{'|'.join(_SENTENCES)})\b"
)
"""Sentences that deny an answer, like the paper's expressions; in lower case, as at the beginning
of answers.
"""
_HEDGED = re.compile(
    r"\b(?:although|but|complete(?:ly)?|directly|entirely|except|exact(?:ly)?|explicitly|fully"
    r"|however|only|part(?:ial)?ly|still|though|yet)\b"
)


def says_unanswerable(text: str) -> bool:
    """Return whether a text says that there is no answer.

    The text is one of the paper's expressions, or begins with one that has several words. It may
    also begin with a sentence that denies an answer ("The passage does not answer the question.")
    without a later reservation.
    """
    bare = " ".join(_strip_punctuation(text).lower().replace("’", "'").split())
    if bare in UNANSWERABLE or any(
        bare.startswith(expression) and not bare[len(expression)].isalnum()
        for expression in UNANSWERABLE
        if " " in expression and len(bare) > len(expression)
    ):
        return True
    denial = _SAYS_UNANSWERABLE.match(bare)
    return denial is not None and _HEDGED.search(bare, denial.end()) is None


# Roman numerals up to 20: longer ones can be words as well (mix, vivid).
_ILL_FORMED = re.compile(r"[(\[{]*(?:[a-z]|xx|x?(?:ix|iv|v?i{0,3}))[)\]}.:,;]*", re.IGNORECASE)


def ill_formed(text: str) -> bool:
    """Return whether an answer is only a list mark, such as "a." or "(iii)", or punctuation
    (EXAM++, 4.2.1).
    """
    stripped = text.strip()
    if not any(character.isalnum() for character in stripped):
        return True
    return not stripped.isalnum() and _ILL_FORMED.fullmatch(stripped) is not None


def _strip_punctuation(text: str) -> str:
    """Return a text without leading and trailing characters that are neither letters nor digits."""
    places = [place for place, sign in enumerate(text) if sign.isalnum()]
    return text[places[0] : places[-1] + 1] if places else ""


def _is_empty(text: str) -> bool:
    """Return whether a text has only white space, control characters and invisible marks."""
    return all(unicodedata.category(c) in ("Zs", "Zl", "Zp", "Cc", "Cf", "Cs") for c in text)


def _short_number(number: int) -> str:
    return str(number) if abs(number) < 10**20 else "a huge number"


def _failed_parse(reason: str) -> Parsed:
    return Parsed(None, "failed", reason)
