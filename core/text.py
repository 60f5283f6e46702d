"""The rules for texts, names and ids, the same for files, screens, the shell and scripts."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, count

_UNCLEAN = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_BLANKED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
LONGEST_ID = 512
"""Maximum number of characters of an id or a name."""
_LINE_END = re.compile("\r\n?")
_DIRECTIONS = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
)
"""Unicode's characters for the direction of text, and the byte order mark. They can make different
ids look alike.
"""


TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Unicode's directional formatting characters. Each reorders the displayed text until another of
them ends it.
"""
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in TURNING}


def with_escapes(text: str) -> str:
    """Return a text for a terminal, with the characters of `TURNING` as JSON escapes."""
    return text.translate(_ESCAPES)


def written_text(write: Callable[..., None], *content: object) -> str:
    """Return the text that a writer of files writes.

    Args:
        write: takes the content, then the file.
    """
    out = io.StringIO()
    write(*content, out)
    return out.getvalue()


def clean_text(text: str) -> str:
    """Return a text as it is stored: control characters become blanks, and every line ends in a
    line feed alone.

    Line feeds and tabs stay. The controls U+0080 to U+009F stay too: they are frequent in published
    collections that were once read in a wrong encoding. They separate nothing here, and a passage
    is evidence that we do not repair. Characters that turn the direction of writing stay, as Arabic
    and Hebrew need them. Halves of surrogate pairs, which no file can hold, become blanks.
    """
    if not _UNCLEAN.search(text):
        return text
    return _BLANKED.sub(" ", _LINE_END.sub("\n", text))


_CLEAN = bytes(sign for sign in range(256) if not _UNCLEAN.match(chr(sign)))


def all_clean(texts: Iterable[str]) -> bool:
    """Return whether `clean_text` would change none of many texts. One check of all is faster."""
    try:
        return not "".join(texts).encode().translate(None, _CLEAN)
    except UnicodeEncodeError:
        return False


def clean_or_none(text: str | None) -> str | None:
    """Clean a text as `clean_text` does; None stays None."""
    return None if text is None else clean_text(text)


def fault_of_id(text: str, one_column: bool = False) -> str | None:
    """Return the reason why a text cannot be an id, as a phrase after "it"; None if it can be one.

    Args:
        one_column: whether it is written as one column of a TREC file, which excludes white space.
    """
    if not text.strip():
        return "is empty"
    if len(text) > LONGEST_ID:
        return f"is longer than {LONGEST_ID} characters"
    if text.isprintable() and not (one_column and " " in text):
        return None
    if any(
        unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") or sign in _DIRECTIONS
        for sign in text
    ):
        return "contains a control character"
    if one_column and text.split() != [text]:
        return "contains white space, which separates columns in TREC files"
    return None


def all_plain(names: Collection[str]) -> bool:
    """Return True only if `fault_of_id` finds no fault in any of many ids. One check of all is much
    faster.

    False means that an id may have a fault, or only contains a blank.
    """
    together = "".join(names)
    return (
        together.isprintable()
        and " " not in together
        and all(names)
        and max(map(len, names)) <= LONGEST_ID
    )


def numbered_names(name: str, form: str = "{}-{}") -> Iterator[str]:
    """Yield a name, then the name with the numbers 2, 3 and so on, for use if it is taken.

    Args:
        form: joins the name and a number.
    """
    return chain([name], (form.format(name, number) for number in count(2)))


def free_name(name: str, names_taken: Container[str], form: str = "{}-{}") -> str:
    """Return the first of the `numbered_names` that is not taken."""
    return next(made for made in numbered_names(name, form) if made not in names_taken)


def quote_name(name: str) -> str:
    """Return the beginning of an id or a name in quotation marks, for a message. Invisible
    characters become codes.
    """
    return repr(name[:60]) + ("…" if len(name) > 60 else "")


def one_line(text: str, longest: int | None = None) -> str:
    """Return a text on one line, without invisible characters.

    Args:
        longest: maximum number of characters. A longer text loses its middle, since the end often
            states the problem.
    """
    most = len(text) if longest is None else longest
    only_ends = len(text) > 2 * most
    if only_ends:
        # Only the ends of a very long text are read.
        text = f"{text[:most]}\n{text[-most:]}"
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    if not only_ends and len(line) <= most:
        return line
    end = most // 3
    return f"{line[: most - end - 3]} … {line[-end:]}"


NAMED = 3
"""Most things that a sentence names; it counts the rest."""


def first_few(things: Sequence[object], between: str = ", ", most: int = NAMED) -> str:
    """Return the first few of some things and the number of the rest: "a, b, c and 2 more"."""
    rest = f"{between.rstrip(', ')} and {len(things) - most} more" if len(things) > most else ""
    return between.join(map(str, things[:most])) + rest


def format_interval(bounds: tuple[float | None, float | None] | None) -> str:
    """Return an interval as a table cell; empty without bounds."""
    low, high = bounds or (None, None)
    return "" if low is None or high is None else f"{low:.2f} to {high:.2f}"


def how_many(number: int, things: str) -> str:
    """Return a number with its noun, given in the plural: "2 questions", "1 question", "1 passage
    of responses".
    """
    if number != 1:
        return f"{number:,} {things}"
    noun, *rest = things.split(" of ", 1)
    one = f"{noun.removesuffix('ies')}y" if noun.endswith("ies") else noun.removesuffix("s")
    return " of ".join([f"1 {one}", *rest])


_MARK = re.compile(r"\(?([A-Za-z])[).:]\s*")


def without_marks(choices: Sequence[str]) -> tuple[str, ...]:
    """Return choices without their letters A), B) …, if every choice begins with the letter of its
    position.
    """
    marks = [_MARK.match(choice) for choice in choices]
    if all(mark and ord(mark[1].upper()) - ord("A") == at for at, mark in enumerate(marks)):
        return tuple(
            choice[mark.end() :] for choice, mark in zip(choices, marks, strict=True) if mark
        )
    return tuple(choices)


def file_size(octets: int) -> str:
    """Return the size of a file for people: 34 B, 12.3 KB, 4.5 MB."""
    if octets < 1000:
        return f"{octets} B"
    return f"{octets / 1e6:,.1f} MB" if octets >= 1e5 else f"{octets / 1e3:,.1f} KB"


_SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_MARKED = (
    r"(?:(?:chunk|cit(?:e|ation)|context|doc(?:ument)?|note|passage|ref(?:erence)?|result|snippet"
    r"|source|web|[dpqs])s?[\s:.#_-]{0,3})?\d{1,3}"
)
_CITATION = re.compile(
    rf"\[{{1,2}}\s?\^?\s?{_MARKED}(?:\s?[-–,;&]\s?\^?{_MARKED})*\s?\^?"
    rf"(?:†[^\[\]]{{0,60}})?\]{{1,2}}"
    r"(?:\(\s?https?://[^\s()]{1,500}\s?\))?"
    r"|\[(?=[^\[\]\s]{0,80}[_#])(?=[^\[\]\s]{0,80}\d)[^\[\]\s]{1,80}\]|\[citation needed\]"
    r"|【[^【】]{1,80}】|<sup>[^<>]{1,40}</sup>"
    # Superscripts count only after a word or a mark: "km²" and "10⁶" are a unit and a number.
    rf"|(?:(?<=[^\W\d_]{{3}})"
    rf"|(?<=[^\w\s]))[{_SUPERSCRIPT}]{{1,3}}(?:[⁻,˒⁾][{_SUPERSCRIPT}]{{1,3}}){{0,9}}(?![^\W_])",
    re.IGNORECASE,
)


def without_citations(text: str) -> str:
    """Return a text with blanks for its citation marks, such as [1], [doc 2] or ⁵. A text of marks
    alone is unchanged."""
    bare = _CITATION.sub(" ", text)
    return bare if any(map(str.isalnum, bare)) else text


# Words that do not change the meaning of an answer: articles, demonstratives and pronouns, forms of
# be, have and do, and the most common prepositions and conjunctions. Negations, quantities, and
# words of place, time and degree ("not", "no", "all", "under", "before", "more") are not here,
# because they make a different answer. Nor are words that are answers when capitalised ("US",
# "May", "I").
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
        *(
            "is",
            "are",
            "was",
            "were",
            "be",
            "been",
            "being",
            "am",
            "has",
            "have",
            "had",
            "having",
            "do",
            "does",
            "did",
        ),
        *("will", "would", "could", "might", "shall", "should"),
        *(
            "of",
            "in",
            "on",
            "at",
            "to",
            "for",
            "with",
            "by",
            "from",
            "as",
            "into",
            "and",
            "or",
            "but",
            "so",
            "than",
        ),
        *("which", "who", "whom", "whose", "what", "when", "where", "how"),
    }
)

# A number keeps its point or comma, so that 3.5 is not read as 3 and 5.
_WORD = re.compile(r"[0-9]+(?:[.,][0-9]+)+|[^\W_]+")


def normalise_text(text: str) -> str:
    """Return a text in lower case, without stop words and punctuation, stemmed (Snowball, English),
    with single spaces."""
    return " ".join(stem_word(word) for word in meaningful_words(text))


def meaningful_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without stop words and punctuation, not stemmed."""
    words = _WORD.findall(unicodedata.normalize("NFKC", text).lower())
    return [word for word in words if word not in STOP_WORDS]


@lru_cache(maxsize=50_000)
def stem_word(word: str) -> str:
    """Return the Snowball stem of an English word in lower case."""
    # A stemmer holds the word that it works on, so threads cannot share one. Making one is cheap.
    import snowballstemmer

    return str(snowballstemmer.stemmer("english").stemWord(word))
