"""Answer checks: a table of the ways to compare an answer with right answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, unknown_name
from ..graders import load_encoder, model_folder, unit_vectors, word_match
from ..measures.answers import TEXT_SCORES, best, greedy_f1

Encode: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]
"""Returns the unit vectors of n texts, float (n, dimensions)."""

Compared: TypeAlias = tuple[str, Sequence[str]]
"""An answer, and the right answers that it is compared with."""

Needs = Literal["texts", "encoder", "model"]
"""Requirements of an answer check: only the texts, the shipped encoder, or a language model."""


@dataclass(frozen=True)
class AnswerJudge:
    """A way to decide whether an answer is right. Its score rises with the similarity of the texts. Scores from the
    threshold on accept an answer. The best of several right answers counts.

    Args:
        name: its name in commands.
        title: its name on screens.
        what: its method, in one line.
        source: the source of its definition.
        threshold: the default threshold.
        needs: its requirement.
        graded: whether scores between 0 and the top occur, so that the threshold can be chosen.
        top: the greatest score.
    """

    name: str
    title: str
    what: str
    source: str
    threshold: float
    needs: Needs
    graded: bool = False
    top: float = 1.0


_SQUAD = "Rajpurkar et al.: SQuAD, EMNLP 2016"
_SHARE = 0.5

JUDGES: dict[str, AnswerJudge] = {
    judge.name: judge
    for judge in (
        AnswerJudge("em", "Exact match", "Equal texts, ignoring case, punctuation, articles and white space", _SQUAD, 1,
                    "texts"),
        AnswerJudge("f1", "Token F1", "F1 of the shared words, normalised as for exact match", _SQUAD, _SHARE,
                    "texts", True),
        AnswerJudge("rouge1", "ROUGE-1", "F1 of the shared words, ignoring case", "Lin: ROUGE, 2004", _SHARE,
                    "texts", True),
        AnswerJudge("bleu", "BLEU", "Precision of one to four words in a row, with a penalty for short answers",
                    "Papineni et al.: ACL 2002, by sacrebleu", _SHARE, "texts", True),
        AnswerJudge("chrf", "chrF", "F-score of one to six characters in a row", "Popović: WMT 2015, by sacrebleu",
                    _SHARE, "texts", True),
        AnswerJudge("meteor", "METEOR", "Shared words and stems, with a penalty for changed order; no WordNet synonyms",
                    "Banerjee and Lavie: METEOR, ACL workshop 2005", _SHARE, "texts", True),
        AnswerJudge("words", "Word match",
                    "Stemmed words without stop words, edit distance below 20 % of the longer text",
                    "Farzi and Dietz: exam-plus-plus, section 4.2.1", 1, "texts"),
        AnswerJudge("contains", "Contains", "The answer contains the words of a right answer in a row",
                    "ours, as Karpukhin et al.: DPR, EMNLP 2020, test passages", 1, "texts"),
        AnswerJudge("embedding", "Embedding", "Cosine similarity of sentence vectors by all-MiniLM-L6-v2",
                    "llm-reteval, section 2.2", 0.8, "encoder", True),
        AnswerJudge("bertscore", "Token vectors",
                    "BERTScore F1 with token vectors by all-MiniLM-L6-v2, on another scale than RoBERTa",
                    "Zhang et al.: BERTScore, ICLR 2020", 0.8, "encoder", True),
        AnswerJudge("llm", "Model, yes or no", "A language model decides, with the prompt reteval-compare",
                    "llm-reteval, appendix A, after Kamalloo et al.: ACL 2023", 1, "model"),
        AnswerJudge("graded", "Model, 0 to 5", "A language model rates, with the prompt reteval-compare-graded",
                    "ours, after llm-reteval, section 2.2", 4, "model", True, 5.0),
    )
}  # fmt: skip
"""Answer checks by name. Source: llm-reteval specification, section 6."""


def answer_judge(name: str) -> AnswerJudge:
    """Return the answer check of a name.

    Raises:
        InputError: it is unknown.
    """
    if name not in JUDGES:
        raise unknown_name("unknown-answer-judge", "answer check", name, JUDGES)
    return JUDGES[name]


def judge_scores(name: str, pairs: Sequence[Compared], encode: Encode = unit_vectors) -> list[float | None]:
    """Score answers against right answers, each against the best of several.

    Equal pairs are scored once, equal texts encoded once.

    Args:
        name: of an answer check without a model.
        pairs: n answers, each with its right answers, in any order.
        encode: the sentence encoder; the shipped one by default.

    Returns:
        n scores from 0 to 1; None if the right answers are missing. An empty answer has 0.

    Raises:
        InputError: the answer check is unknown or needs a model.
        GradingError: the encoder cannot be loaded.
    """
    judge = answer_judge(name)
    if judge.needs == "model":
        raise InputError(
            "answer-judge-needs-model",
            f"Answer check '{name}' needs a model.",
            "Choose a model, or another check such as em.",
        )
    keys = [(answer, tuple(dict.fromkeys(references))) for answer, references in pairs]
    distinct = list(dict.fromkeys(keys))
    found = dict(zip(distinct, _BATCHES[name](distinct, encode), strict=True))
    return [found[key] for key in keys]


def accepts(name: str, score: float | None, threshold: float | None = None) -> bool | None:
    """Return whether an answer check accepts this score; None without a score.

    Args:
        threshold: None for the default of the answer check.
    """
    limit = answer_judge(name).threshold if threshold is None else threshold
    return None if score is None else score >= limit - _ROUNDING


_ROUNDING = 1e-6
"""Cosines of the same texts in different batches differ by less."""

_Batch: TypeAlias = Callable[[Sequence[tuple[str, tuple[str, ...]]], Encode], list[float | None]]


def _by_texts(score: Callable[[str, str], float]) -> _Batch:
    return lambda pairs, encode: [best(score, answer, references) for answer, references in pairs]


def _by_vectors(pairs: Sequence[tuple[str, tuple[str, ...]]], encode: Encode) -> list[float | None]:
    places = _places(pairs)
    vectors = encode(list(places))
    return [
        best(lambda one, other: max(float(vectors[places[one]] @ vectors[places[other]]), 0.0), answer, references)
        for answer, references in pairs
    ]


def _by_token_vectors(pairs: Sequence[tuple[str, tuple[str, ...]]], encode: Encode) -> list[float | None]:
    places = _places(pairs)
    tokens = load_encoder(model_folder()).token_vectors(list(places)) if places else []
    return [
        best(lambda one, other: max(greedy_f1(tokens[places[one]], tokens[places[other]]), 0.0), answer, references)
        for answer, references in pairs
    ]


def _places(pairs: Sequence[tuple[str, tuple[str, ...]]]) -> dict[str, int]:
    texts = dict.fromkeys(text for answer, references in pairs for text in (answer, *references))
    return {text: at for at, text in enumerate(texts)}


_BATCHES: dict[str, _Batch] = {
    **{name: _by_texts(score) for name, score in TEXT_SCORES.items()},
    "words": _by_texts(lambda answer, reference: float(word_match(answer, reference))),
    "embedding": _by_vectors,
    "bertscore": _by_token_vectors,
}
