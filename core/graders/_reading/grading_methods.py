"""Methods of grading a pair: generators that ask a model, parse its reply and return the grade."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from string import ascii_uppercase

from ...choices import LikelihoodPer
from ...limits import read_limit
from ...types import Grade, GraderInput
from .._prompts.prompt import Prompt, prompt_variables
from .calls import Call, Completion, Steps, read_completion
from .matching import contains_key, is_no_answer, without_letter, word_match
from .non_answers import without_thoughts
from .parsing import missing_answer, no_answer

RATING_TOKENS = 64  # room for a sentence before the rating
MOST_ANSWER_TOKENS = 128  # room for a complete answer
FEW_CHOICES = "the question has fewer than two choices"
KEY_NOT_A_CHOICE = "the answer key is not among the choices"

Check = Callable[[GraderInput, str], Steps]
"""Compares an extracted answer with the answer key.

It ends in a grade of 1 or 0. `raw` of the grade is the model's reply, or None if no model was
asked.
"""


def self_rating(
    question: GraderInput,
    passage: str,
    prompt: Prompt,
    fence: bool = False,
    variable: str = "question",
) -> Steps:
    """Ask how well the passage answers a question, or conveys a nugget (EXAM++, section 4.2.2); or
    how much of a sentence the cited passage supports (TREC RAG 2024, support task).

    Args:
        asked: the question, or the sentence.
        passage: the passage.
        prompt: a prompt for a rating.
        fence: whether to mark the passage as data.
        variable: the prompt's variable of the question or sentence.
    """
    return (yield from _ask_rating({variable: question.text, "context": passage}, prompt, fence))


def rate_directly(
    question: GraderInput, passage: str, prompt: Prompt, fence: bool = False
) -> Steps:
    """Ask whether the passage is relevant for a query, on the prompt's scale (EXAM++, appendix A; Q
    and QA judges).

    Args:
        question: the query's text; its `answer_key` is the query's answer, if the prompt uses it.
        passage: the passage.
        prompt: a prompt for a rating, or for yes and no.
        fence: whether to mark the passage as data.
    """
    if "correct_answer" in prompt_variables(prompt) and not question.answer_key:
        return _failed_grade("the query has no answer")
    values = {
        "query_title": question.text,
        "context": passage,
        "correct_answer": question.answer_key,
    }
    return (yield from _ask_rating(values, prompt, fence))


def answer_and_check(
    question: GraderInput, passage: str, prompt: Prompt, fence: bool, check: Check
) -> Steps:
    """Ask the model for an answer from the passage, then check it: 1 if correct, else 0 (EXAM++,
    section 4.2.1).

    Args:
        question: the question with its answer key.
        passage: the passage.
        prompt: a prompt for an answer.
        fence: whether to mark the passage as data.
        check: compares the answer with the key.
    """
    if not question.answer_key:
        return _failed_grade("the question has no answer key")
    values = {"question": question.text, "context": passage}
    completion = yield Call(prompt, values, "text", fence, max_tokens=MOST_ANSWER_TOKENS)
    if completion.error is not None:
        return _failed_grade(completion.error)
    given = without_thoughts(completion.text)
    if (reason := missing_answer(given, completion.complete) or no_answer(given)) is not None:
        return _add_model_text(_failed_grade(reason), completion)
    return (yield from _check_answer(question, completion, check))


def extract_and_check(question: GraderInput, passage: str, prompt: Prompt, check: Check) -> Steps:
    """Extract the answer from the passage with an extractive model, then check it (EXAM++, section
    4.2.1, SQuAD2).

    Args:
        question: the question with its answer key.
        passage: the passage.
        prompt: has the variables of the question and the passage; the model sees nothing else of
            it.
        check: compares the answer with the key.
    """
    if not question.answer_key:
        return _failed_grade("the question has no answer key")
    completion = yield Call(prompt, {"question": question.text, "context": passage}, "span")
    return (yield from _check_answer(question, completion, check))


CONTAINED = "the answer contains the answer key"
"""Note of a grade whose answer contains the key, but does not match it as a whole."""


def word_match_check(question: GraderInput, answer: str, contained: bool = True) -> Steps:
    """Compare an answer with the key by words, without a model.

    Args:
        question: the question with its answer key.
        answer: the answer, in the passage's words.
        contained: whether a short answer that contains the key matches, too, which extends EXAM++,
            section 4.2.1.
    """
    yield from ()
    if word_match(answer, question.answer_key):
        return Grade(1)
    return (
        Grade(1, note=CONTAINED)
        if contained and contains_key(answer, question.answer_key)
        else Grade(0)
    )


def verify_check(question: GraderInput, answer: str, prompt: Prompt, fence: bool = False) -> Steps:
    """Ask a model whether an answer is as correct as the key (EXAM++, section 4.2.1, answer
    verification).

    Args:
        question: the question with its answer key.
        answer: the answer, in the passage's words.
        prompt: a prompt for yes and no.
        fence: whether to mark the answer as data, because it is from the passage.
    """
    values = {"question": question.text, "correct_answer": question.answer_key, "answer": answer}
    return (yield from _ask_rating(values, prompt, fence))


def choice_by_likelihood(
    question: GraderInput,
    passage: str,
    prompt: Prompt,
    fence: bool = False,
    per: LikelihoodPer = "tokens",
) -> Steps:
    """Select the choice with the highest log-likelihood for its length: 1 if it is the key, else 0.

    Source: exam-generation-irt, section 3.3, which uses the mean per token. The confidence is the
    softmax of the compared values.

    Args:
        asked: the question with its choices; the answer key is the text or the letter of a choice.
        passage: the passage.
        prompt: a prompt that each choice can continue.
        fence: whether to mark the passage as data.
        per: divisor of a log-likelihood: the choice's tokens, its characters, or none.
    """
    key = key_position(question)
    if isinstance(key, str):
        return _failed_grade(key)
    values = _choice_values(question, passage)
    completion = yield Call(prompt, values, "likelihood", fence, options=question.choices, per=per)
    given = completion.distribution or {}
    means = [given.get(choice, math.nan) for choice in question.choices]
    best = max(means)
    written = "\n".join(
        f"{choice}: {mean:.4f}" for choice, mean in zip(question.choices, means, strict=True)
    )
    if any(math.isnan(mean) for mean in means) or math.isinf(best):
        return _add_model_text(_failed_grade("a choice has no likelihood"), completion, written)
    weights = [math.exp(mean - best) for mean in means]
    chances = [weight / sum(weights) for weight in weights]
    return _add_model_text(
        _grade_choice(question, key, means.index(best), chances), completion, written
    )


def choice_by_letter(
    question: GraderInput, passage: str, prompt: Prompt, fence: bool = False
) -> Steps:
    """Ask the model for the letter of a choice: 1 if it is the key, else 0 (original-exam).

    Args:
        question: the question with its choices; the answer key is the text or the letter of a
            choice.
        passage: the passage.
        prompt: a prompt that shows the choices.
        fence: whether to mark the passage as data.
    """
    key = key_position(question)
    if isinstance(key, str):
        return _failed_grade(key)
    letters = tuple(ascii_uppercase[: len(question.choices)])
    values = _choice_values(question, passage)
    call = Call(prompt, values, "letter", fence, options=letters, max_tokens=RATING_TOKENS)
    completion = yield call
    parsed = read_completion(call, completion)
    if parsed.rating is None:
        return _add_model_text(_failed_grade(parsed.reason), completion)
    chances = _option_chances(completion, letters)
    return _add_model_text(_grade_choice(question, key, parsed.rating, chances), completion)


def _ask_rating(values: Mapping[str, str], prompt: Prompt, fence: bool) -> Steps:
    """Ask for a rating, or for yes and no, and parse it."""
    if prompt.form == "yes-no":
        call = Call(prompt, values, "yes-no", fence, ("Yes", "No"), RATING_TOKENS)
        scale: Sequence[str] = ("No", "Yes")
    else:
        scale = [str(rating) for rating in range(prompt.top + 1)]
        call = Call(prompt, values, "rating", fence, tuple(scale), RATING_TOKENS)
    completion = yield call
    parsed = read_completion(call, completion)
    if parsed.rating is None:
        return _add_model_text(_failed_grade(parsed.reason), completion)
    grade = Grade(
        parsed.rating, parsed.status, answer=_text_beyond_rating(completion, scale[parsed.rating])
    )
    chances = _option_chances(completion, scale)
    if chances and parsed.status == "graded":
        grade = replace(grade, distribution=tuple(chances), confidence=chances[parsed.rating])
    return _add_model_text(grade, completion)


def _check_answer(question: GraderInput, completion: Completion, check: Check) -> Steps:
    """Grade an extracted answer; a text that is not an answer needs no check."""
    reply = without_thoughts(completion.text).strip()
    if is_no_answer(reply, question.answer_key):
        return replace(_add_model_text(Grade(0), completion), answer=_storable_text(reply) or None)
    verdict = yield from check(question, reply)
    written = (
        None if verdict.raw is None else f"answer: {completion.text}\nverification: {verdict.raw}"
    )
    return replace(_add_model_text(verdict, completion, written), answer=_storable_text(reply))


def _grade_choice(
    question: GraderInput, key: int, choice: int, chances: Sequence[float] | None
) -> Grade:
    """Return the grade of a choice. Its confidence is the probability of the choice, its
    distribution that of the key."""
    texts = [_normalise_choice(text) for text in bare_choices(question.choices)]
    grade = Grade(int(texts[choice] == texts[key]), answer=question.choices[choice])
    if chances is None:
        return grade
    right = min(
        sum(chance for chance, text in zip(chances, texts, strict=True) if text == texts[key]), 1.0
    )
    return replace(grade, confidence=min(chances[choice], 1.0), distribution=(1.0 - right, right))


_LETTER_OF_CHOICE = re.compile(r"\s*\(?([a-z])[).]", re.IGNORECASE)
_LETTER = re.compile(r"\s*\(?([a-z])[).:]?\s*", re.IGNORECASE)


def key_position(question: GraderInput) -> int | str:
    """Return the index of the answer key among the choices, or a reason why the question cannot be
    graded.

    Args:
        question: the answer key is the text of a choice, with or without its letter, or the letter
            alone.
    """
    if len({_normalise_choice(text) for text in bare_choices(question.choices)}) < 2:
        return FEW_CHOICES
    if len(question.choices) > len(ascii_uppercase):
        return f"the question has more than {len(ascii_uppercase)} choices"
    if question.answer_key in question.choices:
        return question.choices.index(question.answer_key)
    texts = [_normalise_choice(text) for text in bare_choices(question.choices)]
    for text in (
        _normalise_choice(question.answer_key),
        _normalise_choice(without_letter(question.answer_key)),
    ):
        if text in texts:
            return texts.index(text)
    letter = _LETTER.fullmatch(question.answer_key)
    own = [_LETTER_OF_CHOICE.match(choice) for choice in question.choices]
    letters = [match[1].upper() for match in own if match]
    if len(letters) < len(own):
        letters = list(ascii_uppercase[: len(own)])
    if letter is None or letter[1].upper() not in letters:
        return KEY_NOT_A_CHOICE
    return letters.index(letter[1].upper())


def _choice_values(question: GraderInput, passage: str) -> dict[str, str]:
    lines = [
        f"{letter}. {text}"
        for letter, text in zip(ascii_uppercase, bare_choices(question.choices), strict=False)
    ]
    return {"question": question.text, "context": passage, "choices": "\n".join(lines)}


def bare_choices(choices: Sequence[str]) -> list[str]:
    """Return the choices without their letters, if all have one."""
    bare = [without_letter(choice) for choice in choices]
    return (
        bare
        if all(text != choice for text, choice in zip(bare, choices, strict=True))
        else list(choices)
    )


def _normalise_choice(text: str) -> str:
    """Normalize a choice or key for comparison: ignore case, white space and final punctuation."""
    return " ".join(text.casefold().split()).rstrip(" .,;:")


def _option_chances(completion: Completion, scale: Sequence[str]) -> list[float] | None:
    """Return the probability of each option in the order given; None if the model's are unknown."""
    if completion.distribution is None:
        return None
    return [completion.distribution.get(option, 0.0) for option in scale]


def _text_beyond_rating(completion: Completion, rating: str) -> str | None:
    """Return a model's text if it has more than the rating, else None."""
    text = without_thoughts(completion.text).strip()
    only_rating = completion.structured or re.sub(r"[\W_]+", "", text).lower() == rating.lower()
    return None if only_rating else text


def _add_model_text(grade: Grade, completion: Completion, written: str | None = None) -> Grade:
    """Add the model's text to a grade, and notes if the passage was shortened or another model
    answered.

    If the completion has an error, the grade is a failure for this reason.
    """
    if completion.error is not None:
        return _failed_grade(completion.error)
    raw = _storable_text(completion.text if written is None else written)
    cut = completion.shortened
    shortening = f"the passage was shortened by {cut} token{'s' if cut > 1 else ''}"
    return replace(
        grade,
        raw=raw,
        answer=grade.answer and _storable_text(grade.answer),
        note=completion.notes(shortening, grade.note),
    )


def _storable_text(text: str) -> str:
    """Return the part of a text that is stored, because the length of an answer is up to its
    sender.

    Lone surrogates, which a faulty endpoint may send, cannot be stored and become question marks.
    """
    most, sound = read_limit("ENDPOINT_KEPT"), text.encode(errors="replace").decode()
    return (
        sound
        if len(sound) <= most
        else f"{sound[:most]}… [{len(sound) - most:,} more characters are not stored]"
    )


def _failed_grade(reason: str | None) -> Grade:
    return Grade(None, "failed", reason=reason)
