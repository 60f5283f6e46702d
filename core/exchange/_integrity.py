"""Integrity checks of a project: rules for values, keys, references, contents, hashes and revisions
of its tables.

`exam check` and the import of an exported project read these rules. A project that the program made
breaks none.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final, get_args

import duckdb

from ..bank import SCHEMES, SPEC_COLUMNS, STATES, stored_spec
from ..errors import Report, WorkbenchError
from ..formats import LARGEST, REPORT, Source, query_files, read_bank, read_responses
from ..graders import Price, read_prompt
from ..labels import SETTING_OF_MIN_JUDGMENT, Policy
from ..measures.audit import linear_measure
from ..records import (
    HOLD_OUT,
    HOLD_OUT_FORM,
    JOB_SUBJECTS,
    LONGEST_GUIDELINES,
    MOST_WANTED,
    PARTS,
    SCALE,
    SETTING_OF_TERMS,
    TURNS,
    pool_rows,
    read_terms,
)
from ..store import (
    ROLES,
    SETTING_OF_BACKUPS,
    Cursor,
    Project,
    expected_objects,
    first_line,
    migrations,
    quoted_name,
    read_objects,
    read_schedule,
    unreadable_tables,
)
from ..text import LONGEST_ID, fault_of_id, how_many
from ..types import KINDS, MAX_RATING, MAX_WEIGHT, SAID, Act, Question
from ._publication import POOL_SHA256, list_publications, remake_qrels

LARGEST_KEY = 1 << 30
"""The highest key allowed in a project: half of the possible range, so that later keys have room.
"""
NO_JOB = 0
"""The job key of grades that belong to no job."""

IMPORTED: Final = ("values", "uniqueness", "references", "contents")
"""The checks whose rules an imported project must keep."""


@dataclass(frozen=True)
class Fault:
    """Rows of a table that break a rule.

    Args:
        code: the stable name of the rule, in kebab-case.
        reason: the fault, as a sentence without a full stop.
        rows: how many rows there are.
        first: number of the first of them in the table's file, from 1; None if no single row is at
            fault.
    """

    table: str
    code: str
    reason: str
    rows: int
    first: int | None

    def __str__(self) -> str:
        where = "" if self.first is None else f" (first: row {self.first:,})"
        return f"{how_many(self.rows, 'rows')}: {self.reason}{where}"


@dataclass(frozen=True)
class Rule:
    """A rule for the rows of a table.

    Args:
        check: name of the check that the rule belongs to.
        code: the stable name of the rule, in kebab-case.
        reason: the fault of a row that breaks the rule.
        faulty: a SELECT of the ids of the rows that break it.
        holds: if given, `faulty` selects the ids and values of all rows instead, and this function
            gets the values. A row breaks the rule if the function returns false or cannot read the
            values.
    """

    check: str
    table: str
    code: str
    reason: str
    faulty: str
    holds: Callable[..., object] | None = None


def _value_rule(table: str, code: str, holds: str, reason: str, beside: str = "") -> Rule:
    """Return a rule with an SQL condition on row `t`. A row keeps the rule if the condition is
    NULL, as for missing values.

    Args:
        beside: joins that `holds` needs.
    """
    return Rule(
        "values",
        table,
        code,
        reason,
        f"SELECT t.rowid FROM {quoted_name(table)} t {beside} WHERE NOT ({holds})",
    )


def _uniqueness_rule(table: str, *columns: str) -> Rule:
    """Return a rule that the values of columns together occur once."""
    names, rows = ", ".join(map(quoted_name, columns)), quoted_name(table)
    is_given_sql = " AND ".join(f"{quoted_name(column)} IS NOT NULL" for column in columns)
    return Rule(
        "uniqueness",
        table,
        f"repeated_{'_'.join(columns)}".replace("_", "-"),
        f"duplicate {' and '.join(map(_column_words, columns))}",
        f"SELECT t.rowid FROM {rows} t SEMI JOIN"
        f" (SELECT {names} FROM {rows} WHERE {is_given_sql} GROUP BY ALL HAVING count(*) > 1)"
        f" USING ({names})",
    )


def _reference_rule(table: str, column: str, other: str, key: str) -> Rule:
    """Return a rule that every key in a column, or in a column of lists of keys, exists in another
    table.
    """
    values = f"unnest({column})" if column.endswith("_keys") else column
    ignored = f" AND value <> {NO_JOB}" if column == "job_key" else ""
    return Rule(
        "references",
        table,
        f"unknown_{column}".replace("_", "-"),
        f"unknown {_column_words(column)}: not in the table {other}",
        f"SELECT row FROM (SELECT {values} AS value, rowid AS row FROM {table}) s"
        f" ANTI JOIN {other} o ON o.{key} = s.value WHERE value IS NOT NULL{ignored}",
    )


def _orphan_rule(table: str, code: str, others: str, reason: str) -> Rule:
    """Return a rule that another table has a row for every row of this one."""
    return Rule("orphans", table, code, reason, f"SELECT t.rowid FROM {table} t ANTI JOIN {others}")


def _python_rule(
    check: str,
    table: str,
    code: str,
    reason: str,
    columns: str,
    holds: Callable[..., object],
    where: str = "",
) -> Rule:
    """Return a rule that Python checks on the values of a small table."""
    faulty = f"SELECT rowid, {columns} FROM {table} {where} ORDER BY rowid"
    return Rule(check, table, code, reason, faulty, holds)


def _column_words(column: str) -> str:
    return re.sub("_keys?$", "", column).replace("_", " ")


def _sql_list(values: tuple[str, ...]) -> str:
    return "(" + ", ".join(f"'{value}'" for value in values) + ")"


def _id_condition(column: str) -> str:
    return (
        rf"length({column}) BETWEEN 1 AND {LONGEST_ID}"
        rf" AND NOT regexp_matches({column}, '[\p{{Cc}}\p{{Zl}}\p{{Zp}}]')"
    )


def _json_condition(column: str, kind: str) -> str:
    # In one expression, because DuckDB may evaluate both sides of an AND, even if the left side is
    # false.
    return (
        f"CASE WHEN json_valid({column}) THEN coalesce(json_type({column}) = '{kind}',"
        " false) ELSE false END"
    )


_CHOICES = (
    f"CASE WHEN {_json_condition('choices', 'ARRAY')} THEN list_bool_and(list_transform("
    "json_extract(choices, '$[*]'), lambda c: json_type(c) = 'VARCHAR')) ELSE false END"
)
"""SQL condition that choices are a JSON list of texts."""
_EARLIEST, _LATEST = datetime(1970, 1, 1), datetime(2200, 1, 1)
_SHARE = "BETWEEN 0 AND 1"
_PLACE = f"BETWEEN {-LARGEST_KEY} AND {LARGEST_KEY}"
_COUNT = f"BETWEEN 0 AND {1 << 53}"
_USED = ("calls", "input_tokens", "output_tokens", "cached_tokens", "thinking_tokens")
_COUNTED = {
    "jobs": ("total", "done", "failed", *_USED),
    "call_batches": ("calls", "wave", "done", "answered", "unanswered", *_USED[1:]),
}
"""Columns with counts by table."""


_FIELDS = {field.name for field in fields(Question)}


def _is_question(values: Any, question_id: str) -> bool:
    texts = [values[name] for name in ("text", "subtopic_id", "answer_key", "note")]
    return (
        set(values) == _FIELDS
        and values["question_id"] == question_id
        and isinstance(values["query_id"], str)
        and all(text is None or isinstance(text, str) for text in texts)
        and values["kind"] in KINDS
        and type(values["active"]) is bool
        and type(values["weight"]) in (int, float)
        and abs(values["weight"]) <= MAX_WEIGHT
        and isinstance(values["choices"], list)
        and all(isinstance(choice, str) for choice in values["choices"])
        and (values["position"] is None or type(values["position"]) is int)
        and abs(values["position"] or 0) <= LARGEST_KEY
    )


def _is_step(question_id: str, *drafts: str | None) -> bool:
    read = [json.loads(draft) for draft in drafts if draft is not None]
    return all(
        _is_question(draft["question"], question_id)
        and type(draft["base_version"]) is int
        and 0 <= draft["base_version"] <= LARGEST_KEY
        for draft in read
    )


def _are_prices(written: str) -> bool:
    prices = [Price(*price) for price in json.loads(written).values()]
    cached = [price.cached for price in prices if price.cached is not None]
    amounts = cached + [
        amount for price in prices for amount in (price.input, price.output, price.batch)
    ]
    return all(type(amount) in (int, float) and amount >= 0 for amount in amounts)


def _are_filters(written: str) -> bool:
    return all(
        {type(bound) for bound in one["thresholds"].values()} <= {int, float, bool, type(None)}
        and {type(key) for key in one["fell"]} <= {int}
        for one in json.loads(written).values()
    )


_NEEDS = {"best": set(), "pair": {"first", "second"}, "width": {"half_width"}, "budget": {"budget"}}
"""Fields of the goal of an audit by its aim."""
_GOAL = {"half_width": (int, float), "budget": (int, float), "first": (str,), "second": (str,)}
"""Types of these fields."""


def _is_goal(written: str) -> bool:
    goal = json.loads(written)
    given = goal.keys() - {"aim"}
    return _NEEDS[goal["aim"]] <= given and all(type(goal[name]) in _GOAL[name] for name in given)


def _is_given(written: str) -> bool:
    content = json.loads(written)
    return (
        set(content) == {"passages", "answer"}
        and isinstance(content["answer"], str | None)
        and all(
            not fault_of_id(passage_id, True)
            and isinstance(text, str | None)
            and type(score) in (int, float)
            and math.isfinite(score)
            for passage_id, text, score in content["passages"]
        )
    )


def _is_kept(form: str, content: str) -> bool:
    source, report = Source("kept.jsonl", data=content.encode()), Report()
    if form in (REPORT, query_files.TOPIC):
        is_read = bool(
            read_responses([source], report)
            if form == REPORT
            else query_files.read_queries(source, report)
        )
    else:
        is_read = [kept_object.form for kept_object in read_bank(source, report).kept] == [form]
    return is_read and not report.problems


REFERENCES: Final = tuple(
    line.split()
    for line in """
    subtopics query_key queries query_key
    passages text_key passage_texts text_key
    rankings run_key runs run_key
    rankings query_key queries query_key
    rankings passage_key passages passage_key
    judgments source_key sources source_key
    judgments query_key queries query_key
    judgments passage_key passages passage_key
    listed query_key queries query_key
    listed passage_key passages passage_key
    pool query_key queries query_key
    pool passage_key passages passage_key
    board_scores board_key boards board_key
    board_query_scores board_key boards board_key
    questions query_key queries query_key
    question_revisions question_key questions question_key
    question_revisions version bank_versions version
    question_revisions text_key question_texts text_key
    question_revisions parent_revision question_revisions revision_key
    drafts query_key queries query_key
    grades grader_key graders grader_key
    grades question_text_key question_texts text_key
    grades passage_text_key passage_texts text_key
    grades job_key jobs job_key
    failures grader_key graders grader_key
    failures question_text_key question_texts text_key
    failures passage_text_key passage_texts text_key
    failures job_key jobs job_key
    call_batches job_key jobs job_key
    call_batch_pairs batch_key call_batches batch_key
    call_batch_pairs question_text_key question_texts text_key
    call_batch_pairs passage_text_key passage_texts text_key
    kept_replies job_key jobs job_key
    kept_replies question_text_key question_texts text_key
    kept_replies passage_text_key passage_texts text_key
    overrides question_key questions question_key
    overrides passage_key passages passage_key
    overrides question_text_key question_texts text_key
    overrides passage_text_key passage_texts text_key
    generations query_key queries query_key
    generations passage_key passages passage_key
    proposals generation_key generations generation_key
    items question_key questions question_key
    items source_passage_key passages passage_key
    retrieved retrieval_key retrievals retrieval_key
    retrieved question_key questions question_key
    retrieved passage_key passages passage_key
    proposed_items proposal_key proposals proposal_key
    item_categories question_key questions question_key
    publications pool_key published_pools pool_key
    publications override_keys overrides override_key
    published_passages pool_key published_pools pool_key
    published_passages query_key queries query_key
    published_passages passage_key passages passage_key
    published_passages text_key passage_texts text_key
    published_queries publication_key publications publication_key
    published_queries query_key queries query_key
    published_awaited publication_key publications publication_key
    published_awaited text_key question_texts text_key
    published_awaited revision_keys question_revisions revision_key
    published_awaited override_keys overrides override_key
    settlings query_key queries query_key
    settlings passage_key passages passage_key
    settlings question_key questions question_key
    settlings touched_question_key questions question_key
    responses run_key runs run_key
    responses query_key queries query_key
    response_sentences passage_key passages passage_key
    gold_passages query_key queries query_key
    gold_passages passage_key passages passage_key
    gold_runs run_key runs run_key
    ranked_runs run_key runs run_key
    student_factors student_key students student_key
    answers student_key students student_key
    answers item_text_key question_texts text_key
    answers sitting_key jobs job_key
    generated_answers generator_key generators generator_key
    generated_answers question_text_key question_texts text_key
    generated_answers context_keys passage_texts text_key
    generated_answers text_key answer_texts text_key
    generated_answers answer_job_key jobs job_key
    comparisons judge_key answer_judges judge_key
    comparisons question_text_key question_texts text_key
    comparisons answer_text_key answer_texts text_key
    comparisons reference_keys answer_texts text_key
    comparisons answer_job_key jobs job_key
    answer_verdicts query_key queries query_key
    answer_verdicts question_text_key question_texts text_key
    answer_verdicts answer_text_key answer_texts text_key
    answer_cases query_key queries query_key
    support_values question_text_key question_texts text_key
    support_values passage_text_key passage_texts text_key
    guidelines query_key queries query_key
    query_marks query_key queries query_key
    doubles query_key queries query_key
    doubles passage_keys passages passage_key
    double_turns double_key doubles double_key
    adjudications double_key doubles double_key
    adjudications passage_key passages passage_key
    adjudications question_key questions question_key
    adjudications override_key overrides override_key
    dues query_key queries query_key
    answer_cases generator_key generators generator_key
    frozen_queries freeze_key freezes freeze_key
    frozen_queries query_key queries query_key
    audit_runs audit_key audits audit_key
    audit_runs run_key runs run_key
    audit_queries audit_key audits audit_key
    audit_queries query_key queries query_key
    audit_ranks audit_key audits audit_key
    audit_ranks run_key runs run_key
    audit_ranks query_key queries query_key
    audit_ranks passage_key passages passage_key
    audit_batches audit_key audits audit_key
    audit_chances batch_key audit_batches batch_key
    audit_chances query_key queries query_key
    audit_chances passage_key passages passage_key
    audit_claims batch_key audit_batches batch_key
    audit_claims query_key queries query_key
    audit_verdicts batch_key audit_batches batch_key
    audit_verdicts query_key queries query_key
    audit_verdicts passage_key passages passage_key
    audit_looks batch_key audit_batches batch_key
    audit_looks query_key queries query_key
    audit_looks passage_key passages passage_key
    audit_ends audit_key audits audit_key
    audit_ends batch_key audit_batches batch_key
    cascade_passages cascade_key cascades cascade_key
    cascade_passages query_key queries query_key
    cascade_passages passage_key passages passage_key
    kept_objects query_key queries query_key
    repairs question_key questions question_key
    repairs grader_key graders grader_key
    seals question_key questions question_key
    probe_answers grader_key graders grader_key
    probe_answers question_text_key question_texts text_key
    probe_answers passage_text_key passage_texts text_key
    grader_cards grader_key graders grader_key
    sentinel_answers grader_key graders grader_key
    sentinel_answers question_text_key question_texts text_key
    sentinel_answers passage_text_key passage_texts text_key
    """.strip().splitlines()
)
"""Table and column, then the table and column that must have every value of it. Columns may hold
lists.
"""

KEYS: Final = (
    ("subtopics", ("query_key", "subtopic_id")),
    ("passages", ("passage_key",)),
    ("passages", ("passage_id",)),
    ("passage_texts", ("text_key",)),
    ("passage_texts", ("text",)),
    ("questions", ("question_key",)),
    ("questions", ("question_id",)),
    ("question_texts", ("text_key",)),
    ("question_texts", ("text",)),
    ("rankings", ("run_key", "query_key", "passage_key")),
    ("judgments", ("source_key", "query_key", "passage_key")),
    ("listed", ("query_key", "passage_key")),
    ("pool", ("query_key", "passage_key")),
    ("board_scores", ("board_key", "run")),
    ("kept_objects", ("form", "query_key", "name")),
    ("sentinel_answers", ("grader_key", "question_text_key", "passage_text_key", "round")),
    ("board_query_scores", ("board_key", "run", "query_id")),
    ("question_revisions", ("revision_key",)),
    ("question_revisions", ("question_key", "version")),
    ("draft_steps", ("author", "step", "question_id")),
    ("grades", ("grader_key", "question_text_key", "passage_text_key")),
    ("responses", ("run_key", "query_key")),
    ("published_passages", ("pool_key", "query_key", "passage_key")),
    ("published_queries", ("publication_key", "query_key")),
    ("gold_passages", ("query_key", "passage_key")),
    ("items", ("question_key",)),
    ("retrieved", ("retrieval_key", "question_key", "passage_key")),
    ("proposed_items", ("proposal_key",)),
    ("item_categories", ("question_key", "scheme")),
    ("answer_texts", ("text",)),
    ("frozen_queries", ("freeze_key", "query_key")),
    ("call_batch_pairs", ("batch_key", "question_text_key", "passage_text_key")),
    ("kept_replies", ("job_key", "name")),
    ("audit_runs", ("audit_key", "run_key")),
    ("audit_queries", ("audit_key", "query_key")),
    ("audit_ranks", ("audit_key", "run_key", "query_key", "passage_key")),
    ("audit_batches", ("audit_key", "number")),
    ("audit_chances", ("batch_key", "query_key", "passage_key")),
    ("cascade_passages", ("cascade_key", "query_key", "passage_key")),
)
"""Columns whose values together occur once, for tables without such a constraint."""

RULES: Final = (
    _value_rule("settings", "no-setting-name", "length(name) > 0", "a setting has no name"),
    _value_rule(
        "settings",
        "invalid-pool-depth",
        "name <> 'pool_depth' OR coalesce(try_cast(value AS INTEGER) >= 1, false)",
        "the pool depth is not a whole number from 1",
    ),
    _value_rule(
        "settings",
        "invalid-min-judgment",
        f"name <> '{SETTING_OF_MIN_JUDGMENT}' OR try_cast(value AS INTEGER) IS NOT NULL",
        "the min judgment is not a whole number",
    ),
    _value_rule(
        "settings",
        "invalid-hold-out",
        f"name <> '{HOLD_OUT}' OR regexp_full_match(value, '{HOLD_OUT_FORM}')",
        "the share of held-out judgments is invalid",
    ),
    *(
        _value_rule(
            table,
            "invalid-id",
            rf"{_id_condition(column)} AND NOT regexp_matches({column}, '\s')",
            f"a {_column_words(column)} is invalid",
        )
        for table, column in (("queries", "query_id"), ("passages", "passage_id"))
    ),
    *(
        _value_rule(
            table, "invalid-id", _id_condition(column), f"a {_column_words(column)} is invalid"
        )
        for table, column in (
            ("questions", "question_id"),
            ("subtopics", "subtopic_id"),
            ("proposed_items", "question_id"),
        )
    ),
    *(
        _value_rule(
            table, "invalid-name", _id_condition(column), f"the {_column_words(column)} is invalid"
        )
        for table, column in (
            ("runs", "name"),
            ("retrievals", "name"),
            ("students", "name"),
            ("generators", "name"),
            ("answer_judges", "name"),
            ("freezes", "name"),
            ("freezes", "system"),
            ("audits", "name"),
            ("audits", "source"),
        )
    ),
    *(
        _value_rule(table, "not-a-count", f"{column} {_COUNT}", f"{column} is not a count")
        for table, columns in _COUNTED.items()
        for column in columns
    ),
    *(
        _value_rule(
            table,
            "not-a-json-object",
            _json_condition(column, "OBJECT"),
            f"{column} is not a JSON object",
        )
        for table, column in (
            ("jobs", "request"),
            ("activity", "detail"),
            ("named_graders", "parameters"),
            ("publications", "manifest"),
            ("students", "parameters"),
            ("generators", "parameters"),
            ("answer_judges", "parameters"),
            ("audits", "policy"),
            ("audits", "goal"),
            ("audit_batches", "design"),
        )
    ),
    *(
        _value_rule(table, "rank-below-1", f"rank BETWEEN 1 AND {LARGEST_KEY}", "a rank is below 1")
        for table in ("rankings", "retrieved", "audit_ranks")
    ),
    *(
        _value_rule(
            table,
            "judgment-out-of-range",
            f"abs(value::INTEGER) <= {LARGEST}",
            "a judgment is out of range",
        )
        for table in ("judgments", "audit_verdicts")
    ),
    *(
        _value_rule(
            table,
            "rating-out-of-range",
            f"rating BETWEEN 0 AND {MAX_RATING}",
            f"the rating is not from 0 to {MAX_RATING}",
        )
        for table in ("overrides", "settlings", "comparisons")
    ),
    *(
        _value_rule(
            table,
            "confidence-out-of-range",
            f"confidence {_SHARE}",
            "the confidence is not a number from 0 to 1",
        )
        for table in ("grades", "comparisons")
    ),
    _value_rule("jobs", "cost-below-0", "cost >= 0", "the cost is below 0"),
    _value_rule(
        "jobs",
        "unknown-subject",
        " OR ".join(
            f"(kind = '{kind}' AND subject_key IN (SELECT {key} FROM {table}))"
            for kind, (table, key, _) in JOB_SUBJECTS.items()
        ),
        "the job asks an unknown grader, examinee or model",
    ),
    *(
        _value_rule(
            table,
            "half-withdrawn",
            "(withdrawn_by IS NULL) = (withdrawn_at IS NULL)",
            "the author or the time of the withdrawal is missing",
        )
        for table in ("overrides", "answer_cases")
    ),
    *(
        _value_rule(
            table,
            "invalid-choices",
            _CHOICES,
            "the choices are not a list of texts",
        )
        for table in ("question_revisions", "proposed_items")
    ),
    *(
        _value_rule(table, code, holds, reason)
        for table in ("items", "proposed_items")
        for code, holds, reason in (
            ("empty-topic", "topic IS NULL OR length(trim(topic)) > 0", "the topic is empty"),
            ("seed-below-0", "shuffle_seed >= 0", "the seed is below 0"),
        )
    ),
    *(
        _value_rule(table, "invalid-turn", "turn BETWEEN 1 AND 2", "the turn is not 1 or 2")
        for table in ("audit_claims", "audit_verdicts")
    ),
    *(
        _value_rule(
            table, "position-out-of-range", f"position {_PLACE}", "the position is out of range"
        )
        for table in (
            "question_revisions",
            "subtopics",
            "listed",
            "pool",
            "published_passages",
            "response_sentences",
            "gold_passages",
            "audit_runs",
            "audit_queries",
        )
    ),
    *(
        _value_rule(
            table,
            f"unknown-{column}",
            f"{column} IN {_sql_list(values)}",
            f"the {column} is not one of {', '.join(values)}",
        )
        for table, column, values in (
            ("question_revisions", "kind", KINDS),
            ("proposals", "state", STATES),
            ("settlings", "act", get_args(Act)),
            ("members", "role", ROLES),
            ("double_turns", "act", TURNS),
            ("model_families", "part", PARTS),
            ("item_categories", "scheme", SCHEMES),
            (
                "call_batches",
                "state",
                ("planned", "uploaded", "sent", "taken", "failed", "dropped"),
            ),
        )
    ),
    _value_rule(
        "question_texts",
        "no-text-or-placeholder",
        "text IS NOT NULL OR placeholder IS NOT NULL",
        "a question has neither a text nor an id",
    ),
    _value_rule(
        "pool",
        "pool-text-differs",
        "t.text_key IS NOT DISTINCT FROM p.text_key",
        "the pool has a different text of the passage",
        "JOIN passages p USING (passage_key)",
    ),
    _value_rule(
        "bank_versions",
        "missing-bank-version",
        "version BETWEEN 1 AND (SELECT count(*) FROM bank_versions)",
        "a bank version is missing",
    ),
    _value_rule(
        "question_revisions",
        "weight-out-of-range",
        f"abs(weight) <= {MAX_WEIGHT}",
        f"the weight is not a number from {-MAX_WEIGHT:,.0f} to {MAX_WEIGHT:,.0f}",
    ),
    _value_rule(
        "question_revisions",
        "control-character",
        "NOT contains(x.text, chr(0)) AND NOT contains(x.text, chr(31))",
        "the question's text has a control character",
        "JOIN question_texts x USING (text_key)",
    ),
    _value_rule(
        "question_revisions",
        "parent-of-another-question",
        "r.question_key IS NULL OR r.question_key = t.question_key",
        "a revision follows a revision of another question",
        "LEFT JOIN question_revisions r ON r.revision_key = t.parent_revision",
    ),
    _value_rule(
        "drafts",
        "unknown-base-version",
        "base_version BETWEEN 0 AND (SELECT count(*) FROM bank_versions)",
        "an unsaved change starts from an unknown bank version",
    ),
    _value_rule(
        "draft_steps",
        "step-out-of-range",
        f"step BETWEEN 1 AND {LARGEST_KEY}",
        "the step number is out of range",
    ),
    _value_rule(
        "graders",
        "scale-out-of-range",
        f"max_rating BETWEEN 1 AND {MAX_RATING}",
        f"the highest rating of the scale is not from 1 to {MAX_RATING}",
    ),
    _value_rule(
        "grades",
        "rating-off-scale",
        "rating BETWEEN 0 AND g.max_rating",
        "the rating is not on the grader's scale",
        "JOIN graders g USING (grader_key)",
    ),
    _value_rule(
        "sentinel_answers",
        "rating-off-scale",
        "(rating IS NULL OR rating BETWEEN 0 AND g.max_rating) AND round >= 0",
        "the rating is not on the grader's scale, or the round is below 0",
        "JOIN graders g USING (grader_key)",
    ),
    _value_rule(
        "probe_answers",
        "rating-off-scale",
        "before BETWEEN 0 AND g.max_rating"
        " AND (rating IS NULL OR rating BETWEEN 0 AND g.max_rating)",
        "a rating is not on the grader's scale",
        "JOIN graders g USING (grader_key)",
    ),
    _value_rule(
        "seals",
        "half-opened",
        "(opened_by IS NULL) = (opened_at IS NULL)",
        "the seal is neither open nor closed",
    ),
    _value_rule(
        "grades",
        "invalid-distribution",
        f"distribution IS NULL OR (len(distribution) <= {MAX_RATING + 1} AND"
        f" list_bool_and(list_transform(distribution, lambda p: coalesce(p {_SHARE}, false))))",
        "the probabilities of ratings are not numbers from 0 to 1",
    ),
    _value_rule(
        "call_batches",
        "batch-without-id",
        "(state IN ('planned', 'dropped') OR file_id IS NOT NULL)"
        " AND (state <> 'sent' OR batch_id IS NOT NULL)",
        "a batch was sent, but its id is missing",
    ),
    _value_rule(
        "call_batch_pairs", "place-below-0", "place >= 0", "the position in a batch is below 0"
    ),
    _value_rule(
        "kept_replies",
        "neither-answer-nor-error",
        "(content IS NULL) = (error IS NOT NULL)",
        "a reply needs either an answer or an error",
    ),
    _value_rule(
        "publications",
        "unknown-grades",
        "grades BETWEEN 0 AND (SELECT count(*) FROM grades)"
        " AND failures BETWEEN 0 AND (SELECT count(*) FROM failures)",
        "the publication counts grades that are missing",
    ),
    _value_rule("responses", "words-below-0", "words >= 0", "the number of words is below 0"),
    _value_rule(
        "response_sentences",
        "sentence-out-of-passage",
        "0 <= begins AND begins <= ends AND ends <= coalesce(length(x.text), ends)",
        "a sentence is outside its passage",
        "JOIN passages p USING (passage_key) LEFT JOIN passage_texts x ON x.text_key = p.text_key",
    ),
    _value_rule(
        "gold_runs",
        "several-gold-runs",
        "(SELECT count(*) FROM gold_runs) = 1",
        "several runs hold gold passages",
    ),
    _value_rule(
        "students", "k-out-of-range", "k >= 1 AND icl >= 0", "k is below 1, or icl is below 0"
    ),
    _value_rule(
        "student_factors",
        "invalid-factor",
        f"{_id_condition('factor')} AND length(level) > 0",
        "a factor or its level has no name",
    ),
    _value_rule(
        "answers",
        "neither-answer-nor-reason",
        "(correct IS NULL) = (reason IS NOT NULL)",
        "an answer is neither right, wrong, nor failed with a reason",
    ),
    _value_rule("answers", "choice-out-of-range", "chosen >= 0", "the choice is out of range"),
    _value_rule(
        "answers",
        "not-finite",
        "list_bool_and(list_transform(scores, lambda s: coalesce(isfinite(s), false)))",
        "a score of a choice is not a finite number",
    ),
    _value_rule(
        "queries",
        "no-first-answer",
        "further_answers IS NULL OR answer IS NOT NULL",
        "there are further answers, but the first one is missing",
    ),
    _value_rule(
        "generated_answers",
        "neither-answer-nor-reason",
        "(text_key IS NULL) = (reason IS NOT NULL)",
        "an answer needs either a text or a reason why it is missing",
    ),
    _value_rule(
        "generated_answers",
        "unknown-context",
        "(context_keys IS NULL) = (run IS NOT NULL)",
        "an answer needs either passages or a run",
    ),
    _value_rule(
        "generated_answers",
        "settings-out-of-range",
        "draw >= 1 AND k >= 1 AND seed >= 0 AND shortened >= 0 AND temperature >= 0",
        "a draw, k, seed, temperature or length is out of range",
    ),
    _value_rule(
        "comparisons",
        "neither-rating-nor-reason",
        "(rating IS NULL) = (reason IS NOT NULL)",
        "a comparison has both a rating and a reason for its absence, or neither",
    ),
    _value_rule(
        "comparisons",
        "no-reference",
        "len(reference_keys) > 0",
        "the reference answers are missing",
    ),
    _value_rule(
        "answer_verdicts",
        "no-source",
        "length(source) > 0",
        "an answer check by a person has no source",
    ),
    _value_rule(
        "support_values",
        "value-out-of-range",
        "value BETWEEN 0 AND 2",
        "the value is not from 0 to 2",
    ),
    _value_rule("answer_cases", "k-out-of-range", "k >= 1", "k is below 1"),
    _value_rule(
        "answer_cases",
        "invalid-case",
        "regexp_full_match(case_name, '[A-Z]') AND regexp_full_match(proposed, '[A-Z]?')",
        "a case name is not a single letter from A to Z",
    ),
    _value_rule(
        "freezes",
        "no-request",
        "length(url) > 0 AND length(asked) > 0",
        "the address or the request is empty",
    ),
    _value_rule(
        "freezes",
        "not-a-count",
        f"queries {_COUNT} AND failed {_COUNT} AND failed <= queries",
        "the number of queries or of failed queries is invalid",
    ),
    _value_rule(
        "freezes",
        "half-ended",
        "(ended_at IS NULL) = (queries IS NULL) AND (ended_at IS NULL) = (failed IS NULL)",
        "the snapshot is neither open nor ended",
    ),
    _value_rule(
        "frozen_queries",
        "freeze-ended",
        "(SELECT ended_at IS NULL FROM freezes f WHERE f.freeze_key = t.freeze_key)",
        "the snapshot has ended",
    ),
    _value_rule("frozen_queries", "time-below-0", "seconds >= 0", "the time is below 0"),
    _value_rule(
        "audits",
        "judgment-out-of-range",
        f"highest BETWEEN 1 AND {LARGEST}",
        "the highest judgment is out of range",
    ),
    _value_rule(
        "audits",
        "settings-out-of-range",
        "batch_size >= 1 AND looks >= 1 AND alpha > 0 AND alpha < 1 AND seed >= 0",
        "the batch size, number of looks, alpha or seed is out of range",
    ),
    _value_rule(
        "audit_batches",
        "settings-out-of-range",
        "number >= 1 AND size >= 1 AND seed >= 0",
        "the number, size or seed of a batch is out of range",
    ),
    _value_rule(
        "audit_chances",
        "chance-out-of-range",
        "chance > 0 AND chance <= 1",
        "a sampling probability is not above 0 and at most 1",
    ),
    _value_rule("audit_chances", "size-below-0", "size >= 0", "the size is below 0"),
    _value_rule(
        "audit_chances",
        "known-and-drawn",
        "NOT drawn OR known IS NULL",
        "an already judged passage was drawn",
    ),
    _value_rule(
        "audit_chances",
        "doubled-and-not-drawn",
        "drawn OR NOT doubled",
        "a passage is to be judged twice but was not drawn",
    ),
    _value_rule(
        "audit_verdicts",
        "invalid-verdict",
        f"said IN {_sql_list(SAID)} AND (said = 'judged') = (value IS NOT NULL)",
        f"the result is not one of {', '.join(SAID)}, or does not match its value",
    ),
    _value_rule(
        "members",
        "no-name",
        "length(identity) > 0 AND length(name) > 0",
        "a person has no identity or no name",
    ),
    _value_rule(
        "guidelines",
        "too-long",
        f"length(text) <= {LONGEST_GUIDELINES}",
        "the guidelines are too long",
    ),
    _value_rule(
        "doubles",
        "wanted-out-of-range",
        f"wanted BETWEEN 2 AND {MOST_WANTED}",
        f"the number of assessors is not from 2 to {MOST_WANTED}",
    ),
    _value_rule(
        "doubles",
        "no-passage",
        "passage_keys IS NULL OR len(passage_keys) > 0",
        "the double assignment has no passages",
    ),
    _value_rule(
        "doubles",
        "half-ended",
        "(ended_by IS NULL) = (ended_at IS NULL)",
        "the author or the time of the end is missing",
    ),
    _value_rule(
        "doubles",
        "overlapping-doubles",
        "ended_at IS NOT NULL OR NOT EXISTS (SELECT * FROM doubles d"
        " WHERE d.query_key = t.query_key AND d.double_key < t.double_key AND d.ended_at IS NULL"
        " AND (d.passage_keys IS NULL OR t.passage_keys IS NULL"
        " OR list_has_any(d.passage_keys, t.passage_keys)))",
        "another open double assignment has one of the passages",
    ),
    _value_rule("double_turns", "no-name", "length(name) > 0", "a person has no name"),
    _value_rule(
        "adjudications",
        "value-out-of-range",
        f"value BETWEEN 0 AND if(question_key IS NULL, {max(SCALE)}, {MAX_RATING})",
        "a decision is out of range",
    ),
    _value_rule(
        "adjudications",
        "override-differs",
        "(override_key IS NOT NULL) = (question_key IS NOT NULL AND value IS NOT NULL)",
        "a decision on a rating has no override, or a decision on a judgment has one",
    ),
    _value_rule(
        "dues",
        "time-out-of-range",
        f"due BETWEEN DATE '{_EARLIEST:%Y-%m-%d}' AND DATE '{_LATEST:%Y-%m-%d}'",
        "the due date is out of range",
    ),
    _value_rule("query_marks", "no-name", "length(author) > 0", "the author is missing"),
    *(_uniqueness_rule(table, *columns) for table, columns in KEYS),
    *(_reference_rule(*line) for line in REFERENCES),
    _orphan_rule(
        "questions",
        "no-revision",
        "question_revisions USING (question_key)",
        "a question has no revision",
    ),
    _orphan_rule(
        "bank_versions",
        "no-revision",
        "question_revisions USING (version)",
        "a bank version has no revision",
    ),
    _orphan_rule(
        "published_pools",
        "no-publication",
        "publications USING (pool_key)",
        "a pool has no publication",
    ),
    _orphan_rule(
        "publications",
        "no-pool",
        "published_passages USING (pool_key)",
        "a publication has no pool",
    ),
    _orphan_rule(
        "replacements",
        "no-activity",
        "activity USING (activity_key)",
        "a replacement is missing in the activity log",
    ),
    _orphan_rule(
        "audit_batches", "no-passage", "audit_chances USING (batch_key)", "a batch has no passage"
    ),
    _python_rule(
        "contents",
        "settings",
        "invalid-schedule",
        "the backup schedule cannot be read",
        "value",
        read_schedule,
        f"WHERE name = '{SETTING_OF_BACKUPS}'",
    ),
    _python_rule(
        "contents",
        "settings",
        "invalid-prices",
        "the price of a model is invalid",
        "value",
        _are_prices,
        "WHERE name = 'prices'",
    ),
    _python_rule(
        "contents",
        "settings",
        "invalid-terms",
        "the terms of data sets cannot be read",
        "value",
        read_terms,
        f"WHERE name = '{SETTING_OF_TERMS}'",
    ),
    _python_rule(
        "contents",
        "settings",
        "invalid-item-filters",
        "the threshold of a filter is not a number",
        "value",
        _are_filters,
        "WHERE name = 'item filters'",
    ),
    _python_rule(
        "contents",
        "graders",
        "invalid-grader",
        "the stored settings of the grader cannot be read",
        SPEC_COLUMNS,
        lambda *row: stored_spec(row).in_form,
    ),
    _python_rule(
        "contents",
        "graders",
        "fingerprint-differs",
        "the fingerprint does not match the grader",
        f"fingerprint, {SPEC_COLUMNS}",
        lambda fingerprint, *row: fingerprint in stored_spec(row).fingerprints,
    ),
    _python_rule(
        "contents",
        "drafts",
        "invalid-draft",
        "the unsaved change is not a question",
        "content, question_id",
        lambda content, question_id: _is_question(json.loads(content), question_id),
    ),
    _python_rule(
        "contents",
        "draft_steps",
        "invalid-draft",
        "the unsaved change is not a question",
        'question_id, "before", "after"',
        _is_step,
    ),
    _python_rule(
        "contents",
        "prompts",
        "invalid-prompt",
        "the prompt cannot be read, or its name differs",
        "name, content",
        lambda name, content: read_prompt(content, name).name == name,
    ),
    _python_rule(
        "contents",
        "audits",
        "invalid-measure",
        "the measure cannot be audited",
        "measure",
        linear_measure,
    ),
    _python_rule(
        "contents",
        "audits",
        "invalid-policy",
        "the scoring settings cannot be read",
        "policy",
        lambda policy: Policy(**json.loads(policy)),
    ),
    _python_rule("contents", "audits", "invalid-goal", "the goal cannot be read", "goal", _is_goal),
    _python_rule(
        "contents",
        "frozen_queries",
        "invalid-response",
        "the response of the target cannot be read",
        "given",
        _is_given,
    ),
    _python_rule(
        "contents",
        "kept_objects",
        "invalid-object",
        "the imported object cannot be read",
        "form, content",
        _is_kept,
    ),
    _python_rule(
        "hashes",
        "prompts",
        "hash-differs",
        "the hash does not match the prompt",
        "hash, content",
        lambda digest, content: read_prompt(content, "prompt").hash == digest,
    ),
    _python_rule(
        "hashes",
        "publications",
        "manifest-differs",
        "the manifest belongs to another publication",
        "manifest, publication_key",
        lambda manifest, key: json.loads(manifest).get("publication") == key,
    ),
    Rule(
        "hashes",
        "published_pools",
        "hash-differs",
        "the hash does not match the pooled passages",
        "SELECT rowid FROM published_pools o WHERE sha256 <> (SELECT "
        + POOL_SHA256
        + " FROM published_passages p"
        " JOIN queries USING (query_key) JOIN passages USING (passage_key)"
        " WHERE p.pool_key = o.pool_key)",
    ),
    Rule(
        "revisions",
        "bank_versions",
        "gap-in-versions",
        "the version numbers have a gap",
        "SELECT rowid FROM bank_versions QUALIFY version <> row_number() OVER (ORDER BY version)",
    ),
    Rule(
        "revisions",
        "question_revisions",
        "parent-differs",
        "a revision does not follow the previous revision",
        "SELECT rowid FROM question_revisions QUALIFY parent_revision IS DISTINCT FROM"
        " lag(revision_key) OVER (PARTITION BY question_key ORDER BY version)",
    ),
    Rule(
        "revisions",
        "question_revisions",
        "revision-out-of-order",
        "a later revision has a lower key",
        "SELECT rowid FROM question_revisions QUALIFY revision_key <="
        " lag(revision_key) OVER (PARTITION BY question_key ORDER BY version)",
    ),
)
"""The explicit rules; `find_rules` adds those that follow from types, names and indexes of columns.
"""

BY_TYPE: Final = {
    "DOUBLE": ("not-finite", "isfinite({0})", "is not a finite number"),
    "FLOAT": ("not-finite", "isfinite({0})", "is not a finite number"),
    "TIMESTAMP": (
        "time-out-of-range",
        f"{{0}} BETWEEN TIMESTAMP '{_EARLIEST}' AND TIMESTAMP '{_LATEST}'",
        "is out of range",
    ),
}
"""Code, condition and sentence for every column of a type."""


def find_rules(cursor: Cursor, tables: Collection[str]) -> Iterator[Rule]:
    """Yield the rules of some tables: explicit ones, and those from types, names and indexes of
    columns.
    """
    yield from (rule for rule in RULES if rule.table in tables)
    for table, column, type_ in cursor.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns()"
        " WHERE table_name IN (SELECT unnest(?)) ORDER BY ALL",
        [list(tables)],
    ).fetchall():
        name = f"t.{quoted_name(column)}"
        if type_ in BY_TYPE:
            code, holds, reason = BY_TYPE[type_]
            yield _value_rule(table, code, holds.format(name), f"{column} {reason}")
        if column.endswith("_key") and type_ == "INTEGER":
            least = NO_JOB if column == "job_key" else 1
            in_range = f"{name} BETWEEN {least} AND {LARGEST_KEY}"
            yield _value_rule(table, "key-out-of-range", in_range, f"{column} is out of range")
            late = f"SELECT rowid FROM {quoted_name(table)} t WHERE {name} > ({_LAST_KEY})"
            yield Rule(
                "keys", table, "key-not-given-out", f"{column} is above the last assigned key", late
            )
        if column == "replacement_key" and table != "replacements":
            yield _orphan_rule(
                table,
                "no-replacement",
                "replacements USING (replacement_key)",
                "the row belongs to no replacement",
            )
    for table, columns in cursor.execute(
        "SELECT table_name, constraint_column_names FROM duckdb_constraints()"
        " WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE')"
        " AND table_name IN (SELECT unnest(?)) ORDER BY ALL",
        [list(tables)],
    ).fetchall():
        yield _uniqueness_rule(table, *columns)


_LAST_KEY = "SELECT coalesce(max(last_value), 0) FROM duckdb_sequences() WHERE NOT temporary"


def find_faults(cursor: Cursor, checks: Collection[str] = IMPORTED) -> Iterator[Fault]:
    """Yield the rules of some checks that a project breaks.

    Args:
        cursor: to a project whose tables may hold anything that their columns allow.
        checks: names of the checks.
    """
    for rule in find_rules(cursor, filled_tables(cursor)):
        if rule.check in checks:
            yield from find_broken_rows(cursor, rule)


def find_broken_rows(cursor: Cursor, rule: Rule) -> Iterator[Fault]:
    """Yield one fault for the rows that break a rule, if any."""
    reason = rule.reason
    if rule.holds is None:
        count, first = cursor.execute(
            f"SELECT count(*), min(row) FROM ({rule.faulty}) f(row)"
        ).fetchall()[0]
    else:
        faulty_rows = []
        for row, *values in cursor.execute(rule.faulty).fetchall():
            try:
                if not rule.holds(*values):
                    faulty_rows.append((row, ""))
            except (
                ValueError,
                TypeError,
                KeyError,
                AttributeError,
                RecursionError,
                WorkbenchError,
            ) as error:
                faulty_rows.append((row, f" ({first_line(error)[:200]})"))
        count, (first, detail) = len(faulty_rows), faulty_rows[0] if faulty_rows else (None, "")
        reason += detail
    if count:
        yield Fault(rule.table, rule.code, reason, count, None if first is None else first + 1)


def filled_tables(cursor: Cursor) -> frozenset[str]:
    """Return the names of the tables that have rows, typically a third. Empty tables cannot break
    rules.
    """
    tables = (
        "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary ORDER BY ALL"
    )
    names = [name for (name,) in cursor.execute(tables).fetchall()]
    looks = (f"(SELECT {at} FROM {quoted_name(name)} LIMIT 1)" for at, name in enumerate(names))
    return frozenset(names[at] for (at,) in cursor.execute(" UNION ALL ".join(looks)).fetchall())


LONGEST_EXAMPLE = 200
"""Characters of a row shown as an example."""

RESTORE = (
    "Restore a backup (exam restore), or import an export of the project (exam import project)."
)
MEND = "Another program changed the file. Restore a backup (exam restore), or undo that change."


@dataclass(frozen=True)
class Finding:
    """A fault of a project.

    Args:
        check: name of the check that found it.
        code: the stable name of the broken rule, in kebab-case.
        table: the table; empty if the finding does not concern a single table.
        reason: the fault, as a sentence without a full stop.
        rows: number of faulty rows.
        example: the first faulty row.
        todo: how to correct it.
    """

    check: str
    code: str
    table: str
    reason: str
    rows: int
    example: str
    todo: str

    def __str__(self) -> str:
        where = f"{self.table}: " if self.table else ""
        example = f"; first: {self.example}" if self.example else ""
        return f"{where}{self.reason} ({self.rows:,} found{example}). {self.todo}"


@dataclass(frozen=True)
class Check:
    """A check of a project.

    Args:
        name: a single word.
        says: the condition that a sound project meets.
        todo: how to correct a fault.
        find: yields the faults and only reads. None: the rules of this check are evaluated.
    """

    name: str
    says: str
    todo: str
    find: Callable[[Project, Cursor], Iterator[Fault]] | None = None


def _block_faults(project: Project, cursor: Cursor) -> Iterator[Fault]:
    for table, reason in unreadable_tables(cursor):
        yield Fault(
            table,
            "unreadable-table",
            f"the table cannot be read ({reason[:LONGEST_EXAMPLE]})",
            1,
            None,
        )


def _schema_faults(project: Project, cursor: Cursor) -> Iterator[Fault]:
    names = migrations.migration_names()
    if tuple(migrations.applied_migrations(cursor)) != names:
        reason = f"the schema steps differ from this version, which ends with {names[-1]}"
        yield Fault("migrations", "steps-differ", reason, 1, None)
        return
    expected, present = expected_objects(names), read_objects(cursor)
    for differing, state in ((expected - present, "missing"), (present - expected, "foreign")):
        for kind, _, name, *_ in sorted(differing)[:1]:
            yield Fault(name, f"{state}-object", f"{state} or changed {kind}", len(differing), None)


def _key_faults(project: Project, cursor: Cursor) -> Iterator[Fault]:
    # After DuckDB replays the log of a file, it assigns correct keys. But the last key that it
    # reports is outdated until the file is opened again.
    return iter(()) if project.not_closed else find_faults(cursor, ["keys"])


def _pool_faults(project: Project, cursor: Cursor) -> Iterator[Fault]:
    due = f"({pool_rows(cursor)})"
    for code, reason, rows in (
        (
            "not-pooled",
            "a passage is missing in the pool",
            f"SELECT NULL FROM {due} due ANTI JOIN pool",
        ),
        (
            "wrongly-pooled",
            "a pooled passage is not listed, judged, gold or ranked high enough",
            f"SELECT pool.rowid FROM pool ANTI JOIN {due} due",
        ),
    ):
        yield from find_broken_rows(
            cursor, Rule("pool", "pool", code, reason, f"{rows} USING (query_key, passage_key)")
        )


def _publication_faults(project: Project, cursor: Cursor) -> Iterator[Fault]:
    for manifest in list_publications(project):
        try:
            remake_qrels(project, manifest)
        except WorkbenchError as error:
            yield Fault("publications", error.code, error.message.removesuffix("."), 1, None)


CHECKS: tuple[Check, ...] = (
    Check("file", "every block of the file is readable", RESTORE, _block_faults),
    Check("schema", "the tables, views and constraints match this version", MEND, _schema_faults),
    Check(
        "values",
        "every value is valid for its column (ratings on the grader's scale, ranks from 1, …)",
        MEND,
    ),
    Check("uniqueness", "no duplicate rows or keys", MEND),
    Check("references", "every key points to an existing row", MEND),
    Check("orphans", "no rows are left over from deleted data", MEND),
    Check(
        "contents", "stored JSON and YAML is readable, and graders match their fingerprints", MEND
    ),
    Check("hashes", "prompts, published pools and manifests match their hashes", MEND),
    Check("revisions", "bank versions and the revisions of each question have no gaps", MEND),
    Check("keys", "no key in use is above the last assigned key", MEND, _key_faults),
    Check(
        "pool",
        "the pool matches the lists, judgments, gold passages and runs",
        "Pool again with exam pool --depth N. exam pool shows the current depth.",
        _pool_faults,
    ),
    Check(
        "publications",
        "every publication can be reproduced byte for byte",
        "Restore a backup from the time of the publication (exam restore), and compare"
        " it with this project.",
        _publication_faults,
    ),
)
"""The checks of `exam check`, in this order: a fault found by an earlier check may cause those
found by later ones.
"""


def check_project(project: Project) -> dict[str, list[Finding]]:
    """Run all checks on a project; change and record nothing.

    Returns:
        The findings by the name of each check, in the order of `CHECKS`; empty lists in a sound
        project.
    """
    return {one.name: _run_check(project, one) for one in CHECKS}


def _run_check(project: Project, definition: Check) -> list[Finding]:
    def read_findings(cursor: Cursor) -> list[Finding]:
        broken_rules = (
            find_faults(cursor, [definition.name])
            if definition.find is None
            else definition.find(project, cursor)
        )
        return [
            Finding(
                definition.name,
                fault.code,
                fault.table,
                fault.reason,
                fault.rows,
                _example_row(cursor, fault),
                definition.todo,
            )
            for fault in list(broken_rules)
        ]

    try:
        return project.read(read_findings)
    except (duckdb.Error, WorkbenchError) as error:
        reason = error.message if isinstance(error, WorkbenchError) else first_line(error)
        failed = f"the check failed ({reason.removesuffix('.')})"
        todo = f"Try again: exam check. If it fails again: {RESTORE}"
        return [Finding(definition.name, "not-looked-at", "", failed, 1, "", todo)]


def _example_row(cursor: Cursor, fault: Fault) -> str:
    """Return the first faulty row as text, with column names."""
    if fault.first is None:
        return ""
    cursor.execute(f"SELECT * FROM {quoted_name(fault.table)} WHERE rowid = ?", [fault.first - 1])
    names = [column[0] for column in cursor.description or ()]
    row = cursor.fetchone() or ()
    shown = ", ".join(
        f"{name} {value}" for name, value in zip(names, row, strict=False) if value is not None
    )
    return shown if len(shown) <= LONGEST_EXAMPLE else shown[: LONGEST_EXAMPLE - 1] + "…"
