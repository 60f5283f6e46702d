"""The contexts of answers (top passages of runs, and gold passages), and the jobs that write or
compare answers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..choices import RETRIEVAL_DEPTH, Retriever
from ..errors import InputError, Report, check_known
from ..exams import rank_passages
from ..graders import BackEnd, Control, other_models_note
from ..grouping import group_pairs
from ..jobs import (
    BackgroundJob,
    Caps,
    Progress,
    Report as Watch,
    ResultWriter,
    job_control,
    run_recorded_job,
    start_background,
)
from ..records import (
    GOLD,
    GOLD_RUN,
    AnswerModel,
    ReplacedDataKeeper,
    add_job,
    check_runs,
    generated_of,
    gold_name,
    judgment_sources,
    put_answer_model,
    refresh_pool,
    run_names,
    visible_rows,
    write_responses,
    write_runs,
)
from ..store import Cursor, Project, log_action
from ..text import clean_text, first_few, how_many, one_line
from ..types import Ranked, Response


@dataclass(frozen=True)
class AskedQuery:
    """A query in the form for models.

    Args:
        text_key: of its words, under which answers are kept; 0 if it has no answer yet.
        answers: every known correct answer.
        key: of the query in the project, under which people's verdicts on answers are kept.
    """

    query_id: str
    text: str
    text_key: int
    answers: tuple[str, ...]
    key: int


@dataclass(frozen=True)
class ContextPassage:
    """A passage with a text."""

    passage_id: str
    text_key: int


@dataclass(frozen=True)
class Gold:
    """The choice of gold passages.

    Args:
        against: sources of judgments, or `gold` for the gold texts; for None the gold texts if the
            project has them, else the first source. With several sources, a passage is gold if any
            of them says so.
        min_judgment: the judgment from which a passage is gold.
    """

    against: tuple[str, ...] | None = None
    min_judgment: int = 1


USUAL_GOLD = Gold()


def asked_queries(project: Project, query_ids: Collection[str] | None = None) -> list[AskedQuery]:
    """Return the queries with words, in order.

    Args:
        query_ids: only these; None for all.

    Raises:
        InputError: a query is unknown or has no words.
    """
    queries = [
        AskedQuery(
            query_id, text, key or 0, () if answer is None else (answer, *(further or ())), query
        )
        for query_id, text, answer, further, key, query in project.rows(
            "SELECT query_id, q.text, answer, further_answers, text_key, query_key FROM queries q"
            " LEFT JOIN question_texts t ON t.text = q.text WHERE q.text <> query_id"
            " ORDER BY query_key"
        )
    ]
    if query_ids is None:
        return queries
    known = {asked_query.query_id for asked_query in queries}
    if lost := [query_id for query_id in query_ids if query_id not in known]:
        raise InputError(
            "unknown-query",
            f"No text for query {first_few(lost)}.",
            "Import the queries with their texts.",
        )
    return [asked_query for asked_query in queries if asked_query.query_id in set(query_ids)]


def ranking_runs(project: Project) -> list[str]:
    """Return the runs that rank passages, without runs of responses, in order."""
    ranked = project.rows(
        "SELECT name FROM runs"
        " WHERE run_key NOT IN (SELECT run_key FROM responses) ORDER BY run_key"
    )
    return [name for (name,) in ranked]


def named_runs(project: Project, runs: Sequence[str] | None) -> list[str]:
    """Return the named runs; for None all that rank passages, without runs of responses.

    Raises:
        InputError: a run is unknown, or the project has no runs.
    """
    check_runs(project, runs or ())
    if runs:
        return list(dict.fromkeys(runs))
    every = ranking_runs(project)
    if not every:
        raise InputError(
            "no-runs",
            "The project has no runs.",
            "Import runs (exam import runs FILE), or make a run (exam answers retrieve).",
        )
    return every


def top_passages(
    project: Project, runs: Sequence[str], depth: int
) -> dict[str, dict[str, list[ContextPassage | str]]]:
    """Return the passages at the top of runs, by run and query id, the best first.

    Args:
        depth: maximum number of passages of each query.

    Returns:
        A `ContextPassage` for each passage, or only its id if the project has no text of it.
    """
    by_run: dict[str, dict[str, list[ContextPassage | str]]] = {run: {} for run in runs}
    for run, query_id, passage_id, text_key in project.rows(
        "SELECT name, query_id, passage_id, text_key FROM rankings JOIN runs USING (run_key)"
        " JOIN queries USING (query_key) JOIN passages USING (passage_key)"
        " WHERE list_contains($runs, name)"
        " QUALIFY row_number() OVER (PARTITION BY run_key, query_key ORDER BY rank)"
        " <= $depth ORDER BY run_key, query_key, rank",
        {"runs": list(runs), "depth": depth},
    ):
        by_run[run].setdefault(query_id, []).append(
            passage_id if text_key is None else ContextPassage(passage_id, text_key)
        )
    return by_run


def passage_id_of(passage: ContextPassage | str) -> str:
    """Return the id of a passage, with or without a text."""
    return passage if isinstance(passage, str) else passage.passage_id


def context_of(passages: Sequence[ContextPassage | str]) -> tuple[int, ...]:
    """Return the keys of the texts of passages, each once, in order; passages without a text are
    left out.
    """
    return tuple(dict.fromkeys(one.text_key for one in passages if isinstance(one, ContextPassage)))


def gold_sources(project: Project) -> list[str]:
    """Return the possible sources of gold passages: the gold texts, if any, and sources of
    judgments.
    """
    return ([GOLD_RUN] if gold_name(project) is not None else []) + judgment_sources(project)


def gold_passages(project: Project, gold: Gold) -> dict[str, list[ContextPassage]]:
    """Return the gold passages with texts, by query id: by falling judgment, or in the order of the
    gold texts.

    Raises:
        InputError: a source is unknown, or the project has no source.
    """
    all_sources = gold_sources(project)
    if not all_sources:
        raise InputError(
            "no-gold-passages",
            "No gold passages.",
            "Import judgments (exam import qrels FILE) or gold passages (exam import"
            " responses FILE --gold).",
        )
    sources = gold.against or tuple(all_sources[:1])
    check_known("unknown-source", "source of gold passages", all_sources, *sources)
    rows = project.rows(
        "SELECT query_id, passage_id, text_key FROM ("
        " SELECT query_key, passage_key, 0 AS place, -value AS position"
        f" FROM {visible_rows(project, 'judgments')}"
        "  JOIN sources USING (source_key)"
        "  WHERE list_contains($wanted, name) AND value >= $least"
        f" UNION ALL SELECT query_key, passage_key, 1, position FROM {GOLD}"
        f" WHERE list_contains($wanted, '{GOLD_RUN}')) JOIN queries USING (query_key)"
        " JOIN passages USING (passage_key) WHERE text_key IS NOT NULL"
        " QUALIFY row_number() OVER (PARTITION BY query_key, passage_key"
        " ORDER BY place, position) = 1 ORDER BY query_key, place, position, passage_key",
        {"wanted": list(sources), "least": gold.min_judgment},
    )
    return group_pairs(
        (query_id, ContextPassage(passage_id, text_key)) for query_id, passage_id, text_key in rows
    )


def passage_texts(project: Project, keys: Collection[int]) -> dict[int, str]:
    """Return the texts of passages by their keys."""
    return dict(
        project.rows(
            "SELECT text_key, text FROM passage_texts WHERE list_contains($keys, text_key)",
            {"keys": list(set(keys))},
        )
    )


def make_run(
    project: Project,
    name: str,
    retriever: Retriever,
    author: str,
    depth: int = RETRIEVAL_DEPTH,
    tell: Callable[[str], None] = lambda line: None,
) -> int:
    """Rank the project's passages for every query by its words, and keep the top as a run.

    Args:
        name: of the run, which must be new.
        retriever: bm25, or embedding: the cosine of the vectors of all-MiniLM-L6-v2.
        depth: passages that are kept of each ranking.
        tell: receives a sentence about each step.

    Returns:
        The number of queries that have a ranking.

    Raises:
        InputError: the run exists already, or the project has no queries with words or no passages.
        GradingError: the encoder cannot be loaded.
    """
    if name in run_names(project):
        raise InputError("name-taken", f"Run '{name}' already exists.", "Choose another name.")
    queries = asked_queries(project)
    rankings, made_by = rank_passages(
        project,
        {query.query_id: query.text for query in queries},
        "queries",
        retriever,
        depth,
        tell,
    )
    ranked = [
        Ranked(query_id, passage_id, rank, score)
        for query_id, ranking in rankings.items()
        for rank, (passage_id, score) in enumerate(ranking, 1)
    ]
    with project.transaction() as cursor:
        write_runs(cursor, {name: ranked}, [(name, name, made_by)])
        refresh_pool(cursor)
        log_action(cursor, author, "make run", name=name, by=made_by, queries=len(rankings))
    return sum(bool(ranking) for ranking in rankings.values())


def answers_as_responses(
    project: Project, generator: AnswerModel, run: str, k: int, author: str, name: str | None = None
) -> tuple[str, dict[str, int]]:
    """Make responses of a generator's answers from a run at a depth, to grade them with the
    question bank.

    Their coverage (EXAM-Cover) can be compared with LLM-retEval of the retriever (llm-reteval
    specification, section 13). Failed answers are left out, because the system gave no answer.

    Args:
        name: of the system, a single word; None for a name made of the generator, run and depth.

    Returns:
        The project's name for the run of the responses, and numbers of runs, responses and
        passages.

    Raises:
        InputError: there are no such answers, or the name is not a single word.
    """
    # The name begins the ids of passages, which are one column of TREC files.
    if name is not None and clean_text(name).split() != [name]:
        raise InputError(
            "invalid-name",
            f"System name '{one_line(name, 60)}' contains white space.",
            "Use one word, as TREC files require.",
        )
    generated = generated_of(project, generator.key)
    ranked = top_passages(project, [run], k).get(run, {})
    system = name or "-".join(f"{generator.name} {run}@{k}".split())
    responses = []
    for query in asked_queries(project):
        context = context_of(ranked.get(query.query_id, [])[:k])
        places = [(query.text_key, context, 0.0, 1), (query.text_key, (run, k), None, 1)]
        answer = next((generated[place] for place in places if place in generated), None)
        if answer is not None and answer.text is not None:
            responses.append(Response(system, query.query_id, answer.text, file=generator.name))
    if not responses:
        raise InputError(
            "no-answers-from-run",
            f"Generator {generator.name} has no answers from run {run} at k = {k}.",
            "Generate the answers first: exam answers generate.",
        )
    with project.transaction() as cursor:
        keeper = ReplacedDataKeeper(cursor)
        counts = write_responses(cursor, responses, Report(), keeper)
        refresh_pool(cursor)
        act = log_action(
            cursor,
            author,
            "answers as responses",
            name=system,
            responses=len(responses),
            generator=generator.name,
        )
        keeper.record(keeper.discard_unchanged(), act)
        ((system_name,),) = cursor.execute(
            "SELECT name FROM runs WHERE tag = ? AND run_key IN (SELECT run_key FROM responses)",
            [system],
        ).fetchall()
    return str(system_name), counts


def describe_new_run(name: str, queries: int) -> str:
    """Return a sentence about a new run."""
    return f"Run {name}: passages for {how_many(queries, 'queries')}."


Begun = TypeVar("Begun")
Result = TypeVar("Result")


@dataclass(frozen=True)
class AnswerJob:
    """The description of a job for `run_job`.

    Args:
        model: the generator or answer check.
        asked: the part of the request to store.
        total: the number of results.
        things: the noun for them, such as "answers".
        back_end: determines the owner's caps; None without a model.
        caps: the person's.
    """

    model: AnswerModel
    asked: dict[str, Any]
    total: int
    things: str
    back_end: BackEnd | None
    caps: Caps


def run_job(
    project: Project,
    work: AnswerJob,
    author: str,
    report: Watch,
    control: Control,
    begin: Callable[[Cursor], Begun],
    stream: Callable[[Begun, Control], Iterable[Sequence[Result]]],
    write: Callable[[Cursor, int, Sequence[Result], int], object],
    failed: Callable[[Result], bool],
) -> Progress:
    """Record a job, run it in this thread, and record its end.

    Args:
        report: called after every commit.
        begin: called in the transaction in which the job begins; `stream` gets its result.
        stream: yields the results in batches.
        write: called in a transaction with the key of the model, results, and the key of the job.
        failed: whether a result is unusable.

    Returns:
        The final progress; its state is done, cancelled, stopped or failed.

    Raises:
        InputError: the cost is capped and the model has no price, or another model already has this
            name.
    """
    name, compares = work.model.name, work.things == COMPARISONS
    control.renew(job_control(project, work.model.model, work.back_end, work.caps))
    with project.transaction() as cursor:
        key = put_answer_model(cursor, "judge" if compares else "generator", work.model, author)
        begun = begin(cursor)
        job = add_job(
            cursor, "comparing" if compares else "generating", key, work.asked, work.total, author
        )
        log_action(cursor, author, f"start {work.things}", job=job, by=name, count=work.total)

    writer = ResultWriter[Result](
        project,
        job,
        Progress("running", work.total),
        lambda progress: report(name, progress),
        control,
        lambda cursor, some: write(cursor, key, some, job),
        failed,
    )
    return run_recorded_job(
        writer,
        lambda: stream(begun, control),
        "Start again",
        "to continue",
        "The model",
        lambda: other_models_note(work.model.model, control.models),
        lambda cursor, final: log_action(
            cursor,
            author,
            f"{work.things} {final.state}",
            job=job,
            by=name,
            count=final.graded,
            failed=final.failed,
        ),
    )


ANSWERS, COMPARISONS = "answers", "comparisons"
"""Results of jobs."""


def start_answer_job(
    project: Project,
    model: AnswerModel,
    things: str,
    author: str,
    work: Callable[[Project, Watch, Control], Progress],
) -> BackgroundJob:
    """Start a job for answers in the background; a project runs one at a time.

    Args:
        model: the generator or the model of the answer check.
        things: `ANSWERS` or `COMPARISONS`.

    Raises:
        GradingError: another one is running.
        NotAllowed: the role of the person does not include running exams.
    """
    return start_background(
        project,
        "answers",
        "run exams",
        author,
        lambda owned: BackgroundJob(
            model.name,
            things,
            None,
            author,
            Control(),
            lambda report, job: {model.name: work(owned, report, job.control)},
        ),
    )


@dataclass(frozen=True)
class AnswerProgress:
    """The work of a generator or of a model for answer checks so far.

    Args:
        role: `generator` or `judge`.
        written, failed: different answers or comparisons, with and without a usable result.
    """

    role: str
    name: str
    model: str
    prompt: str
    written: int
    failed: int


def answering_so_far(project: Project) -> list[AnswerProgress]:
    """Return the work of every generator and every model for answer checks, generators first."""
    counted = []
    for role, table, key, about, came in (
        (
            "generator",
            "generators",
            "generator_key",
            "question_text_key, context_keys, run, k, temperature, draw FROM generated_answers",
            "text_key",
        ),
        (
            "judge",
            "answer_judges",
            "judge_key",
            "question_text_key, answer_text_key, reference_keys FROM comparisons",
            "rating",
        ),
    ):
        columns, source = about.split(" FROM ")
        counted += project.rows(
            f"SELECT '{role}', name, model, prompt, count(*) FILTER (done), count(*) FILTER (NOT"
            f" done) FROM {table}"
            f" LEFT JOIN (SELECT {key}, bool_or({came} IS NOT NULL) AS done FROM {source}"
            f" GROUP BY {key}, {columns})"
            f" USING ({key}) GROUP BY {key}, name, model, prompt ORDER BY {key}"
        )
    return [AnswerProgress(*row) for row in counted]
