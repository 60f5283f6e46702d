"""Asking a model to draft questions and key facts; what it writes lands as proposals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..bank import Drafted, Generation, add_generations, cleaned
from ..catalogue import named_graders, prompts
from ..errors import GradingError, InputError, unknown_name
from ..graders import (
    BACK_ENDS,
    CUT_OFF,
    LOCAL_MODEL,
    BackEnd,
    Call,
    Completion,
    Control,
    Prompt,
    answers,
    back_end_name,
    make_back_end,
    parse_list,
    variables,
)
from ..jobs import Caps, job_control
from ..project import Project, check_queries, queries_of
from ..types import Query, Subtopic

Kind = Literal["question", "nugget"]
KINDS: tuple[Kind, ...] = ("question", "nugget")
USES = {
    "question": "generate questions",
    "nugget": "generate nuggets",
    "answer key": "draft answer key",
    "item": "generate items",
}
FIELDS = {"question": "questions", "nugget": "nuggets"}
"""The key of the list in what a model writes (EXAM++, table 1)."""
DEFAULT_PROMPTS = {
    "question": ("questions-by-subtopic", "questions-by-query"),
    "nugget": ("nuggets-by-subtopic", "nuggets-by-query"),
}
"""The prompt for queries with subtopics, and for those without."""

MOST = 100
"""Drafts that are asked for at once, at most."""
TOKENS_EACH = 64
"""Room for one draft: a long question has some 40 tokens."""
LEAST_TOKENS = 1024
"""Room at least, since a prompt that does not name a number leaves it to the model."""
TIMEOUT_S = 180.0
"""Seconds for one call at most: a list takes a slow model longer than a rating."""

LONGEST_LOOK = 20.0
"""Seconds that a person who looks on waits for the next attempt at most."""

Watch = Callable[[int, int], None]
"""Is told how many requests came back, out of how many."""

IN_WORDS = {"query_subtopic": "subtopics", "narrative": "a narrative", "correct_answer": "a known answer"}


@dataclass(frozen=True)
class Drafter:
    """A model that drafts.

    Args:
        back_end: what answers.
        model: its name, as proposals record it.
        fence: whether passages are marked as data.
    """

    back_end: BackEnd
    model: str
    fence: bool = False


@dataclass(frozen=True)
class Failure:
    """A request that gave nothing, or could not be made."""

    query_id: str
    subtopic_id: str | None
    reason: str

    def __str__(self) -> str:
        place = f"{self.query_id}, {self.subtopic_id}" if self.subtopic_id else self.query_id
        return f"{place}: {self.reason}"


@dataclass(frozen=True)
class Report:
    """What came of a session with a model.

    Args:
        asked: requests that came back.
        keys: of the proposals.
        failed: requests that gave nothing usable, or could not be made, with the reason.
        left_out: drafts beyond the number that was asked for; they are kept in the raw output alone.
        stopped: requests that were not made, as somebody or a cap stopped it.
    """

    asked: int
    keys: list[int]
    failed: list[Failure]
    left_out: int = 0
    stopped: int = 0


def make_drafter(parameters: Mapping[str, Any]) -> Drafter:
    """A model from the settings of a back end (model, back_end, base_url, key_variable, ...); nothing is loaded yet.

    Raises:
        InputError: no model is named for an endpoint, or a setting makes no sense.
    """
    endpoint = back_end_name(parameters) == "openai"
    patient = {"timeout_s": TIMEOUT_S, **parameters} if endpoint else parameters
    back_end, model = make_back_end(patient)
    return Drafter(back_end, model, fence=endpoint)


def drafting_control(project: Project, drafter: Drafter) -> Control:
    """Return the control for a person who waits for drafts: it ends soon if the endpoint is gone.

    Only the owner of the endpoint caps it. A call is made twice at most, with at most `LONGEST_LOOK` seconds between.

    Raises:
        InputError: the owner caps the money, and the model has no price.
    """
    at_once = Caps(patience=0.0)
    return job_control(project, drafter.model, drafter.back_end, at_once, attempts=2, longest_wait=LONGEST_LOOK)


def usual_settings(project: Project) -> dict[str, str]:
    """Where a person most likely wants to ask: as the grader that was set up last and reads, else the papers' model."""
    names = ("back_end", "model", "base_url", "key_variable")
    # An extractive model cuts answers out of passages; it cannot write. The back end vLLM of earlier versions is gone.
    known = [
        one for one in named_graders(project)
        if one.parameters.get("model") and one.kind != "extractive"
        and one.parameters.get("back_end") in (None, *BACK_ENDS)
    ]  # fmt: skip
    latest = max(known, key=lambda grader: grader.made_at).parameters if known else {"model": LOCAL_MODEL}
    settings = {name: str(latest[name]) for name in names if latest.get(name)}
    return settings | {"back_end": back_end_name(latest)}


def fitting_prompts(project: Project, kind: str) -> list[Prompt]:
    """The prompts of a project that draft questions, nuggets, answer keys or items."""
    return [prompt for prompt in prompts(project).values() if prompt.use == USES[kind]]


def suggest(
    project: Project,
    drafter: Drafter,
    query_ids: Sequence[str] | None,
    author: str,
    kind: Kind = "question",
    prompt: str | None = None,
    n: int = 10,
    control: Control | None = None,
    watch: Watch = lambda done, total: None,
) -> Report:
    """Let a model draft questions or nuggets; each becomes a proposal, and nothing a question of the bank.

    It is asked once a subtopic where a prompt speaks of one (EXAM++, table 1), else once a query. Everything that
    comes back is stored before `watch` is told, so whatever ends the work early loses only what was under way.

    Args:
        query_ids: the queries; all for None.
        prompt: its name; for None the built-in ones, by subtopic for queries that have some.
        n: drafts a request. A prompt without {n}, as the papers', leaves the number to the model; at most the first n
            are taken.
        control: stops it, caps what it may cost, and says how long an endpoint is waited for; for None that of
            somebody who looks on, `drafting_control`.

    Raises:
        InputError: an unknown query, prompt, kind, or number.
        GradingError: the model cannot answer at all.
    """
    if kind not in KINDS:
        raise unknown_name("unknown-kind", "kind", kind, KINDS)
    if not 1 <= n <= MOST:
        raise InputError("limit-out-of-range", f"Invalid number of proposals: {n}.", f"Use a number from 1 to {MOST}.")
    control = control or drafting_control(project, drafter)
    blanks: list[Generation] = []
    calls: list[Call] = []
    failed: list[Failure] = []
    for query, subtopic, asked in _requests(project, _chosen(project, query_ids), kind, prompt):
        values = values_of(query, subtopic, n)
        if lacking := [IN_WORDS.get(name, name) for name in variables(asked) if name not in values]:
            reason = f"prompt '{asked.name}' needs {', '.join(lacking)}, which the query does not have"
            failed.append(Failure(query.query_id, None, reason))
            continue
        subtopic_id = subtopic.subtopic_id if subtopic else None
        blanks.append(blank(kind, query.query_id, drafter, asked, subtopic_id=subtopic_id))
        calls.append(Call(asked, values, "json", max_tokens=max(LEAST_TOKENS, TOKENS_EACH * n)))
    keys: list[int] = []
    left_out = done = 0
    watch(0, len(calls))
    try:
        for batch in answers(drafter.back_end, calls, control):
            read = [_read_list(blanks[i], completion, n) for i, completion in batch]
            if read:
                keys += add_generations(project, [generation for generation, _ in read], author)
            left_out += sum(beyond for _, beyond in read)
            failed += [Failure(g.query_id, g.subtopic_id, g.reason) for g, _ in read if g.reason is not None]
            done += len(batch)
            watch(done, len(calls))
    except GradingError as error:
        kept = f"Proposals kept from before the error: {len(keys)}." if keys else ""
        raise GradingError(error.code, error.message, f"{error.hint} {kept}".strip()) from error
    return Report(done, keys, failed, left_out, len(calls) - done)


def _chosen(project: Project, query_ids: Sequence[str] | None) -> list[Query]:
    every = {query.query_id: query for query in queries_of(project)}
    if not every:
        raise InputError("no-queries", "The project has no queries.", "Import queries first.")
    check_queries(project, query_ids or ())
    return list(every.values()) if query_ids is None else [every[query_id] for query_id in dict.fromkeys(query_ids)]


def _requests(
    project: Project, queries: Sequence[Query], kind: Kind, name: str | None
) -> Iterator[tuple[Query, Subtopic | None, Prompt]]:
    """What is asked with which prompt: once a subtopic where the prompt speaks of one, else once a query."""
    by_subtopic, by_query = (find_prompt(project, name or usual, kind) for usual in DEFAULT_PROMPTS[kind])
    for query in queries:
        prompt = by_subtopic if query.subtopics else by_query
        if "query_subtopic" in variables(prompt) and query.subtopics:
            yield from ((query, subtopic, prompt) for subtopic in query.subtopics)
        else:
            yield query, None, prompt


def find_prompt(project: Project, name: str, kind: str) -> Prompt:
    """A prompt that drafts questions, nuggets, answer keys or items, by name.

    Raises:
        InputError: there is none of this name, or it serves another use.
    """
    fitting = {prompt.name: prompt for prompt in fitting_prompts(project, kind)}
    if name not in fitting:
        raise unknown_name("unknown-prompt", f"prompt for '{USES[kind]}':", name, sorted(fitting))
    return fitting[name]


def values_of(query: Query, subtopic: Subtopic | None, n: int) -> dict[str, str]:
    """What a prompt can be filled in with, by variable; what a query does not have is not there."""
    found = {
        "query_title": query.text,
        "query_subtopic": subtopic.text if subtopic else None,
        "narrative": query.narrative,
        "correct_answer": query.answer,
        "n": str(n),
    }
    return {name: value for name, value in found.items() if value}


def blank(
    kind: Drafted,
    query_id: str,
    drafter: Drafter,
    prompt: Prompt,
    subtopic_id: str | None = None,
    question_id: str | None = None,
    passage_id: str | None = None,
) -> Generation:
    """A request before its answer, with the subtopic, and for answer keys and items question and passage."""
    return Generation(
        kind, query_id, drafter.model, prompt.name, prompt.hash, (), "",
        subtopic_id=subtopic_id, question_id=question_id, passage_id=passage_id,
    )  # fmt: skip


def _read_list(empty: Generation, completion: Completion, n: int) -> tuple[Generation, int]:
    """What a model wrote as a list, and how many of its items are beyond n."""
    if completion.error is not None:
        return replace(empty, raw=completion.text, reason=completion.error), 0
    items, reason = parse_list(completion.text, FIELDS[empty.kind])
    texts = list(dict.fromkeys(filter(None, map(cleaned, items))))
    if reason is not None and not completion.complete:
        reason = CUT_OFF
    elif reason is None and not texts:
        reason = "the list has no readable text"
    return replace(empty, texts=tuple(texts[:n]), raw=completion.text, reason=reason), len(texts[n:])
