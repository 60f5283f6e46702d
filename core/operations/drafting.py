"""Commands that draft questions, answer keys and exam items with a model, and review the drafts and
items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from .. import bank, exams, exchange, formats, graders, grading, jobs, review
from ..bank import STATES
from ..choices import DRAFTED_WORDINGS, EXAM_DOMAIN, EXAM_QUERY, MOST_DRAFTS, DraftedKind
from ..errors import GradingError, InputError
from ..tables import disarm_cell
from ..text import how_many, one_line
from .console import call_note_printer, price_words, progress_watcher, read_text_file
from .grader_options import BackEnd, BaseUrl, Patience, may_use_key
from .policy import PolicyOptions
from .registry import (
    Argument,
    Author,
    GatheredOptions,
    Option,
    Output,
    Project,
    at_most_one,
    checked_note,
    current_author,
    exactly_one,
    only_given,
    operation,
)


def _model_options(
    *,
    model: Annotated[str, Option(help="Name or folder of the model.")],
    back_end: BackEnd = None,
    base_url: BaseUrl = None,
    key_variable: Annotated[
        str | None,
        Option(help="Environment variable with the endpoint's API key (default: by the address)."),
    ] = None,
) -> dict[str, str]:
    options = {
        "model": model,
        "back_end": back_end,
        "base_url": base_url,
        "key_variable": key_variable,
    }
    return {name: value for name, value in options.items() if value}


ModelOptions = Annotated[dict[str, str], GatheredOptions(_model_options)]
"""The settings of the drafting model."""
PromptOption = Annotated[
    str | None, Option("--prompt", help="Name of the prompt: see exam prompts list.")
]


@operation("generate", act="write with models")
@exactly_one(
    "options-exclude-each-other", "Use --query QUERY or --all.", queries="--query", every="--all"
)
def generate(
    project: Project,
    *,
    queries: Annotated[
        tuple[str, ...], Option("--query", help="Only this query; may be repeated.")
    ] = (),
    every: Annotated[bool, Option("--all", help="All queries.")] = False,
    kind: Annotated[DraftedKind, Option(help="Kind of question.")] = "question",
    number: Annotated[
        int, Option("-n", help="Largest number of proposals per query or subtopic.")
    ] = 10,
    settings: ModelOptions,
    prompt: PromptOption = None,
    max_calls: Annotated[int | None, Option(help="Call limit, retries included.", least=1)] = None,
    max_cost: Annotated[
        float | None, Option(help="Cost limit, in the currency of exam prices.", least=0)
    ] = None,
    patience: Patience,
) -> Output:
    """Draft questions with a model. They are proposals until you accept them."""
    with may_use_key(settings):
        drafter = grading.make_drafter(settings)
        caps = jobs.Caps(max_calls=max_calls, max_cost=max_cost, patience=patience)
        report = grading.draft_proposals(
            project,
            drafter,
            None if every else queries,
            current_author(),
            kind,
            prompt,
            number,
            begin_drafting(project, drafter, caps),
            progress_watcher("requests answered"),
        )
    return _describe_proposals(project, report)


def begin_drafting(project: Project, drafter: grading.Drafter, caps: jobs.Caps) -> graders.Control:
    """Return the control of a new drafting job."""
    return jobs.job_control(project, drafter.model, drafter.back_end, caps, call_note_printer())


def _describe_proposals(project: Project, report: grading.Report) -> Output:
    """Return the new proposals, and the requests that gave none. The operation fails if no request
    gave a proposal.
    """
    proposals = bank.list_proposals(project, keys=report.keys)
    came = f"{how_many(len(proposals), 'proposals')} from {how_many(report.asked, 'requests')}."
    nothing = GradingError(
        "nothing-usable", "The model drafted no usable questions.", "Try another model or prompt."
    )
    return (
        Output({"proposals": [asdict(proposal) for proposal in proposals], **asdict(report)})
        .table(
            ("proposal", "query", "text"),
            [(str(proposal.key), proposal.query_id, proposal.text) for proposal in proposals],
        )
        .note(
            *(f"exam: no proposals from {failure}" for failure in report.failed),
            f"{came} {_describe_rest(report)}See exam proposals list.",
        )
        .failing(None if proposals else nothing)
    )


def _describe_rest(report: grading.Report) -> str:
    rest = (
        f"Dropped beyond the limit of -n: {how_many(report.left_out, 'proposals')}. "
        if report.left_out
        else ""
    )
    return rest + (
        f"Not made (limit reached): {how_many(report.stopped, 'requests')}. "
        if report.stopped
        else ""
    )


@operation("proposals list", act="read the bank", reads=True)
def list_(
    project: Project,
    *,
    query: Annotated[str | None, Option(help="Only this query.")] = None,
    state: Annotated[str, Option(help="Only this state.", choices=[*STATES, "all"])] = "open",
    near: Annotated[
        bool, Option(help="Also mark near-duplicates that the embedding model finds.")
    ] = False,
) -> Output:
    """List proposals with their origin and the questions that they repeat."""
    hidden = bank.queries_awaiting_own(project, current_author())
    given = bank.list_proposals(
        project, query, STATES if state == "all" else (cast(bank.State, state),)
    )
    proposals = [proposal for proposal in given if proposal.query_id not in hidden]
    repeats = {
        key: mark
        for query_id in dict.fromkeys(proposal.query_id for proposal in proposals)
        for key, mark in bank.find_repeats(project, current_author(), query_id, near).items()
    }
    value = [
        asdict(proposal)
        | {"repeats": asdict(repeats[proposal.key]) if proposal.key in repeats else None}
        for proposal in proposals
    ]
    return Output({"proposals": value}).table(
        ("proposal", "query", "kind", "state", "text", "repeats", "origin"),
        [
            (
                str(proposal.key),
                proposal.query_id,
                proposal.kind,
                proposal.state,
                proposal.text,
                repeats.get(proposal.key),
                proposal.came_from,
            )
            for proposal in proposals
        ],
    )


@operation("proposals assessors-first", act="organize")
def assessors_first(
    project: Project,
    *,
    on: Annotated[
        bool, Option("--on/--off", help="Hide or show suggestions before an own question.")
    ],
    author: Author,
) -> str:
    """Hide the proposals of a query from a person until they have written a question of their
    own.
    """
    bank.set_assessors_first(project, on, author)
    return f"Assessors first is {'on' if on else 'off'}."


@operation("proposals accept", act="edit questions")
def accept(
    project: Project,
    *,
    keys: Annotated[tuple[int, ...], Argument(metavar="PROPOSAL...")],
    note: Annotated[
        str | None,
        Option(help="Save all your unsaved changes at once, with this note.", parse=checked_note),
    ] = None,
) -> Output:
    """Accept proposals into your unsaved changes. Save them with --note or exam bank save."""
    author = current_author()
    accepted = bank.accept_proposals(project, keys, author)
    version = bank.save_drafts(project, author, note) if note is not None else None
    next_step = (
        "To save: exam bank save --note NOTE"
        if version is None
        else f"Saved bank version {version}."
    )
    return Output(
        {"questions": [asdict(question) for question in accepted], "version": version}
    ).note(f"Accepted {how_many(len(accepted), 'questions')}. {next_step}")


@operation("proposals reject", act="edit questions")
def reject(
    project: Project,
    *,
    keys: Annotated[tuple[int, ...], Argument(metavar="PROPOSAL...")],
) -> str:
    """Reject proposals. They are kept, and later repeats are marked."""
    bank.reject_proposals(project, keys, current_author())
    return f"Rejected {how_many(len(set(keys)), 'proposals')}."


@operation("proposals reopen", act="edit questions")
def reopen(
    project: Project,
    *,
    keys: Annotated[tuple[int, ...], Argument(metavar="PROPOSAL...")],
) -> str:
    """Reopen accepted or rejected proposals. Unsaved changes from them stay."""
    bank.reopen_proposals(project, keys, current_author())
    return f"Reopened {how_many(len(set(keys)), 'proposals')}."


@operation("proposals edit", act="edit questions")
def edit(
    project: Project,
    *,
    key: Annotated[int, Argument(metavar="PROPOSAL")],
    text: Annotated[str, Option(help="New wording. The original wording is kept too.")],
) -> str:
    """Reword an open proposal. The model's wording is kept."""
    bank.edit_proposal(project, key, text, current_author())
    return f"Reworded proposal {key}."


@operation("proposals answer-key", act="ask models")
def answer_key(
    project: Project,
    *,
    question: Annotated[str, Argument(metavar="QUESTION")],
    passage: Annotated[str, Argument(metavar="PASSAGE")],
    settings: ModelOptions,
    prompt: PromptOption = None,
    patience: Patience,
) -> Output:
    """Draft the answer key of QUESTION from PASSAGE with a model, as a proposal."""
    with may_use_key(settings):
        drafter = grading.make_drafter(settings)
        control = begin_drafting(project, drafter, jobs.Caps(patience=patience))
        report = grading.draft_answer_key(
            project, drafter, question, passage, current_author(), prompt, control
        )
    return _describe_proposals(project, report)


@operation("proposals rewordings", act="ask models")
def rewordings(
    project: Project,
    *,
    question: Annotated[str, Argument(metavar="QUESTION")],
    number: Annotated[
        int, Option("-n", help="Largest number of wordings.", least=1, most=MOST_DRAFTS)
    ] = DRAFTED_WORDINGS,
    source: Annotated[str, Option(help="Source of the judgments.")] = "judgments",
    settings: ModelOptions,
    prompt: PromptOption = None,
    patience: Patience,
    policy: PolicyOptions,
) -> Output:
    """Draft new wordings of QUESTION with a model, from passages with wrong ratings. Test them with
    exam bank repair.

    A rating is wrong if it contradicts an override or a judgment. The model reads only passages of
    the first half.
    """
    author = current_author()
    with may_use_key(settings):
        drafter = grading.make_drafter(settings)
        control = begin_drafting(project, drafter, jobs.Caps(patience=patience))
        report = review.suggest_rewordings(
            project, drafter, question, policy, source, author, number, prompt, control
        )
    return _describe_proposals(project, report)


ItemsOf = Literal["all", "proposals", "bank"]

ExamId = Annotated[str | None, Option("--exam", help="Only items of this query. Default: all.")]

_BOUNDS = (
    "extra_gram",
    "extra_embedding",
    "intra_jaccard",
    "intra_embedding",
    "intra_rouge",
    "near",
)


def _filter_options(
    *,
    share: Annotated[
        float | None,
        Option(
            help="Largest share of items that each default threshold flags. Default: 0.05.",
            least=0,
            most=1,
        ),
    ] = None,
    self_contained: Annotated[
        bool | None,
        Option(
            "--self-contained/--any-reference",
            help=(
                "Flag or allow questions that refer to a paper, a study or the"
                " documentation. Default: flag."
            ),
        ),
    ] = None,
    extra_gram: Annotated[
        float | None,
        Option(
            help=(
                "Flag items with a wrong choice that is closer to the source than the key is, by"
                " this n-gram margin."
            )
        ),
    ] = None,
    extra_embedding: Annotated[
        float | None,
        Option(
            help=(
                "Flag items with a wrong choice that is closer to the source than the key is, by"
                " this cosine margin."
            )
        ),
    ] = None,
    intra_jaccard: Annotated[
        float | None,
        Option(
            help="Flag items at or above this Jaccard similarity of the key and a wrong choice."
        ),
    ] = None,
    intra_embedding: Annotated[
        float | None,
        Option(help="Flag items at or above this cosine of the key and a wrong choice."),
    ] = None,
    intra_rouge: Annotated[
        float | None,
        Option(
            help=(
                "Flag items at or above this ROUGE-L of the key and a wrong choice."
                " Default: not checked."
            )
        ),
    ] = None,
    near: Annotated[
        float | None,
        Option(help="Flag items at or above this cosine to another item as near-duplicates."),
    ] = None,
) -> Callable[..., exams.Thresholds]:
    options = only_given(
        extra_gram=extra_gram,
        extra_embedding=extra_embedding,
        intra_jaccard=intra_jaccard,
        intra_embedding=intra_embedding,
        intra_rouge=intra_rouge,
        near=near,
        self_contained=self_contained,
    )

    def choose_thresholds(
        values: Sequence[Any], recorded: exams.Thresholds | None = None
    ) -> exams.Thresholds:
        usual = exams.usual_thresholds(values, exams.SHARE if share is None else share)
        return replace(recorded if recorded is not None and share is None else usual, **options)

    return choose_thresholds


FilterOptions = Annotated[Callable[..., "exams.Thresholds"], GatheredOptions(_filter_options)]
"""Thresholds of the filters: a function from the values of the items to thresholds."""


@operation("items check", act="write with models")
def check(
    project: Project,
    *,
    query_id: ExamId = None,
    of: Annotated[ItemsOf, Option(choices=["all", "proposals", "bank"])] = "all",
    thresholds: FilterOptions,
) -> Output:
    """Check items with filters: print values and broken rules as TSV.

    Nothing is removed: use exam items accept or retire. Each default threshold flags at most 5% of
    the items. With --of bank, the default thresholds are those recorded by exam items accept
    --passing, if any.
    """
    checked, at = checked_items(project, query_id, of, thresholds)
    output = Output(
        {"thresholds": asdict(at), "items": [asdict(result) for result in checked]}
    ).line("\t".join(("item", "state", "topic", *exams.VALUE_COLUMNS, "rules", "question")))
    for result in checked:
        cells = [
            item_name(result.item),
            item_state(result.item),
            result.item.topic,
            *exams.value_row(result.values),
            ", ".join(dict.fromkeys(hit.rule for hit in result.hits)),
            result.item.text,
        ]
        output.line("\t".join(_cell_text(cell) for cell in cells))
    limits = ", ".join(
        f"{name.replace('_', ' ')} {bound:g}"
        for name in _BOUNDS
        if (bound := getattr(at, name)) is not None
    )
    fall = sum(bool(result.hits) for result in checked)
    return output.note(
        f"Items that break a rule: {fall:,} of {len(checked):,}. Thresholds: {limits or 'none'}."
    )


@operation("items statistics", act="read the bank", reads=lambda given: not given["filters"])
def exam_statistics(
    project: Project,
    *,
    query_id: ExamId = None,
    filters: Annotated[
        bool, Option("--filters/--no-filters", help="Also count items by broken rule.")
    ] = True,
    thresholds: FilterOptions,
) -> Output:
    """Show statistics of an exam: origin of items, scores reached by guessing, question types and
    topics.
    """
    items = exams.exam_items(project, query_id)
    checked = checked_items(project, query_id, "bank", thresholds)[0] if filters else None
    figures = exams.summarize_items(items, exams.making_of(project, query_id), checked)
    rows: list[tuple[str, Any]] = [
        *(figures.making.table if figures.making else ()),
        ("items", figures.items),
        ("without a key", figures.without_key),
        ("retired", figures.retired),
        *((f"  {rule}", count) for rule, count in (figures.filtered or {}).items()),
        *(() if figures.kept is None else [("break no rule", figures.kept)]),
        (f"score of always {figures.fixed_letter or 'the same letter'}", figures.fixed_answer),
        ("score of the longest choice", figures.longest_answer),
        ("mean characters per question", figures.question_length),
        *((f"  {word}", count) for word, count in figures.question_types.items()),
        *((f"topic: {topic or 'none'}", count) for topic, count in figures.topics.items()),
    ]
    return Output(asdict(figures)).table(
        ("statistic", "value"), [(name, _number_text(value)) for name, value in rows]
    )


@operation(
    "items categories",
    act="run exams",
    reads=lambda given: given["keywords"] is None and (not given["usual_keywords"]),
)
def item_categories(
    project: Project,
    *,
    query_id: ExamId = None,
    whole_word: Annotated[bool, Option(help="Match question words as whole words only.")] = False,
    keywords: Annotated[
        Path | None,
        Option(
            help="Set the project's words of Bloom's levels from this YAML file.",
            file="read",
            metavar="FILE",
        ),
    ] = None,
    usual_keywords: Annotated[
        bool, Option(help="Restore the built-in words of Bloom's levels.")
    ] = False,
) -> Output:
    """Count active items by Bloom level and question type. An item may have several."""
    if keywords is not None or usual_keywords:
        exams.set_keywords(
            project,
            None if keywords is None else read_text_file(keywords),
            current_author(),
            str(keywords),
        )
    found = [item for item in exams.exam_items(project, query_id) if item.active]
    by = exams.categorize_items(project, found, whole_word)
    rows = []
    for scheme, of_items in by.items():
        every = [name for names in of_items.values() for name in names]
        ordered = sorted(set(every), key=lambda one: (-every.count(one), one))
        rows += [(scheme, name, every.count(name)) for name in ordered]
    return Output(by).table(("by", "category", "items"), rows)


def checked_items(
    project: Project,
    query_id: str | None,
    kind: ItemsOf,
    thresholds: Callable[..., exams.Thresholds],
) -> tuple[list[exams.CheckedItem], exams.Thresholds]:
    """Return active items of the bank, open proposals, or both, with the results of the filters."""
    values = exams.item_values(project, query_id, kind)
    accepted = exams.last_acceptance(project, query_id) if kind == "bank" else None
    at = thresholds(values, accepted and accepted.thresholds)
    return exams.apply_thresholds(values, at), at


def item_name(item: exams.Item) -> str:
    return item.question_id if item.proposal_key is None else str(item.proposal_key)


def item_state(item: exams.Item) -> str:
    return "proposed" if item.proposal_key is not None else "active" if item.active else "retired"


def _cell_text(value: float | str | None) -> str:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else disarm_cell(one_line(str(value)))


def _number_text(value: float | int | None) -> str:
    if value is None:
        return "-"
    return f"{value:z.3f}" if isinstance(value, float) else f"{value:,}"


SHOWN = 80
"""Characters of a question in a table."""

SaveNote = Annotated[
    str | None,
    Option(
        help="Save the question bank now, with this note and all your unsaved changes.",
        parse=checked_note,
    ),
]


@operation("items generate", act="write with models")
def generate_exam_items(
    project: Project,
    *,
    query_id: Annotated[str, Option("--exam", help="Query that the items belong to.")] = EXAM_QUERY,
    domain: Annotated[str, Option(help="Subject of the passages, for the prompt.")] = EXAM_DOMAIN,
    run: Annotated[
        str | None,
        Option(
            "--chunks",
            help="Only passages of this run; their query becomes the topic.",
            metavar="RUN",
        ),
    ] = None,
    limit: Annotated[
        int | None, Option(help="Number of passages, drawn at random. Default: all.", least=1)
    ] = None,
    seed: Annotated[int, Option(help="Random seed of the passages and the order of choices.")] = 0,
    topic: Annotated[str | None, Option(help="Topic of all new items.")] = None,
    again: Annotated[
        bool, Option(help="Retry passages for which the model wrote no usable item.")
    ] = False,
    settings: ModelOptions,
    prompt: PromptOption = None,
    max_calls: Annotated[int | None, Option(help="Call limit, retries included.", least=1)] = None,
    max_cost: Annotated[
        float | None, Option(help="Cost limit, in the currency of exam prices.", least=0)
    ] = None,
    patience: Patience,
    dry_run: Annotated[
        bool, Option(help="Show the estimated calls, tokens and cost; call no model.")
    ] = False,
) -> Output:
    """Generate one item per passage with a model. They are proposals until you accept them.

    Interrupted jobs resume with the same command. Passages already asked about are skipped.
    """
    request = exams.ItemRequest(query_id, domain, prompt, run, limit, seed, topic, again)
    with may_use_key(settings):
        drafter = grading.make_drafter(settings)
        if dry_run:
            tag = exams.generation_price(project, drafter, request)
            return Output(asdict(tag)).note(
                f"Planned: {how_many(tag.pairs, 'passages')}{price_words(tag)}."
            )
        caps = jobs.Caps(max_calls=max_calls, max_cost=max_cost, patience=patience)
        report = exams.generate_items(
            project,
            drafter,
            current_author(),
            request,
            begin_drafting(project, drafter, caps),
            progress_watcher("passages"),
        )
    rest = f" Limit reached; {how_many(report.stopped, 'passages')} left." if report.stopped else ""
    output = Output(asdict(report)).note(
        *(f"exam: no item from {failure}" for failure in report.failed[:20]),
        f"{how_many(len(report.keys), 'items')} from {how_many(report.asked, 'passages')}.{rest}",
        "To check them: exam items check",
    )
    nothing = GradingError(
        "nothing-usable", "The model wrote no usable item.", "Try another model or prompt."
    )
    return output.failing(None if report.keys else nothing)


@operation("items list", act="read the bank", reads=True)
@at_most_one(proposed="--proposed", version="--bank-version")
def list_items(
    project: Project,
    *,
    query_id: ExamId = None,
    version: Annotated[
        int | None, Option("--bank-version", help="Bank version. Default: the newest.")
    ] = None,
    proposed: Annotated[
        bool, Option(help="List open proposals instead of items in the question bank.")
    ] = False,
) -> Output:
    """List items with key, topic and source."""
    items = (
        exams.proposed_items(project, query_id)
        if proposed
        else exams.exam_items(project, query_id, version)
    )
    by = exams.categorize_items(project, items)
    value = [
        asdict(item)
        | {"bloom": by["bloom"][item.question_id], "type": by["question type"][item.question_id]}
        for item in items
    ]
    return Output({"items": value}).table(
        ("item", "state", "topic", "source", "key", "question"),
        [
            (
                item_name(item),
                item_state(item),
                item.topic,
                item.source_passage_id,
                _shorten_text(item.key),
                _shorten_text(item.text),
            )
            for item in items
        ],
    )


@operation("items accept", act="edit questions")
@exactly_one(
    "options-exclude-each-other",
    "Use --passing, or numbers from exam items list --proposed.",
    keys="PROPOSAL",
    passing="--passing",
)
def accept_items(
    project: Project,
    *,
    keys: Annotated[tuple[int, ...], Argument(metavar="[PROPOSAL]...")] = (),
    query_id: ExamId = None,
    passing: Annotated[bool, Option(help="Accept all open proposals that break no rule.")] = False,
    thresholds: FilterOptions,
    note: SaveNote = None,
) -> Output:
    """Accept proposed items as unsaved changes. Save them with --note or with exam bank save.

    --passing also records its thresholds. Later checks of the accepted items use them.
    """
    author = current_author()
    if passing:
        accepted = exams.accept_passing(
            project, *checked_items(project, query_id, "all", thresholds), author
        )
    else:
        accepted = bank.accept_proposals(project, keys, author)
    return _save_items(project, [q.question_id for q in accepted], "accepted", note)


@operation("items retire", act="save the bank")
def retire(
    project: Project,
    *,
    item_ids: Annotated[tuple[str, ...], Argument(metavar="ITEM...")],
    note: SaveNote = None,
) -> Output:
    """Retire items as unsaved changes. Save them with --note or with exam bank save.

    To undo a saved change, restore an earlier bank version.
    """
    exams.retire_exam_items(project, item_ids, current_author())
    return _save_items(project, list(dict.fromkeys(item_ids)), "retired", note)


@operation("items import", act="import files")
def import_(
    project: Project,
    *,
    file: Annotated[Path, Argument(file="read")],
    query_id: Annotated[str, Option("--exam", help="Query that the items belong to.")] = EXAM_QUERY,
    preview: Annotated[
        bool, Option(help="Show the effects of the import; change nothing.")
    ] = False,
) -> Output:
    """Import an exam.json: items, sources and retrieved contexts. Same as exam import exam."""
    imported = exchange.import_files(
        project,
        "exam",
        [formats.Source.from_path(file)],
        current_author(),
        exchange.Options(source=None if query_id == EXAM_QUERY else query_id),
        preview,
    )
    return (
        Output({"counts": imported.counts, "notes": [str(note) for note in imported.notes]})
        .note(*(f"note: {one}" for one in imported.notes))
        .line(", ".join(f"{name}: {count:,}" for name, count in imported.counts.items()))
    )


@operation("items set", act="run exams")
def set_(
    project: Project,
    *,
    item_ids: Annotated[tuple[str, ...], Argument(metavar="ITEM...")],
    topic: Annotated[str | None, Option(help="Topic; empty to remove it.")] = None,
    passage: Annotated[
        str | None,
        Option(
            "--source", help="Source passage of the items; empty to remove it.", metavar="PASSAGE"
        ),
    ] = None,
    levels: Annotated[
        tuple[str, ...],
        Option("--bloom", help="Level of Bloom's taxonomy, or auto; may be repeated."),
    ] = (),
    types: Annotated[
        tuple[str, ...], Option("--type", help="Question type, or auto; may be repeated.")
    ] = (),
) -> str:
    """Set the topic, source or categories of items. The activity log keeps the old values.

    The category auto restores the computed categories.
    """
    if topic is None and passage is None and not levels and not types:
        raise InputError(
            "option-missing", "No value was named.", "Use --topic, --source, --bloom or --type."
        )
    author = current_author()
    if topic is not None or passage is not None:
        bank.set_item(project, item_ids, author, topic=topic, source_passage_id=passage)
    for scheme, named in (("bloom", levels), ("question type", types)):
        if named:
            bank.set_categories(
                project,
                item_ids,
                cast(bank.Scheme, scheme),
                None if named == ("auto",) else named,
                author,
            )
    return f"Changed: {how_many(len(set(item_ids)), 'items')}."


def _save_items(project: Project, ids: Sequence[str], what: str, note: str | None) -> Output:
    """Save the drafts of items if there is a note, and return the result."""
    version = bank.save_drafts(project, current_author(), note) if note is not None else None
    if version is not None:
        state = f" and saved as bank version {version}."
    elif bank.list_drafts(project, current_author()).keys().isdisjoint(ids):
        state = ". Nothing to save: the question bank already has this."
    else:
        state = ", not saved yet. To save: exam bank save --note NOTE"
    return Output({"items": list(ids), "version": version}).note(
        f"{how_many(len(ids), 'items')} {what}{state}"
    )


def _shorten_text(text: str | None) -> str | None:
    return None if text is None else one_line(text, SHOWN)
