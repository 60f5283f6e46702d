"""Runs ranked by words or by meaning for answers, and responses made of answers for grading."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import InputError, Report
from ...project import (
    AnswerModel,
    Keeper,
    Project,
    generated_of,
    log,
    refresh_pool,
    run_names,
    stage_rankings,
    write_responses,
    write_runs,
)
from ...text import clean_text, how_many, one_line
from ...types import Ranked, Response
from ..retrievals import DEPTH, Retriever, rank_passages
from .contexts import asked_queries, context_of, tops


def make_run(
    project: Project,
    name: str,
    retriever: Retriever,
    author: str,
    depth: int = DEPTH,
    tell: Callable[[str], None] = lambda line: None,
) -> int:
    """Rank the project's passages for every query by its words, and keep the top as a run.

    Args:
        name: of the run, which must be new.
        retriever: bm25, or embedding: the cosine of the vectors of all-MiniLM-L6-v2.
        depth: passages that are kept of each ranking.
        tell: is given a sentence about each step.

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
        project, {query.query_id: query.text for query in queries}, "queries", retriever, depth, tell
    )
    ranked = [
        Ranked(query_id, passage_id, rank, score)
        for query_id, ranking in rankings.items()
        for rank, (passage_id, score) in enumerate(ranking, 1)
    ]
    with project.transaction() as cursor:
        stage_rankings(cursor, {name: ranked})
        write_runs(cursor, [(name, name, made_by)])
        refresh_pool(cursor)
        log(cursor, author, "make run", name=name, by=made_by, queries=len(rankings))
    return sum(bool(ranking) for ranking in rankings.values())


def answers_as_responses(
    project: Project, generator: AnswerModel, run: str, k: int, author: str, name: str | None = None
) -> tuple[str, dict[str, int]]:
    """Make responses of a generator's answers from a run at a depth, so that they can be graded with the question bank.

    The question bank then gives the coverage of each answer (EXAM-Cover), for comparison with LLM-retEval of its
    retriever (llm-reteval specification, section 13). Failed answers are left out, because the system gave no answer.

    Args:
        name: of the system, a single word; None for a name made of the generator, run and depth.

    Returns:
        The project's name for the run of the responses, and numbers of runs, responses and passages.

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
    known = generated_of(project, generator.key)
    ranked = tops(project, [run], k).get(run, {})
    system = name or "-".join(f"{generator.name} {run}@{k}".split())
    found = []
    for query in asked_queries(project):
        context = context_of(ranked.get(query.query_id, [])[:k])
        places = [(query.text_key, context, 0.0, 1), (query.text_key, (run, k), None, 1)]
        answer = next((known[place] for place in places if place in known), None)
        if answer is not None and answer.text is not None:
            found.append(Response(system, query.query_id, answer.text, file=generator.name))
    if not found:
        raise InputError(
            "no-answers-from-run",
            f"Generator {generator.name} has no answers from run {run} at k = {k}.",
            "Generate the answers first: exam answers generate.",
        )
    with project.transaction() as cursor:
        keeper = Keeper(cursor)
        counts = write_responses(cursor, found, Report(), keeper)
        refresh_pool(cursor)
        act = log(cursor, author, "answers as responses", name=system, responses=len(found), generator=generator.name)
        keeper.record(keeper.settle(), act)
        ((kept,),) = cursor.execute(
            "SELECT name FROM runs WHERE tag = ? AND run_key IN (SELECT run_key FROM responses)", [system]
        ).fetchall()
    return str(kept), counts


def said_of_run(name: str, queries: int) -> str:
    """Return a sentence about a new run."""
    return f"Run {name}: passages for {how_many(queries, 'queries')}."
