"""Labels of passages, from the ratings that count: a pure function of the basis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from core.bank import bank_for
from core.labels.basis import Basis
from core.labels.ratings import graded_pairs, ratings
from core.project import Project, Qrels

if TYPE_CHECKING:
    import pandas as pd


def labels(project: Project, base: Basis) -> pd.DataFrame:
    """The label of every pooled passage (exam-plus-plus, equation 2).

    Returns:
        One row a (query, passage) of the pool, in the pool's order, with query_id, passage_id,
        label (NA where no pair has a usable grade), usable and needed (numbers of pairs that
        have a rating, and that should). A label with usable < needed is partial.
    """

    def compute() -> pd.DataFrame:
        import pandas as pd

        found: pd.DataFrame = project.table(
            # From the grades to the pool, not the other way round: pairs are never written out.
            f"WITH bank AS MATERIALIZED {bank_for(base.grader.spec)},"
            f" rated AS (SELECT p.query_key, p.passage_key, {base.label_sql} AS label,"
            f"  count(*) FILTER (weight > 0)::INTEGER AS usable FROM {ratings(base)} g"
            "  JOIN bank ON bank.text_key = g.question_text_key"
            "  JOIN pool p ON p.query_key = bank.query_key AND p.text_key = g.passage_text_key GROUP BY ALL),"
            " asked AS (SELECT query_key, count(*) FILTER (weight > 0)::INTEGER AS needed FROM bank GROUP BY 1)"
            " SELECT query_id, passage_id, label, coalesce(usable, 0)::INTEGER AS usable, needed"
            " FROM pool JOIN asked USING (query_key) LEFT JOIN rated USING (query_key, passage_key)"
            " JOIN queries USING (query_key) JOIN passages USING (passage_key) ORDER BY query_key, position",
            base.parameters,
        ).to_pandas(types_mapper={pa.int8(): pd.Int8Dtype()}.get)
        return found

    return project.remember(("labels", base.key), compute)


def label_qrels(project: Project, base: Basis) -> Qrels:
    """EXAM labels by query and passage id; passages without a label are left out."""

    def compute() -> Qrels:
        table = labels(project, base).dropna(subset=["label"])
        found: Qrels = {}
        for query, passage, label in zip(
            table["query_id"], table["passage_id"], table["label"].astype(int).tolist(), strict=True
        ):
            found.setdefault(query, {})[passage] = label
        return found

    return project.remember(("qrels", base.key), compute)


def answered_questions(project: Project, base: Basis) -> dict[str, dict[str, dict[str, int]]]:
    """Which questions of positive weight each graded passage answers: 1 or 0 by query, passage, question."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for query, passage, asked, given in project.rows(
        "SELECT query_id, passage_id, list(question_id), list(rating) FROM"
        f" ({graded_pairs(base)}) JOIN queries USING (query_key) JOIN passages USING (passage_key)"
        " JOIN (SELECT question_key, question_id FROM questions UNION ALL SELECT query_key, query_id"
        "  FROM queries) USING (question_key) WHERE rating IS NOT NULL AND weight > 0"
        " GROUP BY query_id, query_key, passage_id ORDER BY query_key",
        base.parameters,
    ):
        answers = {question: int(rating >= base.min_rating) for question, rating in zip(asked, given, strict=True)}
        found.setdefault(query, {})[passage] = answers
    return found
