"""What answers are written from: the top of runs, and the passages that are gold."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ...errors import InputError, unknown_name
from ...project import GOLD, GOLD_RUN, Project, check_runs, gold_name, sources, visible
from ...text import first_few


@dataclass(frozen=True)
class AskedQuery:
    """A query as a model is asked it.

    Args:
        text_key: of its words, under which answers are kept; 0 where nobody has answered it yet.
        answers: every correct answer that is known.
        key: of the query in the project, under which people's verdicts on answers are kept.
    """

    query_id: str
    text: str
    text_key: int
    answers: tuple[str, ...]
    key: int


@dataclass(frozen=True)
class Read:
    """A passage with a text, as a model reads it."""

    passage_id: str
    text_key: int


@dataclass(frozen=True)
class Gold:
    """Which passages are gold.

    Args:
        against: sources of judgments, or `gold` for the gold texts; for None the gold texts where there are any, else
            the first source. Of several a passage is gold that is so by any.
        min_judgment: the judgment from which a passage is gold.
    """

    against: tuple[str, ...] | None = None
    min_judgment: int = 1


USUAL_GOLD = Gold()


def asked_queries(project: Project, query_ids: Collection[str] | None = None) -> list[AskedQuery]:
    """The queries with words, in order.

    Args:
        query_ids: only these; all for None.

    Raises:
        InputError: there is no such query.
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
    """The runs that rank passages, and not those of responses, in order."""
    found = project.rows("SELECT name FROM runs WHERE run_key NOT IN (SELECT run_key FROM responses) ORDER BY run_key")
    return [name for (name,) in found]


def named_runs(project: Project, runs: Sequence[str] | None) -> list[str]:
    """The runs that are meant; for None all that rank passages, and not those of responses.

    Raises:
        InputError: there is no such run, or none at all.
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
    """The passages at the top of runs, by run and query id, the best first.

    Args:
        depth: passages of each query at most.

    Returns:
        A `Read` for each passage, or its id alone where the project has no text of it.
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
    """The id of a passage that may have no text."""
    return one if isinstance(one, str) else one.passage_id


def context_of(passages: Sequence[Read | str]) -> tuple[int, ...]:
    """The keys of the texts that a model reads of some passages, each once, in their order."""
    return tuple(dict.fromkeys(one.text_key for one in passages if isinstance(one, Read)))


def gold_sources(project: Project) -> list[str]:
    """What can say which passages are gold: the gold texts, where there are any, and sources of judgments."""
    return ([GOLD_RUN] if gold_name(project) is not None else []) + sources(project)


def gold_passages(project: Project, gold: Gold) -> dict[str, list[Read]]:
    """The gold passages that have a text, by query id: of judgments the most relevant first, of gold texts in order.

    Raises:
        InputError: there is no such source, or none at all.
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
    """The words of passages by the keys of their texts."""
    return dict(
        project.rows(
            "SELECT text_key, text FROM passage_texts WHERE list_contains($keys, text_key)", {"keys": list(set(keys))}
        )
    )
