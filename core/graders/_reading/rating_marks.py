"""Recognition of the rating in an answer: at its beginning, on a line of its own, or marked as the
rating.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal, NamedTuple

RATING_WORDS = ("rating", "grade", "score")
"""Words that mark a following number as a rating anywhere."""
_LABELS = (
    "relevance|relevancy|answerability|usefulness|quality|level|answer|conclusion|result|verdict"
    "|decision|assessment|evaluation|judge?ment|stars|points|bewertung|note|relevanz|punktzahl"
    "|punkte|[ée]valuation|pertinence|calificaci[óo]n|puntuaci[óo]n|valoraci[óo]n|nota|voto"
    "|punteggio|valutazione|avalia[çc][ãa]o|pontua[çc][ãa]o|оценка|рейтинг|ocena"
    "|ocen[ěa]|beoordeling|betyg|puan|التقييم|रेटिंग"
)
"""Words before a colon that mark the number after it: rating words in other languages, or names for
the result.
"""
_SYLLABLES = (
    "评分|评级|评价|得分|分数|打分|等级|評分|評級|評価|評点|点数|スコア|평점|점수|평가|등급"
)
"""The same for scripts without spaces between words."""

# These signs between digits without a space continue the number: 4.5, 4,5, 1/4, 12:30, 1e3.
_NUMBER = re.compile(r"[0-9]+(?:[.,:/][0-9]+)*(?:[eE][+-]?[0-9]+)?[%‰]?")
_WHOLE = re.compile(r"([0-9])(?:\.0{1,2}|,0)?(?:/([0-9]+)(?:\.0{1,2}|,0)?)?")
_WORD_BEFORE = re.compile(r"(?:[^\W\d_]|[\u0300-\u036f]|/|[^\W_][-‐‑_])\Z")
_WORD_AFTER = re.compile(r"[-‐‑_]?[^\W\d_]")
# A sign, a leading point or a digit of another script changes the number: -4, .4, ½4.
_MORE_BEFORE = re.compile(
    r"(?:[^\W_]|(?:\A|(?![.)\]\"'])[\W_])\.|(?:\A|(?![-‐‑–−])[\W_])[-‐‑–−])\Z"
)

# Characters around an answer that are not part of it: blanks, quotes, markup, brackets, dashes,
# tags.
_TAG = "</?[a-zA-Z]{1,8}>"
_FRAME = rf"(?:[\s\x00-\x1f\"'“”‘’«»`*_#>(\[{{\-–—→=+$\u200b\ufeff]|\\boxed|{_TAG})*+"
_OPENING = re.compile(rf"\A{_FRAME}(?:(?:final )?answer{_FRAME}:{_FRAME})?(?=[0-9])", re.IGNORECASE)
_LINE = re.compile(r"\n[^\S\n]*+[\"'“«`*_#>(\[{\-–—$]*+[^\S\n]*+(?=[0-9])")
# A tag that is itself a rating word begins a new rating, so that no frame is matched twice.
_TAGS = rf"(?!</?(?i:{'|'.join(RATING_WORDS)})>){_TAG}"
_AROUND = _FRAME.replace(_TAG, _TAGS)
_SCALE = (
    r"(?:\s?\([^()\n]{0,40}\)|\s?\[[^\[\]\n]{0,40}\]|\s(?i:on|from|out\sof)\s[^:\n]{1,40}(?=:))?"
)
_NAMED = re.compile(
    rf"(?<![^\W_])(?:(?i:{'|'.join(RATING_WORDS)}){_SCALE}{_AROUND}(?:(?i:for|of)\s+(?i:this"
    rf"|the)\s+(?i:answer|context|document|key fact|passage|question|text)(?=[\s:]){_AROUND})?"
    r"(?:(?i:is|of|would be|should be|as|at)(?=[\s:])(?i:\s+an?(?=\s))?)?"
    rf"|O\s*+[:=]){_AROUND}:?{_AROUND}(?=[0-9])"
)
_LABELLED = re.compile(
    rf"(?:(?<![^\W_])(?:{_LABELS})(?![^\W_])|{_SYLLABLES}){_SCALE}{_AROUND}(?:[:=为為是]"
    rf"|\bis\b:?){_AROUND}(?:an?\s+)?(?=[0-9])",
    re.IGNORECASE,
)
_ANY_LABEL = re.compile(
    rf"\A{_FRAME}[^\W\d_](?:[^\W\d_]|[ '’-]){{0,40}}[\"'*_`]{{0,4}}\s?:{_FRAME}(?=[0-9])"
)
_GIVEN = re.compile(
    r"\b(?:I(?:['’](?:d|ll|ve|m)|\s+(?:would|will|can|have|must|should|do|am))?\s+(?:\w+\s+)?"
    r"(?:rate|give|gave|grade|score|assign|award|rating|giving"
    r"|assigning)\b[^.:;!?\n0-9]{0,60}(?<![^\W_])"
    r"|(?:deserves|merits|earns|warrants|receives|gets)\s+(?:an?\s+|only\s+)?)(?=[0-9])"
)
_EMPHASISED = re.compile(r"(?:(?<![*_])(?:\*\*|__)|\\boxed\{|<(?:b|strong)>|\[\[)\s?(?=[0-9])")
_SHARED = re.compile(r"(?<![\w.,/:$])(?=[0-9](?:\.0{1,2})?\s?(?:/|out\sof))")

_BLANK = r"[^\S\n\r]*+"
_CLOSING = r"(?:[\"'”’»`*_~\]}>$\x00\u200b]|</[a-zA-Z]{1,8}>)*+"
_REASON = r"(?:because|since|as|for|due|given|with|in|on|stars?|points?)\b"
# Text that may follow the number at the beginning of an answer. After `open`, the text that is
# still to come decides.
_ENDS = re.compile(
    rf"{_CLOSING}(?:(?P<open>{_BLANK}\Z|[:.]\Z|[,;]{_BLANK}\Z"
    rf"|{_BLANK}[-–—(]{_BLANK}\Z|[^\S\n\r]++(?:stars?|points?)\Z)|{_BLANK}[\n\r]|[:.!](?![0-9])|\)"
    rf"|(?:[^\S\n\r]++-|{_BLANK}[–—]){_BLANK}(?![0-9\s])|[,;]{_BLANK}(?![0-9\s])"
    r"|[^\S\n\r]++\((?![0-9]|out of)"
    rf"|[^\S\n\r]++(?:(?:because|since)\b|(?:stars?|points?)(?:[\n\r.,;:!]|{_CLOSING}\Z)))",
    re.IGNORECASE,
)
_STOPS = re.compile(
    rf"{_CLOSING}{_BLANK}(?:\Z|[\n\r]|[.,;:!)](?!{_BLANK}[0-9])"
    rf"|[-–—]{_BLANK}(?![0-9])|\(|{_REASON})",
    re.IGNORECASE,
)
_SHARE_ENDS = re.compile(rf"(?![0-9/%])(?!{_CLOSING}{_BLANK}(?!{_REASON})[^\W\d_])", re.IGNORECASE)
# Text that turns the number after a rating word into a bound of a range, or a share of another
# scale.
_ANOTHER_NUMBER = re.compile(
    rf"{_BLANK}(?:(?:[-‐‑–—~]|(?:to|or|and)\b){_BLANK}[0-9]|\(?(?:/|(?:out of(?: a"
    r" (?:possible|total|maximum)(?: of)?)?"
    rf"|von|sur)\b){_BLANK}(?P<scale>[0-9]+)(?:[.,]0{{1,2}}(?![0-9]))?)",
    re.IGNORECASE,
)
# Text that denies a rating, or says when it would apply.
_DENIED = re.compile(
    r"(?:(?:\bnot|n['’]t)\s+(?:\w+\s+)?"
    r"|\b(?:to|for)\s+(?:deserve|get|earn|receive|merit|reach|achieve|be\s+\w+)\s+|\b(?:than"
    r"|between|below|above|short\s+of|instead\s+of|without|if)\s+)(?:(?:an?|the)\s+(?:\w+\s+)?)?\Z",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(
    rf"{_CLOSING}\s{{0,9}}(?:\?|(?:would|could|might)\s+(?:need|require|demand|take|have|mean|not"
    r"|only|be\s+(?:too|un|in|wrong|excessive|generous|given|reserved|for))|needs\b|requires"
    r"|demands|means\b|is\s+(?:not|too|for|reserved|only|given"
    r"|what)\b|isn['’]t|cannot|can['’]t|if\b)",
    re.IGNORECASE,
)
_SENTENCE = 60
# List numbers are not ratings; an answer with a list has its rating in or after the items.
_FIRST_ITEM = re.compile(r"\W*+1[.)](?![0-9])")
_SECOND_ITEM = re.compile(r"\s[^\w\n]{0,8}2[.)](?!\w)")
_VERDICT_ITEM = re.compile(r"\W*+1[.)]\s++(?:yes|no)\b", re.IGNORECASE)
_FEW_WORDS = re.compile(r"[\W_]*(?:\w+\s){0,2}[\W_]*")
_SYLLABLE = r"[\u3040-\u9fff\uac00-\ud7a3]"
_UNREADABLE = re.compile(
    rf"(?<![^\W_])(?:{'|'.join(RATING_WORDS)}){_SCALE}[\s*_\"'`]{{0,9}}:"
    rf"|{_SYLLABLE}[0-9]|[0-9]{_SYLLABLE}",
    re.IGNORECASE,
)

_FORMS = str.maketrans("：／（）［］，．＝；。", ":/()[],.=;.", "\ufe0f\u20e3")
_STAR, _NO_STAR = "★⭐🌟✭", "☆✩✰"
_STARS = re.compile(
    rf"(?<![0-9{_STAR}])(?P<full>[{_STAR}]{{0,9}})(?P<empty>[{_NO_STAR}]{{0,9}})"
    rf"(?<=[{_STAR}{_NO_STAR}])"
)
_UNIT = re.compile(r"(?<=[0-9])\s?(?:分|点|점|星)(?![^\W\d_])|(?<=[为為是])(?=[0-9])")
_WORDS = ("zero", "one", "two", "three", "four", "five")
_WORD = re.compile(
    rf"(\A{_FRAME}|[:=][\s*_]{{0,9}})({'|'.join(_WORDS)})(?=[^\w\n]*(?:\Z|\n)|\s+out of\b)",
    re.IGNORECASE,
)

Strength = Literal["label", "bare", "statement", "mention"]


class MarkedRating(NamedTuple):
    """A rating in a text: its value, how it is marked, and its position."""

    rating: int
    how: Strength
    begin: int
    end: int


def named_rating(text: str, top: int) -> int | None:
    """Return the rating that an answer names; None if it names no rating, or different ones without
    a mark.

    If a number is at the beginning or on a line of its own, the last number after a label ("Rating:
    4") counts. Without a label that number counts, if it is the only one. Otherwise the last label
    or statement counts ("the rating is 3", "4 out of 5", "**4**"). Without these, the last mention
    counts ("a rating of 3"). A rating that is denied or only considered ("a rating of 5 needs
    more") does not count.
    """
    text = _normalise_digits(text, top)
    named = sorted(_all_named(text, top), key=lambda mark: mark.begin)
    bare = {mark.rating for mark in named if mark.how == "bare"}
    labels = [mark.rating for mark in named if mark.how == "label"]
    if bare:
        if labels:
            return labels[-1]
        return bare.pop() if len(bare) == 1 else None
    marks = [mark.rating for mark in named if mark.how in ("label", "statement")] or [
        mark.rating for mark in named
    ]
    return marks[-1] if marks else None


def begins_with_rating(text: str, top: int) -> bool:
    """Return whether a text begins with a rating, with or without a label, that no further
    character can change.
    """
    text = _normalise_digits(text, top)
    first = next(_all_named(text, top), None)
    if first is None or first.how not in ("bare", "label") or _FIRST_ITEM.match(text):
        return False
    ends = _ENDS.match(text, first.end)
    return (
        ends is not None
        and ends["open"] is None
        and _FEW_WORDS.fullmatch(text, 0, first.begin) is not None
    )


def names_number(text: str) -> bool:
    """Return whether a text has a number outside of words or between syllables, or a rating word
    before a colon without a readable value."""
    text = _normalise_digits(text, 0)
    return (
        any(not _in_word(text, number) for number in _NUMBER.finditer(text))
        or any(
            unicodedata.category(sign) in ("No", "Nl") or sign in _STAR + _NO_STAR for sign in text
        )
        or _UNREADABLE.search(text) is not None
    )


def _normalise_digits(text: str, top: int) -> str:
    """Return a text with digits, stars and words for ratings as ASCII digits."""
    if not text.isascii():
        text = "".join(
            str(unicodedata.decimal(sign)) if sign.isdecimal() else sign
            for sign in text.translate(_FORMS)
        )
        text = _STARS.sub(lambda run: _count_stars(run, top), text)
        text = _UNIT.sub(" ", text)
    return _WORD.sub(lambda word: word[1] + str(_WORDS.index(word[2].lower())), text)


def _count_stars(run: re.Match[str], top: int) -> str:
    full, empty = len(run["full"]), len(run["empty"])
    return str(full) if (full + empty == top if empty else 1 < full <= top) else run[0]


def _all_named(text: str, top: int) -> Iterator[MarkedRating]:
    """Yield the ratings in a text: the one at the beginning, then those of each kind of mark."""
    is_list = (_FIRST_ITEM.match(text) and _SECOND_ITEM.search(text)) or _VERDICT_ITEM.match(text)
    for pattern, how, ends in _MARKS[1:] if is_list else _MARKS:
        for mark in pattern.finditer(text):
            number = _number_at(text, mark.end(), top)
            if number is None or _DENIED_AFTER.match(text, number[1]):
                continue
            rating, end, shared = number
            fits = ends is None or (_SHARE_ENDS if shared else ends).match(text, end)
            if fits and not _DENIED.search(text[max(mark.start() - _SENTENCE, 0) : mark.start()]):
                strength = (
                    next(kind for kind, sign in _KINDS if sign.search(mark[0]))
                    if how is None
                    else how
                )
                yield MarkedRating(rating, strength, mark.start(), end)


_ALONE = re.compile(rf"{_CLOSING}[.)]?{_CLOSING}{_BLANK}(?:\Z|[\n\r])")
_EMPHASIS_ENDS = re.compile(
    rf"[.]?\s?(?:\*\*|__|\}}|</|\]\]){_CLOSING}{_BLANK}(?:\Z|[\n\r]|[.,;:!)(])"
)
_KINDS: tuple[tuple[Strength, re.Pattern[str]], ...] = (
    ("label", re.compile(r"[:=>\-–—→]")),
    ("statement", re.compile(r"\b(?:is|be)\s", re.IGNORECASE)),
    ("mention", re.compile("")),
)
"""Strength of a mark of `_NAMED` or `_LABELLED`, by its signs."""
_MARKS: tuple[tuple[re.Pattern[str], Strength | None, re.Pattern[str] | None], ...] = (
    (_OPENING, "bare", _ENDS),
    (_NAMED, None, None),
    (_LABELLED, None, _STOPS),
    (_ANY_LABEL, "label", re.compile(r"\W*\Z")),
    (_LINE, "bare", _ALONE),
    (_GIVEN, "statement", _STOPS),
    (_EMPHASISED, "statement", _EMPHASIS_ENDS),
    (_SHARED, "statement", _SHARE_ENDS),
)
"""Marks with their strength and the text required after the number; None if the mark decides, or
nothing is required."""


def _number_at(text: str, begin: int, top: int) -> tuple[int, int, bool] | None:
    """Return the rating at a position, its end, and whether the top of the scale follows it
    ("4/5").
    """
    number = _NUMBER.match(text, begin)
    if number is None or _in_word(text, number) or _matches_before(_MORE_BEFORE, text, begin):
        return None
    whole = (
        None if text[number.end() : number.end() + 1].isnumeric() else _WHOLE.fullmatch(number[0])
    )
    if whole is None or int(whole[1]) > top or whole[2] not in (None, str(top)):
        return None
    another = None if whole[2] else _ANOTHER_NUMBER.match(text, number.end())
    if another is None:
        return int(whole[1]), number.end(), whole[2] is not None
    if another["scale"] != str(top):
        return None
    return int(whole[1]), another.end(), True


def _in_word(text: str, number: re.Match[str]) -> bool:
    """Return whether digits are part of a word, a price, or the divisor after a slash."""
    begin, end = number.span()
    price = (
        text[max(begin - 1, 0) : begin] == "$" and text[end : end + 1] != "$"
    )  # "$5" is a price, "$5$" is a formula
    return (
        price
        or _matches_before(_WORD_BEFORE, text, begin)
        or _WORD_AFTER.match(text, end) is not None
    )


def _matches_before(signs: re.Pattern[str], text: str, position: int) -> bool:
    """Return whether up to two characters before a position match."""
    return signs.search(text, max(position - 2, 0), position) is not None
