"""Filters of items before an exam, acceptance of proposals that pass, categories, and statistics of
the exam.
"""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import combinations
from math import floor
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Final, Literal

import numpy as np
from rapidfuzz.distance import LCSseq

from ..bank import NEAR, SCHEMES, STATES, accept_proposals, item_categories, list_proposals
from ..errors import FileError, InputError, Problem, check_in_range
from ..graders import unit_vectors
from ..plain_yaml import read_yaml
from ..store import Project, cached, log_action, put_setting, read_setting
from ..types import Question
from ._exam_items import Item, exam_items, proposed_items
from ._item_generation import PARTS, Part, UnreadableReply, parse_item
from ._item_retrievals import Encode, kept_vectors


def split_words(text: str) -> list[str]:
    """Return the words of a text for the item filters: in lower case, separated by white space."""
    return text.lower().split()


def multiset_jaccard(first: Sequence[str], other: Sequence[str]) -> float:
    """Return the multiset Jaccard similarity |a∩b| / |a∪b| of two lists of words; 0 if both are
    empty.
    """
    a, b = Counter(first), Counter(other)
    union = (a | b).total()
    return (a & b).total() / union if union else 0.0


def nearest_gram(source: Sequence[str], text: Sequence[str], n: int) -> tuple[float, str]:
    """Return J_n of a source and a text: the largest Jaccard similarity of the text and an n-gram
    of the source; the n-gram.

    Source: exam-generation-irt, A.2. A source of fewer than n words is one n-gram. Of equally
    similar n-grams, the first counts.

    Args:
        source, text: words.
        n: words of an n-gram, from 1.
    """
    if not source or not text:
        return 0.0, ""
    n = min(max(n, 1), len(source))
    counts_wanted = Counter(text)
    counts_seen: Counter[str] = Counter()
    common = best = best_end = 0
    for end, word in enumerate(source):
        common += counts_seen[word] < counts_wanted[word]
        counts_seen[word] += 1
        if end >= n:
            gone = source[end - n]
            counts_seen[gone] -= 1
            common -= counts_seen[gone] < counts_wanted[gone]
        # All n-grams have the same length, so the one with the most common words is the most
        # similar.
        if end >= n - 1 and (common > best or not best_end):
            best, best_end = common, end + 1
    return best / (n + len(text) - best), " ".join(source[best_end - n : best_end])


def rouge_l(first: Sequence[str], other: Sequence[str]) -> float:
    """Return ROUGE-L F1 of two lists of words: the harmonic mean of their longest common
    subsequence's shares of each.

    Source: Lin (2004), with equal weights of precision and recall.
    """
    return 2 * LCSseq.similarity(first, other) / max(len(first) + len(other), 1)


Rule = Literal[
    "self-contained",
    "extra n-gram",
    "extra embedding",
    "intra jaccard",
    "intra embedding",
    "intra rouge-l",
    "duplicate choices",
    "key among discriminators",
    "all or none",
    "near duplicate",
    "no key",
]

SHARE = 0.05
"""Share of the items that a default threshold removes (exam-generation-irt, A.2)."""
DIGITS = 4
"""Digits of values and thresholds, so that a threshold typed as shown has the same effect."""

_NAMES = r"\b(documentation|paper|article|research|study)\b"
PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        _NAMES + r'\s*"[^"]+"',
        r'\b(discussed in|addressed in|described in|of the)\b\s*"[^"]+"',
        _NAMES,
    )
)
"""References to the source: a term with a title in quotes, a citation with one, and the terms alone
(A.2).
"""
_ALL_OR_NONE = re.compile(
    r"\b(all|none|both|neither|any|either)\s+(of\s+)?(the\s+|these\s+|those\s+)?"
    r"(above|below|previous|preceding|foregoing|other"
    r" (choices|options|answers)|choices|options|answers)\b",
    re.IGNORECASE,
)
_OTHER_LETTERS = re.compile(
    r"\b(?:[Bb]oth|[Nn]either)?\s*\(?[A-D]\)?\s*(?:,|and|nor|or|&)\s*\(?[A-D]\)?(?!\w)"
)


@dataclass(frozen=True)
class TextSimilarity:
    """Similarity of two texts.

    Args:
        value: the similarity, or the margin by which it is larger than it should be.
        one, other: the two texts.
    """

    value: float
    one: str
    other: str


@dataclass(frozen=True)
class FilterValues:
    """Values that the filters compute for an item; None if the item lacks the data for a value.

    Args:
        refers: the number of the first pattern of `PATTERNS` found in the question, from 1, and the
            words; None without a match.
        extra_gram: the largest J_n(source, discriminator) less J_n(source, key); that
            discriminator, and the n-gram.
        extra_embedding: the largest cosine of source and discriminator less that of source and key;
            the two choices.
        intra_jaccard, intra_embedding, intra_rouge: the largest similarity of the key and a
            discriminator; both texts.
        near: the largest cosine to another item (question and key together); both questions.
        near_id: the id of that other item.
        duplicates: a repeated choice.
        key_again: a discriminator with the same words as the key.
        all_or_none: a choice that refers to other choices, which shuffling moves.
    """

    item: Item
    refers: tuple[int, str] | None
    extra_gram: TextSimilarity | None
    extra_embedding: TextSimilarity | None
    intra_jaccard: TextSimilarity | None
    intra_embedding: TextSimilarity | None
    intra_rouge: TextSimilarity | None
    near: TextSimilarity | None
    near_id: str | None
    duplicates: str | None
    key_again: str | None
    all_or_none: str | None


@dataclass(frozen=True)
class Thresholds:
    """Values from which items are hit; None disables a rule.

    Args:
        extra_gram, extra_embedding: t1 and t2 of the paper; larger values are hit.
        intra_jaccard, intra_embedding, intra_rouge: t3, t4 and one for ROUGE-L; larger and equal
            values are hit.
        near: cosine of two items.
        self_contained: whether questions that name their source are hit. The authors apply it to
            two of their four exams.
    """

    extra_gram: float | None = None
    extra_embedding: float | None = None
    intra_jaccard: float | None = None
    intra_embedding: float | None = None
    intra_rouge: float | None = None
    near: float | None = NEAR
    self_contained: bool = True


@dataclass(frozen=True)
class BrokenRule:
    """A rule that an item breaks, with the two texts that show it."""

    rule: Rule
    value: float | None
    threshold: float | None
    one: str
    other: str


@dataclass(frozen=True)
class CheckedItem:
    """An item with its values and the rules that it breaks at some thresholds."""

    item: Item
    values: FilterValues
    hits: tuple[BrokenRule, ...]


def measure_items(items: Sequence[Item], encode: Encode = unit_vectors) -> list[FilterValues]:
    """Compute the values of the filters, which do not depend on thresholds (exam-generation-irt,
    A.2).

    J_n(doc, x) is the largest multiset Jaccard similarity of x and an n-gram of doc; n is the mean
    number of words of the choices rounded down. S is the cosine of the vectors. Words are separated
    by white space and lower-cased.

    Args:
        encode: the sentence encoder; the shipped one by default.

    Raises:
        GradingError: the encoder cannot be loaded.
    """
    if not items:
        return []
    joined = [f"{item.text} {item.key or ''}".strip() for item in items]
    texts = dict.fromkeys(
        [
            *joined,
            *(choice for item in items for choice in item.choices),
            *(item.source_text for item in items if item.source_text),
        ]
    )
    vectors = np.asarray(encode(list(texts)), np.float64)
    place = {text: at for at, text in enumerate(texts)}

    def text_cosine(first: str, other: str) -> float:
        return float(vectors[place[first]] @ vectors[place[other]])

    near = _nearest_vectors(vectors[[place[text] for text in joined]]) if len(items) > 1 else {}
    return [
        _measure_item(item, text_cosine, (near[at][0], items[near[at][1]]) if at in near else None)
        for at, item in enumerate(items)
    ]


@cached()
def item_values(
    project: Project, query_id: str | None = None, of: Literal["all", "proposals", "bank"] = "bank"
) -> list[FilterValues]:
    """Return the values of a project's active items, of open proposals, or of both, cached until
    the data changes.

    Args:
        query_id: the exam; None for all.

    Raises:
        GradingError: the encoder cannot be loaded.
    """
    items = (
        [] if of == "proposals" else [item for item in exam_items(project, query_id) if item.active]
    )
    items += [] if of == "bank" else proposed_items(project, query_id)
    return measure_items(items, kept_vectors(project))


def usual_thresholds(values: Sequence[FilterValues], share: float = SHARE) -> Thresholds:
    """Return thresholds that each remove at most a share of the items: quantiles of the values.

    A rule is disabled if the items are too few, or too many values are equal, to remove some within
    the share. ROUGE-L, which the paper does not have, is set only by people.
    """
    check_in_range(
        "share-out-of-range", f"Share {share:g}", "Use a number from 0 to 1.", 0 <= share <= 1
    )
    return Thresholds(
        _exclusive_threshold(
            [measured.extra_gram.value for measured in values if measured.extra_gram], share
        ),
        _exclusive_threshold(
            [measured.extra_embedding.value for measured in values if measured.extra_embedding],
            share,
        ),
        _inclusive_threshold(
            [measured.intra_jaccard.value for measured in values if measured.intra_jaccard], share
        ),
        _inclusive_threshold(
            [measured.intra_embedding.value for measured in values if measured.intra_embedding],
            share,
        ),
    )


def apply_thresholds(values: Sequence[FilterValues], thresholds: Thresholds) -> list[CheckedItem]:
    """Return the rules that items break at some thresholds. Fast enough for a moving slider."""
    return [CheckedItem(one.item, one, tuple(_find_hits(one, thresholds))) for one in values]


def _measure_item(
    item: Item, cosine: Callable[[str, str], float], near: tuple[float, Item] | None
) -> FilterValues:
    refers = next(
        (
            (n, hit[0])
            for n, candidate in enumerate(PATTERNS, 1)
            if (hit := candidate.search(item.text))
        ),
        None,
    )
    others = item.discriminators if item.key is not None else ()
    gram = embedding = intra_j = intra_e = intra_r = None
    if item.key is not None and others:
        key, of_key = item.key, split_words(item.key)
        intra_j = _most_alike(
            (multiset_jaccard(of_key, split_words(other)), other, key) for other in others
        )
        intra_e = _most_alike((cosine(key, other), other, key) for other in others)
        intra_r = _most_alike((rouge_l(of_key, split_words(other)), other, key) for other in others)
        if item.source_text:
            source = split_words(item.source_text)
            n = floor(sum(len(split_words(choice)) for choice in item.choices) / len(item.choices))
            right, _ = nearest_gram(source, of_key, n)
            found = [(other, nearest_gram(source, split_words(other), n)) for other in others]
            gram = _most_alike(
                (value - right, other, words_of_source) for other, (value, words_of_source) in found
            )
            base = cosine(item.source_text, key)
            embedding = _most_alike(
                (cosine(item.source_text, other) - base, other, key) for other in others
            )
    wordings = [_comparable_text(choice) for choice in item.choices]
    return FilterValues(
        item,
        refers,
        gram,
        embedding,
        intra_j,
        intra_e,
        intra_r,
        None if near is None else TextSimilarity(near[0], item.text, near[1].text),
        None if near is None else near[1].question_id,
        next(
            (
                a
                for (a, x), (_, y) in combinations(zip(item.choices, wordings, strict=True), 2)
                if x == y
            ),
            None,
        ),
        next(
            (
                other
                for other in others
                if item.key is not None and _comparable_text(other) == _comparable_text(item.key)
            ),
            None,
        ),
        next(
            (
                candidate
                for candidate in item.choices
                if _ALL_OR_NONE.search(candidate) or _OTHER_LETTERS.search(candidate)
            ),
            None,
        ),
    )


def _most_alike(likenesses: Any) -> TextSimilarity:
    value, one, other = max(likenesses, key=lambda each: each[0])
    # Adding zero turns a rounded -0.0 into 0.0.
    return TextSimilarity(round(value, DIGITS) + 0.0, one, other)


def _nearest_vectors(
    vectors: np.ndarray[Any, np.dtype[np.float64]],
) -> dict[int, tuple[float, int]]:
    """Return each vector's largest cosine to another one, and the index of that; in blocks to bound
    memory.
    """
    nearest: dict[int, tuple[float, int]] = {}
    for start in range(0, len(vectors), 1024):
        cosines = vectors[start : start + 1024] @ vectors.T
        cosines[np.arange(len(cosines)), start + np.arange(len(cosines))] = -np.inf
        for row, at in enumerate(cosines.argmax(1).tolist()):
            nearest[start + row] = (round(float(cosines[row, at]), DIGITS), at)
    return nearest


def _exclusive_threshold(values: Sequence[float], share: float) -> float | None:
    """Return the threshold above which at most a share of the values is; None if no value would be
    above it.
    """
    count = floor(share * len(values))
    ordered = sorted(values, reverse=True)
    if not count:
        return None
    bound = ordered[min(count, len(ordered) - 1)]
    return bound if ordered[0] > bound else None


def _inclusive_threshold(values: Sequence[float], share: float) -> float | None:
    """Return the threshold from which on at most a share of the values is; None if no value would
    be there.
    """
    count = floor(share * len(values))
    ordered = sorted(values, reverse=True)
    while 0 < count < len(ordered) and ordered[count - 1] == ordered[count]:
        count -= 1
    return ordered[count - 1] if count else None


def _find_hits(measured: FilterValues, at: Thresholds) -> list[BrokenRule]:
    hits: list[BrokenRule] = []
    if measured.item.key is None:
        hits.append(
            BrokenRule("no key", None, None, ", ".join(measured.item.choices), "no right choice")
        )
    if at.self_contained and measured.refers is not None:
        number, said = measured.refers
        hits.append(
            BrokenRule("self-contained", float(number), None, said, PATTERNS[number - 1].pattern)
        )
    for rule, likeness, bound, strictly in (
        ("extra n-gram", measured.extra_gram, at.extra_gram, True),
        ("extra embedding", measured.extra_embedding, at.extra_embedding, True),
        ("intra jaccard", measured.intra_jaccard, at.intra_jaccard, False),
        ("intra embedding", measured.intra_embedding, at.intra_embedding, False),
        ("intra rouge-l", measured.intra_rouge, at.intra_rouge, False),
        ("near duplicate", measured.near, at.near, False),
    ):
        if (
            likeness is not None
            and bound is not None
            and (likeness.value > bound or (likeness.value == bound and not strictly))
        ):
            hits.append(BrokenRule(rule, likeness.value, bound, likeness.one, likeness.other))  # type: ignore[arg-type]
    for rule, text, beside in (
        ("duplicate choices", measured.duplicates, "another choice"),
        ("key among discriminators", measured.key_again, measured.item.key or ""),
        ("all or none", measured.all_or_none, "the other choices"),
    ):
        if text is not None:
            hits.append(BrokenRule(rule, None, None, text, beside))  # type: ignore[arg-type]
    return hits


def _comparable_text(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .,;:")


VALUE_COLUMNS = tuple(field.name for field in fields(FilterValues) if field.name != "item")
"""Names of the values of an item, in the order of a table."""


def value_row(values: FilterValues) -> list[float | str | None]:
    """Return the values of an item in the order of `VALUE_COLUMNS`: numbers, or the words that
    break a rule.
    """
    row: list[float | str | None] = []
    for name in VALUE_COLUMNS:
        value = getattr(values, name)
        row.append(
            value.value
            if isinstance(value, TextSimilarity)
            else value[1]
            if isinstance(value, tuple)
            else value
        )
    return row


SETTING_OF_FILTERS = "item filters"
"""The setting with the last acceptance of each exam, as JSON."""


@dataclass(frozen=True)
class ItemAcceptance:
    """The last acceptance of the items of an exam that pass the filters.

    Args:
        thresholds: the thresholds that they passed.
        fell: the keys of the proposals that broke a rule then.
    """

    thresholds: Thresholds
    fell: tuple[int, ...]


def last_acceptance(project: Project, query_id: str | None = None) -> ItemAcceptance | None:
    """Return the last acceptance of the query; for None, the only recorded one. None without a
    match.
    """
    acceptances = _read_acceptances(project)
    if query_id is None and len(acceptances) == 1:
        return next(iter(acceptances.values()))
    return acceptances.get(query_id or "")


def accept_passing(
    project: Project, checked: Sequence[CheckedItem], thresholds: Thresholds, author: str
) -> list[Question]:
    """Add the proposals that break no rule to the person's drafts, and record thresholds and
    filtered proposals.

    Args:
        checked: items checked at `thresholds`; items of the bank among them are ignored.

    Returns:
        The questions as the drafts have them now.

    Raises:
        InputError: every open proposal breaks a rule, or none is open.
    """
    proposed = [
        (entry.item.query_id, entry.item.proposal_key, entry.hits)
        for entry in checked
        if entry.item.proposal_key
    ]
    passing = [key for _, key, hits in proposed if key and not hits]
    if not passing:
        raise InputError(
            "no-proposal-passes",
            "No open proposal passes the filters.",
            "Change the thresholds. To see which filters reject an item, use exam items check.",
        )
    accepted = accept_proposals(project, passing, author)
    acceptances = _read_acceptances(project) | {
        query: ItemAcceptance(
            thresholds, tuple(key for of, key, hits in proposed if of == query and key and hits)
        )
        for query, _, _ in proposed
    }
    written = json.dumps(
        {query: asdict(entry) for query, entry in acceptances.items()}, ensure_ascii=False
    )
    with project.transaction(
        act="edit questions", queries={query for query, _, _ in proposed}, author=author
    ) as cursor:
        put_setting(cursor, SETTING_OF_FILTERS, written)
    return accepted


def _read_acceptances(project: Project) -> dict[str, ItemAcceptance]:
    """Return acceptances by query id, as the setting has them; an import has checked the types of
    its numbers.
    """
    text = read_setting(project, SETTING_OF_FILTERS)
    threshold_names = {field.name for field in fields(Thresholds)}
    return {
        query: ItemAcceptance(
            Thresholds(
                **{
                    name: bound
                    for name, bound in stored["thresholds"].items()
                    if name in threshold_names
                }
            ),
            tuple(stored["fell"]),
        )
        for query, stored in json.loads(text or "{}").items()
    }


UNCATEGORIZED: Final = "Uncategorized"
QUESTION_WORDS: Final = ("Which", "What", "How", "When", "Why", "Where")
_SETTING = "bloom keywords"
_HINT = "Write a word list for each level: 'Remembering: [define, list, name]'."

Keywords = Mapping[str, Sequence[str]]
"""Words in their base form, by level."""


@functools.cache
def built_in_keywords() -> dict[str, tuple[str, ...]]:
    """Return the keywords that come with the program, by level from Remembering to Creating."""
    file = Path(__file__).parent / "bloom.yaml"
    return read_keywords(file.read_text(encoding="utf-8"), file.name)


def read_keywords(text: str, file: str) -> dict[str, tuple[str, ...]]:
    """Read keywords from YAML: levels with lists of words.

    Args:
        file: its name, for messages.

    Raises:
        FileError: it is unreadable, or not a mapping of levels to words.
    """
    data = read_yaml(text, file, _HINT)
    if not isinstance(data, dict) or not data:
        raise FileError(
            [
                Problem(
                    file, None, "invalid-keywords", "it is not a mapping of levels to word lists"
                )
            ],
            _HINT,
        )
    for level, level_words in data.items():
        sound = (
            isinstance(level, str)
            and level.strip()
            and isinstance(level_words, list)
            and level_words
        )
        if not sound or not all(isinstance(word, str) and word.strip() for word in level_words):
            raise FileError(
                [
                    Problem(
                        file, None, "invalid-keywords", f"level '{level!s:.40}' has no word list"
                    )
                ],
                _HINT,
            )
    return {
        level: tuple(dict.fromkeys(word.strip().lower() for word in level_words))
        for level, level_words in data.items()
    }


def project_keywords(project: Project) -> dict[str, tuple[str, ...]]:
    """Return the keywords of a project: its own if people wrote some, else the built-in ones."""
    text = read_setting(project, _SETTING)
    return built_in_keywords() if text is None else read_keywords(text, _SETTING)


def set_keywords(project: Project, text: str | None, author: str, file: str = _SETTING) -> None:
    """Set a project's own keywords, as YAML; None restores the built-in ones.

    Raises:
        FileError: see `read_keywords`.
    """
    levels = 0 if text is None else len(read_keywords(text, file))
    with project.transaction() as cursor:
        put_setting(cursor, _SETTING, text)
        log_action(cursor, author, "set bloom keywords", levels=levels)


def bloom_levels(question: str, words: Keywords | None = None) -> tuple[str, ...]:
    """Return the levels of Bloom's taxonomy whose keywords occur in a question, or `Uncategorized`.

    Source: exam-generation-irt, appendix C. The authors search the verbs found by a parser. This
    function searches the lemmas of all words, so that a noun such as "list" counts as well. "The
    following" is ignored: it occurs in most multiple-choice questions and has no meaning for this.

    Args:
        words: keywords by level; None for the built-in ones.
    """
    import simplemma

    named = re.findall(
        r"[A-Za-z]+", re.sub(r"\bthe following\b", " ", question, flags=re.IGNORECASE)
    )
    answers = {
        form
        for word in named
        for form in (word.lower(), simplemma.lemmatize(word, lang="en").lower())
    }
    levels = built_in_keywords() if words is None else words
    return tuple(level for level, some in levels.items() if answers.intersection(some)) or (
        UNCATEGORIZED,
    )


def question_types(question: str, whole_word: bool = False) -> tuple[str, ...]:
    """Return the question words of a question, searched as the authors do: anywhere in it, ignoring
    case.

    Args:
        whole_word: whether to ignore "what" within "somewhat".
    """
    lower = question.lower()
    searched = set(re.findall(r"[a-z]+", lower)) if whole_word else lower
    return tuple(word for word in QUESTION_WORDS if word.lower() in searched) or (UNCATEGORIZED,)


def categorize_items(
    project: Project, items: Sequence[Item], whole_word: bool = False
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the categories of items by scheme and question id: those that people set, else the
    computed ones.
    """
    words = project_keywords(project)
    by_hand = {scheme: item_categories(project, scheme) for scheme in SCHEMES}
    return {
        "bloom": {
            i.question_id: by_hand["bloom"].get(i.question_id) or bloom_levels(i.text, words)
            for i in items
        },
        "question type": {
            i.question_id: by_hand["question type"].get(i.question_id)
            or question_types(i.text, whole_word)
            for i in items
        },
    }


def item_kinds(project: Project, items: Sequence[Item]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the categories of items as `categorize_items` does, and their topics as a further
    scheme.
    """
    return {
        **categorize_items(project, items),
        "topic": {item.question_id: (item.topic,) for item in items if item.topic},
    }


@dataclass(frozen=True)
class GenerationCounts:
    """Numbers of items that models wrote from passages, by outcome.

    Args:
        candidates: answers received.
        unparsed: answers without a valid item; in `by_part`, an answer may count for several parts.
        no_answer: requests without an answer, as after a failure of the endpoint.
        filtered: proposals that broke a rule when the passing ones were accepted, and are not
            accepted; None if that was never done.
        accepted: proposals that a person accepted.
        rejected: others that a person rejected.
        undecided: the rest.
    """

    candidates: int
    unparsed: int
    by_part: dict[Part, int]
    no_answer: int
    filtered: int | None
    accepted: int
    rejected: int
    undecided: int

    @property
    def table(self) -> list[tuple[str, int | None]]:
        """The first rows of table 4 of exam-generation-irt, with further ones so that the numbers
        add up.
        """
        parts = [(f"unparsed: {part}", count) for part, count in self.by_part.items() if count]
        return [
            ("candidates", self.candidates),
            ("unparsed", self.unparsed),
            *parts,
            ("filtered", self.filtered),
            ("accepted", self.accepted),
            ("rejected", self.rejected),
            ("undecided", self.undecided),
            ("without an answer", self.no_answer),
        ]


@dataclass(frozen=True)
class ExamStatistics:
    """Statistics of an exam (exam-generation-irt, table 4).

    Args:
        making: of items that models wrote; None without any, as for an imported exam.
        items: active items that have a key.
        without_key: items without a right choice; they cannot be used.
        retired: items that a person retired.
        filtered: how many items break each rule; None if they were not checked.
        kept: how many break no rule; None if they were not checked.
        fixed_answer: the largest share of keys at one letter, which is the accuracy of always
            giving that letter; None without items.
        fixed_letter: that letter.
        longest_answer: the share of items whose key is at least as long, in characters, as every
            choice.
        question_length: mean characters of a question.
        question_types: items by the question words that they have; an item may have several.
        topics: items by topic; items without a topic are under "".
    """

    making: GenerationCounts | None
    items: int
    without_key: int
    retired: int
    filtered: dict[str, int] | None
    kept: int | None
    fixed_answer: float | None
    fixed_letter: str | None
    longest_answer: float | None
    question_length: float | None
    question_types: dict[str, int] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)

    @property
    def baselines(self) -> dict[str, float]:
        """Accuracies of answers that ignore the question, by description; empty without items."""
        fixed_answers = {
            f"always {self.fixed_letter}": self.fixed_answer,
            "always the longest choice": self.longest_answer,
        }
        return {what: share for what, share in fixed_answers.items() if share is not None}


def making_of(project: Project, query_id: str | None = None) -> GenerationCounts | None:
    """Return the outcomes of the items that models wrote for an exam, parsed again; None if no
    model was asked.

    Args:
        query_id: the exam; None for all.
    """
    rows = project.rows(
        "SELECT raw, reason FROM generations JOIN queries USING (query_key) WHERE kind = 'item'"
        " AND ($query_id::VARCHAR IS NULL OR query_id = $query_id)",
        {"query_id": query_id},
    )
    if not rows:
        return None
    came = [(raw, reason) for raw, reason in rows if reason is None or raw]
    failed = [parse_item(raw) for raw, reason in came if reason is not None]
    parts = Counter(
        part for entry in failed if isinstance(entry, UnreadableReply) for part in entry.parts
    )
    acceptance = last_acceptance(project, query_id)
    fell = set(acceptance.fell) if acceptance else set()
    states = Counter(
        "filtered" if entry.key in fell and entry.state != "accepted" else entry.state
        for entry in list_proposals(project, query_id, STATES)
        if entry.kind == "item"
    )
    return GenerationCounts(
        len(came),
        len(failed),
        {part: parts[part] for part in PARTS},
        len(rows) - len(came),
        states["filtered"] if acceptance else None,
        states["accepted"],
        states["rejected"],
        states["open"],
    )


def summarize_items(
    items: Sequence[Item],
    making: GenerationCounts | None = None,
    checked: Sequence[CheckedItem] | None = None,
) -> ExamStatistics:
    """Return statistics of items. Retired items and those without a key are only counted.

    Args:
        making: see `making_of`.
        checked: see `apply_thresholds`; entries for other items are ignored.
    """
    good = [item for item in items if item.active and item.key is not None]
    filtered = kept_count = None
    if checked is not None:
        ids = {item.question_id for item in items if item.active}
        of_these = [entry for entry in checked if entry.item.question_id in ids]
        filtered = dict(
            Counter(
                rule for entry in of_these for rule in {str(hit.rule) for hit in entry.hits}
            ).most_common()
        )
        kept_count = sum(not entry.hits for entry in of_these)
    places = Counter(item.key_position for item in good)
    letter, most = (
        min(places.items(), key=lambda entry: (-entry[1], entry[0] or 0)) if places else (None, 0)
    )
    longest = sum(len(item.key or "") >= max(map(len, item.choices)) for item in good)
    n = len(good)
    return ExamStatistics(
        making,
        n,
        sum(item.active and item.key is None for item in items),
        sum(not item.active for item in items),
        filtered,
        kept_count,
        most / n if n else None,
        None if letter is None else ascii_uppercase[letter],
        longest / n if n else None,
        sum(len(item.text) for item in good) / n if n else None,
        dict(Counter(word for item in good for word in question_types(item.text)).most_common()),
        dict(Counter(item.topic or "" for item in good).most_common()),
    )
