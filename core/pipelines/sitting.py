"""Sitting an exam: ask students for the answers that are missing, commit as they come, stop cleanly."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from core.bank import check_version, question_text_key
from core.errors import InputError, WorkbenchError
from core.graders import Control, Steps, VectorStore, said_of_models
from core.grading import Progress, ProjectVectors, budget
from core.pipelines.answering import answering, by_rule
from core.pipelines.keeping import Keeper
from core.pipelines.sheets import Line, sheet
from core.pipelines.sittings import end, start
from core.pipelines.students import Ready, get_ready
from core.pipelines.tasks import tasks, text_keys
from core.project import Answer, Cursor, Project, Student, find_students, log, verdicts
from core.text import how_many
from core.types import Grade

BLOCK = 256
"""Items that a student by rule answers at a time."""


@dataclass(frozen=True)
class Sit:
    """What students are asked to do.

    Args:
        students: their names; all that can be asked here for None.
        query_id: only items of this query; of all for None.
        version: bank version whose active items are asked; the newest for None.
        limit: answers at most, of all students together.
        max_calls: calls of models at most, likewise, retries included.
        max_cost: money at most, likewise, in the currency of the price table.
        concurrency: calls in flight at most, for a model behind an endpoint.
        retry_failed: whether items that failed are asked again, too.
        only_failed: whether these are asked and no others.
    """

    students: tuple[str, ...] | None = None
    query_id: str | None = None
    version: int | None = None
    limit: int | None = None
    max_calls: int | None = None
    max_cost: float | None = None
    concurrency: int = 8
    retry_failed: bool = False
    only_failed: bool = False


class Reins:
    """Pause and stop for a sitting of several students: they hold whichever is being asked."""

    def __init__(self, report: Callable[[str], None] = lambda line: None) -> None:
        self.report = report
        self._control: Control | None = None
        self._lock = threading.Lock()
        self._paused = self._cancelled = False

    def take(self, control: Control) -> None:
        """Hold the next student."""
        with self._lock:
            self._control = control
            if self._paused:
                control.pause()
            if self._cancelled:
                control.cancel()

    def pause(self) -> None:
        """Let new calls wait until `resume`."""
        with self._lock:
            self._paused = not self._cancelled
            if self._control is not None:
                self._control.pause()

    def resume(self) -> None:
        """Let calls go on."""
        with self._lock:
            self._paused = False
            if self._control is not None:
                self._control.resume()

    def cancel(self) -> None:
        """Let no new call be made. Those in flight end and count."""
        with self._lock:
            self._cancelled, self._paused = True, False
            if self._control is not None:
                self._control.cancel()

    @property
    def paused(self) -> bool:
        """Whether new calls wait."""
        return self._paused

    @property
    def cancelled(self) -> bool:
        """Whether a person asked to stop."""
        return self._cancelled


def sit(
    project: Project,
    request: Sit,
    author: str,
    report: Callable[[str, Progress], None] = lambda student, progress: None,
    reins: Reins | None = None,
) -> dict[str, Progress]:
    """Let students answer what they have not answered, one after the other, in this thread.

    Args:
        report: is told the student and its progress after every commit.
        reins: to pause and stop it from elsewhere.

    Returns:
        The final progress of every student that was begun, by name, `graded` being what it answered. Its state is
        done, cancelled, stopped (a cap is reached) or failed; after one that is cancelled or stopped none follows.

    Raises:
        InputError: there is no such student, bank version or item to ask, or a student sat elsewhere.
    """
    reins = reins or Reins()
    check_version(project, request.version)
    chosen = find_students(project, request.students)
    if request.students is None:
        chosen = [student for student in chosen if not student.sat_elsewhere]
    if not chosen:
        raise InputError("There is no student that could be asked.", "Add one: exam students add.")
    if not tasks(project, request.query_id, request.version):
        raise InputError(
            "There are no items with choices and a key.", "Import an exam, or write questions of the kind choice."
        )
    ready = [get_ready(student) for student in chosen]
    ended: dict[str, Progress] = {}
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
        name = one.student.name
        ended[name] = _sit_one(project, one, left, author, partial(report, name), reins)
        if ended[name].state in ("cancelled", "stopped"):
            break
    return ended


def _left(most: int | None, used: int) -> int | None:
    return None if most is None else max(0, most - used)


def _missing(project: Project, student: Student, request: Sit) -> tuple[list[Line], int]:
    """What a student is to be asked, and how many items it cannot be asked for want of a context."""
    asked = tasks(project, request.query_id, request.version)
    whole = sheet(project, student, asked)
    known, keys = verdicts(project), text_keys(project, [task.asked for task in asked])
    wanted = []
    for line in whole.lines:
        place = (student.key, keys.get(line.task.asked, 0), line.context)
        if place not in known:
            open_ = not request.only_failed
        else:
            open_ = known[place] is None and (request.retry_failed or request.only_failed)
        if open_:
            wanted.append(line)
    return wanted[: request.limit], len(whole.without_context)


def _sit_one(
    project: Project,
    ready: Ready,
    request: Sit,
    author: str,
    report: Callable[[Progress], None],
    reins: Reins,
) -> Progress:
    student = ready.student
    wanted, without = _missing(project, student, request)
    # Rules ask no model, so that no cap is in their way.
    control = Control(concurrency=request.concurrency, report=reins.report)
    if ready.back_end is not None:
        caps = budget(project, student.model or "", ready.back_end, request.max_calls, request.max_cost)
        control = Control(caps.max_calls, caps.max_cost, caps.price, request.concurrency, reins.report)
    reins.take(control)
    asked = {
        name: value
        for name in ("query_id", "version", "limit", "max_calls", "max_cost", "retry_failed", "only_failed")
        if (value := getattr(request, name)) not in (None, False)
    }
    with project.transaction() as cursor:
        keys = {line.task.asked: question_text_key(cursor, line.task.asked) for line in wanted}
        sitting = start(cursor, student.key, asked, len(wanted), author)
        log(cursor, author, "start sitting", sitting=sitting, student=student.name, items=len(wanted))
    keeper = Keeper(project, student.key, sitting, Progress("running", len(wanted)), report, control)
    state, message = "done", ""
    try:
        for answers in _answers(ready, wanted, control, ProjectVectors(project)):
            keeper.take([replace(answer, item_text_key=keys[line.task.asked], context=line.context)
                         for line, answer in answers])  # fmt: skip
        if control.cancelled:
            state, message = "cancelled", "Stopped by a person. Sit again to answer the rest."
        elif control.exhausted:
            used_up = "The budget is used up. Sit again with a new one to answer the rest."
            state, message = "stopped", "" if control.overrun else used_up
    except KeyboardInterrupt:
        state, message = "cancelled", "Stopped from the keyboard. Sit again to answer the rest."
        reins.cancel()
    except WorkbenchError as error:
        state, message = "failed", str(error)
    except Exception as error:
        # A model may break in ways of its own; the sitting ends, what it gave is kept, and the reason is told.
        state, message = "failed", f"The student broke: {type(error).__name__}: {error}"
    keeper.commit()
    unasked = f"It was not asked {how_many(without, 'items')} for which there is no passage to read." if without else ""
    remarks = " ".join(filter(None, (control.overrun, said_of_models(student.model or "", control.models), unasked)))
    message = " ".join(filter(None, (message, remarks)))
    counts = {"answered": keeper.progress.graded, "failed": keeper.progress.failed}

    def finish(cursor: Cursor) -> None:
        if end(cursor, sitting, state, message):
            log(cursor, author, f"sitting {state}", sitting=sitting, student=student.name, **counts)

    project.write(finish)
    final = replace(keeper.progress, state=state, message=message, remarks=remarks)
    report(final)
    return final


def _answers(
    ready: Ready, wanted: Sequence[Line], control: Control, store: VectorStore
) -> Iterator[list[tuple[Line, Answer]]]:
    """Answers in batches as they come; they end early where `control` says so."""
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
        # The back end drives what ends in grades; the answer itself is put aside for it.
        return Grade(None if said[number].correct is None else int(said[number].correct or False))

    work = (((number, 0), steps(number, line)) for number, line in enumerate(wanted))
    for outcomes in ready.back_end.drive(work, control):
        yield [(wanted[number], said.pop(number)) for number, _, _ in outcomes]
