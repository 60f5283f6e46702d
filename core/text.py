"""What texts, names and ids may hold: one rule for files, screens, the shell and scripts."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache

_UNCLEAN = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_BLANKED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
LONGEST_ID = 512
"""Characters of an id or a name."""
_LINE_END = re.compile("\r\n?")
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
"""Signs that turn the direction of writing, and the byte order mark: of two ids that look alike, one may have them."""


TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Signs that turn the direction of writing until another one ends it: what stands after them is shown out of order."""
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in TURNING}


def with_escapes(text: str) -> str:
    """A text for a terminal, in which signs that turn the direction of writing are written as in JSON."""
    return text.translate(_ESCAPES)


def written_text(write: Callable[..., None], *content: object) -> str:
    """The text that a writer of files writes.

    Args:
        write: takes the content, then the file.
    """
    out = io.StringIO()
    write(*content, out)
    return out.getvalue()


def clean_text(text: str) -> str:
    """A text as it is kept: control signs are blanks, and every line ends in a line feed alone.

    Line feeds and tabs stay. So do the controls U+0080 to U+009F, which published collections are full of where a
    passage was once read in a wrong encoding: they part nothing here, and a passage is evidence, not ours to mend.
    The signs that turn the direction of writing stay too, as Arabic and Hebrew need them. Halves of surrogate pairs,
    which no file can hold, become blanks.
    """
    if not _UNCLEAN.search(text):
        return text
    return _BLANKED.sub(" ", _LINE_END.sub("\n", text))


_CLEAN = bytes(sign for sign in range(256) if not _UNCLEAN.match(chr(sign)))


def all_clean(texts: Iterable[str]) -> bool:
    """Whether `clean_text` would leave all of many texts as they are; looked at together, which costs a fraction."""
    try:
        return not "".join(texts).encode().translate(None, _CLEAN)
    except UnicodeEncodeError:
        return False


def clean_or_none(text: str | None) -> str | None:
    """The same where there may be no text."""
    return None if text is None else clean_text(text)


def fault_of_id(text: str, one_column: bool = False) -> str | None:
    """What keeps a text from being an id, said of "it"; None where it can be one.

    Args:
        one_column: whether it has to stand in one column of a TREC file, so that white space has no place in it.
    """
    if not text.strip():
        return "is empty"
    if len(text) > LONGEST_ID:
        return f"is longer than {LONGEST_ID} characters"
    if text.isprintable() and not (one_column and " " in text):
        return None
    if any(unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") or sign in _DIRECTIONS for sign in text):
        return "contains a control character"
    if one_column and text.split() != [text]:
        return "contains white space, which separates columns in TREC files"
    return None


def all_plain(names: Collection[str]) -> bool:
    """Whether `fault_of_id` finds nothing in any of many ids; looked at together, which costs a fraction.

    Where it says no, one of them may have a fault, or no more than a blank.
    """
    together = "".join(names)
    return together.isprintable() and " " not in together and all(names) and max(map(len, names)) <= LONGEST_ID


def quoted(name: str) -> str:
    """The beginning of an id or a name in quotation marks, for a message; signs that nobody sees stand as codes."""
    return repr(name[:60]) + ("…" if len(name) > 60 else "")


def one_line(text: str, longest: int | None = None) -> str:
    """A text on one line, without signs that nobody sees.

    Args:
        longest: characters at most; what is too long loses its middle, since the end often says what is wrong.
    """
    if longest is not None and len(text) > 2 * longest:
        # Of megabytes only the ends are looked at.
        text = f"{text[:longest]}\n{text[-longest:]}"
        return _cut(_joined(text), longest)
    line = _joined(text)
    return line if longest is None or len(line) <= longest else _cut(line, longest)


NAMED = 3
"""Of many things, how many a sentence names."""


def first_few(things: Sequence[object], between: str = ", ", most: int = NAMED) -> str:
    """The first few of some things, and how many more there are: "a, b, c and 2 more"."""
    rest = f"{between.rstrip(', ')} and {len(things) - most} more" if len(things) > most else ""
    return between.join(map(str, things[:most])) + rest


def said_interval(bounds: tuple[float | None, float | None] | None) -> str:
    """An interval as a cell of a table; empty without bounds."""
    low, high = bounds or (None, None)
    return "" if low is None or high is None else f"{low:.2f} to {high:.2f}"


def how_many(number: int, things: str) -> str:
    """A number with what it counts, given as several: "2 questions", "1 question", "1 passage of responses"."""
    if number != 1:
        return f"{number:,} {things}"
    noun, *rest = things.split(" of ", 1)
    one = f"{noun.removesuffix('ies')}y" if noun.endswith("ies") else noun.removesuffix("s")
    return " of ".join([f"1 {one}", *rest])


_MARK = re.compile(r"\(?([A-Za-z])[).:]\s*")


def without_marks(choices: Sequence[str]) -> tuple[str, ...]:
    """Choices without the letters A), B) … that they begin with, if all begin with the one of their place."""
    marks = [_MARK.match(choice) for choice in choices]
    if all(mark and ord(mark[1].upper()) - ord("A") == at for at, mark in enumerate(marks)):
        return tuple(choice[mark.end() :] for choice, mark in zip(choices, marks, strict=True) if mark)
    return tuple(choices)


def file_size(octets: int) -> str:
    """The size of a file for people: 34 B, 12.3 KB, 4.5 MB."""
    if octets < 1000:
        return f"{octets} B"
    return f"{octets / 1e6:,.1f} MB" if octets >= 1e5 else f"{octets / 1e3:,.1f} KB"


def _joined(text: str) -> str:
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _cut(line: str, longest: int) -> str:
    end = longest // 3
    return f"{line[: longest - end - 3]} … {line[-end:]}"


_SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_MARKED = (
    r"(?:(?:chunk|cit(?:e|ation)|context|doc(?:ument)?|note|passage|ref(?:erence)?|result|snippet|source|web|[dpqs])s?"
    r"[\s:.#_-]{0,3})?\d{1,3}"
)
_CITATION = re.compile(
    rf"\[{{1,2}}\s?\^?\s?{_MARKED}(?:\s?[-–,;&]\s?\^?{_MARKED})*\s?\^?(?:†[^\[\]]{{0,60}})?\]{{1,2}}"
    r"(?:\(\s?https?://[^\s()]{1,500}\s?\))?"
    r"|\[(?=[^\[\]\s]{0,80}[_#])(?=[^\[\]\s]{0,80}\d)[^\[\]\s]{1,80}\]|\[citation needed\]"
    r"|【[^【】]{1,80}】|<sup>[^<>]{1,40}</sup>"
    # After a word or a mark: "km²" and "10⁶" are a unit and a number.
    rf"|(?:(?<=[^\W\d_]{{3}})|(?<=[^\w\s]))[{_SUPERSCRIPT}]{{1,3}}(?:[⁻,˒⁾][{_SUPERSCRIPT}]{{1,3}}){{0,9}}(?![^\W_])",
    re.IGNORECASE,
)


def without_citations(text: str) -> str:
    """A text with blanks for its citation marks, such as [1], [doc 2] or ⁵; a text of nothing else as it is."""
    bare = _CITATION.sub(" ", text)
    return bare if any(map(str.isalnum, bare)) else text


# Words that an answer may have or lack without meaning anything else: articles, demonstratives and pronouns, forms of
# be, have and do, and the commonest prepositions and conjunctions. Negations, quantities, and words of place, time and
# degree ("not", "no", "all", "under", "before", "more") stay, as they make it another answer; so do words that are
# answers when written in capitals ("US", "May", "I").
STOP_WORDS = frozenset(
    {
        *("a", "an", "the", "this", "that", "these", "those", "there"),
        *(
            "it",
            "its",
            "they",
            "them",
            "their",
            "he",
            "him",
            "his",
            "she",
            "her",
            "we",
            "our",
            "you",
            "your",
            "me",
            "my",
        ),
        *("is", "are", "was", "were", "be", "been", "being", "am", "has", "have", "had", "having", "do", "does", "did"),
        *("will", "would", "could", "might", "shall", "should"),
        *("of", "in", "on", "at", "to", "for", "with", "by", "from", "as", "into", "and", "or", "but", "so", "than"),
        *("which", "who", "whom", "whose", "what", "when", "where", "how"),
    }
)

# A number keeps its point or comma, so that 3.5 is not the words 3 and 5.
_WORD = re.compile(r"[0-9]+(?:[.,][0-9]+)+|[^\W_]+")


def normalise(text: str) -> str:
    """Lower case, without stop words and punctuation, stemmed (Snowball, English); words parted by one space."""
    return " ".join(stem(word) for word in meaningful_words(text))


def meaningful_words(text: str) -> list[str]:
    """The words of a text in lower case, without stop words and punctuation, as they stand."""
    words = _WORD.findall(unicodedata.normalize("NFKC", text).lower())
    return [word for word in words if word not in STOP_WORDS]


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The Snowball stem of an English word in lower case."""
    # A stemmer holds the word that it works on, so threads cannot share one; making one takes under a microsecond.
    import snowballstemmer

    return str(snowballstemmer.stemmer("english").stemWord(word))
