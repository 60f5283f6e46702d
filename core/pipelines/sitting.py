"""Running exams: examinees answer the missing items; answers are committed as they come; stops are clean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..bank import check_version, question_text_key
from ..errors import GradingError, InputError
from ..graders import Control, Steps, VectorStore, said_of_models
from ..grading import ProjectVectors
from ..jobs import BackgroundJob, Carrier, Extent, Progress, Report, carry, job_control, start_background
from ..project import (
    NOT_RETRIEVED,
    Answer,
    Cursor,
    Project,
    Student,
    add_answers,
    add_job,
    find_students,
    log,
    verdicts,
)
from ..text import first_few, how_many
from ..types import Grade
from .answering import answering, by_rule
from .items import tasks, text_keys
from .responses import Line, sheet
from .retrievals import Retriever, make_retrieval, retrievals
from .students import READING_RULES, RULES, Plan, Ready, add_student, get_ready

BLOCK = 256
"""Items that an examinee by rule answers at a time."""


@dataclass(frozen=True)
class Sit(Extent):
    """A request to run an exam. The limit and the caps hold for all examinees together.

    If an endpoint is unavailable for longer than the patience, its other examinees are not begun.

    Args:
        students: names of the examinees; None for all that can be asked here.
        query_id: only items of this query; None for all.
        version: bank version whose active items are asked; None for the newest.
    """

    students: tuple[str, ...] | None = None
    query_id: str | None = None
    version: int | None = None


def sit(
    project: Project,
    request: Sit,
    author: str,
    report: Report = lambda student, progress: None,
    control: Control | None = None,
) -> dict[str, Progress]:
    """Ask examinees for their missing answers, one examinee after the other, in this thread.

    Args:
        report: receives the examinee and its progress after every commit.
        control: to pause and cancel it from elsewhere.

    Returns:
        The final progress of every examinee that was begun, by name; `graded` is the number of its answers. Its state
        is
        done, cancelled, stopped (a cap is reached) or failed. Cancelled and stopped examinees are the last ones.

    Raises:
        InputError: an examinee or bank version is unknown, an examinee's answers were imported, or the exam has no
            items.
    """
    control = control or Control()
    check_version(project, request.version)
    chosen = find_students(project, request.students)
    if request.students is None:
        chosen = [student for student in chosen if not student.sat_elsewhere]
    if not chosen:
        raise InputError("no-student", "No examinee can be asked.", "Add an examinee: exam examinees add.")
    if not tasks(project, request.query_id, request.version):
        raise InputError(
            "no-items",
            "No items with choices and a key.",
            "Import an exam, or write multiple-choice questions.",
        )
    ready = [get_ready(student) for student in chosen]
    ended: dict[str, Progress] = {}
    # The examinee that gave up an endpoint, by its address; and the examinees that were not begun because of it.
    lost: dict[str, str] = {}
    left_out: dict[str, list[str]] = {}
    for one in ready:
        done = ended.values()
        left = replace(
            request,
            limit=_left(request.limit, sum(each.done for each in done)),
            max_calls=_left(request.max_calls, sum(each.usage.calls for each in done)),
            max_cost=None
            if request.max_cost is None
            else max(0.0, request.max_cost - sum(each.usage.cost for each in done)),
        )
        if left.limit == 0:
            break
        endpoint = getattr(one.back_end, "endpoint", None)
        address, name = "" if endpoint is None else endpoint.base_url, one.student.name
        if address in lost:
            left_out.setdefault(lost[address], []).append(name)
            continue
        control.renew(job_control(project, one.student.model or "", one.back_end, left))
        ended[name] = _sit_one(project, one, left, author, partial(report, name), control)
        if control.in_vain:
            lost[address] = name
        if ended[name].state in ("cancelled", "stopped"):
            break
    for name, others in left_out.items():
        said = f"Not started, because they use the same endpoint: {first_few(others)}."
        ended[name] = replace(ended[name], message=f"{ended[name].message} {said}")
    return ended


def start_sitting(project: Project, request: Sit, author: str) -> BackgroundJob:
    """Run an exam in the background; a project runs one at a time.

    Raises:
        GradingError: another one is running.
        NotAllowed: the role of the person does not include running exams.
    """
    project.require("run exams", author=author)

    def make(owned: Project) -> BackgroundJob:
        return BackgroundJob(
            "Preparing", "answers", request, author, Control(),
            lambda report, job: sit(owned, request, author, report, job.control),
        )  # fmt: skip

    return start_background(project, "exams", make)


def _left(most: int | None, used: int) -> int | None:
    return None if most is None else max(0, most - used)


def _missing(project: Project, student: Student, request: Sit) -> tuple[list[Line], int]:
    """Return the questions for an examinee, and the number of items that cannot be asked without their context."""
    asked = tasks(project, request.query_id, request.version)
    whole = sheet(project, student, asked)
    known, keys = verdicts(project), text_keys(project, [task.asked for task in asked])
    wanted = []
    for line in whole.lines:
        place = (student.key, keys.get(line.task.asked, 0), line.context)
        if request.includes(place in known, known.get(place) is None):
            wanted.append(line)
    return wanted[: request.limit], len(whole.without_context)


def _sit_one(
    project: Project,
    ready: Ready,
    request: Sit,
    author: str,
    report: Callable[[Progress], None],
    control: Control,
) -> Progress:
    student = ready.student
    wanted, without = _missing(project, student, request)
    asked = {
        name: value
        for name in ("query_id", "version", "limit", "max_calls", "max_cost", "retry_failed", "only_failed")
        if (value := getattr(request, name)) not in (None, False)
    }
    with project.transaction() as cursor:
        keys = {line.task.asked: question_text_key(cursor, line.task.asked) for line in wanted}
        sitting = add_job(cursor, "sitting", student.key, asked, len(wanted), author)
        log(cursor, author, "start sitting", sitting=sitting, student=student.name, items=len(wanted))

    def batches() -> Iterator[list[Answer]]:
        for answers in _answers(ready, wanted, control, ProjectVectors(project)):
            yield [replace(answer, item_text_key=keys[line.task.asked], context=line.context)
                   for line, answer in answers]  # fmt: skip

    def remarks() -> str:
        said = said_of_models(student.model or "", control.models)
        unasked = f"Skipped {how_many(without, 'items')} without a passage to read."
        return " ".join(filter(None, (said, unasked if without else "")))

    def told(cursor: Cursor, final: Progress) -> None:
        counts = {"answered": final.graded, "failed": final.failed}
        log(cursor, author, f"sitting {final.state}", sitting=sitting, student=student.name, **counts)

    carrier = Carrier[Answer](
        project, sitting, Progress("running", len(wanted)), report, control,
        lambda cursor, answers: add_answers(cursor, student.key, answers, sitting),
        failed=lambda answer: answer.correct is None,
    )  # fmt: skip
    return carry(
        carrier,
        batches,
        "Run the exam again",
        "to answer the remaining items",
        "The examinee",
        remarks,
        told,
    )


def _answers(
    ready: Ready, wanted: Sequence[Line], control: Control, store: VectorStore
) -> Iterator[list[tuple[Line, Answer]]]:
    """Yield answers in batches as they come; stop early if `control` asks for it."""
    if ready.back_end is None:
        for at in range(0, len(wanted), BLOCK):
            control.wait_while_paused()
            if control.stopping:
                return
            block = wanted[at : at + BLOCK]
            yield list(zip(block, by_rule(ready, [line.given for line in block], store), strict=True))
        return
    said: dict[int, Answer] = {}

    def steps(number: int, line: Line) -> Steps:
        said[number] = yield from answering(ready, line.given)
        # The back end expects steps that end in grades, so the answer is kept separately.
        return Grade(None if said[number].correct is None else int(said[number].correct or False))

    work = (((number, 0), steps(number, line)) for number, line in enumerate(wanted))
    for outcomes in ready.back_end.drive(work, control):
        yield [(wanted[number], said.pop(number)) for number, _, _ in outcomes]


RETRIEVAL_NAMES: dict[Retriever, str] = {"bm25": "BM25", "embedding": "MiniLM"}
DEPTHS = (1, 3)
"""Passages of a retrieval that examinees get."""


def sit_by_rules(
    project: Project, author: str, tell: Callable[[str], None] = lambda line: None, query_id: str | None = None
) -> list[str]:
    """Rank passages for the items without a model, add every rule with every context, and run the exam.

    Existing results stay. Existing retrievals of the same names are used as they are.

    Args:
        tell: is given a sentence about each step.
        query_id: the exam; None for the items of all exams.

    Returns:
        The names of the examinees.

    Raises:
        InputError: the project has no items or no passages.
        GradingError: the encoder cannot be loaded, or an examinee could not answer.
    """
    there = {one.name for one in retrievals(project)}
    for retriever, name in RETRIEVAL_NAMES.items():
        if name not in there:
            make_retrieval(project, name, retriever, author, max(DEPTHS), query_id, tell)
    contexts = [(name, 1) for name in NOT_RETRIEVED] + [(name, k) for name in RETRIEVAL_NAMES.values() for k in DEPTHS]
    plans = [Plan(rule) for rule in RULES if rule not in READING_RULES]
    plans += [Plan(rule, retrieval=retrieval, k=k) for rule in READING_RULES for retrieval, k in contexts]
    names = [add_student(project, plan, author).name for plan in plans]
    tell(f"Running the exam for {how_many(len(names), 'examinees')} ...")
    ended = sit(project, Sit(tuple(names), query_id), author)
    if broken := [f"{name}: {one.message}" for name, one in ended.items() if one.state != "done"]:
        raise GradingError("job-failed", broken[0], "The answers so far are kept.")
    tell(f"Answers: {sum(one.graded for one in ended.values()):,}.")
    return names
