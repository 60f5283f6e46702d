"""Questions and nuggets drafted by a model, stored as proposals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

from ..bank import (
    Drafted,
    Generation,
    add_generations,
    clean_line,
    find_prompt_for,
    find_question,
    label_graders,
    list_prompts,
    named_graders,
)
from ..choices import BACK_ENDS, MOST_DRAFTS, DraftedKind
from ..errors import GradingError, InputError, check_known
from ..graders import (
    CUT_OFF,
    EMPTY,
    LOCAL_MODEL,
    BackEnd,
    Call,
    Completion,
    Control,
    Prompt,
    back_end_name,
    ill_formed,
    make_back_end,
    other_models_note,
    parse_list,
    prompt_variables,
    says_unanswerable,
    stream_completions,
)
from ..jobs import Caps, Progress, Report as Watch, ResultWriter, job_control, run_recorded_job
from ..labels import MISSING, Policy, basis, load_ratings
from ..records import add_job, check_queries, passage_texts, queries_of, visible_rows
from ..store import Cursor, Project, log_action
from ..types import Query, Question, Subtopic

USES = {
    "question": "generate questions",
    "nugget": "generate nuggets",
    "answer key": "draft answer key",
    "item": "generate items",
    "rewording": "reword question",
}
FIELDS = {"question": "questions", "nugget": "nuggets", "rewording": "questions"}
"""Key of the list in a model's JSON reply (EXAM++, table 1)."""
DEFAULT_PROMPTS = {
    "question": ("questions-by-subtopic", "questions-by-query"),
    "nugget": ("nuggets-by-subtopic", "nuggets-by-query"),
}
"""Default prompts for queries with subtopics, and for queries without."""

TOKENS_EACH = 64
"""Token limit per draft: a long question has some 40 tokens."""
LEAST_TOKENS = 1024
"""Minimum token limit of a reply, because a prompt without a number leaves the number to the model.
"""
TIMEOUT_S = 180.0
"""Time limit of a call in seconds: a list takes longer than a rating."""

REPEATED = "the model repeated the prompt's example"

LONGEST_LOOK = 20.0
"""Maximum seconds until the next attempt while a person waits."""

Asked = tuple[Call, Callable[[Completion], Generation]]
"""A call of a model, and the function that reads its reply."""

IN_WORDS = {
    "query_subtopic": "subtopics",
    "narrative": "a narrative",
    "correct_answer": "a known answer",
}


@dataclass(frozen=True)
class Drafter:
    """A model that drafts questions and nuggets.

    Args:
        back_end: runs the model.
        model: its name, as recorded in proposals.
        fence: whether passages are marked as data.
    """

    back_end: BackEnd
    model: str
    fence: bool = False


@dataclass(frozen=True)
class Failure:
    """A request that failed or could not be made."""

    query_id: str
    subtopic_id: str | None
    reason: str

    def __str__(self) -> str:
        place = f"{self.query_id}, {self.subtopic_id}" if self.subtopic_id else self.query_id
        return f"{place}: {self.reason}"


@dataclass(frozen=True)
class Report:
    """Result of a drafting session with a model.

    Args:
        asked: number of finished requests.
        keys: keys of the proposals.
        failed: requests that failed or could not be made, with the reason.
        left_out: number of drafts beyond the requested number; they are kept in the raw output
            only.
        stopped: number of requests that were not made, because a person or a limit stopped the
            session.
    """

    asked: int
    keys: list[int]
    failed: list[Failure]
    left_out: int = 0
    stopped: int = 0


def make_drafter(parameters: Mapping[str, Any]) -> Drafter:
    """Return a model from the settings of a back end (model, back_end, base_url, key_variable,
    ...).

    Nothing is loaded yet.

    Raises:
        InputError: the model of an endpoint has no name, or a setting is invalid.
    """
    endpoint = back_end_name(parameters) == "openai"
    patient = {"timeout_s": TIMEOUT_S, **parameters} if endpoint else parameters
    back_end, model = make_back_end(patient)
    return Drafter(back_end, model, fence=endpoint)


def drafting_control(project: Project, drafter: Drafter) -> Control:
    """Return the control for a person who waits for drafts: it ends soon if the endpoint is
    unreachable.

    Only the limits of the endpoint's owner apply. A call is made at most twice, with at most
    `LONGEST_LOOK` seconds between.

    Raises:
        InputError: the owner has set a spending limit, but the model has no price.
    """
    return job_control(
        project,
        drafter.model,
        drafter.back_end,
        Caps(patience=0.0),
        attempts=2,
        longest_wait=LONGEST_LOOK,
    )


def usual_settings(project: Project) -> dict[str, str]:
    """Return the default settings: those of the latest saved grader whose model can write, else the
    papers' model.
    """
    names = ("back_end", "model", "base_url", "key_variable")
    # An extractive model cannot write. The back end vLLM of earlier versions does not exist any
    # more.
    usable_graders = [
        grader
        for grader in named_graders(project)
        if grader.parameters.get("model")
        and grader.kind != "extractive"
        and grader.parameters.get("back_end") in (None, *BACK_ENDS)
    ]
    latest = (
        max(usable_graders, key=lambda grader: grader.made_at).parameters
        if usable_graders
        else {"model": LOCAL_MODEL}
    )
    settings = {name: str(latest[name]) for name in names if latest.get(name)}
    return settings | {"back_end": back_end_name(latest)}


def fitting_prompts(project: Project, kind: str) -> list[Prompt]:
    """Return the prompts of a project for drafting questions, nuggets, answer keys or items."""
    return [prompt for prompt in list_prompts(project).values() if prompt.use == USES[kind]]


def draft_proposals(
    project: Project,
    drafter: Drafter,
    query_ids: Sequence[str] | None,
    author: str,
    kind: DraftedKind = "question",
    prompt: str | None = None,
    n: int = 10,
    control: Control | None = None,
    watch: Watch = lambda model, progress: None,
) -> Report:
    """Draft questions or nuggets with a model. Each becomes a proposal, not yet a question of the
    bank.

    The model is asked once per subtopic if a prompt uses subtopics (EXAM++, table 1), else once per
    query.

    Args:
        query_ids: the queries; None for all.
        prompt: name of the prompt; None for the built-in ones, by subtopic for queries with
            subtopics.
        n: drafts per request. A prompt without {n}, as in the papers, leaves the number to the
            model; only the first n are used.
        control, watch: see `run_drafting`.

    Raises:
        InputError: a query, the prompt or the kind is unknown, or the number is invalid.
        GradingError: the model cannot be used.
    """
    check_known("unknown-kind", "kind", get_args(DraftedKind), kind)
    if not 1 <= n <= MOST_DRAFTS:
        raise InputError(
            "limit-out-of-range",
            f"Invalid number of proposals: {n}.",
            f"Use a number from 1 to {MOST_DRAFTS}.",
        )
    requests: list[Asked] = []
    failed: list[Failure] = []
    for query, subtopic, chosen_prompt in _list_requests(
        project, _chosen_queries(project, query_ids), kind, prompt
    ):
        values = prompt_values(query, subtopic, n)
        if lacking := [
            IN_WORDS.get(name, name)
            for name in prompt_variables(chosen_prompt)
            if name not in values
        ]:
            reason = (
                f"prompt '{chosen_prompt.name}' needs {', '.join(lacking)},"
                " which the query does not have"
            )
            failed.append(Failure(query.query_id, None, reason))
            continue
        empty = blank_generation(
            kind,
            query.query_id,
            drafter,
            chosen_prompt,
            subtopic_id=subtopic.subtopic_id if subtopic else None,
        )
        call = Call(chosen_prompt, values, "json", max_tokens=max(LEAST_TOKENS, TOKENS_EACH * n))
        requests.append((call, partial(_read_list, empty, chosen_prompt.template)))
    request = {"drafts": kind, "query_ids": query_ids and [*query_ids], "prompt": prompt, "n": n}
    return run_drafting(
        project,
        drafter,
        "draft",
        request,
        len(requests),
        [requests],
        author,
        control,
        watch,
        failed,
        n,
    )


def run_drafting(
    project: Project,
    drafter: Drafter,
    kind: Literal["draft", "items"],
    request: Mapping[str, Any],
    total: int,
    blocks: Iterable[Sequence[Asked]],
    author: str,
    control: Control | None = None,
    watch: Watch = lambda model, progress: None,
    failed: Sequence[Failure] = (),
    most: int = 1,
) -> Report:
    """Ask a model for drafts, in this thread, as a recorded job. Each draft becomes a proposal.

    Args:
        request: the part of the request to record.
        total: the number of calls.
        blocks: the calls; only one block is in memory at a time.
        control: pauses and stops the job, limits its cost, and sets the waiting time for an
            endpoint; None for `drafting_control`, for a person who waits.
        watch: called with the model and the progress, after the replies were stored.
        failed: requests that cannot be made.
        most: largest number of drafts from a reply.

    Raises:
        GradingError: the model cannot be used.
        NotAllowed: the role of the person does not include writing with models.
    """
    control = control or drafting_control(project, drafter)
    request_record = {"model": drafter.model} | {
        name: value for name, value in request.items() if value
    }
    logged = {
        name: request_record[name]
        for name in ("model", "drafts", "prompt")
        if name in request_record
    }
    logged |= {"query": request_record["query_id"]} if "query_id" in request_record else {}
    with project.transaction(act="write with models", author=author) as cursor:
        job = add_job(cursor, kind, None, request_record, total, author)
        log_action(cursor, author, f"start {kind}", job=job, count=total, **logged)
    failures = list(failed)
    stored: dict[int, list[int]] = {}
    left_out = 0

    def draft_batches() -> Iterator[list[Generation]]:
        nonlocal left_out
        for block in blocks:
            for batch in stream_completions(drafter.back_end, [call for call, _ in block], control):
                read = [block[at][1](completion) for at, completion in batch]
                failures.extend(
                    _make_failure(generation)
                    for generation in read
                    if generation.reason is not None
                )
                left_out += sum(len(generation.texts[most:]) for generation in read)
                yield [replace(generation, texts=generation.texts[:most]) for generation in read]
            if control.stopping:
                break

    def store_drafts(cursor: Cursor, some: Sequence[Generation]) -> None:
        # A repeated transaction replaces the keys of the first attempt.
        stored[writer.progress.done] = add_generations(cursor, some, author)

    writer = ResultWriter[Generation](
        project,
        job,
        Progress("running", total),
        partial(watch, drafter.model),
        control,
        store_drafts,
        failed=lambda generation: generation.reason is not None,
    )
    try:
        final = run_recorded_job(
            writer,
            draft_batches,
            "Start again",
            "to continue",
            "The model",
            lambda: other_models_note(drafter.model, control.models),
            lambda cursor, final: log_action(
                cursor,
                author,
                "draft items" if kind == "items" else "draft questions",
                job=job,
                asked=final.done,
                proposals=sum(map(len, stored.values())),
                **logged,
            ),
            raises=True,
        )
    except GradingError as error:
        kept = sum(map(len, stored.values()))
        hint = (
            f"{error.hint} Proposals kept from before the error: {kept:,}." if kept else error.hint
        )
        raise GradingError(error.code, error.message, hint.strip()) from error
    keys = [key for some in stored.values() for key in some]
    return Report(final.done, keys, failures, left_out, total - final.done)


def _make_failure(generation: Generation) -> Failure:
    reason = (
        f"passage {generation.passage_id}: {generation.reason}"
        if generation.kind == "item"
        else str(generation.reason)
    )
    return Failure(generation.query_id, generation.subtopic_id, reason)


def _chosen_queries(project: Project, query_ids: Sequence[str] | None) -> list[Query]:
    every = {query.query_id: query for query in queries_of(project)}
    if not every:
        raise InputError("no-queries", "The project has no queries.", "Import queries first.")
    check_queries(project, query_ids or ())
    return (
        list(every.values())
        if query_ids is None
        else [every[query_id] for query_id in dict.fromkeys(query_ids)]
    )


def _list_requests(
    project: Project, queries: Sequence[Query], kind: DraftedKind, name: str | None
) -> Iterator[tuple[Query, Subtopic | None, Prompt]]:
    """Yield the requests: once per subtopic if the prompt uses subtopics, else once per query."""
    by_subtopic, by_query = (
        find_prompt(project, name or usual, kind) for usual in DEFAULT_PROMPTS[kind]
    )
    for query in queries:
        prompt = by_subtopic if query.subtopics else by_query
        if "query_subtopic" in prompt_variables(prompt) and query.subtopics:
            yield from ((query, subtopic, prompt) for subtopic in query.subtopics)
        else:
            yield query, None, prompt


def find_prompt(project: Project, name: str, kind: str) -> Prompt:
    """Return the prompt with this name for drafting questions, nuggets, answer keys or items.

    Raises:
        InputError: the name is unknown, or the prompt has another use.
    """
    return find_prompt_for(project, USES[kind], name)


def prompt_values(query: Query, subtopic: Subtopic | None, n: int) -> dict[str, str]:
    """Return the values for a prompt by variable, without those that the query does not have."""
    values = {
        "query_title": query.text,
        "query_subtopic": subtopic.text if subtopic else None,
        "narrative": query.narrative,
        "correct_answer": query.answer,
        "n": str(n),
    }
    return {name: value for name, value in values.items() if value}


def blank_generation(
    kind: Drafted,
    query_id: str,
    drafter: Drafter,
    prompt: Prompt,
    subtopic_id: str | None = None,
    question_id: str | None = None,
    passage_id: str | None = None,
) -> Generation:
    """Return a request without its reply. A question and passage belong to answer keys and items
    only.
    """
    return Generation(
        kind,
        query_id,
        drafter.model,
        prompt.name,
        prompt.hash,
        (),
        "",
        subtopic_id=subtopic_id,
        question_id=question_id,
        passage_id=passage_id,
    )


def _read_list(empty: Generation, template: str, completion: Completion) -> Generation:
    """Return the list from a model's reply, without the examples of the prompt, which small models
    repeat.
    """
    items, fault = parse_list(completion.text, FIELDS[empty.kind])
    read = dict.fromkeys(filter(None, map(clean_line, items)))
    texts = tuple(text for text in read if f'"{text}"' not in template)
    reasons = {
        completion.error: completion.error is not None,
        CUT_OFF: fault is not None and not completion.complete,
        fault: fault is not None,
        REPEATED: not texts and bool(read),
        "the list has no readable text": not texts,
    }
    return _first_reason(empty, texts, completion, reasons)


def _first_reason(
    empty: Generation,
    texts: tuple[str, ...],
    completion: Completion,
    reasons: Mapping[str | None, bool],
) -> Generation:
    """Return a request with its texts, or without them and with the first reason that applies."""
    reason = next((reason for reason, applies in reasons.items() if applies), None)
    return replace(empty, texts=() if reason else texts, raw=completion.text, reason=reason)


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
    """Return passages that answer a question at the policy's min rating, then those judged relevant
    to its query.

    Raises:
        InputError: the policy's grader or bank version does not exist.
    """
    judged: dict[str, int] = dict(
        project.rows(
            f"SELECT passage_id, max(value)::INTEGER FROM {visible_rows(project, 'judgments')}"
            " JOIN queries USING (query_key) JOIN passages USING (passage_key)"
            " WHERE query_id = ? GROUP BY passage_id",
            [question.query_id],
        )
    )
    rated: dict[str, int] = {}
    least = policy.min_rating
    if any(grader.grades for grader in label_graders(project)):
        base = basis(project, policy)
        least = base.min_rating
        ratings = load_ratings(project, base, question.query_id, [question])
        column = ratings.select_questions([question])[:, 0].tolist()
        rated = {
            p: rating
            for p, rating in zip(ratings.passage_ids, column, strict=True)
            if rating != MISSING
        }
    answering = [p for p in rated if rated[p] >= least]
    relevant = [p for p in judged if judged[p] >= policy.min_judgment]
    fitting = sorted(
        {*answering, *relevant}, key=lambda p: (-rated.get(p, MISSING), -judged.get(p, 0), p)
    )
    texts = passage_texts(project, fitting[:SHOWN])
    return [
        KeyPassage(p, texts[p], rated.get(p), judged.get(p)) for p in fitting[:SHOWN] if p in texts
    ]


def draft_answer_key(
    project: Project,
    drafter: Drafter,
    question_id: str,
    passage_id: str,
    author: str,
    prompt: str | None = None,
    control: Control | None = None,
) -> Report:
    """Draft the answer key of a question from a passage with a model. The draft becomes a proposal
    for the question.

    Args:
        question_id: a question of the bank, or of a draft of the author.
        prompt: name of the prompt; None for the built-in one.
        control: see `run_drafting`.

    Raises:
        InputError: the question, passage or prompt is unknown, has no text, or the question's kind
            has no answer keys.
        GradingError: the model cannot be used.
    """
    question = find_question(project, author, question_id)
    chosen_prompt = find_prompt(project, prompt or DEFAULT_PROMPT, "answer key")
    passage = passage_texts(project, [passage_id]).get(passage_id, "")
    if question.kind not in chosen_prompt.kinds:
        raise InputError(
            "prompt-does-not-fit",
            f"Prompt '{chosen_prompt.name}' does not support questions of kind {question.kind}.",
            f"Supported kinds: {', '.join(chosen_prompt.kinds)}.",
        )
    if not (question.text or "").strip() or not passage.strip():
        raise InputError(
            "empty-question",
            "The question or the passage has no text.",
            "Choose a question and a passage with text.",
        )
    empty = blank_generation(
        "answer key",
        question.query_id,
        drafter,
        chosen_prompt,
        subtopic_id=question.subtopic_id,
        question_id=question_id,
        passage_id=passage_id,
    )
    call = Call(chosen_prompt, {"context": passage}, "text", fence=drafter.fence, max_tokens=TOKENS)
    return _ask_about(
        project, drafter, question, call, partial(_read_key, empty), empty, author, control
    )


def _ask_about(
    project: Project,
    drafter: Drafter,
    question: Question,
    call: Call,
    read: Callable[[Completion], Generation],
    empty: Generation,
    author: str,
    control: Control | None,
    most: int = 1,
) -> Report:
    """Make one call about a question, as a recorded job.

    Args:
        call: the call; the values of the question and its query are added.
        most: largest number of drafts.

    Raises:
        InputError: the prompt needs a value that the query does not have.
    """
    query = next(query for query in queries_of(project) if query.query_id == question.query_id)
    values = {**prompt_values(query, None, most), "question": str(question.text), **call.values}
    if lacking := [
        IN_WORDS.get(name, name) for name in prompt_variables(call.prompt) if name not in values
    ]:
        raise InputError(
            "prompt-value-missing",
            f"Prompt '{call.prompt.name}' needs {', '.join(lacking)}, which is missing.",
            "Choose another prompt.",
        )
    call = replace(call, values=values)
    names = ("query_id", "question_id", "passage_id", "prompt")
    request = {"drafts": empty.kind} | {name: getattr(empty, name) for name in names}
    return run_drafting(
        project, drafter, "draft", request, 1, [[(call, read)]], author, control, most=most
    )


def draft_rewordings(
    project: Project,
    drafter: Drafter,
    question: Question,
    examples: str,
    n: int,
    author: str,
    prompt: str | None = None,
    control: Control | None = None,
) -> Report:
    """Draft new wordings of a question with a model. Each becomes a proposal for the question.

    Args:
        examples: passages, with the words whether each answers the question.
        n: maximum number of wordings.
        prompt: name of the prompt; None for the built-in one.
        control: see `run_drafting`.

    Raises:
        InputError: the prompt is unknown, or needs a value that the query does not have.
        GradingError: the model cannot be used.
    """
    chosen_prompt = find_prompt(project, prompt or "rewordings", "rewording")
    empty = blank_generation(
        "rewording", question.query_id, drafter, chosen_prompt, question_id=question.question_id
    )
    room = max(LEAST_TOKENS, TOKENS_EACH * n)
    call = Call(chosen_prompt, {"context": examples}, "json", fence=drafter.fence, max_tokens=room)
    return _ask_about(
        project,
        drafter,
        question,
        call,
        partial(_read_list, empty, chosen_prompt.template),
        empty,
        author,
        control,
        n,
    )


def _read_key(empty: Generation, completion: Completion) -> Generation:
    text = clean_line(completion.text)
    reasons = {
        completion.error: completion.error is not None,
        CUT_OFF: not completion.complete,
        EMPTY: not text,
        # A plain "no" is the right answer to many questions.
        "the model found no answer in the passage": says_unanswerable(text)
        and text.strip(" .!").lower() != "no",
        "the answer is only a letter or a punctuation mark": ill_formed(text),
    }
    return _first_reason(empty, (text,), completion, reasons)
