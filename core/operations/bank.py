"""Commands about the question bank and its drafts: changes that are not saved yet."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Literal

from .. import bank, review, study
from ..errors import InputError, Report
from ..text import how_many
from ..types import KINDS, Question
from .policy import PolicyOptions
from .registry import (
    Argument,
    Author,
    Option,
    Output,
    Project,
    checked_note,
    exactly_one,
    only_given,
    operation,
)

Note = Annotated[
    str, Option(help="What changed and why; stored with the version.", parse=checked_note)
]


@operation("bank list", act="read the bank", reads=True)
def list_(
    project: Project,
    *,
    query: Annotated[str | None, Option(help="Only the questions of this query.")] = None,
    version: Annotated[int | None, Option(help="Bank version (default: the newest).")] = None,
    versions: Annotated[bool, Option(help="List the saved versions instead.")] = False,
) -> Output:
    """List questions or saved versions."""
    if versions:
        saved = bank.list_versions(project)
        return Output({"versions": [asdict(saved_version) for saved_version in saved]}).table(
            ("version", "questions changed", "saved at", "author", "note"),
            [
                (v.version, v.changed, f"{v.saved_at:%Y-%m-%d %H:%M}", v.author, v.note)
                for v in saved
            ],
        )
    questions = bank.readable_questions(project, bank.list_questions(project, version, query))
    shown = bank.check_version(project, version)
    return Output(
        {"version": shown, "questions": [asdict(question) for question in questions]}
    ).table(
        ("question", "kind", "weight", "active", "text"),
        [
            (
                q.question_id,
                q.kind,
                q.weight,
                "yes" if q.active else "no",
                q.text or "(text unknown)",
            )
            for q in questions
        ],
    )


@operation("bank edit", act="edit questions")
@exactly_one(
    "no-question-named",
    "Name a question, or use --add QUERY.",
    question_id="a question id",
    query="--add",
)
def edit(
    project: Project,
    *,
    question_id: Annotated[str | None, Argument()] = None,
    query: Annotated[
        str | None, Option("--add", help="Add a new question to this query.", metavar="QUERY")
    ] = None,
    text: Annotated[str | None, Option(help="New wording.")] = None,
    weight: Annotated[
        float | None,
        Option(help="Weight from -1,000,000 to 1,000,000; 0: ignored; negative: content to avoid."),
    ] = None,
    kind: Annotated[str | None, Option(help="Kind of question.", choices=list(KINDS))] = None,
    subtopic_id: Annotated[
        str | None, Option("--subtopic", help="Id of the subtopic; empty to clear it.")
    ] = None,
    answer_key: Annotated[str | None, Option(help="Answer key; empty to clear it.")] = None,
    active: Annotated[
        bool | None, Option("--active/--retired", help="Restore or retire the question.")
    ] = None,
    note: Note,
    author: Author,
) -> Output:
    """Edit or add one question, and save the bank as a new version."""
    before = (
        bank.new_question(query)
        if query is not None
        else bank.saved_question(project, str(question_id))
    )
    fields = only_given(
        text=text,
        weight=weight,
        kind=kind,
        subtopic_id=subtopic_id,
        answer_key=answer_key,
        active=active,
    )
    # Empty text clears the subtopic and the answer key. An empty wording is refused.
    fields |= {
        name: fields[name] or None for name in ("subtopic_id", "answer_key") if name in fields
    }
    after = replace(before, **fields)
    return _saved_output(
        project, bank.save_version(project, [after], note, author), question=after.question_id
    )


@operation("bank repair", act="grade")
def repair(
    project: Project,
    *,
    question_id: Annotated[str, Argument(metavar="QUESTION")],
    wordings: Annotated[
        tuple[str, ...], Option("--wording", help="A new wording; may be repeated.")
    ] = (),
    proposed: Annotated[bool, Option(help="Also test the open proposals of new wordings.")] = False,
    source: Annotated[str, Option(help="Source of the judgments.")] = "judgments",
    policy: PolicyOptions,
    author: Author,
) -> Output:
    """Test new wordings of QUESTION, and draft the best one if its ratings are right more often.

    The grader rates the wordings first. Half of the passages with an override or a judgment choose
    the wording, and the other half test it. Each further test of a question has a stricter level.
    """
    known = bank.proposed_wordings(project, question_id, author) if proposed else []
    outcome = review.repair_question(
        project, question_id, [*wordings, *known], policy, source, author
    )
    return Output(outcome.as_dict()).note(
        outcome.description, "Save it: exam bank save" if outcome.test.accepted else None
    )


@operation("bank seal", act="organize")
def seal(
    project: Project,
    *,
    per_query: Annotated[
        int, Option(help="Sealed questions per query.", least=2)
    ] = bank.SEALED_PER_QUERY,
    seed: Annotated[int | None, Option(help="Seed of the draw (default: random).", least=0)] = None,
    author: Author,
) -> Output:
    """Seal random questions of each query: hide their text from everyone but their authors.

    exam bank sealed then shows which systems answer the public questions better. Graders still read
    sealed questions.
    """
    drawn = bank.seal_questions(project, author, per_query, seed)
    return Output({"sealed": drawn}).note(
        f"Sealed {sum(map(len, drawn.values())):,} questions of {how_many(len(drawn), 'queries')}."
    )


@operation("bank open", act="organize")
def open_sealed(
    project: Project,
    *,
    author: Author,
) -> str:
    """Open all sealed questions: show their text again, and allow exports."""
    return f"Opened: {how_many(bank.open_sealed(project, author), 'questions')}."


@operation("bank sealed", act="read the bank", reads=True)
def sealed(
    project: Project,
    *,
    policy: PolicyOptions,
) -> Output:
    """Show which systems answer public questions better than sealed ones, compared with the median
    system.
    """
    coverage = study.sealed_coverage(project, policy)
    return (
        Output(coverage.as_dict())
        .table(
            ("run", "public", "sealed", "surplus", "p", "significant"),
            [
                (
                    system.run,
                    system.public,
                    system.sealed,
                    system.surplus,
                    system.p,
                    "yes" if system.flagged else "no",
                )
                for system in coverage.systems
            ],
        )
        .note(
            coverage.description,
            coverage.explanation,
            f"Queries with sealed questions: {coverage.queries:,}.",
        )
    )


@operation("bank split", act="edit questions")
def split(
    project: Project,
    *,
    question_id: Annotated[str, Argument(metavar="QUESTION")],
    texts: Annotated[
        tuple[str, ...], Option("--into", help="Wording of a new question; give it twice or more.")
    ],
    note: Note,
    author: Author,
) -> Output:
    """Replace one question by several, and save the bank as a new version.

    The new questions share the weight equally. The old question is retired.
    """
    changed = bank.editing.split_question(bank.saved_question(project, question_id), texts)
    return _saved_output(
        project,
        bank.save_version(project, changed, note, author),
        questions=[q.question_id for q in changed[1:]],
    ).note(f"Weight of each of the {len(changed) - 1} new questions: {changed[1].weight:g}.")


@operation("bank merge", act="edit questions")
def merge(
    project: Project,
    *,
    question_ids: Annotated[tuple[str, ...], Argument(metavar="QUESTION...")],
    text: Annotated[str, Option("--into", help="Wording of the merged question.")],
    note: Note,
    author: Author,
) -> Output:
    """Replace several questions of a query by one, and save the bank as a new version."""
    changed = bank.merge_questions(
        [bank.saved_question(project, question_id) for question_id in dict.fromkeys(question_ids)],
        text,
    )
    return _saved_output(
        project,
        bank.save_version(project, changed, note, author),
        question=changed[0].question_id,
    )


def _saved_output(project: Project, version: int | None, **more: object) -> Output:
    newest = bank.latest_version(project)
    return Output({"version": newest, "saved": version is not None, **more}).note(
        f"Saved bank version {version}."
        if version
        else f"Nothing to save: no change since version {newest}."
    )


@operation("bank save", act="save the bank")
def save(
    project: Project,
    *,
    file: Annotated[Path | None, Argument(file="read")] = None,
    note: Note,
    author: Author,
) -> Output:
    """Save the questions of FILE, or your unsaved changes, as a new bank version.

    Questions that are not in FILE stay unchanged. You are recorded as the author of the wordings in
    FILE. To import the bank of existing grades, use exam import bank FILE. Without FILE, the
    changes of exam bank drafts are saved.
    """
    if file is None:
        return _saved_output(project, bank.save_drafts(project, author, note))
    report = Report()
    # Imported here, because no other command of the bank reads a file.
    from ..formats import Source, read_bank

    read = read_bank(Source.from_path(file), report)
    report.raise_if_refused("Nothing was saved. Correct the lines and save again.")
    questions = project.read(lambda cursor: bank.in_their_words(cursor, read.questions))
    return _saved_output(project, bank.save_version(project, questions, note, author))


@operation("bank diff", act="read the bank", reads=True)
def diff(
    project: Project,
    *,
    before: Annotated[int, Option("--from", help="Earlier version.")],
    after: Annotated[
        int | None, Option("--to", help="Later version (default: the newest).")
    ] = None,
) -> Output:
    """Compare two bank versions question by question."""
    differences = bank.bank_difference(
        *(
            bank.readable_questions(project, bank.list_questions(project, version))
            for version in (before, after)
        )
    )
    changed = [{"before": asdict(old), "after": asdict(new)} for old, new in differences.changed]
    added, removed = (
        [asdict(question) for question in part] for part in (differences.added, differences.removed)
    )
    output = Output({"added": added, "changed": changed, "removed": removed})
    for sign, part in (("+", differences.added), ("-", differences.removed)):
        for question in part:
            output.line(f"{sign} {question.question_id}: {question.text or '(text unknown)'}")
    for old, new in differences.changed:
        output.line(f"~ {new.question_id}: {_mark_changes(old, new)}")
    return output


def _mark_changes(old: Question, new: Question) -> str:
    """Return the wording with removed text in [-…-] and added text in {+…+}, then the other
    differences.
    """
    marks = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
    text = "".join(
        marks[tag].format(part)
        for tag, part in bank.word_difference(old.text or "", new.text or "")
    )
    fields = ("kind", "weight", "active", "subtopic_id", "answer_key", "note")
    others = [
        f"{name.replace('_id', '')} {getattr(old, name)} -> {getattr(new, name)}"
        for name in fields
        if getattr(old, name) != getattr(new, name)
    ]
    return "; ".join([text, *others])


@operation("bank restore", act="save the bank")
def restore(
    project: Project,
    *,
    version: Annotated[int, Option(help="Version to restore.")],
    questions: Annotated[
        tuple[str, ...], Option("--question", help="Only this question; may be repeated.")
    ] = (),
    note: Note,
    author: Author,
) -> Output:
    """Restore an earlier version, or some of its questions, as a new version."""
    for question_id in questions:
        bank.saved_question(project, question_id)
    return _saved_output(
        project, bank.restore_questions(project, version, note, author, questions or None)
    )


@operation("bank drafts", act="read the bank", reads=True)
def list_drafts(
    project: Project,
    *,
    who: Annotated[str | None, Option(help="Only changes by this person.", metavar="NAME")] = None,
) -> Output:
    """List unsaved changes. Save them with exam bank save --author NAME."""
    saved = {question.question_id: question for question in bank.list_questions(project)}
    changes = [
        (
            author,
            shown,
            bank.kinds_of_change(saved.get(question_id), draft.question),
            question_id in crossed,
        )
        for author in bank.draft_authors(project)
        if who in (None, author)
        for crossed in [
            {conflict.mine.question_id for conflict in bank.list_conflicts(project, author)}
        ]
        for question_id, draft in bank.list_drafts(project, author).items()
        for shown in bank.readable_questions(project, [draft.question])
    ]
    records = [
        {"author": by, "question": asdict(question), "done": done, "conflict": crossed}
        for by, question, done, crossed in changes
    ]
    return Output({"drafts": records}).table(
        ("author", "question", "change", "conflict", "text"),
        [
            (by, q.question_id, ", ".join(done), "yes" if crossed else "no", q.text)
            for by, q, done, crossed in changes
        ],
    )


@operation("bank discard", act="edit questions")
@exactly_one(
    "option-missing", "Name questions, or use --all.", question_ids="QUESTION", everything="--all"
)
def discard(
    project: Project,
    *,
    question_ids: Annotated[tuple[str, ...], Argument(metavar="QUESTION...")] = (),
    everything: Annotated[
        bool, Option("--all", help="Discard all unsaved changes of this person.")
    ] = False,
    author: Author,
) -> str:
    """Discard unsaved changes of a person. Undo on the Question bank screen restores them."""
    drafts = bank.list_drafts(project, author)
    _check_drafted(question_ids, drafts, f"{author} has no unsaved changes to")
    bank.take_back(project, author, question_ids or None)
    return f"Discarded {how_many(len(question_ids) or len(drafts), 'changes')} of {author}."


@operation("bank resolve", act="edit questions")
def settle(
    project: Project,
    *,
    question_ids: Annotated[tuple[str, ...], Argument(metavar="QUESTION...")],
    keep: Annotated[
        Literal["mine", "theirs"],
        Option(
            help="mine: your unsaved wording; theirs: the saved wording.",
            choices=["mine", "theirs"],
        ),
    ],
    author: Author,
) -> str:
    """Resolve conflicts with wordings that another person saved."""
    crossed = [one.mine.question_id for one in bank.list_conflicts(project, author)]
    _check_drafted(question_ids, crossed, f"{author} has no conflict in")
    for question_id in question_ids:
        bank.settle_conflict(project, author, question_id, keep)
    return (
        f"Resolved: {how_many(len(question_ids), 'questions')}. To save your remaining"
        " changes: exam bank save"
    )


def _check_drafted(question_ids: Sequence[str], known: Collection[str], otherwise: str) -> None:
    if unknown := [question_id for question_id in question_ids if question_id not in known]:
        raise InputError(
            "unknown-draft", f"{otherwise} {', '.join(unknown)}.", "See exam bank drafts."
        )
