"""Checks of a grader: the drift watch in every job, and the robustness probe."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from ..bank import (
    Drift,
    grader_drift,
    grader_key,
    list_prompts,
    refuse_drifted,
    remember_settings,
    settings_again,
)
from ..choices import PROBED_PAIRS
from ..errors import GradingError, InputError
from ..graders import CHANGES, Control, Grader, is_remote, make_grader
from ..store import Project, log_action
from ..types import ANSWERED, GraderSpec
from ._needed_pairs import with_texts

SENTINELS, AGAIN, FEWEST = 200, 10, 20
"""Number of pairs that measure the noise, number of them that each job asks again, and the fewest
to measure noise.
"""


def watch_grader(
    project: Project, grader: Grader, author: str, control: Control, pairs: int | None = None
) -> Drift:
    """Begin to watch a grader, or check it again now.

    Args:
        pairs: number of random graded pairs to ask again; by default `SENTINELS` at first, later
            `AGAIN`.

    Raises:
        GradingError: the model changed.
        InputError: the grader does not use an endpoint, or has too few grades.
    """
    project.require("grade", author=author)
    begun = refuse_drifted(project, grader.spec)
    if not is_remote(grader):
        raise InputError(
            "grader-pinned",
            f"'{grader.spec.name}' cannot change: its fingerprint contains its weights.",
            "Watch a grader at an endpoint.",
        )
    _ask_again(
        project,
        grader,
        author,
        control,
        pairs or (SENTINELS if begun is None else AGAIN),
        begun is not None,
    )
    state = grader_drift(project, grader.spec)
    assert state is not None
    return state


def pairs_again(project: Project, spec: GraderSpec) -> int:
    """Return the number of pairs that the next job of a grader asks again."""
    found = grader_drift(project, spec)
    return 0 if found is None else min(AGAIN, found.pairs)


def check_again(project: Project, grader: Grader, author: str, control: Control) -> None:
    """Ask some sentinel pairs again at the start of a job, if the grader is watched.

    Raises:
        GradingError: the model changed, or the budget allows only these pairs.
    """
    if refuse_drifted(project, grader.spec) is None:
        return
    _ask_again(project, grader, author, control, AGAIN, begun=True)
    refuse_drifted(project, grader.spec)
    all_made = control.max_calls is not None and control.usage.calls >= control.max_calls
    if all_made or (control.exhausted and not control.overrun):
        raise GradingError(
            "budget-below-watch",
            f"The drift watch used up the budget: {control.usage.calls} calls. At the start of each"
            f" job it repeats {AGAIN} pairs.",
            "Start again with a larger budget.",
        )


def _ask_again(
    project: Project, grader: Grader, author: str, control: Control, count: int, begun: bool
) -> None:
    key = project.read(lambda cursor: grader_key(cursor, grader.spec))
    known = "sentinel_answers WHERE round = 0 AND" if begun else "grades WHERE"
    pairs = project.rows(
        f"SELECT question_text_key, passage_text_key FROM {known} grader_key = ? ORDER BY random()"
        f" LIMIT {count:d}",
        [key],
    )
    if len(pairs) < FEWEST and not begun:
        raise InputError(
            "too-few-grades",
            f"'{grader.spec.name}' has {len(pairs)} grades; the watch needs {FEWEST}.",
            f"Grade first: exam grade --grader '{grader.spec.name}'",
        )
    texts = with_texts(project, grader.spec, pairs)
    outcomes = [
        outcome
        for batch in grader.grade(texts.questions, texts.passages, texts.pairs, control)
        for outcome in batch
    ]
    if not outcomes:
        return
    with project.transaction(act="grade", author=author) as cursor:
        ((number,),) = cursor.execute(
            "SELECT coalesce(max(round) + 1, 0) FROM sentinel_answers WHERE grader_key = ?", [key]
        ).fetchall()
        cursor.executemany(
            "INSERT INTO sentinel_answers VALUES (?, ?, ?, ?, ?, now()::TIMESTAMP)",
            [
                [key, question, passage, number, grade.rating]
                for question, passage, grade in outcomes
            ],
        )
    state = grader_drift(project, grader.spec)
    if state is not None and state.alarm is not None:
        _begin_edition(project, grader.spec, author)


def _begin_edition(project: Project, spec: GraderSpec, author: str) -> None:
    """Save the grader with a new fingerprint under a name of its own, if its settings are known."""
    with project.transaction(act="grade", author=author) as cursor:
        log_action(cursor, author, "notice changed model", grader=spec.name)
    if (known := settings_again(project, spec)) is not None:
        parameters = known.parameters | {"edition": known.parameters.get("edition", 1) + 1}
        renewed = make_grader(known.kind, parameters, list_prompts(project))
        remember_settings(project, renewed, known.kind, parameters, author)


def probe_grader(
    project: Project, grader: Grader, author: str, control: Control, pairs: int = PROBED_PAIRS
) -> int:
    """Ask a grader about changed passages of pairs that it graded, and store its answers.

    Changes that keep an answer start from answered pairs, all others from pairs without an answer.

    Returns:
        The number of answers.

    Raises:
        InputError: the grader has no answered pair, or only answered ones.
    """
    project.require("grade", author=author)
    spec = grader.spec
    key = project.read(lambda cursor: grader_key(cursor, spec))
    chosen = {
        answered: project.rows(
            "SELECT question_text_key, passage_text_key, rating FROM grades WHERE grader_key = ?"
            f" AND (rating >= {spec.min_rating(ANSWERED):d}) = {answered} ORDER BY random()"
            f" LIMIT {pairs:d}",
            [key],
        )
        for answered in (True, False)
    }
    if not all(chosen.values()):
        raise InputError(
            "too-few-grades",
            f"'{spec.name}' needs a pair with an answer and a pair without one for a probe.",
            f"Grade more pairs: exam grade --grader '{spec.name}'",
        )
    texts = with_texts(project, spec, [pair[:2] for rated in chosen.values() for pair in rated])
    rows, passages, questions = [], dict[int, str](), []
    for name, change in CHANGES.items():
        for number, (question, passage, before) in enumerate(chosen[change.keeps]):
            other = _other_passage(chosen[True], question, number, texts.passages)
            text = change.make(
                texts.questions[question].text, texts.passages[passage], other, number
            )
            rows.append((name, question, passage, before))
            passages[len(passages)] = text
            questions.append((question, len(passages) - 1))
    rated = {
        place: grade.rating
        for batch in grader.grade(texts.questions, passages, questions, control)
        for _, place, grade in batch
    }
    with project.transaction(act="grade", author=author) as cursor:
        ((number,),) = cursor.execute(
            "SELECT coalesce(max(probe) + 1, 1) FROM probe_answers"
        ).fetchall()
        cursor.executemany(
            "INSERT INTO probe_answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, now()::TIMESTAMP)",
            [[key, number, *rows[place], rating, author] for place, rating in rated.items()],
        )
        log_action(cursor, author, "probe grader", grader=spec.name, answers=len(rated))
    return len(rated)


def _other_passage(
    answered: Sequence[tuple[int, int, int]],
    question: int,
    number: int,
    passages: Mapping[int, str],
) -> str:
    """Return a passage that answers another question; if only one question was answered, a passage
    that answers it.
    """
    others = [passage for asked, passage, _ in answered if asked != question] or [answered[0][1]]
    return passages[random.Random(number).choice(others)]
