"""Gold passages of NQ-open as a corpus that lacks some of them."""

import json
import random
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Corpus:
    """Gold passages, and the passages that a retriever searches.

    Args:
        ids, texts: of the searched passages.
        gold: id of the gold passage by question; it may be absent from `ids`.
        gold_texts: texts of all gold passages by id.
        answers: right answers by question.
    """

    ids: list[str]
    texts: list[str]
    gold: dict[str, str]
    gold_texts: dict[str, str]
    answers: dict[str, list[str]]


def corpus(folder: Path, missed: float, changed: float, seed: int = 0) -> Corpus:
    """Return the gold passages of NQ-open as a corpus; some are missing and some have a later version instead.

    A later version has another id and one more sentence, as two dumps of an encyclopedia differ.

    Args:
        missed: share of gold passages that the corpus lacks.
        changed: share of gold passages that the corpus has in a later version.
    """
    rows = json.loads((folder / "test_dataset.json").read_text(encoding="utf-8"))
    gold_texts = {str(row["idx_gold_in_corpus"]): row["text"] for row in rows}
    order = sorted(gold_texts)
    random.Random(seed).shuffle(order)
    gone, other = int(missed * len(order)), int((missed + changed) * len(order))
    kept = [(one, gold_texts[one]) for one in order[other:]]
    kept += [(f"{one} of 2019", f"{gold_texts[one]} As of 2019 this was so .") for one in order[gone:other]]
    kept.sort()
    return Corpus(
        [one for one, _ in kept],
        [text for _, text in kept],
        {row["question"]: str(row["idx_gold_in_corpus"]) for row in rows},
        gold_texts,
        {row["question"]: row["answers"] for row in rows},
    )
