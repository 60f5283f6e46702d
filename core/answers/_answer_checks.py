"""Answer checks: ways to compare an answer with right answers, computed at once or by a model in a
job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..bank import find_prompt_for, question_text_key
from ..errors import InputError, check_known
from ..exams import Encode, kept_vectors
from ..graders import (
    BackEnd,
    Call,
    Completion,
    Control,
    Prompt,
    back_end_name,
    fence_mark,
    fill_prompt,
    load_encoder,
    make_back_end,
    model_folder,
    read_completion,
    short_model_name,
    stream_completions,
    unit_vectors,
    word_match,
)
from ..grading import PriceTag, sampled_price
from ..jobs import ALL_MISSING, BackgroundJob, JobScope, Progress, Report
from ..measures.answers import TEXT_SCORES, best_score, greedy_f1
from ..records import (
    AnswerModel,
    Comparison,
    add_comparisons,
    answer_models,
    answer_text_keys,
    answer_texts,
    comparisons_of,
    fingerprint_of,
)
from ..store import Cursor, Project
from ._answer_contexts import COMPARISONS, AnswerJob, run_job, start_answer_job

Compared: TypeAlias = tuple[str, Sequence[str]]
"""An answer, and the right answers that it is compared with."""

Needs = Literal["texts", "encoder", "model"]
"""Requirements of an answer check: only the texts, the shipped encoder, or a language model."""


@dataclass(frozen=True)
class AnswerJudge:
    """A way to decide whether an answer is right. Its score rises with the similarity of the texts.
    Scores from the threshold on accept an answer. The best of several right answers counts.

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
        AnswerJudge(
            "em",
            "Exact match",
            "Equal texts, ignoring case, punctuation, articles and white space",
            _SQUAD,
            1,
            "texts",
        ),
        AnswerJudge(
            "f1",
            "Token F1",
            "F1 of the shared words, normalised as for exact match",
            _SQUAD,
            _SHARE,
            "texts",
            True,
        ),
        AnswerJudge(
            "rouge1",
            "ROUGE-1",
            "F1 of the shared words, ignoring case",
            "Lin: ROUGE, 2004",
            _SHARE,
            "texts",
            True,
        ),
        AnswerJudge(
            "bleu",
            "BLEU",
            "Precision of one to four words in a row, with a penalty for short answers",
            "Papineni et al.: ACL 2002, by sacrebleu",
            _SHARE,
            "texts",
            True,
        ),
        AnswerJudge(
            "chrf",
            "chrF",
            "F-score of one to six characters in a row",
            "Popović: WMT 2015, by sacrebleu",
            _SHARE,
            "texts",
            True,
        ),
        AnswerJudge(
            "meteor",
            "METEOR",
            "Shared words and stems, with a penalty for changed order; no WordNet synonyms",
            "Banerjee and Lavie: METEOR, ACL workshop 2005",
            _SHARE,
            "texts",
            True,
        ),
        AnswerJudge(
            "words",
            "Word match",
            "Stemmed words without stop words, edit distance below 20% of the longer text",
            "Farzi and Dietz: exam-plus-plus, section 4.2.1",
            1,
            "texts",
        ),
        AnswerJudge(
            "contains",
            "Contains",
            "The answer contains the words of a right answer in a row",
            "ours, as Karpukhin et al.: DPR, EMNLP 2020, test passages",
            1,
            "texts",
        ),
        AnswerJudge(
            "embedding",
            "Embedding",
            "Cosine similarity of sentence vectors by all-MiniLM-L6-v2",
            "llm-reteval, section 2.2",
            0.8,
            "encoder",
            True,
        ),
        AnswerJudge(
            "bertscore",
            "Token vectors",
            "BERTScore F1 with token vectors by all-MiniLM-L6-v2, on another scale than RoBERTa",
            "Zhang et al.: BERTScore, ICLR 2020",
            0.8,
            "encoder",
            True,
        ),
        AnswerJudge(
            "llm",
            "Model, yes or no",
            "A language model decides, with the prompt reteval-compare",
            "llm-reteval, appendix A, after Kamalloo et al.: ACL 2023",
            1,
            "model",
        ),
        AnswerJudge(
            "graded",
            "Model, 0 to 5",
            "A language model rates, with the prompt reteval-compare-graded",
            "ours, after llm-reteval, section 2.2",
            4,
            "model",
            True,
            5.0,
        ),
    )
}
"""Answer checks by name. Source: llm-reteval specification, section 6."""


def answer_judge(name: str) -> AnswerJudge:
    """Return the answer check of a name.

    Raises:
        InputError: it is unknown.
    """
    check_known("unknown-answer-judge", "answer check", JUDGES, name)
    return JUDGES[name]


def judge_scores(
    name: str, pairs: Sequence[Compared], encode: Encode = unit_vectors
) -> list[float | None]:
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


def accepts_score(name: str, score: float | None, threshold: float | None = None) -> bool | None:
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
    return lambda pairs, encode: [
        best_score(score, answer, references) for answer, references in pairs
    ]


def _by_vectors(
    pairs: Sequence[tuple[str, tuple[str, ...]]],
    encode: Callable[[list[str]], Iterable[Any]],
    similarity: Callable[[Any, Any], float],
) -> list[float | None]:
    """Score answers by the similarity of their encoded texts; a value below 0 counts as 0."""
    texts = dict.fromkeys(text for answer, references in pairs for text in (answer, *references))
    vectors = dict(zip(texts, encode(list(texts)), strict=True))
    return [
        best_score(
            lambda one, other: max(float(similarity(vectors[one], vectors[other])), 0.0),
            answer,
            references,
        )
        for answer, references in pairs
    ]


def _token_vectors(texts: list[str]) -> Iterable[Any]:
    return load_encoder(model_folder()).token_vectors(texts) if texts else []


_BATCHES: dict[str, _Batch] = {
    **{name: _by_texts(score) for name, score in TEXT_SCORES.items()},
    "words": _by_texts(lambda answer, reference: float(word_match(answer, reference))),
    "embedding": lambda pairs, encode: _by_vectors(pairs, encode, lambda a, b: a @ b),
    "bertscore": lambda pairs, encode: _by_vectors(pairs, _token_vectors, greedy_f1),
}


USE = "compare answers"
PROMPTS = {"llm": "reteval-compare", "graded": "reteval-compare-graded"}
"""The usual prompt of each answer check with a model."""
TOKENS = 32
WRITTEN = 4
"""Tokens of a typical reply by a model."""

Pair = tuple[str, str, tuple[str, ...]]
"""A question, an answer to it, and the right answers that it is compared with, sorted."""


def make_pair(question: str, answer: str, references: Sequence[str]) -> Pair:
    """Return a comparison in its normal form, in which equal texts are equal."""
    return question, answer, tuple(sorted(set(references)))


@dataclass(frozen=True)
class JudgePlan:
    """The settings of an answer check with a model.

    Args:
        judge: llm or graded.
        settings: of the model, as for a grader.
        prompt: its name; None for the usual one.
        name: its name for people; None for a name made of the model's.
    """

    judge: str = "llm"
    settings: Mapping[str, Any] | None = None
    prompt: str | None = None
    name: str | None = None


@dataclass(frozen=True)
class ReadyJudge:
    """An answer check whose model can be asked."""

    model: AnswerModel
    judge: str
    prompt: Prompt
    fence: bool
    back_end: BackEnd


def make_judge(project: Project, plan: JudgePlan) -> ReadyJudge:
    """Return an answer check as it will be added with its first comparison; nothing is written, and
    no model is loaded.

    Raises:
        InputError: the check needs no model, a setting is invalid, or the prompt is unknown.
    """
    if answer_judge(plan.judge).needs != "model":
        raise InputError(
            "answer-judge-without-model",
            f"Answer check {plan.judge} needs no model.",
            "Use it directly: exam reteval --judge NAME.",
        )
    settings = {
        name: value for name, value in (plan.settings or {}).items() if value not in (None, "")
    }
    form = "yes-no" if plan.judge == "llm" else "rating"
    prompt = find_prompt_for(project, USE, plan.prompt or PROMPTS[plan.judge], form)
    where = back_end_name(settings)
    back_end, model = make_back_end(settings)
    fence = bool(settings.pop("fence", where == "openai"))
    own = {
        name: settings[name]
        for name in ("max_tokens_in", "extra", "api", "structured", "temperature", "dtype")
        if name in settings
    }
    identity = {"judge": plan.judge, "fence": fence_mark(prompt, fence), "at": where}
    name = plan.name or short_model_name(model) + ("" if plan.judge == "llm" else ", graded")
    spec = AnswerModel(
        name,
        fingerprint_of(["answer judge", model, prompt.hash, identity, own]),
        model,
        prompt.name,
        prompt.hash,
        {"settings": settings, "prompt": prompt.name} | identity,
    )
    return ReadyJudge(spec, plan.judge, prompt, fence, back_end)


def judge_again(project: Project, model: AnswerModel) -> ReadyJudge:
    """Return an answer check of the project, ready to be asked again.

    Raises:
        InputError: it cannot be made here any more, or it has changed.
    """
    kept = model.parameters
    settings = dict(kept["settings"]) | {"fence": kept["fence"]}
    ready = make_judge(project, JudgePlan(kept["judge"], settings, kept["prompt"], model.name))
    if ready.model.fingerprint != model.fingerprint:
        raise InputError(
            "model-changed",
            f"The model or prompt of answer check '{model.name}' has changed since it was added.",
            "Add it again under another name.",
        )
    return ready


State = Literal["known", "failed", "waiting"]


@dataclass(frozen=True)
class Verdict:
    """The result of an answer check for one pair.

    Args:
        yes: whether the answer is right; None if the check failed or was not made yet.
        score: the score behind it; None if waiting, failed or given by a person.
        state: known, failed or waiting.
        reason: why it failed; None otherwise.
        raw: the model's reply.
    """

    yes: bool | None
    score: float | None = None
    state: State = "known"
    reason: str | None = None
    raw: str | None = None


WAITING = Verdict(None, None, "waiting")


def check_results(
    project: Project,
    judge: str,
    pairs: Sequence[Pair],
    model: AnswerModel | None = None,
    threshold: float | None = None,
) -> dict[Pair, Verdict]:
    """Return the results for pairs: computed at once, or those that the model has given so far.

    Args:
        judge: the name of the answer check.
        pairs: each with at least one right answer.
        model: the model whose comparisons count, for a check with a model; None if it was not asked
            yet.
        threshold: scores from here on accept an answer; None for the default of the check.

    Raises:
        InputError: the answer check is unknown, or the threshold is out of range.
        GradingError: the encoder cannot be loaded.
    """
    check = answer_judge(judge)
    if threshold is not None and not 0 <= threshold <= check.top:
        raise InputError(
            "threshold-out-of-range",
            f"Threshold {threshold:g} is out of range.",
            f"Use a number from 0 to {check.top:g}.",
        )
    distinct_pairs = list(dict.fromkeys(pairs))
    if check.needs != "model":
        scores = judge_scores(
            judge, [(answer, refs) for _, answer, refs in distinct_pairs], kept_vectors(project)
        )
        return {
            pair: Verdict(accepts_score(judge, score, threshold), score)
            for pair, score in zip(distinct_pairs, scores, strict=True)
        }
    if model is None:
        return dict.fromkeys(distinct_pairs, WAITING)
    comparisons = comparisons_of(project, model.key)
    texts = {text: key for key, text in answer_texts(project).items()}
    questions = dict(
        project.rows("SELECT text, text_key FROM question_texts WHERE text IS NOT NULL")
    )
    results = {}
    for question, answer, references in distinct_pairs:
        # An unknown text has the key 0, which no comparison has.
        about = (
            questions.get(question, 0),
            texts.get(answer, 0),
            tuple(sorted(texts.get(ref, 0) for ref in references)),
        )
        verdict = _make_verdict(judge, comparisons.get(about), threshold)
        results[question, answer, references] = verdict
    return results


def _make_verdict(judge: str, comparison: Comparison | None, threshold: float | None) -> Verdict:
    if comparison is None:
        return WAITING
    if comparison.rating is None:
        return Verdict(None, None, "failed", comparison.reason, comparison.raw)
    return Verdict(
        accepts_score(judge, float(comparison.rating), threshold),
        float(comparison.rating),
        "known",
        None,
        comparison.raw,
    )


def pairs_to_compare(
    project: Project, ready: ReadyJudge, pairs: Sequence[Pair], caps: JobScope = ALL_MISSING
) -> list[Pair]:
    """Return the pairs without a result of this answer check, each once."""
    stored = next(
        (
            entry
            for entry in answer_models(project, "judge")
            if entry.fingerprint == ready.model.fingerprint
        ),
        None,
    )
    known = check_results(project, ready.judge, pairs, stored)
    return [
        entry
        for entry, verdict in known.items()
        if caps.includes(verdict.state != "waiting", verdict.state == "failed")
    ][: caps.limit]


def comparing_price(project: Project, ready: ReadyJudge, pairs: Sequence[Pair]) -> PriceTag:
    """Estimate the cost of comparing pairs from a sample of them, without calling the model."""
    return sampled_price(
        project,
        ready.back_end,
        ready.model.model,
        pairs,
        lambda sample: [
            fill_prompt(ready.prompt, _prompt_values(pair), ready.fence).joined() for pair in sample
        ],
        WRITTEN,
    )


def compare_answers(
    project: Project,
    ready: ReadyJudge,
    pairs: Sequence[Pair],
    author: str,
    caps: JobScope = ALL_MISSING,
    report: Report = lambda name, progress: None,
    control: Control | None = None,
) -> Progress:
    """Check answers with a model, in this thread; only missing results are requested.

    Args:
        pairs: equal ones are asked once.
        report: receives the name of the check and the progress after every commit.
        control: to pause and cancel it from elsewhere.

    Returns:
        The final progress; `graded` is the number of results.

    Raises:
        InputError: the cost is capped and the model has no price.
    """
    to_compare = pairs_to_compare(project, ready, pairs, caps)
    caps_record = {
        name: value
        for name, value in (("max_calls", caps.max_calls), ("max_cost", caps.max_cost))
        if value
    }
    work = AnswerJob(
        ready.model,
        {"judge": ready.judge} | caps_record,
        len(to_compare),
        COMPARISONS,
        ready.back_end,
        caps,
    )

    options = (
        ("Yes", "No") if ready.judge == "llm" else tuple(map(str, range(ready.prompt.top + 1)))
    )
    form: Literal["yes-no", "rating"] = "yes-no" if ready.judge == "llm" else "rating"
    calls = [
        Call(ready.prompt, _prompt_values(pair), form, ready.fence, options, TOKENS)
        for pair in to_compare
    ]

    def find_places(cursor: Cursor) -> list[tuple[int, int, tuple[int, ...]]]:
        questions = {
            text: question_text_key(cursor, text)
            for text in {question for question, _, _ in to_compare}
        }
        texts = answer_text_keys(
            cursor, [text for _, answer, refs in to_compare for text in (answer, *refs)]
        )
        return [
            (questions[question], texts[answer], tuple(sorted(texts[ref] for ref in refs)))
            for question, answer, refs in to_compare
        ]

    def read_batches(
        places: Sequence[tuple[int, int, tuple[int, ...]]], control: Control
    ) -> Iterator[list[Comparison]]:
        for batch in stream_completions(ready.back_end, calls, control):
            yield [_read_comparison(places[i], calls[i], completion) for i, completion in batch]

    return run_job(
        project,
        work,
        author,
        report,
        control or Control(),
        find_places,
        read_batches,
        add_comparisons,
        failed=lambda comparison: comparison.rating is None,
    )


def start_comparing(
    project: Project,
    ready: ReadyJudge,
    pairs: Sequence[Pair],
    author: str,
    caps: JobScope = ALL_MISSING,
) -> BackgroundJob:
    """Check answers with a model in the background; see `start_answer_job`."""
    return start_answer_job(
        project,
        ready.model,
        COMPARISONS,
        author,
        lambda owned, report, control: compare_answers(
            owned, ready, pairs, author, caps, report, control
        ),
    )


def _prompt_values(pair: Pair) -> dict[str, str]:
    question, answer, references = pair
    # One per line, with a dash; the paper does not specify the layout.
    listed = "\n".join(f"- {reference}" for reference in references)
    return {"question": question, "correct_answer": f"\n{listed}", "result": answer}


def _read_comparison(
    about: tuple[int, int, tuple[int, ...]], call: Call, completion: Completion
) -> Comparison:
    if completion.error is not None:
        return Comparison(about, None, completion.error)
    parsed = read_completion(call, completion)
    note = None if completion.model is None else f"answered by {completion.model}"
    # A rating that replaces an unreadable reply counts as failed, so that the three states stay
    # apart.
    if parsed.rating is None or parsed.status != "graded":
        return Comparison(
            about, None, parsed.reason or "neither yes nor no", completion.text, note=note
        )
    confidence = None if completion.distribution is None else max(completion.distribution.values())
    return Comparison(about, parsed.rating, None, completion.text, confidence, note)
