"""Running exams: examinees answer the missing items, by likelihood, by letter or by a rule.

Answers are committed as they come, and stops are clean.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from string import ascii_uppercase

import numpy as np

from ..bank import check_version, question_text_key
from ..choices import EXAMINEE_RULES, Retriever
from ..errors import GradingError, InputError
from ..graders import (
    Call,
    Completion,
    Control,
    Prompt,
    Steps,
    VectorStore,
    other_models_note,
    read_completion,
    sentence_vectors,
    unit_vectors,
)
from ..grading import ProjectVectors
from ..jobs import (
    BackgroundJob,
    JobScope,
    Progress,
    Report,
    ResultWriter,
    job_control,
    run_recorded_job,
    start_background,
)
from ..limits import read_limit
from ..records import (
    NOT_RETRIEVED,
    Answer,
    Student,
    add_answers,
    add_job,
    answer_outcomes,
    find_students,
)
from ..sentences import split_sentences
from ..store import Project, log_action
from ..text import first_few, how_many, normalise_text
from ..types import Grade
from ._exam_items import Context, PosedItem, Task, list_tasks, make_sheet, sheet_outcomes, text_keys
from ._examinee_setup import (
    READING_RULES,
    Plan,
    ReadyExaminee,
    add_student,
    get_ready,
    letter_choices,
    prompt_values,
    with_worked,
)
from ._item_retrievals import list_retrievals, make_retrieval

LETTER_TOKENS = 64
"""Room for a sentence before or after the letter."""

Answering = Generator[Call, Completion, Answer]
"""Yields calls for a model, receives the completions, and returns the answer without its text key
and context.
"""


def answer_with_model(ready: ReadyExaminee, posed: PosedItem) -> Answering:
    """Answer an item by an examinee with a model.

    By likelihood it chooses argmax over j of log p(choice j | prompt) / length of choice j (Guinet
    et al., section 3.3).
    """
    answer = _by_letter if ready.by == "letter" else _by_likelihood
    return answer(ready, with_worked(ready.prompt, posed.worked), posed.task, posed.texts)


def _by_likelihood(ready: ReadyExaminee, prompt: Prompt, task: Task, context: Context) -> Answering:
    options = letter_choices(task.choices)
    completion = yield Call(
        prompt, prompt_values(task, context), "likelihood", options=options, per=ready.per
    )
    if completion.error is not None:
        return _failed_answer(completion.error)
    given = completion.distribution or {}
    scores = [given.get(option, math.nan) for option in options]
    if not all(map(math.isfinite, scores)):
        return _with_notes(_failed_answer("a choice has no likelihood"), completion)
    return _with_notes(_chosen_answer(task, scores.index(max(scores)), scores), completion)


def _by_letter(ready: ReadyExaminee, prompt: Prompt, task: Task, context: Context) -> Answering:
    letters = tuple(ascii_uppercase[: len(task.choices)])
    call = Call(
        prompt, prompt_values(task, context), "letter", options=letters, max_tokens=LETTER_TOKENS
    )
    completion = yield call
    if completion.error is not None:
        return _failed_answer(completion.error)
    parsed = read_completion(call, completion)
    answer = (
        _failed_answer(parsed.reason or "no letter")
        if parsed.rating is None
        else _chosen_answer(task, parsed.rating)
    )
    # A reply may have any length, so only its beginning is stored.
    return _with_notes(
        replace(answer, raw=completion.text[: read_limit("ENDPOINT_KEPT")]), completion
    )


def by_rule(
    ready: ReadyExaminee, posed: Sequence[PosedItem], store: VectorStore | None = None
) -> list[Answer]:
    """Return the answers of an examinee without a language model, in the order of the items.

    Chance depends only on the examinee's seed and the item's words. The first of equally good
    choices is taken. Shared words and the embedding append each choice to the question. They take
    the choice that agrees best with a sentence of the context. In a closed book they take the
    choice that agrees best with the question. The agreement of words is the share of them that the
    sentence also has (as `text.normalise_text` makes them). The agreement of meanings is the cosine
    of their vectors.

    Args:
        ready: the examinee.
        posed: the items, with their texts.
        store: where the vectors of texts are kept.

    Raises:
        GradingError: the encoder cannot be loaded.
    """
    if ready.by == "embedding":
        return _by_meaning(posed, store)
    if ready.by == "overlap":
        return [_by_words(item.task, item.texts) for item in posed]
    if ready.by == "longest":
        return [
            _chosen_answer(item.task, item.task.choices.index(max(item.task.choices, key=len)))
            for item in posed
        ]
    seed = ready.student.parameters["seed"]
    return [
        _chosen_answer(task, random.Random(f"{seed} {task.asked}").randrange(len(task.choices)))
        for task in (item.task for item in posed)
    ]


def _comparison_texts(task: Task, context: Context) -> list[str]:
    """Return the text to compare for each choice: with the question if there is a context."""
    return (
        [f"{task.text} {choice}" for choice in task.choices]
        if any(map(str.strip, context))
        else list(task.choices)
    )


def _by_words(task: Task, context: Context) -> Answer:
    sentences = [text[begin:end] for text in context for begin, end in split_sentences(text)]
    sentence_words = [set(normalise_text(text).split()) for text in sentences or [task.text]]
    scores = []
    for words in (
        set(normalise_text(option).split()) for option in _comparison_texts(task, context)
    ):
        scores.append(
            max(len(words & other) for other in sentence_words) / len(words) if words else 0.0
        )
    return _chosen_answer(task, scores.index(max(scores)), scores)


def _by_meaning(posed: Sequence[PosedItem], store: VectorStore | None) -> list[Answer]:
    """Answer all items together, so that every distinct text is encoded once."""
    texts = {
        text: 0
        for item in posed
        for text in (item.task.text, *_comparison_texts(item.task, item.texts))
    }
    texts = {text: row for row, text in enumerate(texts)}
    vectors = unit_vectors(list(texts), store)
    passages = list(dict.fromkeys(text for item in posed for text in item.texts))
    sentences = dict(zip(passages, sentence_vectors(passages, store), strict=True))
    answers = []
    for item in posed:
        options = vectors[[texts[option] for option in _comparison_texts(item.task, item.texts)]]
        read = [sentences[text] for text in item.texts if len(sentences[text])]
        others = np.concatenate(read) if read else vectors[[texts[item.task.text]]]
        # Rounded because batches and their order change the last digits, which must not change
        # answers.
        scores = np.round((options @ others.T).max(axis=1).astype(np.float64), 4).tolist()
        answers.append(_chosen_answer(item.task, scores.index(max(scores)), scores))
    return answers


def _chosen_answer(task: Task, position: int, scores: Sequence[float] | None = None) -> Answer:
    return Answer(
        0,
        "",
        position == task.key,
        chosen=position,
        scores=None if scores is None else tuple(scores),
    )


def _failed_answer(reason: str) -> Answer:
    return Answer(0, "", None, reason)


def _with_notes(answer: Answer, completion: Completion) -> Answer:
    """Return an answer with notes on shortened contexts and on the model that replied."""
    cut = completion.shortened
    shortening = f"the context was shortened by {cut} token{'s' if cut > 1 else ''}"
    return replace(answer, note=completion.notes(shortening))


BLOCK = 256
"""Items that an examinee by rule answers at a time."""


@dataclass(frozen=True)
class ExamRequest(JobScope):
    """A request to run an exam. The limit and the caps hold for all examinees together.

    If an endpoint is unavailable for longer than the patience, the other examinees that use it are
    not started.

    Args:
        students: names of the examinees; None for all that can be asked here.
        query_id: only items of this query; None for all.
        version: bank version whose active items are asked; None for the newest.
    """

    students: tuple[str, ...] | None = None
    query_id: str | None = None
    version: int | None = None


def sit_exam(
    project: Project,
    request: ExamRequest,
    author: str,
    report: Report = lambda student, progress: None,
    control: Control | None = None,
) -> dict[str, Progress]:
    """Ask examinees for their missing answers, one examinee after the other, in this thread.

    Args:
        report: receives the examinee and its progress after every commit.
        control: to pause and cancel it from elsewhere.

    Returns:
        The final progress of every examinee that was begun, by name; `graded` is the number of its
        answers. Its state is done, cancelled, stopped (a cap is reached) or failed. Cancelled and
        stopped examinees are the last ones.

    Raises:
        InputError: an examinee or bank version is unknown, an examinee's answers were imported, or
            the exam has no items.
    """
    control = control or Control()
    check_version(project, request.version)
    chosen = find_students(project, request.students)
    if request.students is None:
        chosen = [student for student in chosen if not student.sat_elsewhere]
    if not chosen:
        raise InputError(
            "no-student", "No examinee can be asked.", "Add an examinee: exam examinees add."
        )
    if not list_tasks(project, request.query_id, request.version):
        raise InputError(
            "no-items",
            "No items with choices and a key.",
            "Import an exam, or write multiple-choice questions.",
        )
    ready = [get_ready(student) for student in chosen]
    ended: dict[str, Progress] = {}
    # `lost`: by address, the examinee that gave up an endpoint. `left_out`: by that examinee, those
    # that were not started because of it.
    lost: dict[str, str] = {}
    left_out: dict[str, list[str]] = {}
    for examinee in ready:
        finished = ended.values()
        remaining_request = replace(
            request,
            limit=_remaining_limit(request.limit, sum(each.done for each in finished)),
            max_calls=_remaining_limit(
                request.max_calls, sum(each.usage.calls for each in finished)
            ),
            max_cost=None
            if request.max_cost is None
            else max(0.0, request.max_cost - sum(each.usage.cost for each in finished)),
        )
        if remaining_request.limit == 0:
            break
        endpoint = getattr(examinee.back_end, "endpoint", None)
        address, name = "" if endpoint is None else endpoint.base_url, examinee.student.name
        if address in lost:
            left_out.setdefault(lost[address], []).append(name)
            continue
        control.renew(
            job_control(project, examinee.student.model or "", examinee.back_end, remaining_request)
        )
        ended[name] = _sit_one(
            project, examinee, remaining_request, author, partial(report, name), control
        )
        if control.in_vain:
            lost[address] = name
        if ended[name].state in ("cancelled", "stopped"):
            break
    for name, others in left_out.items():
        said = f"Not started, because they use the same endpoint: {first_few(others)}."
        ended[name] = replace(ended[name], message=f"{ended[name].message} {said}")
    return ended


def start_sitting(project: Project, request: ExamRequest, author: str) -> BackgroundJob:
    """Run an exam in the background; a project runs one at a time.

    Raises:
        GradingError: another one is running.
        NotAllowed: the role of the person does not include running exams.
    """
    return start_background(
        project,
        "exams",
        "run exams",
        author,
        lambda owned: BackgroundJob(
            "Preparing",
            "answers",
            request,
            author,
            Control(),
            lambda report, job: sit_exam(owned, request, author, report, job.control),
        ),
    )


def _remaining_limit(most: int | None, used: int) -> int | None:
    return None if most is None else max(0, most - used)


def _missing_lines(
    project: Project, student: Student, request: ExamRequest
) -> tuple[list[PosedItem], int]:
    """Return the questions for an examinee, and the number of items that cannot be asked without
    their context.
    """
    asked = list_tasks(project, request.query_id, request.version)
    whole = make_sheet(project, student, asked)
    keys = text_keys(project, [task.asked for task in asked])
    outcomes = sheet_outcomes(student, whole, answer_outcomes(project), keys)
    missing = [
        line
        for line in whole.lines
        if request.includes(
            line.task.question_id in outcomes, outcomes.get(line.task.question_id) is None
        )
    ]
    return missing[: request.limit], len(whole.without_context)


def _sit_one(
    project: Project,
    ready: ReadyExaminee,
    request: ExamRequest,
    author: str,
    report: Callable[[Progress], None],
    control: Control,
) -> Progress:
    student = ready.student
    missing, without = _missing_lines(project, student, request)
    request_record = {
        name: value
        for name in (
            "query_id",
            "version",
            "limit",
            "max_calls",
            "max_cost",
            "retry_failed",
            "only_failed",
        )
        if (value := getattr(request, name)) not in (None, False)
    }
    with project.transaction() as cursor:
        keys = {line.task.asked: question_text_key(cursor, line.task.asked) for line in missing}
        sitting = add_job(cursor, "sitting", student.key, request_record, len(missing), author)
        log_action(
            cursor,
            author,
            "start sitting",
            sitting=sitting,
            student=student.name,
            items=len(missing),
        )

    def answer_batches() -> Iterator[list[Answer]]:
        for answers in _stream_answers(ready, missing, control, ProjectVectors(project)):
            yield [
                replace(answer, item_text_key=keys[line.task.asked], context=line.context)
                for line, answer in answers
            ]

    def write_remarks() -> str:
        said = other_models_note(student.model or "", control.models)
        unasked = f"Skipped {how_many(without, 'items')} without a passage to read."
        return " ".join(filter(None, (said, unasked if without else "")))

    writer = ResultWriter[Answer](
        project,
        sitting,
        Progress("running", len(missing)),
        report,
        control,
        lambda cursor, answers: add_answers(cursor, student.key, answers, sitting),
        failed=lambda answer: answer.correct is None,
    )
    return run_recorded_job(
        writer,
        answer_batches,
        "Run the exam again",
        "to answer the remaining items",
        "The examinee",
        write_remarks,
        lambda cursor, final: log_action(
            cursor,
            author,
            f"sitting {final.state}",
            sitting=sitting,
            student=student.name,
            answered=final.graded,
            failed=final.failed,
        ),
    )


def _stream_answers(
    ready: ReadyExaminee, missing: Sequence[PosedItem], control: Control, store: VectorStore
) -> Iterator[list[tuple[PosedItem, Answer]]]:
    """Yield answers in batches as they come; stop early if `control` asks for it."""
    if ready.back_end is None:
        for at in range(0, len(missing), BLOCK):
            if not control.may_continue():
                return
            block = missing[at : at + BLOCK]
            yield list(zip(block, by_rule(ready, block, store), strict=True))
        return
    finished: dict[int, Answer] = {}

    def grade_steps(number: int, line: PosedItem) -> Steps:
        finished[number] = yield from answer_with_model(ready, line)
        # The back end expects steps that end in grades, so the answer is kept separately.
        return Grade(
            None if finished[number].correct is None else int(finished[number].correct or False)
        )

    work = (((number, 0), grade_steps(number, line)) for number, line in enumerate(missing))
    for outcomes in ready.back_end.drive(work, control):
        yield [(missing[number], finished.pop(number)) for number, _, _ in outcomes]


RETRIEVAL_NAMES: dict[Retriever, str] = {"bm25": "BM25", "embedding": "MiniLM"}
DEPTHS = (1, 3)
"""Passages of a retrieval that examinees get."""


def sit_by_rules(
    project: Project, author: str, tell: Callable[[str], None] = lambda line: None
) -> list[str]:
    """Rank passages for the items without a model, add every rule with every context, and run the
    exam.

    Existing results stay. Existing retrievals of the same names are used as they are.

    Args:
        tell: receives a sentence about each step.

    Returns:
        The names of the examinees.

    Raises:
        InputError: the project has no items or no passages.
        GradingError: the encoder cannot be loaded, or an examinee could not answer.
    """
    known_names = {entry.name for entry in list_retrievals(project)}
    for retriever, name in RETRIEVAL_NAMES.items():
        if name not in known_names:
            make_retrieval(project, name, retriever, author, max(DEPTHS), tell=tell)
    contexts = [(name, 1) for name in NOT_RETRIEVED] + [
        (name, k) for name in RETRIEVAL_NAMES.values() for k in DEPTHS
    ]
    plans = [Plan(rule) for rule in EXAMINEE_RULES if rule not in READING_RULES]
    plans += [
        Plan(rule, retrieval=retrieval, k=k) for rule in READING_RULES for retrieval, k in contexts
    ]
    names = [add_student(project, plan, author).name for plan in plans]
    tell(f"Running the exam for {how_many(len(names), 'examinees')} ...")
    ended = sit_exam(project, ExamRequest(tuple(names)), author)
    if broken := [
        f"{name}: {entry.message}" for name, entry in ended.items() if entry.state != "done"
    ]:
        raise GradingError("job-failed", broken[0], "The answers so far are kept.")
    tell(f"Answers: {sum(entry.graded for entry in ended.values()):,}.")
    return names
