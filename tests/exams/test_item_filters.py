"""Item filters: values computed by hand, default thresholds, and the evidence of each rule."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from exam_workbench.exams import Item, Thresholds, apply_thresholds, usual_thresholds, value_row
from exam_workbench.exams._item_filters import (
    VALUE_COLUMNS,
    CheckedItem,
    measure_items,
    multiset_jaccard,
    nearest_gram,
    rouge_l,
    split_words,
)
from exam_workbench.exams._item_retrievals import Encode, kept_vectors
from exam_workbench.store import Project
from tests.made.refusals import refusal

SOURCE = "The moon pulls the water and so the tide comes in twice a day at most coasts"
ITEM = Item(
    "exam/1", "exam", "What makes the water at the coast rise and fall twice a day?",
    ("The moon pulls the water", "The wind of the night", "Rivers that carry salt", "The day at most coasts"),
    "The moon pulls the water", source_passage_id="p", source_text=SOURCE,
)  # fmt: skip
OFF = Thresholds(near=None, self_contained=False)


def counted(texts: Sequence[str]) -> np.ndarray:
    """Return letter-count vectors, so that cosines can be checked by hand without a model."""
    rows = np.array([[text.lower().count(chr(97 + at)) for at in range(26)] for text in texts], np.float32) + 1e-6
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def check(items: Sequence[Item], thresholds: Thresholds | None = None, *, encode: Encode) -> list[CheckedItem]:
    """Measure items and apply thresholds; by default, those that remove 5 % each."""
    values = measure_items(items, encode)
    return apply_thresholds(values, usual_thresholds(values) if thresholds is None else thresholds)


def test_nearest_gram_is_found_with_its_similarity() -> None:
    value, gram = nearest_gram(split_words(SOURCE), split_words("the MOON pulls the water"), 4)
    assert (value, gram) == (4 / 5, "the moon pulls the"), "'the' counts twice; the first of equal grams wins"
    assert nearest_gram(split_words("one two"), split_words("two three four"), 5) == (1 / 4, "one two"), (
        "a short source is one gram"
    )
    assert nearest_gram([], ["a"], 2) == nearest_gram(["a"], [], 2) == (0.0, "")


few_words = st.lists(st.sampled_from("abcd"), max_size=9)


@given(few_words, few_words, st.integers(1, 4))
def test_nearest_gram_matches_exhaustive_search(source: list[str], text: list[str], n: int) -> None:
    size = min(n, len(source))
    grams = [source[at : at + size] for at in range(len(source) - size + 1)] if source and text else []
    best = max((multiset_jaccard(gram, text) for gram in grams), default=0.0)
    assert nearest_gram(source, text, n)[0] == pytest.approx(best)


@given(few_words, few_words)
def test_rouge_l_and_jaccard_match_references(one: list[str], other: list[str]) -> None:
    from rouge_score.rouge_scorer import _score_lcs

    assert rouge_l(one, other) == pytest.approx(_score_lcs(one, other).fmeasure)
    assert (
        multiset_jaccard(one, other)
        == multiset_jaccard(other, one)
        == pytest.approx(
            sum((Counter(one) & Counter(other)).values()) / (sum((Counter(one) | Counter(other)).values()) or 1)
        )
    )


def test_item_values_follow_the_paper() -> None:
    (found,) = measure_items([ITEM], counted)
    assert found.extra_gram is not None and found.intra_jaccard is not None and found.intra_embedding is not None
    # 5+5+4+5 words: n = 4. J of the key: 4 of 5 words; of the last choice "day at most coasts": 4 of 5.
    assert found.extra_gram.value == 0.0
    assert (found.extra_gram.one, found.extra_gram.other) == ("The day at most coasts", "day at most coasts")
    # Key and "The wind of the night" share two of eight words.
    assert found.intra_jaccard.value == 0.25 and found.intra_jaccard.one == "The wind of the night"
    cosines = counted([ITEM.choices[0], *ITEM.choices[1:]])
    assert found.intra_embedding.value == round(float((cosines[1:] @ cosines[0]).max()), 4)
    assert (found.refers, found.near, found.duplicates, found.key_again, found.all_or_none) == (None,) * 5
    assert len(value_row(found)) == len(VALUE_COLUMNS)


def test_values_without_source_or_key_are_none() -> None:
    bare, keyless = measure_items(
        [replace(ITEM, source_text=None), replace(ITEM, key=None, question_id="exam/2")], counted
    )
    assert bare.extra_gram is bare.extra_embedding is None and bare.intra_jaccard is not None
    assert keyless.intra_jaccard is keyless.extra_gram is keyless.intra_rouge is None
    (_, hits) = [one.hits for one in apply_thresholds([bare, keyless], OFF)]
    assert [hit.rule for hit in hits] == ["no key"]


@pytest.mark.parametrize(
    ("text", "pattern", "words_hit"),
    [
        ('According to the paper "On tides", what makes the water rise?', 1, 'paper "On tides"'),
        ('What is discussed in "On tides" that makes the water rise?', 2, 'discussed in "On tides"'),
        ("What did the Research find about water?", 3, "Research"),
        ("What is the newspaper that writes of the tides?", None, None),
        ('Which of the "tides" is the highest?', 2, 'of the "tides"'),
    ],
)
def test_question_that_names_its_source_reports_the_pattern(
    text: str, pattern: int | None, words_hit: str | None
) -> None:
    (checked,) = check([replace(ITEM, text=text)], replace(OFF, self_contained=True), encode=counted)
    found = [(hit.value, hit.one) for hit in checked.hits]
    assert found == ([] if pattern is None else [(float(pattern), words_hit)])
    assert check([replace(ITEM, text=text)], OFF, encode=counted)[0].hits == (), "the rule can be switched off"


@pytest.mark.parametrize(
    ("choices", "rules"),
    [
        (("The moon pulls the water", "x", "x ", "y"), ["duplicate choices"]),
        (("The moon pulls the water", "the moon  pulls the water.", "x", "y"),
         ["duplicate choices", "key among discriminators"]),
        (("The moon pulls the water", "x", "y", "None of the above"), ["all or none"]),
        (("The moon pulls the water", "x", "y", "Both A and B"), ["all or none"]),
        (("The moon pulls the water", "x", "y", "All of these answers"), ["all or none"]),
        (("The moon pulls the water", "x", "y", "Vitamins A and E, above all"), []),
    ],
)  # fmt: skip
def test_duplicate_or_unshufflable_choices_are_found(choices: tuple[str, ...], rules: list[str]) -> None:
    (checked,) = check([replace(ITEM, choices=choices)], OFF, encode=counted)
    assert [hit.rule for hit in checked.hits] == rules


def test_near_duplicate_items_name_each_other() -> None:
    again = replace(ITEM, question_id="exam/2", text=ITEM.text.replace("coast", "coasts"))
    other = replace(ITEM, question_id="exam/3", text="zzzzzzzz qqqqqqq jjjjjjj xxxxxx?", key=ITEM.choices[2])
    first, second, third = check([ITEM, again, other], replace(OFF, near=0.95), encode=counted)
    assert [(hit.rule, hit.one, hit.other) for hit in first.hits] == [("near duplicate", ITEM.text, again.text)]
    assert (first.values.near_id, second.values.near_id) == ("exam/2", "exam/1")
    assert third.hits == () and third.values.near is not None


def many(n: int) -> list[Item]:
    """Return items of random words, some from the source."""
    draw = random.Random(3)
    pool = [*split_words(SOURCE), *["alpha", "beta", "gamma", "delta", "epsilon"]]
    made = []
    for at in range(n):
        choices = tuple(f"{' '.join(draw.sample(pool, 5))} {at}{place}" for place in range(4))
        made.append(
            replace(ITEM, question_id=f"exam/{at}", text=f"What of {at}?", choices=choices, key=choices[at % 4])
        )
    return made


def test_default_thresholds_remove_at_most_five_per_cent_each() -> None:
    values = measure_items(many(100), counted)
    at = usual_thresholds(values)
    fallen = Counter(hit.rule for one in apply_thresholds(values, replace(at, near=None)) for hit in one.hits)
    assert all(
        0 < fallen[rule] <= 5 for rule in ("extra n-gram", "extra embedding", "intra jaccard", "intra embedding")
    )
    assert fallen["extra embedding"] == fallen["intra embedding"] == 5
    assert at.intra_rouge is None, "a rule beyond the paper applies only if it is set"
    assert usual_thresholds(values[:19]) == Thresholds()
    assert usual_thresholds(measure_items([ITEM] * 40, counted)) == Thresholds(), "they would all fall at once"
    assert usual_thresholds([]) == Thresholds() and check([], encode=counted) == []
    with refusal("share-out-of-range"):
        usual_thresholds([], 5)


def test_equal_value_breaks_intra_but_not_extra_threshold() -> None:
    values = measure_items(many(40), counted)
    bound = sorted(one.intra_embedding.value for one in values if one.intra_embedding)[-3]
    fallen = [one for one in apply_thresholds(values, replace(OFF, intra_embedding=float(f"{bound:.4f}"))) if one.hits]
    assert len(fallen) == 3, "an equal value breaks an intra threshold"
    margin = sorted(one.extra_embedding.value for one in values if one.extra_embedding)[-3]
    assert len([one for one in apply_thresholds(values, replace(OFF, extra_embedding=margin)) if one.hits]) == 2, (
        "only a larger value breaks an extra threshold"
    )
    hit = fallen[0].hits[0]
    assert hit.threshold == bound and hit.one in fallen[0].item.discriminators and hit.other == fallen[0].item.key


def test_project_keeps_vectors_of_the_shipped_encoder(project: Project) -> None:
    (found,) = check([ITEM], encode=kept_vectors(project))
    assert found.values.intra_embedding is not None and 0 < found.values.intra_embedding.value < 1
    kept = project.value("SELECT count(*) FROM text_vectors")
    assert kept == 6, "question with key, four choices and the source"
    assert check([ITEM], encode=kept_vectors(project)) == [found]
    assert project.value("SELECT count(*) FROM text_vectors") == kept
