"""The contexts of answers: the top passages of runs, and the gold passages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ...errors import InputError, unknown_name
from ...project import GOLD, GOLD_RUN, Project, check_runs, gold_name, sources, visible
from ...text import first_few


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
class Read:
    """A passage with a text."""

    passage_id: str
    text_key: int


@dataclass(frozen=True)
class Gold:
    """The choice of gold passages.

    Args:
        against: sources of judgments, or `gold` for the gold texts; for None the gold texts if the project has them,
            else the first source. With several sources, a passage is gold if any of them says so.
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
    found = [
        AskedQuery(query_id, text, key or 0, () if answer is None else (answer, *(further or ())), query)
        for query_id, text, answer, further, key, query in project.rows(
            "SELECT query_id, q.text, answer, further_answers, text_key, query_key FROM queries q"
            " LEFT JOIN question_texts t ON t.text = q.text WHERE q.text <> query_id ORDER BY query_key"
        )
    ]
    if query_ids is None:
        return found
    known = {one.query_id for one in found}
    if lost := [query_id for query_id in query_ids if query_id not in known]:
        raise InputError(
            "unknown-query", f"No text for query {first_few(lost)}.", "Import the queries with their texts."
        )
    return [one for one in found if one.query_id in set(query_ids)]


def ranking_runs(project: Project) -> list[str]:
    """Return the runs that rank passages, without runs of responses, in order."""
    found = project.rows("SELECT name FROM runs WHERE run_key NOT IN (SELECT run_key FROM responses) ORDER BY run_key")
    return [name for (name,) in found]


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


def tops(project: Project, runs: Sequence[str], depth: int) -> dict[str, dict[str, list[Read | str]]]:
    """Return the passages at the top of runs, by run and query id, the best first.

    Args:
        depth: most passages of each query.

    Returns:
        A `Read` for each passage, or only its id if the project has no text of it.
    """
    found: dict[str, dict[str, list[Read | str]]] = {run: {} for run in runs}
    for run, query_id, passage_id, text_key in project.rows(
        "SELECT name, query_id, passage_id, text_key FROM rankings JOIN runs USING (run_key)"
        " JOIN queries USING (query_key) JOIN passages USING (passage_key)"
        " WHERE list_contains($runs, name) QUALIFY row_number() OVER (PARTITION BY run_key, query_key ORDER BY rank)"
        " <= $depth ORDER BY run_key, query_key, rank",
        {"runs": list(runs), "depth": depth},
    ):
        found[run].setdefault(query_id, []).append(passage_id if text_key is None else Read(passage_id, text_key))
    return found


def passage_id_of(one: Read | str) -> str:
    """Return the id of a passage, with or without a text."""
    return one if isinstance(one, str) else one.passage_id


def context_of(passages: Sequence[Read | str]) -> tuple[int, ...]:
    """Return the keys of the texts of passages, each once, in order; passages without a text are left out."""
    return tuple(dict.fromkeys(one.text_key for one in passages if isinstance(one, Read)))


def gold_sources(project: Project) -> list[str]:
    """Return the possible sources of gold passages: the gold texts, if any, and sources of judgments."""
    return ([GOLD_RUN] if gold_name(project) is not None else []) + sources(project)


def gold_passages(project: Project, gold: Gold) -> dict[str, list[Read]]:
    """Return the gold passages with texts, by query id: by falling judgment, or in the order of the gold texts.

    Raises:
        InputError: a source is unknown, or the project has no source.
    """
    known = gold_sources(project)
    if not known:
        raise InputError(
            "no-gold-passages",
            "No gold passages.",
            "Import judgments (exam import qrels FILE) or gold passages (exam import responses FILE --gold).",
        )
    wanted = gold.against or tuple(known[:1])
    if strange := [name for name in wanted if name not in known]:
        raise unknown_name("unknown-source", "source of gold passages", strange[0], known)
    found: dict[str, dict[str, Read]] = {}
    for query_id, passage_id, text_key in project.rows(
        "SELECT query_id, passage_id, text_key FROM ("
        f" SELECT query_key, passage_key, 0 AS place, -value AS position FROM {visible(project, 'judgments')}"
        "  JOIN sources USING (source_key)"
        "  WHERE list_contains($wanted, name) AND value >= $least"
        f" UNION ALL SELECT query_key, passage_key, 1, position FROM {GOLD} WHERE list_contains($wanted, '{GOLD_RUN}'))"
        " JOIN queries USING (query_key) JOIN passages USING (passage_key) WHERE text_key IS NOT NULL"
        " ORDER BY query_key, place, position, passage_key",
        {"wanted": list(wanted), "least": gold.min_judgment},
    ):
        found.setdefault(query_id, {}).setdefault(passage_id, Read(passage_id, text_key))
    return {query_id: list(passages.values()) for query_id, passages in found.items()}


def passage_texts(project: Project, keys: Collection[int]) -> dict[int, str]:
    """Return the texts of passages by their keys."""
    return dict(
        project.rows(
            "SELECT text_key, text FROM passage_texts WHERE list_contains($keys, text_key)", {"keys": list(set(keys))}
        )
    )
