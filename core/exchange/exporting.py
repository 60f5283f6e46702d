"""Writing files out of a project: qrels, the bank, a graded file, a leaderboard."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import astuple

from core import bank
from core.catalogue import graders, how_to_grade
from core.errors import InputError
from core.formats import TableRow, graded, question_bank, trec_qrels, write_board_latex, write_board_tsv
from core.grading import NO_USABLE_RATING
from core.labels import Policy, basis, labels
from core.leaderboard import Leaderboard, leaderboard
from core.project import Project, find_source, judgments, sources
from core.types import (
    SEPARATOR,
    GradeColumns,
    GradeDetail,
    GradedQuery,
    GraderSpec,
    Judgment,
    Passage,
    Query,
    Ranked,
    Subtopic,
)


def qrels(project: Project, policy: Policy, source: str = "exam", binary: bool = False) -> str:
    """Labels, or the judgments of a source, in trec_eval's four columns.

    Args:
        source: `exam` for labels from grades, or the name of a source of judgments.
        binary: write 1 for what is relevant under the policy and 0 for the rest.

    Returns:
        One line a labelled (query, passage), in the pool's order; passages without a label are left out.

    Raises:
        InputError: there is nothing to export.
    """
    if source == "exam":
        base = basis(project, policy)
        table = labels(project, base).dropna(subset=["label"])
        rows = list(zip(table["query_id"], table["passage_id"], table["label"].astype(int).tolist(), strict=True))
        threshold = base.min_rating
    else:
        found = judgments(project, find_source(project, source))
        rows = [(query, passage, value) for query, values in found.items() for passage, value in values.items()]
        threshold = policy.min_judgment
    if not rows:
        # A source of judgments has at least one.
        raise InputError("There are no labels to export.", how_to_grade(project, basis(project, policy).grader.spec))
    if binary:
        rows = [(query, passage, int(value >= threshold)) for query, passage, value in rows]
    out = io.StringIO()
    trec_qrels.write_qrels(rows, out)
    return out.getvalue()


def bank_jsonl(project: Project, version: int | None = None) -> str:
    """The question bank as JSON lines, one question each.

    Raises:
        InputError: there is no such version.
    """
    out = io.StringIO()
    question_bank.write_bank(bank.questions(project, version), out)
    return out.getvalue()


def bank_csv(project: Project, version: int | None = None) -> str:
    """The question bank as CSV for a spreadsheet; cells that could be formulas are neutralised.

    Raises:
        InputError: there is no such version.
    """
    out = io.StringIO()
    question_bank.write_bank_csv(bank.questions(project, version), out)
    return out.getvalue()


def board_tsv(project: Project, measure: str, source: str, policy: Policy) -> str:
    """A leaderboard as TSV: rank, run, score, standard error, number of queries.

    Raises:
        InputError: the board cannot be made.
    """
    board = leaderboard(project, measure, source, policy)
    out = io.StringIO()
    write_board_tsv(board.measure, _board_rows(board), out)
    return out.getvalue()


def board_latex(project: Project, measure: str, source: str, policy: Policy) -> str:
    """A leaderboard as a LaTeX tabular: rank, run, score with its standard error, number of queries.

    Raises:
        InputError: the board cannot be made.
    """
    board = leaderboard(project, measure, source, policy)
    out = io.StringIO()
    write_board_latex(board.measure, _board_rows(board), out)
    return out.getvalue()


def _board_rows(board: Leaderboard) -> list[TableRow]:
    return [(s.rank, s.run, s.score, s.std_error, s.queries) for s in board.systems]


def graded_file(project: Project, source: str | None = None) -> bytes:
    """The pool with texts, grades, judgments and rankings in the Autograder/RUBRIC interchange format.

    Ranks are those of the whole ranking, though the file has the pool alone, and are taken as stated when it is read.

    Args:
        source: the judgments that go with it; the first source for None. The format has room for one.

    Returns:
        A gzip file; the same project gives the same bytes.

    Raises:
        InputError: there is no such source.
    """
    named = find_source(project, source) if source else next(iter(sources(project)), None)
    out = io.BytesIO()
    graded.write_graded(_graded_queries(project, named), out)
    return out.getvalue()


def _graded_queries(project: Project, source: str | None) -> Iterator[GradedQuery]:
    """A line for every query with passages. What topics have stands in the line of the query that they are part of."""
    specs = {grader.key: grader.spec for grader in graders(project)}
    topics = _topics(project)
    placed = {key for members in topics.values() for key in members}
    for key, query in _queries(project):
        questions = bank.questions(project, query_id=query.query_id)
        if key in placed and not questions:
            continue
        # A topic with questions of its own has a line for them; its rankings and judgments stand in its query's.
        members = {key: query.query_id} | topics.get(key, {})
        passages = _texts(project, members)
        if not passages:
            continue
        stated = {} if key in placed else members
        yield GradedQuery(
            query=query,
            passages=[Passage(passage_id, text) for passage_id, text in passages.items()],
            judgments=_judgments(project, stated, source),
            rankings=_rankings(project, stated),
            questions=questions,
            grades=_grades(project, key, query.query_id, members, specs),
        )


def _topics(project: Project) -> dict[int, dict[int, str]]:
    """The topics of queries, key by id, by the key of the query that they are part of; each once."""
    found: dict[int, dict[int, str]] = {}
    for query, topic, topic_id in project.rows(
        "SELECT min(t.query_key), topic_key, query_id FROM topics() t JOIN queries q ON q.query_key = topic_key"
        " GROUP BY topic_key, query_id ORDER BY topic_key"
    ):
        found.setdefault(query, {})[topic] = topic_id
    return found


def _queries(project: Project) -> list[tuple[int, Query]]:
    subtopics: dict[int, list[Subtopic]] = {}
    for key, subtopic, text in project.rows(
        "SELECT query_key, subtopic_id, text FROM subtopics ORDER BY query_key, position"
    ):
        subtopics.setdefault(key, []).append(Subtopic(subtopic, text))
    return [
        (key, Query(query_id, text, narrative, tuple(subtopics.get(key, ())), answer, tuple(further or ())))
        for key, query_id, text, narrative, answer, further in project.rows(
            "SELECT query_key, query_id, text, narrative, answer, further_answers FROM queries ORDER BY query_key"
        )
    ]


def _texts(project: Project, members: Mapping[int, str]) -> dict[str, str]:
    """Texts of the passages that the pools of queries hold, by passage id."""
    return dict(
        project.rows(
            "SELECT passage_id, coalesce(any_value(t.text), '') FROM pool JOIN passages USING (passage_key)"
            " LEFT JOIN passage_texts t ON t.text_key = pool.text_key WHERE list_contains($queries, query_key)"
            " GROUP BY passage_id ORDER BY min((list_position($queries, query_key), position))",
            {"queries": list(members)},
        )
    )


def _judgments(project: Project, members: Mapping[int, str], source: str | None) -> list[Judgment]:
    return [
        Judgment(members[query], passage_id, value)
        for query, passage_id, value in project.rows(
            "SELECT query_key, passage_id, value FROM judgments JOIN sources USING (source_key)"
            " JOIN passages USING (passage_key) JOIN pool USING (query_key, passage_key)"
            " WHERE list_contains($queries, query_key) AND name = $source"
            " ORDER BY list_position($queries, query_key), position",
            {"queries": list(members), "source": source},
        )
    ]


def _rankings(project: Project, members: Mapping[int, str]) -> dict[str, list[Ranked]]:
    """What runs rank of the pools of queries, by run; the ranks are those of the whole ranking."""
    found: dict[str, list[Ranked]] = {}
    for run, query, passage_id, rank, score in project.rows(
        "SELECT name, query_key, passage_id, rank, score FROM rankings JOIN runs USING (run_key)"
        " JOIN passages USING (passage_key) SEMI JOIN pool USING (query_key, passage_key)"
        " WHERE list_contains($queries, query_key) ORDER BY run_key, list_position($queries, query_key), rank",
        {"queries": list(members)},
    ):
        found.setdefault(run, []).append(Ranked(members[query], passage_id, rank, score))
    return found


def _grades(
    project: Project, query_key: int, query_id: str, members: Mapping[int, str], specs: dict[int, GraderSpec]
) -> list[GradeColumns]:
    columns: dict[tuple[int, str], GradeColumns] = {}
    separator = f"chr({ord(SEPARATOR)})"
    nothing = list(astuple(GradeDetail()))
    for key, question_id, passage_id, rating, answer, *detail in project.rows(
        "WITH wordings AS (SELECT question_id, text_key, text, answer_key, choices FROM question_revisions"
        "  JOIN questions USING (question_key) JOIN question_texts USING (text_key) WHERE query_key = $query"
        "  QUALIFY row_number() OVER (PARTITION BY question_key ORDER BY version DESC) = 1"
        f"  UNION ALL SELECT query_id, NULL, t.text, t.answer, '[]' FROM titles() t JOIN queries USING (query_key)"
        "  WHERE query_key = $query), passage AS (SELECT passage_id, pool.text_key,"
        "   min((list_position($members, query_key), position)) AS place FROM pool JOIN passages USING (passage_key)"
        "   WHERE list_contains($members, query_key) GROUP BY ALL),"
        " asked AS (SELECT question_id, text_key FROM wordings WHERE text_key IS NOT NULL UNION ALL"
        "  SELECT question_id, t.text_key FROM wordings w JOIN question_texts t ON t.text IN ("
        f"   CASE WHEN w.text_key IS NULL THEN w.text END, concat_ws({separator}, w.text, answer_key),"
        f"   concat_ws({separator}, w.text, answer_key, choices)) WHERE w.text_key IS NULL OR answer_key <> '')"
        " SELECT grader_key, question_id, passage_id, rating, answer, defaulted, confidence, raw, reason, note"
        " FROM passage JOIN asked ON true JOIN"
        " (SELECT grader_key, question_text_key, passage_text_key, rating, answer, defaulted, confidence, raw,"
        "   NULL AS reason, note FROM grades UNION ALL"
        # What was written in vain stands in place of the answer; a reason that says nothing is left out.
        "  SELECT grader_key, question_text_key, passage_text_key, NULL, arg_max_null(raw, rowid), false, NULL, NULL,"
        f"  nullif(arg_max(reason, rowid), '{NO_USABLE_RATING}'), NULL FROM failures"
        "  ANTI JOIN grades USING (grader_key, question_text_key, passage_text_key) GROUP BY 1, 2, 3) g"
        " ON g.question_text_key = asked.text_key AND g.passage_text_key = passage.text_key"
        " ORDER BY place, grader_key, asked.text_key, question_id",
        {"query": query_key, "members": list(members)},
    ):
        spec = specs[key]
        if (question_id == query_id) != (spec.method == "direct"):
            continue
        found = columns.get((key, passage_id))
        if found is None:
            found = columns[key, passage_id] = GradeColumns(spec)
        found.question_ids.append(question_id)
        found.passage_ids.append(passage_id)
        found.ratings.append(rating)
        found.answers.append(answer)
        if detail != nothing:
            found.details[len(found.ratings) - 1] = GradeDetail(*detail)
    return list(columns.values())
