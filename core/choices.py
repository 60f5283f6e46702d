"""Choices that options allow, with their limits and defaults.

A command reads its options before its work begins, so this module imports nothing that loads
slowly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

# Leaderboards and studies

DEFAULT_MEASURE = "nDCG@10"
LeaderboardPer = Literal["query", "subtopic", "topic", "union"]
Ties = Literal["average", "random"]
"""The ranks of equal scores in a correlation."""
CURVE_K = 50
"""Default depth of a coverage curve."""
MOST_CURVE_K = 1000
"""Maximum depth of a curve. People do not read deeper, and pools are not deeper."""
SystemTest = Literal["t", "randomisation"]
SystemCorrection = Literal["holm", "none"]
PERMUTATIONS = 10_000
"""Default minimum number of permutations of a randomisation test."""
SELECTION_TOP_K = 10
"""Default number of top passages of each run and query that are compared."""
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
LISTED_UNJUDGED = 100
"""Default number of listed passages to grade next, per run. Counts include all passages."""

# Review and the audit

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
AuditVariance = Literal["pool", "queries"]
"""The population of an interval. `pool`: these queries, with the whole pool judged. `queries`:
further similar queries.
"""
AUDIT_ALPHA = 0.05
"""Default error rate over all batches together."""
SheetForm = Literal["tsv", "jsonl"]

# Graders and jobs

GRADER_KINDS = (
    "embedding",
    "self-rating",
    "answer",
    "extractive",
    "choice",
    "direct",
    "support-embedding",
    "support",
)
BACK_ENDS = ("transformers", "openai")
Api = Literal["chat", "completions"]
"""Kind of request: an answer in a chat, or the continuation of a text."""
APIS: tuple[Api, ...] = get_args(Api)
DTYPES = ("auto", "float32", "bfloat16")
MOST_BEAMS = 64
"""Maximum number of beams: memory and time grow with them, and short answers need only a few."""
LikelihoodPer = Literal["tokens", "characters", "none"]
"""Divisor of an option's log-likelihood, so that long options have no disadvantage."""
NORMALISATIONS: tuple[LikelihoodPer, ...] = get_args(LikelihoodPer)
CONCURRENCY = 8
"""Default number of simultaneous calls of a job."""
PATIENCE = 3600.0
"""Default number of seconds for which a job waits for an unreachable endpoint."""
LONGEST_PATIENCE = 365 * 24 * PATIENCE
"""Longest allowed waiting time of a job, in seconds: a year."""
PROBED_PAIRS = 20
"""Default number of pairs for each change of a robustness probe."""
DraftedKind = Literal["question", "nugget"]
MOST_DRAFTS = 100
"""Maximum number of drafts per request."""
DRAFTED_WORDINGS = 5
"""Default number of drafted wordings."""

# Files

IMPORT_KINDS = (
    "queries",
    "passages",
    "bank",
    "exam",
    "graded",
    "runs",
    "responses",
    "qrels",
    "labels",
    "leaderboard",
    "responses-matrix",
    "lm-eval",
    "students",
    "answers",
    "answer-verdicts",
)
BEIR_SPLIT = "test"
"""Default split of a BEIR folder."""
BANK_FORMS = ("v3", "ragtime26", "nuggetizer")
"""The forms of a bank for other tools."""
LEADERBOARD_FORMS = {
    "trec_eval": ("measure", "query", "value"),
    "tot": ("run", "measure", "query", "value"),
    "ir_measures": ("run", "query", "measure", "value"),
    "rag4reports": ("query", "run", "measure", "value"),
    "jsonl": ("run", "query", "measure", "value"),
    "ranking": ("query", "Q0", "run", "rank", "value", "measure"),
}
"""The columns of each long form. A file in the form trec_eval holds one run, named after the file.
"""

# Exams and item response

EXAM_QUERY = "exam"
"""The query of the items of an exam unless another is named."""
EXAM_DOMAIN = "a collection of documents"
"""Default subject of the passages of a multiple-choice exam."""
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
LEAST_TOPIC_ANSWERS = 10
"""Minimum number of answers that an examinee must have given in a topic for its accuracy to be
shown.
"""
ResponseModel = Literal["3pl", "2pl", "1pl"]
"""3pl: discrimination, difficulty and guessing; 2pl: without guessing; 1pl: difficulty alone
(discrimination 1).
"""
EstimatorName = Literal["map", "paper"]
"""map: most probable parameters; paper: highest likelihood within the bounds of the paper."""
ItemCriterion = Literal["information", "d", "item-rest"]
ITEM_CRITERIA: tuple[ItemCriterion, ...] = get_args(ItemCriterion)
ITEM_DRAWS = 200
"""Default number of bootstrap draws of an item response model."""
ITEM_DROP = 10.0
"""Default percentage of the items that each step of the improvement of an exam drops."""
ITEM_STEPS = 5
"""Default number of steps of the improvement of an exam."""

# Generated answers

ANSWER_PROMPT = "reteval-answer"
STATED_TOKENS = 5
"""Default answer length in tokens that the prompt states: the authors' number, which fits NQ-open.
"""
MOST_ANSWER_TOKENS = 32
"""Maximum number of tokens that a model may write: room for words around the answer."""
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
"""Default seed of the first answer from gold passages."""
ANSWER_CHECKS = (
    "em",
    "f1",
    "rouge1",
    "bleu",
    "chrf",
    "meteor",
    "words",
    "contains",
    "embedding",
    "bertscore",
    "llm",
    "graded",
)
AnswerCase = Literal["A", "B", "C", "D", "E", "F", "K"]
ANSWER_CASES: dict[AnswerCase, str] = {
    "A": "A passage with the answer is not annotated as relevant",
    "B": "The searched passages contain another version of the gold passage",
    "C": "Other passages distracted the model from the gold passage",
    "D": "The model could not answer from the gold passages",
    "E": "The answer is right, but no answer from the gold passages agrees with it",
    "F": "The comparison of the two answers is wrong",
    "K": "Right from the model's own knowledge, without evidence",
}
"""The cases with their descriptions. A to F are from the paper (llm-reteval, section 4.1); K is
ours.
"""
UNANNOTATED_JUDGMENT = 2
"""The judgment for a passage that answers the query but was not annotated (case A): highly
relevant.
"""
SNAPSHOT_LEVEL = 0.05
"""A fall counts if noise alone gives one as large with a probability below this."""
