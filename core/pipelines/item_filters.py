"""Filters of items before an exam: values, thresholds and hits; acceptance of the proposals that pass."""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import combinations
from math import floor
from typing import Any, Literal

import numpy as np
from rapidfuzz.distance import LCSseq

from ..bank import NEAR, accept
from ..errors import InputError
from ..graders import unit_vectors
from ..grading import ProjectVectors
from ..project import Project
from ..types import Question
from .items import Item, exam_items, proposed_items


def words(text: str) -> list[str]:
    """Return the words of a text for the item filters: in lower case, separated by white space."""
    return text.lower().split()


def jaccard(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the multiset Jaccard similarity |a∩b| / |a∪b| of two lists of words; 0 if both are empty."""
    a, b = Counter(one), Counter(other)
    union = (a | b).total()
    return (a & b).total() / union if union else 0.0


def nearest_gram(source: Sequence[str], text: Sequence[str], n: int) -> tuple[float, str]:
    """Return J_n of a source and a text: the largest Jaccard similarity of the text and an n-gram of the source; the
    n-gram.

    Source: exam-generation-irt, A.2. A source of fewer than n words is one n-gram. The first of equally near ones
    counts.

    Args:
        source, text: words.
        n: words of an n-gram, from 1.
    """
    if not source or not text:
        return 0.0, ""
    n = min(max(n, 1), len(source))
    wanted = Counter(text)
    seen: Counter[str] = Counter()
    common = best = best_end = 0
    for end, word in enumerate(source):
        common += seen[word] < wanted[word]
        seen[word] += 1
        if end >= n:
            gone = source[end - n]
            seen[gone] -= 1
            common -= seen[gone] < wanted[gone]
        # All n-grams have the same length, so the one with the most common words is the nearest.
        if end >= n - 1 and (common > best or not best_end):
            best, best_end = common, end + 1
    return best / (n + len(text) - best), " ".join(source[best_end - n : best_end])


def rouge_l(one: Sequence[str], other: Sequence[str]) -> float:
    """Return ROUGE-L F1 of two lists of words: the harmonic mean of their longest common subsequence's shares of each.

    Source: Lin (2004), with equal weights of precision and recall.
    """
    if not one or not other:
        return 0.0
    return 2 * LCSseq.similarity(one, other) / (len(one) + len(other))


Rule = Literal[
    "self-contained", "extra n-gram", "extra embedding", "intra jaccard", "intra embedding", "intra rouge-l",
    "duplicate choices", "key among discriminators", "all or none", "near duplicate", "no key",
]  # fmt: skip

SHARE = 0.05
"""Share of the items that a default threshold removes (exam-generation-irt, A.2)."""
DIGITS = 4
"""Digits of values and thresholds, so that a threshold typed as shown has the same effect."""

Encode = Callable[[Sequence[str]], np.ndarray[Any, np.dtype[np.float32]]]
"""Returns the unit vectors of n texts, float (n, dimensions)."""

_NAMES = r"\b(documentation|paper|article|research|study)\b"
PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        _NAMES + r'\s*"[^"]+"',
        r'\b(discussed in|addressed in|described in|of the)\b\s*"[^"]+"',
        _NAMES,
    )
)
"""References to the source: a term with a title in quotes, a citation with one, and the terms alone (A.2)."""
_ALL_OR_NONE = re.compile(
    r"\b(all|none|both|neither|any|either)\s+(of\s+)?(the\s+|these\s+|those\s+)?"
    r"(above|below|previous|preceding|foregoing|other (choices|options|answers)|choices|options|answers)\b",
    re.IGNORECASE,
)
_OTHER_LETTERS = re.compile(r"\b(?:[Bb]oth|[Nn]either)?\s*\(?[A-D]\)?\s*(?:,|and|nor|or|&)\s*\(?[A-D]\)?(?!\w)")


@dataclass(frozen=True)
class Likeness:
    """Similarity of two texts.

    Args:
        value: the similarity, or the margin by which it is larger than it should be.
        one, other: the two texts.
    """

    value: float
    one: str
    other: str


@dataclass(frozen=True)
class Values:
    """Values that the filters compute for an item; None if the item lacks the data for a value.

    Args:
        refers: the number of the first pattern of `PATTERNS` found in the question, from 1, and the words; None without
            a match.
        extra_gram: the largest J_n(source, discriminator) less J_n(source, key); that discriminator, and the n-gram.
        extra_embedding: the largest cosine of source and discriminator less that of source and key; the two choices.
        intra_jaccard, intra_embedding, intra_rouge: the largest similarity of the key and a discriminator; both texts.
        near: the largest cosine to another item (question and key together); both questions.
        near_id: the id of that other item.
        duplicates: a repeated choice.
        key_again: a discriminator with the same words as the key.
        all_or_none: a choice that refers to other choices, which shuffling moves.
    """

    item: Item
    refers: tuple[int, str] | None
    extra_gram: Likeness | None
    extra_embedding: Likeness | None
    intra_jaccard: Likeness | None
    intra_embedding: Likeness | None
    intra_rouge: Likeness | None
    near: Likeness | None
    near_id: str | None
    duplicates: str | None
    key_again: str | None
    all_or_none: str | None


@dataclass(frozen=True)
class Thresholds:
    """Values from which items are hit; None disables a rule.

    Args:
        extra_gram, extra_embedding: t1 and t2 of the paper; larger values are hit.
        intra_jaccard, intra_embedding, intra_rouge: t3, t4 and one for ROUGE-L; larger and equal values are hit.
        near: cosine of two items.
        self_contained: whether questions that name their source are hit. The authors apply it to two of their four
            exams.
    """

    extra_gram: float | None = None
    extra_embedding: float | None = None
    intra_jaccard: float | None = None
    intra_embedding: float | None = None
    intra_rouge: float | None = None
    near: float | None = NEAR
    self_contained: bool = True


@dataclass(frozen=True)
class Hit:
    """A rule that an item breaks, with the two texts that show it."""

    rule: Rule
    value: float | None
    threshold: float | None
    one: str
    other: str


@dataclass(frozen=True)
class Checked:
    """An item with its values and the rules that it breaks at some thresholds."""

    item: Item
    values: Values
    hits: tuple[Hit, ...]


def kept_vectors(project: Project) -> Encode:
    """Return the shipped encoder with the project's vectors; new ones are stored if the project is writable."""
    return functools.partial(unit_vectors, store=None if project.read_only else ProjectVectors(project))


def measure(items: Sequence[Item], encode: Encode = unit_vectors) -> list[Values]:
    """Compute the values of the filters, which do not depend on thresholds (exam-generation-irt, A.2).

    J_n(doc, x) is the largest multiset Jaccard similarity of x and an n-gram of doc; n is the mean number of words of
    the choices rounded down. S is the cosine of the vectors. Words are separated by white space and lower-cased.

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

    def cosine(one: str, other: str) -> float:
        return float(vectors[place[one]] @ vectors[place[other]])

    near = _nearest(vectors[[place[text] for text in joined]]) if len(items) > 1 else {}
    return [
        _values(item, cosine, (near[at][0], items[near[at][1]]) if at in near else None)
        for at, item in enumerate(items)
    ]


def item_values(
    project: Project, query_id: str | None = None, of: Literal["all", "proposals", "bank"] = "bank"
) -> list[Values]:
    """Return the values of a project's active items, of open proposals, or of both, cached until the data changes.

    Args:
        query_id: the exam; None for all.

    Raises:
        GradingError: the encoder cannot be loaded.
    """

    def compute() -> list[Values]:
        found = [] if of == "proposals" else [item for item in exam_items(project, query_id) if item.active]
        found += [] if of == "bank" else proposed_items(project, query_id)
        return measure(found, kept_vectors(project))

    return project.remember(("item values", query_id, of), compute)


def usual_thresholds(values: Sequence[Values], share: float = SHARE) -> Thresholds:
    """Return thresholds that each remove at most a share of the items: quantiles of the values.

    A rule is disabled if the items are too few, or too many values are equal, to remove some within the share. ROUGE-L,
    which the paper does not have, is set only by people.
    """
    if not 0 <= share <= 1:
        raise InputError("share-out-of-range", f"Share {share:g} is out of range.", "Use a number from 0 to 1.")
    return Thresholds(
        _above([one.extra_gram.value for one in values if one.extra_gram], share),
        _above([one.extra_embedding.value for one in values if one.extra_embedding], share),
        _from([one.intra_jaccard.value for one in values if one.intra_jaccard], share),
        _from([one.intra_embedding.value for one in values if one.intra_embedding], share),
    )


def judged(values: Sequence[Values], thresholds: Thresholds) -> list[Checked]:
    """Return the rules that items break at some thresholds. Fast enough for a moving slider."""
    return [Checked(one.item, one, tuple(_hits(one, thresholds))) for one in values]


def _values(item: Item, cosine: Callable[[str, str], float], near: tuple[float, Item] | None) -> Values:
    refers = next(((n, hit[0]) for n, one in enumerate(PATTERNS, 1) if (hit := one.search(item.text))), None)
    others = item.discriminators if item.key is not None else ()
    gram = embedding = intra_j = intra_e = intra_r = None
    if item.key is not None and others:
        key, of_key = item.key, words(item.key)
        intra_j = _most((jaccard(of_key, words(other)), other, key) for other in others)
        intra_e = _most((cosine(key, other), other, key) for other in others)
        intra_r = _most((rouge_l(of_key, words(other)), other, key) for other in others)
        if item.source_text:
            source = words(item.source_text)
            n = floor(sum(len(words(choice)) for choice in item.choices) / len(item.choices))
            right, _ = nearest_gram(source, of_key, n)
            found = [(other, nearest_gram(source, words(other), n)) for other in others]
            gram = _most((value - right, other, words_of_source) for other, (value, words_of_source) in found)
            base = cosine(item.source_text, key)
            embedding = _most((cosine(item.source_text, other) - base, other, key) for other in others)
    said = [_same(choice) for choice in item.choices]
    return Values(
        item, refers, gram, embedding, intra_j, intra_e, intra_r,
        None if near is None else Likeness(near[0], item.text, near[1].text),
        None if near is None else near[1].question_id,
        next((a for (a, x), (_, y) in combinations(zip(item.choices, said, strict=True), 2) if x == y), None),
        next((other for other in others if item.key is not None and _same(other) == _same(item.key)), None),
        next((one for one in item.choices if _ALL_OR_NONE.search(one) or _OTHER_LETTERS.search(one)), None),
    )  # fmt: skip


def _most(found: Any) -> Likeness:
    value, one, other = max(found, key=lambda each: each[0])
    # Adding zero turns a rounded -0.0 into 0.0.
    return Likeness(round(value, DIGITS) + 0.0, one, other)


def _nearest(vectors: np.ndarray[Any, np.dtype[np.float64]]) -> dict[int, tuple[float, int]]:
    """Return each vector's largest cosine to another one, and the index of that; in blocks to bound memory."""
    found: dict[int, tuple[float, int]] = {}
    for start in range(0, len(vectors), 1024):
        cosines = vectors[start : start + 1024] @ vectors.T
        cosines[np.arange(len(cosines)), start + np.arange(len(cosines))] = -np.inf
        for row, at in enumerate(cosines.argmax(1).tolist()):
            found[start + row] = (round(float(cosines[row, at]), DIGITS), at)
    return found


def _above(values: Sequence[float], share: float) -> float | None:
    """Return the threshold above which at most a share of the values is; None if no value would be above it."""
    count = floor(share * len(values))
    ordered = sorted(values, reverse=True)
    if not count:
        return None
    bound = ordered[min(count, len(ordered) - 1)]
    return bound if ordered[0] > bound else None


def _from(values: Sequence[float], share: float) -> float | None:
    """Return the threshold from which on at most a share of the values is; None if no value would be there."""
    count = floor(share * len(values))
    ordered = sorted(values, reverse=True)
    while 0 < count < len(ordered) and ordered[count - 1] == ordered[count]:
        count -= 1
    return ordered[count - 1] if count else None


def _hits(one: Values, at: Thresholds) -> list[Hit]:
    hits: list[Hit] = []
    if one.item.key is None:
        hits.append(Hit("no key", None, None, ", ".join(one.item.choices), "no right choice"))
    if at.self_contained and one.refers is not None:
        number, said = one.refers
        hits.append(Hit("self-contained", float(number), None, said, PATTERNS[number - 1].pattern))
    for rule, found, bound, strictly in (
        ("extra n-gram", one.extra_gram, at.extra_gram, True),
        ("extra embedding", one.extra_embedding, at.extra_embedding, True),
        ("intra jaccard", one.intra_jaccard, at.intra_jaccard, False),
        ("intra embedding", one.intra_embedding, at.intra_embedding, False),
        ("intra rouge-l", one.intra_rouge, at.intra_rouge, False),
        ("near duplicate", one.near, at.near, False),
    ):
        if found is not None and bound is not None and (found.value > bound or (found.value == bound and not strictly)):
            hits.append(Hit(rule, found.value, bound, found.one, found.other))  # type: ignore[arg-type]
    for rule, text, beside in (
        ("duplicate choices", one.duplicates, "another choice"),
        ("key among discriminators", one.key_again, one.item.key or ""),
        ("all or none", one.all_or_none, "the other choices"),
    ):
        if text is not None:
            hits.append(Hit(rule, None, None, text, beside))  # type: ignore[arg-type]
    return hits


def _same(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .,;:")


VALUE_COLUMNS = tuple(field.name for field in fields(Values) if field.name != "item")
"""Names of the values of an item, in the order of a table."""


def value_row(one: Values) -> list[float | str | None]:
    """Return the values of an item in the order of `VALUE_COLUMNS`: numbers, or the words that break a rule."""
    row: list[float | str | None] = []
    for name in VALUE_COLUMNS:
        found = getattr(one, name)
        row.append(found.value if isinstance(found, Likeness) else found[1] if isinstance(found, tuple) else found)
    return row


SETTING_OF_FILTERS = "item filters"
"""The setting with the last acceptance of each exam, as JSON."""


@dataclass(frozen=True)
class Acceptance:
    """The last acceptance of the items of an exam that pass the filters.

    Args:
        thresholds: the thresholds that they passed.
        fell: the keys of the proposals that broke a rule then.
    """

    thresholds: Thresholds
    fell: tuple[int, ...]


def last_acceptance(project: Project, query_id: str | None = None) -> Acceptance | None:
    """Return the last acceptance of the query; for None, the only recorded one. None without a match."""
    found = _acceptances(project)
    if query_id is None and len(found) == 1:
        return next(iter(found.values()))
    return found.get(query_id or "")


def accept_passing(project: Project, checked: Sequence[Checked], thresholds: Thresholds, author: str) -> list[Question]:
    """Add the proposals that break no rule to the person's drafts, and record thresholds and filtered proposals.

    Args:
        checked: items checked at `thresholds`; items of the bank among them are ignored.

    Returns:
        The questions as the drafts have them now.

    Raises:
        InputError: every open proposal breaks a rule, or none is open.
    """
    proposed = [(one.item.query_id, one.item.proposal_key, one.hits) for one in checked if one.item.proposal_key]
    passing = [key for _, key, hits in proposed if key and not hits]
    if not passing:
        raise InputError(
            "no-proposal-passes",
            "No open proposal passes the filters.",
            "Change the thresholds. To see which filters reject an item, use exam items check.",
        )
    made = accept(project, passing, author)
    found = _acceptances(project) | {
        query: Acceptance(thresholds, tuple(key for of, key, hits in proposed if of == query and key and hits))
        for query, _, _ in proposed
    }
    written = json.dumps({query: asdict(one) for query, one in found.items()}, ensure_ascii=False)
    with project.transaction(
        act="edit questions", queries={query for query, _, _ in proposed}, author=author
    ) as cursor:
        cursor.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", [SETTING_OF_FILTERS, written])
    return made


def _acceptances(project: Project) -> dict[str, Acceptance]:
    """Return acceptances by query id, as the setting has them; an import has checked the types of its numbers."""
    text = project.value("SELECT value FROM settings WHERE name = ?", [SETTING_OF_FILTERS])
    known = {field.name for field in fields(Thresholds)}
    return {
        query: Acceptance(
            Thresholds(**{name: bound for name, bound in one["thresholds"].items() if name in known}),
            tuple(one["fell"]),
        )
        for query, one in json.loads(text or "{}").items()
    }
