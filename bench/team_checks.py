"""What must hold of a project after a team worked on it: all that was acknowledged is there, and there once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.assessor import Assessor
from core import bank
from core.exchange import check
from core.grading import jobs
from core.project import Project, open_project, source_of

BESIDE = ("shell", "script")
"""Under what names roles are given before anybody comes, and commands act beside."""


def broken(path: Path, people: Sequence[Assessor], logins: bool = False) -> list[str]:
    """Open a project as a restart does; what is lost, there twice, or unsound, a sentence each.

    Args:
        logins: whether they logged in, so that also counts under what name and in which queries they did it.
    """
    project = open_project(path)
    try:
        found = [sentence for one in people for sentence in _of_one(project, one)]
        found += _job(project, people)
        if logins:
            found += _under_other_names(project, people)
            found += [f"{one.name}: {sentence}" for one in people for sentence in _rights(project, one)]
        found += [f"exam check: {one}" for findings in check(project).values() for one in findings]
        return found
    finally:
        project.close()


def _of_one(project: Project, one: Assessor) -> Iterator[str]:
    for what in (_edits, _saves, _overrides, _judgments, _downloads, _imports):
        yield from (f"{one.name}: {sentence}" for sentence in what(project, one))


def _edits(project: Project, one: Assessor) -> Iterator[str]:
    """The last acknowledged wording of each question is that of their draft, or of the bank; each was stored once."""
    drafted = {key: draft.question.text for key, draft in bank.drafts(project, one.name).items()}
    now = {question.question_id: question.text for question in bank.questions(project)} | drafted
    for key, text in one.known.texts.items():
        if key not in one.known.doubtful and now.get(key) != text:
            yield f"the edit of {key} is lost: it says {now.get(key)!r} and not {text!r}"
    for text in one.known.every:
        times = project.value(
            "SELECT count(*) FROM question_revisions JOIN question_texts USING (text_key) WHERE text = ?", [text]
        )
        if times > 1:
            yield f"{text!r} was saved {times} times"


def _saves(project: Project, one: Assessor) -> Iterator[str]:
    for note in one.known.notes:
        if (times := project.value("SELECT count(*) FROM bank_versions WHERE note = ?", [note])) != 1:
            yield f"the version {note!r} is there {times} times"


def _overrides(project: Project, one: Assessor) -> Iterator[str]:
    for reason, rating in one.known.overrides.items():
        if (rows := project.rows("SELECT rating FROM overrides WHERE reason = ?", [reason])) != [(rating,)]:
            yield f"the override {reason!r} with {rating} is there as {rows}"


def _judgments(project: Project, one: Assessor) -> Iterator[str]:
    stored = {
        (query, passage): value
        for query, passage, value in project.rows(
            "SELECT query_id, passage_id, value FROM judgments JOIN sources USING (source_key) JOIN queries"
            " USING (query_key) JOIN passages USING (passage_key) WHERE name = ?",
            [source_of(one.name)],
        )
    }
    for at, value in one.known.judgments.items():
        if " ".join(at) not in one.known.doubtful and stored.get(at) != value:
            yield f"the judgment of {at} is {stored.get(at)} and not {value}"
    yield from _as_often(project, one, "judge", one.known.judged, one.known.tried_judged)


def _downloads(project: Project, one: Assessor) -> Iterator[str]:
    yield from _as_often(project, one, "export qrels", one.known.downloads, one.known.tried_downloads)


def _as_often(project: Project, one: Assessor, act: str, done: int, tried: int) -> Iterator[str]:
    """Each act was logged once; one without an answer may have been done or not."""
    found = project.value("SELECT count(*) FROM activity WHERE author = ? AND act = ?", [one.name, act])
    if not done <= found <= tried:
        yield f"{act} is on record {found} times, done were {done}, begun {tried}"


def _imports(project: Project, one: Assessor) -> Iterator[str]:
    for name, lines in one.known.imported.items():
        found = project.value("SELECT count(*) FROM rankings JOIN runs USING (run_key) WHERE name = ?", [name])
        if found != lines:
            yield f"the run {name} has {found} lines and not {lines}"


def _job(project: Project, people: Sequence[Assessor]) -> Iterator[str]:
    """The jobs that somebody saw ending are on record as done, and no other is left as running."""
    ended = [job for job in jobs(project) if job.author in {one.name for one in people}]
    wanted = sum(one.known.jobs for one in people)
    if sum(job.state == "done" for job in ended) < wanted:
        yield f"{wanted} jobs were done, on record are {[(job.state, job.message) for job in ended]}"


def _under_other_names(project: Project, people: Sequence[Assessor]) -> Iterator[str]:
    """Since the roles were given, nothing is on record under a name that is nobody's login."""
    names = [*BESIDE, *(one.name for one in people)]
    for author, act, times in project.rows(
        "SELECT author, act, count(*) FROM activity WHERE NOT list_contains(?, author) AND activity_key >"
        " (SELECT min(activity_key) FROM activity WHERE author = 'shell') GROUP BY ALL ORDER BY ALL",
        [names],
    ):
        yield f"{act} is on record {times} times under the name {author}"


def _rights(project: Project, one: Assessor) -> Iterator[str]:
    """What they did is on record under their name, in their queries; what is hidden from them was and is hidden."""
    seat = one.seat
    for what, sql, wanted in (
        ("version", "SELECT author, note FROM bank_versions WHERE list_contains(?, note)", one.known.notes),
        ("override", "SELECT author, reason FROM overrides WHERE list_contains(?, reason)", list(one.known.overrides)),
        (
            "wording",
            "SELECT v.author, t.text FROM question_revisions r JOIN bank_versions v USING (version)"
            " JOIN question_texts t USING (text_key) WHERE list_contains(?, t.text)",
            one.known.every,
        ),
    ):
        yield from (
            f"the {what} {name!r} is on record as done by {author}"
            for author, name in project.rows(sql, [wanted])
            if author != one.name
        )
    tried = set(one.known.refused)
    if any(draft.question.text in tried for draft in bank.drafts(project, one.name).values()):
        yield "what was refused is in their drafts"
    if project.value("SELECT count(*) FROM question_texts WHERE list_contains(?, text)", [one.known.refused]):
        yield "what was refused was saved"
    if seat.role == "assessor":
        for query, what in project.rows(
            "SELECT query_id, 'override' FROM overrides JOIN questions USING (question_key) JOIN queries"
            " USING (query_key) WHERE author = $name AND NOT list_contains($theirs, query_id)"
            " UNION SELECT query_id, 'judgment' FROM judgments JOIN sources USING (source_key) JOIN queries"
            " USING (query_key) WHERE name = $source AND NOT list_contains($theirs, query_id)",
            {"name": one.name, "source": source_of(one.name), "theirs": [*seat.assigned, seat.doubled]},
        ):
            yield f"a {what} of theirs is in query {query}, which is not theirs"
    if seat.doubled:
        given = (
            "SELECT count(*) FROM overrides JOIN questions USING (question_key) JOIN queries USING (query_key)"
            " WHERE author = $name AND query_id = $query"
            " UNION ALL SELECT count(*) FROM judgments JOIN sources USING (source_key) JOIN queries USING (query_key)"
            " WHERE name = $source AND query_id = $query"
            " UNION ALL SELECT count(*) FROM activity WHERE author = $name AND act IN ('judge', 'override')"
            " AND (detail->>'$.query') = $query"
        )
        about = {"name": seat.partner, "source": source_of(seat.partner), "query": seat.doubled}
        if any(count for (count,) in project.acting_as(seat.identity).rows(given, about)):
            yield f"they are shown what {seat.partner} gave for {seat.doubled}"
