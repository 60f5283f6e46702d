"""Answer keys drafted by a model from a passage, and the choice of that passage."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..bank import Generation, add_generations, cleaned, find_question
from ..catalogue import graders
from ..errors import InputError
from ..graders import CUT_OFF, EMPTY, Call, Completion, Control, answers, ill_formed, unanswerable, variables
from ..labels import MISSING, Policy, basis, load_ratings
from ..project import Project, judgments, passage_texts, queries_of, sources
from ..types import Question
from .drafting import (
    IN_WORDS,
    Drafter,
    Failure,
    Report,
    blank,
    drafting_control,
    find_prompt,
    values_of,
)

DEFAULT_PROMPT = "answer-key"
TOKENS = 128
SHOWN = 50
"""Maximum number of passages offered."""


@dataclass(frozen=True)
class KeyPassage:
    """A passage from which an answer key can be drafted.

    Args:
        rating: rating for the question, by the policy's grader or a person; None if unrated.
        judgment: highest judgment for the query from all sources; None if unjudged.
    """

    passage_id: str
    text: str
    rating: int | None
    judgment: int | None


def passages_for_key(project: Project, policy: Policy, question: Question) -> list[KeyPassage]:
    """Return passages that answer a question at the policy's min rating, then those judged relevant to its query.

    Raises:
        InputError: the policy's grader or bank version does not exist.
    """
    judged: dict[str, int] = {}
    for source in sources(project):
        for passage_id, value in judgments(project, source).get(question.query_id, {}).items():
            judged[passage_id] = max(value, judged.get(passage_id, value))
    rated: dict[str, int] = {}
    least = policy.min_rating
    if any(grader.grades for grader in graders(project)):
        base = basis(project, policy)
        least = base.min_rating
        known = load_ratings(project, base, question.query_id, [question])
        column = known.of([question])[:, 0].tolist()
        rated = {p: rating for p, rating in zip(known.passage_ids, column, strict=True) if rating != MISSING}
    answering = [p for p in rated if rated[p] >= least]
    relevant = [p for p in judged if judged[p] >= policy.min_judgment]
    fitting = sorted({*answering, *relevant}, key=lambda p: (-rated.get(p, MISSING), -judged.get(p, 0), p))
    texts = passage_texts(project, fitting[:SHOWN])
    return [KeyPassage(p, texts[p], rated.get(p), judged.get(p)) for p in fitting[:SHOWN] if p in texts]


def draft_answer_key(
    project: Project,
    drafter: Drafter,
    question_id: str,
    passage_id: str,
    author: str,
    prompt: str | None = None,
    control: Control | None = None,
) -> Report:
    """Draft the answer key of a question from a passage with a model. The draft becomes a proposal for the question.

    Args:
        question_id: a question of the bank, or of a draft of the author.
        prompt: name of the prompt; None for the built-in one.
        control: see `suggest`.

    Raises:
        InputError: the question, passage or prompt is unknown, has no text, or the question's kind has no answer keys.
        GradingError: the model cannot be used.
    """
    question = find_question(project, author, question_id)
    asked = find_prompt(project, prompt or DEFAULT_PROMPT, "answer key")
    passage = passage_texts(project, [passage_id]).get(passage_id, "")
    if question.kind not in asked.kinds:
        raise InputError(
            "prompt-does-not-fit",
            f"Prompt '{asked.name}' does not support questions of kind {question.kind}.",
            f"Supported kinds: {', '.join(asked.kinds)}.",
        )
    if not (question.text or "").strip() or not passage.strip():
        raise InputError(
            "empty-question", "The question or the passage has no text.", "Choose a question and a passage with text."
        )
    query = next(query for query in queries_of(project) if query.query_id == question.query_id)
    values = values_of(query, None, 1) | {"question": str(question.text), "context": passage}
    if lacking := [IN_WORDS.get(name, name) for name in variables(asked) if name not in values]:
        raise InputError(
            "prompt-value-missing",
            f"Prompt '{asked.name}' needs {', '.join(lacking)}, which is missing.",
            "Choose another prompt.",
        )
    empty = blank(
        "answer key", query.query_id, drafter, asked,
        subtopic_id=question.subtopic_id, question_id=question_id, passage_id=passage_id,
    )  # fmt: skip
    call = Call(asked, values, "text", fence=drafter.fence, max_tokens=TOKENS)
    batches = answers(drafter.back_end, [call], control or drafting_control(project, drafter))
    completions = [completion for batch in batches for _, completion in batch]
    if not completions:
        return Report(0, [], [], stopped=1)
    generation = _read_key(empty, completions[0])
    keys = add_generations(project, [generation], author)
    failed = [] if generation.reason is None else [Failure(query.query_id, empty.subtopic_id, generation.reason)]
    return Report(1, keys, failed)


def _read_key(empty: Generation, completion: Completion) -> Generation:
    text = cleaned(completion.text)
    reason = completion.error
    if reason is None and not completion.complete:
        reason = CUT_OFF
    elif reason is None and not text:
        reason = EMPTY
    elif reason is None and unanswerable(text) and text.strip(" .!").lower() != "no":
        # A plain "no" is the right answer to many questions.
        reason = "the model found no answer in the passage"
    elif reason is None and ill_formed(text):
        reason = "the answer is only a letter or a punctuation mark"
    return replace(empty, texts=() if reason else (text,), raw=completion.text, reason=reason)
