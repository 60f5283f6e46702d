"""Choices that options allow, with their limits and defaults.

They stand apart from the code behind them, which loads slowly: a command reads its options first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

DEFAULT_MEASURE = "nDCG@10"
LeaderboardPer = Literal["query", "subtopic", "topic", "union"]
CURVE_K = 50
"""Default depth of a coverage curve."""
MOST_CURVE_K = 1000
"""Maximum depth of a curve. People do not read deeper, and pools are not deeper."""

SELECTION_TOP_K = 10
SELECTION_MEASURES = ("nDCG@10", "P@10", "R@10", "AP", "RR", "Success@1", "Success@5", "Success@10")
"""Default measures of the correlation. Success@k is the Top-k accuracy of the source text."""
META_MEASURES = (
    "AP",
    "nDCG@10",
    "nDCG@20",
    "Rprec",
    "RR",
    "P@20",
    "EXAM-Cover@20",
    "alpha_nDCG@20",
)
META_COEFFICIENTS = ("spearman", "kendall", "tau_ap")
META_MIN_RATINGS = (1, 3, 4, 5)
"""The min ratings of exam-plus-plus, table 3."""
MOST_UNJUDGED = 100
"""Maximum number of listed passages to grade next. Counts include all passages."""
SystemTest = Literal["t", "randomisation"]
SystemCorrection = Literal["holm", "none"]

DisagreementOrder = Literal["worst", "left", "right", "board", "kappa"]
GradingState = Literal["failed", "ungraded", "complete"]
AdjudicationState = Literal["differs", "agrees", "waiting", "decided"]
ADJUDICATION_STATES: Mapping[AdjudicationState, str] = {
    "differs": "awaits adjudication, because values differ or are missing",
    "agrees": "all assessors agree, but the value is not accepted yet",
    "waiting": "at least one assessor has not finished",
    "decided": "the adjudicator's decision applies",
}
AuditAim = Literal["best", "pair", "width", "budget"]
"""The aim of an audit. `best`: find the best system. `pair`: find the better of two systems.
`width`: know every score within a half-width. `budget`: get results from a given number of
judgments."""

DraftedKind = Literal["question", "nugget"]
MOST_DRAFTS = 100
"""Maximum number of drafts per request."""
BEIR_SPLIT = "test"

Retriever = Literal["bm25", "embedding", "hybrid"]
RETRIEVERS: tuple[Retriever, ...] = get_args(Retriever)
RETRIEVAL_DEPTH = 10
"""Default number of passages that are kept of each ranking."""
ExamineeRule = Literal["random", "longest", "overlap", "embedding"]
EXAMINEE_RULES: dict[ExamineeRule, str] = {
    "random": "random",
    "longest": "longest answer",
    "overlap": "shared words",
    "embedding": "all-MiniLM-L6-v2",
}
"""Examinees without a language model, with their names in place of a model: chance; the longest
choice; the choice that shares most words with the question or a sentence of the context; and the
choice nearest to these in meaning."""
CHOICE_NORMALISATION = "characters"
"""Default divisor of a choice's log-likelihood (as `acc_norm` of lm-eval, cited by Guinet et al.,
section 3.3).
"""
ExamineeTest = Literal["mcnemar", "randomisation"]
EXAMINEE_TESTS: tuple[ExamineeTest, ...] = get_args(ExamineeTest)
LEAST_TOPIC_ANSWERS = 10
"""Minimum number of answers that an examinee must have given in a topic for its accuracy to be
shown.
"""

STATED_TOKENS = 5
"""Default answer length in tokens that the prompt states: the authors' number, which fits NQ-open.
"""
ANSWER_TOKENS = 32
"""Tokens that a model may write: room for words around the answer."""
PassageOrder = Literal["best first", "best last", "one by one"]
PASSAGE_ORDERS: dict[PassageOrder, str] = {
    "best first": "All passages in one prompt, the best one first.",
    "best last": (
        "All passages in one prompt, the best one last. The question is repeated at the end."
    ),
    "one by one": (
        "One prompt per passage, the best one first. The last answer other than"
        " 'unanswerable' counts."
    ),
}
"""Orders in which a model gets its passages (llm-reteval specification, section 4.1), with
descriptions.
"""
PASSAGE_ORDER: PassageOrder = "best first"
AnswerRule = Literal["nearest-sentence", "extractive"]
ANSWER_RULES: dict[AnswerRule, str] = {
    "nearest-sentence": (
        "The passage sentence closest to the question by all-MiniLM-L6-v2. No key"
        " or prompt is needed."
    ),
    "extractive": "An extractive model copies the answer from the passages. No prompt is needed.",
}
"""Generators without a prompt, with descriptions. They are deterministic: every draw would be the
same.
"""
GOLD_DRAWS = 3
GOLD_TEMPERATURE = 0.5
"""Draws from the gold passages, and their temperature (llm-reteval, section 3.2)."""
ANSWER_SEED = 1
SNAPSHOT_LEVEL = 0.05
"""A fall counts if noise alone gives one as large with a probability below this."""
