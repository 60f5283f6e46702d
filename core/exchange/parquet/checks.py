"""What the tables of a project have to be, so that everything can be computed from them: values, references, keys.

An imported project is checked against these tables of rules, each by one statement over all rows. They say what the
doors of the program let in: a project that was made by it passes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final, get_args

import duckdb

from core.bank import SCHEMES, STATES
from core.catalogue import SPEC_COLUMNS, stored_spec
from core.errors import WorkbenchError
from core.exchange.parquet.manifest import LARGEST_KEY
from core.formats import LARGEST
from core.graders import read_prompt
from core.labels import Policy
from core.measures.audit import linear_measure
from core.project import (
    LONGEST_GUIDELINES,
    MOST_WANTED,
    PARTS,
    ROLES,
    SCALE,
    SETTING_OF_BACKUPS,
    TURNS,
    quoted_name,
    read_schedule,
)
from core.text import LONGEST_ID, fault_of_id
from core.types import KINDS, MAX_RATING, MAX_WEIGHT, SAID, Act, Question

Cursor = duckdb.DuckDBPyConnection

NO_JOB = 0
"""In the place of a job, where grades came without one."""


@dataclass(frozen=True)
class Fault:
    """Rows of a table that break a rule.

    Args:
        reason: what is wrong, as a sentence without a full stop.
        rows: how many there are.
        first: number of the first of them in the table's file, from 1; None where no single row is at fault.
    """

    table: str
    reason: str
    rows: int
    first: int | None

    def __str__(self) -> str:
        where = "" if self.first is None else f" (row {self.first:,}{'' if self.rows == 1 else ' is the first'})"
        return f"{self.rows:,} row{'' if self.rows == 1 else 's'}: {self.reason}{where}"


@dataclass(frozen=True)
class Rule:
    """What holds for every row of a table.

    Args:
        holds: SQL over the row `t`; a row for which it is unknown, as for a missing value, passes.
        reason: what is wrong with a row for which it does not hold.
        beside: joins that `holds` needs.
    """

    table: str
    holds: str
    reason: str
    beside: str = ""


def _one_of(values: tuple[str, ...]) -> str:
    return "(" + ", ".join(f"'{value}'" for value in values) + ")"


def _id(column: str) -> str:
    return (
        rf"length({column}) BETWEEN 1 AND {LONGEST_ID} AND NOT regexp_matches({column}, '[\p{{Cc}}\p{{Zl}}\p{{Zp}}]')"
    )


def _json(column: str, kind: str) -> str:
    # In one expression: what follows an AND may be computed for rows for which what precedes it does not hold.
    return f"CASE WHEN json_valid({column}) THEN coalesce(json_type({column}) = '{kind}', false) ELSE false END"


def _texts(column: str) -> str:
    return (
        f"CASE WHEN {_json(column, 'ARRAY')} THEN list_bool_and(list_transform("
        f"json_extract({column}, '$[*]'), lambda c: json_type(c) = 'VARCHAR')) ELSE false END"
    )


_EARLIEST, _LATEST = datetime(1970, 1, 1), datetime(2200, 1, 1)
_SHARE = "BETWEEN 0 AND 1"
_PLACE = f"BETWEEN {-LARGEST_KEY} AND {LARGEST_KEY}"
_COUNT = f"BETWEEN 0 AND {1 << 53}"

_USED = ("calls", "input_tokens", "output_tokens", "cached_tokens", "thinking_tokens")

RULES: Final = (
    Rule("settings", "length(name) > 0", "a setting has no name"),
    Rule(
        "settings",
        "name <> 'pool_depth' OR coalesce(try_cast(value AS INTEGER) >= 1, false)",
        "the pool depth is no whole number from 1",
    ),
    Rule("queries", _id("query_id") + r" AND NOT regexp_matches(query_id, '\s')", "a query id is no id"),
    Rule("passages", _id("passage_id") + r" AND NOT regexp_matches(passage_id, '\s')", "a passage id is no id"),
    Rule("questions", _id("question_id"), "a question id is no id"),
    Rule("runs", _id("name"), "the name of a run is no name"),
    Rule("subtopics", _id("subtopic_id"), "a subtopic id is no id"),
    Rule("rankings", f"rank BETWEEN 1 AND {LARGEST_KEY}", "a rank is below 1"),
    Rule("judgments", f"abs(value::INTEGER) <= {LARGEST}", "a judgment is out of range"),
    Rule("question_texts", "text IS NOT NULL OR placeholder IS NOT NULL", "a question has neither words nor an id"),
    Rule("pool", "t.text_key IS NOT DISTINCT FROM p.text_key", "a pooled passage has another text than the passage",
         "JOIN passages p USING (passage_key)"),
    Rule("bank_versions", "version BETWEEN 1 AND (SELECT count(*) FROM bank_versions)", "a bank version is missing"),
    Rule("question_revisions", f"kind IN {_one_of(KINDS)}", f"the kind is none of {', '.join(KINDS)}"),
    Rule("question_revisions", f"abs(weight) <= {MAX_WEIGHT}",
         f"the weight is not a number from {-MAX_WEIGHT:,.0f} to {MAX_WEIGHT:,.0f}"),
    Rule("question_revisions", f"position {_PLACE}", "the position is out of range"),
    Rule("question_revisions", "NOT contains(x.text, chr(0)) AND NOT contains(x.text, chr(31))",
         "its words have a control sign", "JOIN question_texts x USING (text_key)"),
    Rule("question_revisions", _texts("choices"), "the choices are no list of texts"),
    Rule("question_revisions", "r.question_key IS NULL OR r.question_key = t.question_key",
         "a revision follows one of another question",
         "LEFT JOIN question_revisions r ON r.revision_key = t.parent_revision"),
    Rule("drafts", "base_version BETWEEN 0 AND (SELECT count(*) FROM bank_versions)",
         "a draft begins from a version that is not there"),
    Rule("draft_steps", f"step BETWEEN 1 AND {LARGEST_KEY}", "the number of a step is out of range"),
    Rule("graders", f"max_rating BETWEEN 1 AND {MAX_RATING}", f"the scale does not end at 1 to {MAX_RATING}"),
    Rule("grades", "rating BETWEEN 0 AND g.max_rating", "the rating is not on the grader's scale",
         "JOIN graders g USING (grader_key)"),
    Rule("grades", f"confidence {_SHARE}", "the confidence is not a number from 0 to 1"),
    Rule("grades", f"distribution IS NULL OR (len(distribution) <= {MAX_RATING + 1} AND"
         f" list_bool_and(list_transform(distribution, lambda p: coalesce(p {_SHARE}, false))))",
         "the probabilities of ratings are not numbers from 0 to 1"),
    *(
        Rule("jobs", f"{column} {_COUNT}", f"{column.replace('_', ' ')} is no count")
        for column in ("total", "graded", "failed", *_USED)
    ),
    *(
        Rule("call_batches", f"{column} {_COUNT}", f"{column.replace('_', ' ')} is no count")
        for column in ("calls", "wave", "done", "answered", "unanswered", *_USED[1:])
    ),
    Rule("call_batches", f"state IN {_one_of(('planned', 'uploaded', 'sent', 'taken', 'failed', 'dropped'))}",
         "the state of a batch is none"),
    Rule("call_batches", "(state IN ('planned', 'dropped') OR file_id IS NOT NULL)"
         " AND (state <> 'sent' OR batch_id IS NOT NULL)", "a batch was sent and it is not said where"),
    Rule("call_batch_pairs", "place >= 0", "the place in a batch is below 0"),
    Rule("kept_replies", "(content IS NULL) = (error IS NOT NULL)", "what is kept is neither an answer nor a refusal"),
    Rule("jobs", "cost >= 0", "the cost is below 0"),
    Rule("jobs", _json("asked", "OBJECT"), "what was asked is no JSON object"),
    Rule("activity", _json("detail", "OBJECT"), "the detail is no JSON object"),
    Rule("overrides", f"rating BETWEEN 0 AND {MAX_RATING}", f"the rating is not from 0 to {MAX_RATING}"),
    Rule("overrides", "(withdrawn_by IS NULL) = (withdrawn_at IS NULL)", "it is not said who withdrew it, or when"),
    Rule("named_graders", _json("parameters", "OBJECT"), "the parameters are no JSON object"),
    Rule("proposals", f"state IN {_one_of(STATES)}", f"the state is none of {', '.join(STATES)}"),
    *(
        Rule(table, "topic IS NULL OR length(trim(topic)) > 0", "the topic is empty")
        for table in ("items", "proposed_items")
    ),
    *(
        Rule(table, "shuffle_seed >= 0", "the seed is below 0") for table in ("items", "proposed_items")
    ),
    Rule("retrievals", _id("name"), "the name of a retrieval is no name"),
    Rule("retrieved", f"rank BETWEEN 1 AND {LARGEST_KEY}", "a rank is below 1"),
    Rule("proposed_items", _id("question_id"), "a question id is no id"),
    Rule("proposed_items", _texts("choices"), "the choices are no list of texts"),
    Rule("item_categories", f"scheme IN {_one_of(SCHEMES)}", f"the scheme is none of {', '.join(SCHEMES)}"),
    Rule("publications", _json("manifest", "OBJECT"), "the manifest is no JSON object"),
    Rule("publications", "grades BETWEEN 0 AND (SELECT count(*) FROM grades)"
         " AND failures BETWEEN 0 AND (SELECT count(*) FROM failures)", "it counts grades that are not there"),
    Rule("settlings", f"act IN {_one_of(get_args(Act))}", f"the act is none of {', '.join(get_args(Act))}"),
    Rule("settlings", f"rating BETWEEN 0 AND {MAX_RATING}", f"the rating is not from 0 to {MAX_RATING}"),
    Rule("responses", "words >= 0", "the number of words is below 0"),
    Rule("response_sentences", "0 <= begins AND begins <= ends AND ends <= coalesce(length(x.text), ends)",
         "a sentence does not lie in its passage",
         "JOIN passages p USING (passage_key) LEFT JOIN passage_texts x ON x.text_key = p.text_key"),
    Rule("gold_runs", "(SELECT count(*) FROM gold_runs) = 1", "several runs stand for the gold texts"),
    Rule("students", _id("name"), "the name of a student is no name"),
    Rule("students", "k >= 1 AND icl >= 0", "k is below 1, or icl below 0"),
    Rule("students", _json("parameters", "OBJECT"), "the parameters are no JSON object"),
    Rule("student_factors", f"{_id('factor')} AND length(level) > 0", "a factor or its level has no name"),
    *(
        Rule("sittings", f"{column} {_COUNT}", f"{column.replace('_', ' ')} is no count")
        for column in ("total", "answered", "failed", *_USED)
    ),
    Rule("sittings", "cost >= 0", "the cost is below 0"),
    Rule("sittings", _json("asked", "OBJECT"), "what was asked is no JSON object"),
    Rule("answers", "(correct IS NULL) = (reason IS NOT NULL)",
         "an answer is neither right, wrong, nor failed with a reason"),
    Rule("answers", "chosen >= 0", "the choice is out of range"),
    Rule("answers", "list_bool_and(list_transform(scores, lambda s: coalesce(isfinite(s), false)))",
         "a score of a choice is no finite number"),
    Rule("queries", "further_answers IS NULL OR answer IS NOT NULL", "there are further answers and no first one"),
    Rule("generators", _id("name"), "the name of a generator is no name"),
    Rule("answer_judges", _id("name"), "the name of a judge is no name"),
    *(
        Rule(table, _json("parameters", "OBJECT"), "the parameters are no JSON object")
        for table in ("generators", "answer_judges")
    ),
    *(
        Rule("answer_jobs", f"{column} {_COUNT}", f"{column.replace('_', ' ')} is no count")
        for column in ("total", "written", "failed", *_USED)
    ),
    Rule("answer_jobs", "cost >= 0", "the cost is below 0"),
    Rule("answer_jobs", _json("asked", "OBJECT"), "what was asked is no JSON object"),
    Rule("answer_jobs", "(generator_key IS NULL) <> (judge_key IS NULL)",
         "it is of no generator and no judge, or both"),
    Rule("generated_answers", "(text_key IS NULL) = (reason IS NOT NULL)",
         "an answer has neither a text nor a reason why there is none"),
    Rule("generated_answers", "(context_keys IS NULL) = (run IS NOT NULL)", "it is not said what was read"),
    Rule("generated_answers", "draw >= 1 AND k >= 1 AND seed >= 0 AND shortened >= 0 AND temperature >= 0",
         "a draw, k, seed, temperature or length is out of range"),
    Rule("comparisons", f"rating BETWEEN 0 AND {MAX_RATING}", f"the rating is not from 0 to {MAX_RATING}"),
    Rule("comparisons", "(rating IS NULL) = (reason IS NOT NULL)",
         "a comparison has neither a verdict nor a reason why there is none"),
    Rule("comparisons", f"confidence {_SHARE}", "the confidence is not a number from 0 to 1"),
    Rule("comparisons", "len(reference_keys) > 0", "there is nothing that the answer was compared with"),
    Rule("answer_verdicts", "length(source) > 0", "the source of a verdict has no name"),
    Rule("answer_cases", "k >= 1", "k is below 1"),
    Rule("answer_cases", "regexp_full_match(case_name, '[A-Z]') AND regexp_full_match(proposed, '[A-Z]?')",
         "a case is no letter"),
    Rule("answer_cases", "(withdrawn_by IS NULL) = (withdrawn_at IS NULL)", "it is not said who withdrew it, or when"),
    Rule("freezes", f"{_id('name')} AND {_id('system')}", "the name of a freeze or of its responses is no name"),
    Rule("freezes", "length(url) > 0 AND length(asked) > 0", "it is not said what was asked"),
    Rule("freezes", f"queries {_COUNT} AND failed {_COUNT} AND failed <= queries", "the queries are no count"),
    Rule("freezes", "(ended_at IS NULL) = (queries IS NULL) AND (ended_at IS NULL) = (failed IS NULL)",
         "a freeze is neither open nor ended"),
    Rule("frozen_queries", "(SELECT ended_at IS NULL FROM freezes f WHERE f.freeze_key = t.freeze_key)",
         "the freeze has ended"),
    Rule("frozen_queries", "seconds >= 0", "the time is below 0"),
    Rule("audits", f"{_id('name')} AND {_id('source')}", "the name of an audit or of its source is no name"),
    Rule("audits", f"{_json('policy', 'OBJECT')} AND {_json('goal', 'OBJECT')}",
         "the policy or the goal is no JSON object"),
    Rule("audits", f"highest BETWEEN 1 AND {LARGEST}", "the highest judgment is out of range"),
    Rule("audits", "batch_size >= 1 AND looks >= 1 AND alpha > 0 AND alpha < 1 AND seed >= 0",
         "the looks or the size of a batch are below 1, the seed below 0, or the error is not between 0 and 1"),
    Rule("audit_ranks", f"rank BETWEEN 1 AND {LARGEST_KEY}", "a rank is below 1"),
    Rule("audit_batches", "number >= 1 AND size >= 1 AND seed >= 0",
         "the number, size or seed of a batch is out of range"),
    Rule("audit_batches", _json("design", "OBJECT"), "the design is no JSON object"),
    Rule("audit_chances", "chance > 0 AND chance <= 1", "a chance is not above 0 and up to 1"),
    Rule("audit_chances", "size >= 0", "the size is below 0"),
    Rule("audit_chances", "NOT drawn OR known IS NULL", "what was known before is among what was drawn"),
    Rule("audit_chances", "drawn OR NOT doubled", "what was not drawn is to be judged twice"),
    Rule("audit_claims", "turn BETWEEN 1 AND 2", "the turn is neither the first nor the second"),
    Rule("audit_verdicts", "turn BETWEEN 1 AND 2", "the turn is neither the first nor the second"),
    Rule("audit_verdicts", f"said IN {_one_of(SAID)} AND (said = 'judged') = (value IS NOT NULL)",
         f"what was said is none of {', '.join(SAID)}, or its value is not there or too much"),
    Rule("audit_verdicts", f"abs(value::INTEGER) <= {LARGEST}", "a judgment is out of range"),
    Rule("members", f"role IS NULL OR role IN {_one_of(ROLES)}", f"the role is none of {', '.join(ROLES)}"),
    Rule("members", "length(identity) > 0 AND length(name) > 0", "somebody has no identity or no name"),
    Rule("guidelines", f"length(text) <= {LONGEST_GUIDELINES}", "the guidelines are too long"),
    Rule("doubles", f"wanted BETWEEN 2 AND {MOST_WANTED}", f"it is not wanted of 2 to {MOST_WANTED} people"),
    Rule("doubles", "passage_keys IS NULL OR len(passage_keys) > 0", "it is about no passage"),
    Rule("doubles", "(ended_by IS NULL) = (ended_at IS NULL)", "it is not said who ended it, or when"),
    Rule("doubles", "ended_at IS NOT NULL OR NOT EXISTS (SELECT * FROM doubles d WHERE d.query_key = t.query_key"
         " AND d.double_key < t.double_key AND d.ended_at IS NULL AND (d.passage_keys IS NULL OR t.passage_keys IS NULL"
         " OR list_has_any(d.passage_keys, t.passage_keys)))",
         "a passage of it is in another one that is open"),
    Rule("double_turns", f"act IN {_one_of(TURNS)}", f"what is said of somebody is none of {', '.join(TURNS)}"),
    Rule("double_turns", "length(name) > 0", "it is not said who takes part"),
    Rule("adjudications", f"value BETWEEN 0 AND if(question_key IS NULL, {max(SCALE)}, {MAX_RATING})",
         "a decision is out of range"),
    Rule("adjudications", "(override_key IS NOT NULL) = (question_key IS NOT NULL AND value IS NOT NULL)",
         "a decision on a rating has no override, or another one has"),
    Rule("dues", f"due BETWEEN DATE '{_EARLIEST:%Y-%m-%d}' AND DATE '{_LATEST:%Y-%m-%d}'",
         "the day due is no day of this world"),
    Rule("query_marks", "length(author) > 0", "it is not said who is done"),
    Rule("model_families", f"part IN {_one_of(PARTS)}", f"the part is none of {', '.join(PARTS)}"),
    *(
        Rule(table, f"position {_PLACE}", "the position is out of range")
        for table in ("subtopics", "listed", "pool", "published_passages", "response_sentences", "gold_passages",
                      "audit_runs", "audit_queries")
    ),
)  # fmt: skip

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
    jobs grader_key graders grader_key
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
    sittings student_key students student_key
    answers student_key students student_key
    answers item_text_key question_texts text_key
    answers sitting_key sittings sitting_key
    answer_jobs generator_key generators generator_key
    answer_jobs judge_key answer_judges judge_key
    generated_answers generator_key generators generator_key
    generated_answers question_text_key question_texts text_key
    generated_answers context_keys passage_texts text_key
    generated_answers text_key answer_texts text_key
    generated_answers answer_job_key answer_jobs answer_job_key
    comparisons judge_key answer_judges judge_key
    comparisons question_text_key question_texts text_key
    comparisons answer_text_key answer_texts text_key
    comparisons reference_keys answer_texts text_key
    comparisons answer_job_key answer_jobs answer_job_key
    answer_verdicts query_key queries query_key
    answer_verdicts question_text_key question_texts text_key
    answer_verdicts answer_text_key answer_texts text_key
    answer_cases query_key queries query_key
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
    """.strip().splitlines()
)
"""Table and column, and the table and column in which every value of it is found; columns may hold lists."""

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
"""Columns whose values together occur once, where the table itself does not see to that."""

BY_TYPE: Final = {
    "DOUBLE": ("isfinite({0})", "is no finite number"),
    "FLOAT": ("isfinite({0})", "is no finite number"),
    "TIMESTAMP": (f"{{0}} BETWEEN TIMESTAMP '{_EARLIEST}' AND TIMESTAMP '{_LATEST}'", "is no time of this world"),
}
"""What holds for every column of a type."""


def faults(cursor: Cursor) -> Iterator[Fault]:
    """Every rule of the current schema that the tables of a project break.

    Args:
        cursor: to a project whose tables may hold anything that their columns can.
    """
    filled = with_rows(cursor)
    for part in (broken_rules, repeated, strays, unreadable):
        yield from part(cursor, filled)


def with_rows(cursor: Cursor) -> frozenset[str]:
    """Names of the tables that have a row: of most projects a third, and in the others nothing can be wrong."""
    tables = "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary ORDER BY ALL"
    names = [name for (name,) in cursor.execute(tables).fetchall()]
    looks = (f"(SELECT {at} FROM {quoted_name(name)} LIMIT 1)" for at, name in enumerate(names))
    return frozenset(names[at] for (at,) in cursor.execute(" UNION ALL ".join(looks)).fetchall())


def broken_rules(cursor: Cursor, filled: frozenset[str] | None = None) -> Iterator[Fault]:
    """Rows with a value that no row can have.

    Args:
        filled: names of the tables that have rows; looked up for None.
    """
    filled = with_rows(cursor) if filled is None else filled
    by_table: dict[tuple[str, str], list[Rule]] = {}
    for rule in (*_by_column(cursor), *RULES):
        if rule.table in filled:
            by_table.setdefault((rule.table, rule.beside), []).append(rule)
    for (table, beside), rules in by_table.items():
        asked = ", ".join(
            f"count(*) FILTER (NOT ({rule.holds})), min(t.rowid) FILTER (NOT ({rule.holds}))" for rule in rules
        )
        found = cursor.execute(f"SELECT {asked} FROM {quoted_name(table)} t {beside}").fetchall()[0]
        for rule, count, first in zip(rules, found[::2], found[1::2], strict=True):
            if count:
                yield Fault(table, rule.reason, count, first + 1)


def repeated(cursor: Cursor, filled: frozenset[str] | None = None) -> Iterator[Fault]:
    """Rows that are there twice, by the columns that tell one from another; those of an index are not asked of it.

    Args: as for `broken_rules`.
    """
    filled = with_rows(cursor) if filled is None else filled
    declared = cursor.execute(
        "SELECT table_name, constraint_column_names FROM duckdb_constraints()"
        " WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE') ORDER BY ALL"
    ).fetchall()
    for table, columns in (*KEYS, *declared):
        if table not in filled:
            continue
        names = ", ".join(map(quoted_name, columns))
        given = " AND ".join(f"{quoted_name(column)} IS NOT NULL" for column in columns)
        rows, first = cursor.execute(
            "SELECT coalesce(sum(n), 0), min(first) FROM (SELECT count(*) AS n, min(rowid) AS first"
            f" FROM {quoted_name(table)} WHERE {given} GROUP BY {names} HAVING n > 1)"
        ).fetchall()[0]
        if rows:
            yield Fault(table, f"the same {' and '.join(map(_called, columns))} twice", int(rows), first + 1)


def strays(cursor: Cursor, filled: frozenset[str] | None = None) -> Iterator[Fault]:
    """Rows with a key that points nowhere.

    Args: as for `broken_rules`.
    """
    filled = with_rows(cursor) if filled is None else filled
    lists = {(table, column) for table, column, type_ in _columns(cursor) if type_.endswith("[]")}
    for table, column, other, key in REFERENCES:
        if table in filled:
            yield from _strays(cursor, table, column, other, key, (table, column) in lists)


def unreadable(cursor: Cursor, filled: frozenset[str] | None = None) -> Iterator[Fault]:
    """Rows of small tables that only Python can read, and cannot: forms of their own, fingerprints.

    Args: as for `broken_rules`.
    """
    filled = with_rows(cursor) if filled is None else filled
    for table, columns, read in _READ:
        if table in filled:
            yield from _unreadable(cursor, table, columns, read)


def _columns(cursor: Cursor) -> list[tuple[str, str, str]]:
    rows = cursor.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() JOIN duckdb_tables() USING (table_name)"
        " WHERE NOT duckdb_tables.internal AND NOT duckdb_tables.temporary ORDER BY ALL"
    ).fetchall()
    return [(table, column, type_) for table, column, type_ in rows]


def _by_column(cursor: Cursor) -> Iterator[Rule]:
    for table, column, type_ in _columns(cursor):
        if type_ in BY_TYPE:
            holds, reason = BY_TYPE[type_]
            yield Rule(table, holds.format(f't."{column}"'), f"the {_called(column)} {reason}")
        if column.endswith("_key") and type_ == "INTEGER":
            least = NO_JOB if column == "job_key" else 1
            holds = f't."{column}" BETWEEN {least} AND {LARGEST_KEY}'
            yield Rule(table, holds, f"the {_called(column)} is out of range")


def _strays(cursor: Cursor, table: str, column: str, other: str, key: str, of_lists: bool) -> Iterator[Fault]:
    values = f"unnest({column})" if of_lists else column
    ignored = f" AND value <> {NO_JOB}" if column == "job_key" else ""
    count, first = cursor.execute(
        f"SELECT count(*), min(row) FROM (SELECT {values} AS value, rowid AS row FROM {table}) s"
        f" ANTI JOIN {other} o ON o.{key} = s.value WHERE value IS NOT NULL{ignored}"
    ).fetchall()[0]
    if count:
        yield Fault(table, f"the {_called(column)} is not among the {other.replace('_', ' ')}", count, first + 1)


def _called(column: str) -> str:
    return column.removesuffix("_key").replace("_", " ")


def _unreadable(cursor: Cursor, table: str, columns: str, read: Callable[..., object]) -> Iterator[Fault]:
    """Rows of a small table that only Python can read."""
    for row, *values in cursor.execute(f"SELECT rowid, {columns} FROM {table} ORDER BY rowid").fetchall():
        try:
            read(*values)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, WorkbenchError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            yield Fault(table, f"it cannot be read ({reason[:200]})", 1, row + 1)
            return


_FIELDS = {field.name for field in fields(Question)}


def _read_question(values: Any, question_id: str) -> None:
    if not isinstance(values, dict) or set(values) != _FIELDS:
        raise ValueError("the draft is no question")
    texts = [values[name] for name in ("text", "subtopic_id", "answer_key", "note")]
    sound = (
        values["question_id"] == question_id
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
    if not sound:
        raise ValueError("the draft has a field that a question cannot have")


def _read_draft(content: str, question_id: str) -> None:
    _read_question(json.loads(content), question_id)


def _read_step(question_id: str, *drafts: str | None) -> None:
    for written in drafts:
        if written is not None:
            draft = json.loads(written)
            _read_question(draft["question"], question_id)
            if type(draft["base_version"]) is not int or not 0 <= draft["base_version"] <= LARGEST_KEY:
                raise ValueError("the draft begins from no version")


def _read_grader(fingerprint: str, *row: Any) -> None:
    spec = stored_spec(row)
    if not spec.in_form:
        raise ValueError("it is not in form")
    if fingerprint not in spec.fingerprints:
        raise ValueError("the fingerprint is that of another grader")


def _read_setting(name: str, value: str) -> None:
    if name == SETTING_OF_BACKUPS:
        read_schedule(value)
    if name == "prices":
        for model, price in json.loads(value).items():
            if len(price) != 2 or not all(type(amount) in (int, float) and amount >= 0 for amount in price):
                raise ValueError(f"{model} has no price")
    if name == "item filters":
        for one in json.loads(value).values():
            numbers = [bound for bound in one["thresholds"].values() if bound is not None]
            if not all(type(n) in (int, float, bool) for n in numbers) or {type(key) for key in one["fell"]} - {int}:
                raise ValueError("a threshold is not a number")


def _read_prompt(name: str, content: str) -> None:
    if read_prompt(content, f"prompt {name}").name != name:
        raise ValueError("the prompt has another name")


def _read_audit(measure: str, policy: str, goal: str) -> None:
    linear_measure(measure)
    Policy(**json.loads(policy))
    said = json.loads(goal)
    numbers = [said[name] for name in ("half_width", "budget") if name in said]
    runs = [said[name] for name in ("first", "second") if name in said]
    known = {"aim", "first", "second", "half_width", "budget"}
    sound = all(type(one) in (int, float) for one in numbers) and all(isinstance(one, str) for one in runs)
    if said.get("aim") not in _NEEDS or not sound or not _NEEDS[said["aim"]] <= set(said) <= known:
        raise ValueError("the goal of the audit is none")


def _read_given(given: str) -> None:
    said = json.loads(given)
    if set(said) != {"passages", "answer"} or not isinstance(said["answer"], str | None):
        raise ValueError("it is not what a target gave")
    for passage_id, text, score in said["passages"]:
        if fault_of_id(passage_id, True) or not isinstance(text, str | None):
            raise ValueError("a passage is none")
        if type(score) not in (int, float) or not math.isfinite(score):
            raise ValueError("a score is no finite number")


_NEEDS = {"best": set(), "pair": {"first", "second"}, "width": {"half_width"}, "budget": {"budget"}}


_READ: Final[tuple[tuple[str, str, Callable[..., object]], ...]] = (
    ("settings", "name, value", _read_setting),
    ("graders", f"fingerprint, {SPEC_COLUMNS}", _read_grader),
    ("drafts", "content, question_id", _read_draft),
    ("draft_steps", 'question_id, "before", "after"', _read_step),
    ("prompts", "name, content", _read_prompt),
    ("audits", "measure, policy, goal", _read_audit),
    ("frozen_queries", "given", _read_given),
)
"""Tables with columns whose content has a form of its own, and what reads them."""
