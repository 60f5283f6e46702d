"""Agreement of two sides: labels, judgments, or a person's ratings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ...bank import ASKS, latest_version
from ...errors import InputError, check_known
from ...labels import Basis, Policy, basis, graded_pairs, list_labels
from ...measures import (
    Coefficient,
    CrossTable,
    alpha_of,
    cohen_kappa,
    cross_table,
    merge_values,
    per_level,
    split_at_threshold,
    weighted_kappa,
)
from ...records import (
    PREFIX,
    SCALE,
    blind_judgments,
    find_source,
    for_confirming,
    hold_out,
    judgment_sources,
    visible_rows,
)
from ...store import Project
from ...tables import csv_text, escape_latex
from ...text import how_many
from ...types import RATINGS

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Labels:
    """The labels under a policy. If the other side is a person, the grader's own ratings of
    questions are used.
    """

    policy: Policy


@dataclass(frozen=True)
class Judgments:
    """The judgments of a source; `judgments` means the first one. See `Rater` for `threshold`.

    With `blind`, these are the first blind judgments of an assessor, see `project.blind_judgments`.
    """

    source: str = "judgments"
    threshold: int = 1
    blind: bool = False


@dataclass(frozen=True)
class Person:
    """The ratings that a person gave in overrides. See `Rater` for `threshold`."""

    author: str
    threshold: int = 4


Side: TypeAlias = Labels | Judgments | Person


def machine_labels(policy: Policy, grader: str | None = None) -> Labels:
    """Return a grader's own labels, without overrides.

    Use it to compare two graders: overrides apply to both and would count as agreement.

    Args:
        grader: name of the grader; None for the policy's grader.
    """
    return Labels(replace(policy, grader=grader or policy.grader, overrides=False))


def people(project: Project) -> list[str]:
    """Return the names of all people with an override that is not withdrawn."""
    return [
        author
        for (author,) in project.rows(
            f"SELECT DISTINCT author FROM {visible_rows(project, 'overrides')}"
            " WHERE withdrawn_at IS NULL ORDER BY 1"
        )
    ]


@dataclass(frozen=True)
class Rater:
    """A side with its names resolved.

    Args:
        noun: the kind of its values: label, judgment or rating.
        owner: name of the grader, the source or the person.
        scale: all possible values, highest first.
        threshold: the value from which a passage counts as relevant, or a question as answered.
        by_itself: whether the side is a grader's labels without overrides.
    """

    noun: str
    owner: str
    scale: tuple[int, ...]
    threshold: int
    by_itself: bool = False

    @property
    def with_overrides(self) -> str:
        """The owner, and whether overrides count."""
        return f"{self.owner} {'without overrides' if self.by_itself else 'with overrides'}"

    def __str__(self) -> str:
        # The default name of a source of judgments is judgments.
        return self.owner if self.owner == f"{self.noun}s" else f"{self.noun}s of {self.owner}"


@dataclass(frozen=True, eq=False)
class MatchedValues:
    """The values of two sides for the same things.

    Args:
        pairs: a row for each pair that both sides have, in the order of the left side: query_id,
            passage_id, question_id (None unless a side is a person), left, right.
        left_only, right_only: by query id, the number of pairs that only this side has.
    """

    left: Rater
    right: Rater
    pairs: pd.DataFrame
    left_only: Mapping[str, int]
    right_only: Mapping[str, int]

    def select_queries(self, queries: Collection[str] | None) -> pd.DataFrame:
        """Return the pairs of some queries; all for None."""
        return (
            self.pairs
            if queries is None
            else self.pairs[self.pairs["query_id"].isin(list(queries))]
        )


Values: TypeAlias = "tuple[pd.DataFrame, dict[str, int]]"
"""A side's values (query_id, passage_id, value, and question_id for a person), and their number by
query id.
"""


@dataclass(frozen=True)
class _Resolved:
    rater: Rater
    key: Hashable
    values: Callable[[], Values]


def match_sides(project: Project, left: Side, right: Side) -> MatchedValues:
    """Match the values of two sides by passage, or by question and passage if a side is a person.

    Raises:
        InputError: a grader, version, source or person is unknown, or the sides cannot be compared.
    """
    sides = (left, right)
    about_questions = any(isinstance(side, Person) for side in sides)
    if about_questions and any(isinstance(side, Judgments) for side in sides):
        raise InputError(
            "sides-not-comparable",
            "Ratings of a person cannot be compared with judgments.",
            "Compare the person with a grader or another person.",
        )
    bases = {side: basis(project, side.policy) for side in sides if isinstance(side, Labels)}
    version = next((base.version for base in bases.values()), latest_version(project))

    def resolve_side(side: Side) -> _Resolved:
        if isinstance(side, Judgments):
            return _judgment_side(project, side)
        if isinstance(side, Person):
            return _person_side(project, side, version)
        if about_questions:
            return _rating_side(project, replace(bases[side], overridden=False))
        return _label_side(project, bases[side])

    left_side, right_side = resolve_side(left), resolve_side(right)

    def compute() -> tuple[pd.DataFrame, list[dict[str, int]]]:
        (left_values, left_counts), (right_values, right_counts) = (
            left_side.values(),
            right_side.values(),
        )
        keys = [column for column in left_values if column != "value"]
        pairs = left_values.rename(columns={"value": "left"}).merge(
            right_values.rename(columns={"value": "right"}), on=keys
        )
        if not about_questions:
            pairs["question_id"] = None
        both = _count_by_query(pairs)[1]
        alone = [
            {q: n - both.get(q, 0) for q, n in counts.items()}
            for counts in (left_counts, right_counts)
        ]
        return pairs, alone

    pairs, alone = project.cached(("agreement", left_side.key, right_side.key), compute)
    return MatchedValues(left_side.rater, right_side.rater, pairs, *alone)


def _count_by_query(frame: pd.DataFrame) -> Values:
    return frame, {str(query): count for query, count in frame["query_id"].value_counts().items()}


def _read_values(project: Project, sql: str, parameters: Any) -> Values:
    return _count_by_query(project.table(sql, parameters).to_pandas())


def _label_side(project: Project, base: Basis) -> _Resolved:
    def read_values() -> Values:
        frame = list_labels(project, base).dropna(subset=["label"])
        return _count_by_query(
            frame[["query_id", "passage_id"]].assign(value=frame["label"].astype("int64"))
        )

    return _Resolved(_grader_rater(base, "label"), ("labels", base.key), read_values)


def _rating_side(project: Project, base: Basis) -> _Resolved:
    # A passage may be pooled for a query and for its topics. The first of these counts, as in
    # `_person_side`.
    rated = (
        "(SELECT arg_min(g.query_key, place) AS query_key, arg_min(position, place) AS position,"
        " passage_key, question_key, any_value(rating) AS rating FROM (SELECT g.*,"
        " if(g.query_key = q.query_key, -1, g.query_key) AS place"
        f" FROM ({graded_pairs(base)}) g LEFT JOIN questions q USING (question_key)) g"
        " GROUP BY passage_key, question_key) JOIN queries USING (query_key)"
    )

    def read_values() -> Values:
        # There may be millions of ratings, so only those with a person's rating too are matched.
        frame = project.table(
            f"SELECT query_id, passage_id, question_id, rating::INTEGER AS value FROM {rated}"
            " JOIN passages USING (passage_key) JOIN questions USING (question_key)"
            f" SEMI JOIN {visible_rows(project, 'overrides')} USING (question_key, passage_key)"
            " WHERE rating IS NOT NULL ORDER BY queries.query_key, position, question_key",
            base.parameters,
        ).to_pandas()
        counts = project.rows(
            f"SELECT query_id, count(rating) FROM {rated} GROUP BY 1", base.parameters
        )
        return frame, dict(counts)

    return _Resolved(
        _grader_rater(base, "rating"), ("ratings", *base.rated, base.version), read_values
    )


def _grader_rater(base: Basis, noun: str) -> Rater:
    scale = tuple(range(base.grader.spec.max_rating, -1, -1))
    return Rater(noun, base.grader.spec.name, scale, base.min_rating, not base.overridden)


def _judgment_side(project: Project, side: Judgments) -> _Resolved:
    source = find_source(project, side.source)
    if source not in judgment_sources(project):
        raise InputError(
            "source-without-judgments",
            f"The imported leaderboard '{source}' has no judgments.",
            "Use a source of judgments, or import one: exam import qrels FILE",
        )
    judged = f"{visible_rows(project, 'judgments')} JOIN sources USING (source_key)"
    scale = [
        value
        for (value,) in project.rows(
            f"SELECT DISTINCT value FROM {judged} WHERE name = ? ORDER BY 1 DESC", [source]
        )
    ]
    if source.startswith(PREFIX):
        # Values that an assessor has not used yet are on the scale too.
        scale = sorted({*scale, *SCALE}, reverse=True)

    read_values = partial(
        _read_values,
        project,
        f"SELECT query_id, passage_id, value::INTEGER AS value FROM {judged} JOIN queries"
        " USING (query_key)"
        " JOIN passages USING (passage_key) WHERE name = ? ORDER BY query_key, passage_key",
        [source],
    )
    if not side.blind:
        return _Resolved(
            Rater("judgment", source, tuple(scale), side.threshold),
            ("judgments", source),
            read_values,
        )
    first = (
        blind_judgments(project, source.removeprefix(PREFIX)) if source.startswith(PREFIX) else {}
    )

    def blind_values() -> Values:
        # Only pairs that still have a judgment, and that this handle reads.
        frame, _ = read_values()
        pairs = list(zip(frame["query_id"], frame["passage_id"], strict=True))
        known = frame[[pair in first for pair in pairs]]
        return _count_by_query(known.assign(value=[first[pair] for pair in pairs if pair in first]))

    rater = Rater("judgment", f"{source}, first blind", tuple(scale), side.threshold)
    return _Resolved(rater, ("blind judgments", source, frozenset(first.items())), blind_values)


def _person_side(project: Project, side: Person, version: int) -> _Resolved:
    check_known("person-without-ratings", "author of overrides", people(project), side.author)
    # A rating of an older wording does not apply to the current question. The query is the first
    # one that pools the passage: the question's own query, or else a topic of it.
    read_values = partial(
        _read_values,
        project,
        "SELECT query_id, passage_id, question_id, value FROM (SELECT coalesce(min(asking_key)"
        " FILTER (asking_key = q.query_key), min(asking_key), q.query_key) AS query_key,"
        " o.passage_key, question_key, arg_max(rating, override_key)::INTEGER AS value"
        f" FROM {visible_rows(project, 'overrides')} o JOIN bank_at($version) r"
        " USING (question_key) JOIN questions q USING (question_key)"
        " LEFT JOIN (SELECT t.*, passage_key FROM places() t JOIN pool ON pool.query_key ="
        " asking_key) t ON t.query_key = q.query_key AND t.passage_key = o.passage_key"
        f" AND {ASKS}"
        " WHERE author = $author AND withdrawn_at IS NULL AND o.question_text_key = r.text_key"
        " GROUP BY q.query_key, o.passage_key, question_key)"
        " JOIN queries USING (query_key) JOIN passages USING (passage_key)"
        " JOIN questions q USING (question_key) ORDER BY query_key, passage_key, question_key",
        {"author": side.author, "version": version},
    )
    rater = Rater("rating", side.author, tuple(reversed(RATINGS)), side.threshold)
    return _Resolved(rater, ("person", side.author, version), read_values)


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement of two sides on the pairs that both have.

    Args:
        kappa: Cohen's kappa of the unchanged values. If the scales differ, use `merged` and
            `per_level`.
        weighted_kappa: Cohen's kappa with quadratic weights.
        per_level: kappa of each value on the left against all other values, by value.
        alpha: Krippendorff's ordinal alpha of the unchanged values.
        n: number of pairs that both sides have: (query, passage), or (question, passage) if a side
            is a person.
        left_only, right_only: numbers of pairs that only one side has. Tables do not include them:
            missing is not zero.
    """

    left: Rater
    right: Rater
    table: CrossTable
    kappa: Coefficient
    weighted_kappa: Coefficient
    per_level: dict[int, Coefficient]
    alpha: Coefficient
    n: int
    left_only: int
    right_only: int

    @property
    def names(self) -> tuple[str, str]:
        """Short names of the sides: the kinds of their values, such as label and judgment; the
        owners if equal.
        """
        names = ((side.noun, side.owner, side.with_overrides) for side in (self.left, self.right))
        pairs = [*zip(*names, strict=True), ("left", "right")]
        return next((left, right) for left, right in pairs if left != right)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """For each value on the left: its name, the counts of the values on the right, its total
        and its kappa (`per_level`), which may be None.
        """
        table = self.table
        kappas = [level.value for level in self.per_level.values()]
        cells = zip(table.row_names, table.counts.tolist(), table.row_totals, kappas, strict=True)
        return [(name, *counts, total, kappa) for name, counts, total, kappa in cells]

    @property
    def merged(self) -> Agreement:
        """The agreement after the values of each side are merged into two groups, divided at its
        threshold.

        The default is labels 4–5 and 0–3 against judgments above 0 and up to 0 (exam-plus-plus,
        table 4).
        """
        groups = [
            split_at_threshold(rater.scale, rater.threshold) for rater in (self.left, self.right)
        ]
        return _make_agreement(
            self.left,
            self.right,
            merge_values(self.table, *groups),
            self.left_only,
            self.right_only,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the agreement as plain values, as `--json` prints it; `undefined` says why a value
        is None.
        """
        table = self.table
        whole = {"kappa": self.kappa, "weighted_kappa": self.weighted_kappa, "alpha": self.alpha}
        levels = dict(zip(table.row_names, self.per_level.values(), strict=True))
        reasons = whole | {f"per_level {name}": coefficient for name, coefficient in levels.items()}
        return {
            "left": str(self.left),
            "right": str(self.right),
            "table": {
                "rows": table.row_names,
                "columns": table.column_names,
                "counts": table.counts.tolist(),
            },
            **{name: coefficient.value for name, coefficient in whole.items()},
            "per_level": {name: coefficient.value for name, coefficient in levels.items()},
            "n": self.n,
            "left_only": self.left_only,
            "right_only": self.right_only,
            "undefined": {
                name: coefficient.undefined
                for name, coefficient in reasons.items()
                if coefficient.undefined
            },
        }


def side_agreement(
    project: Project, left: Side, right: Side, queries: Collection[str] | None = None
) -> Agreement:
    """Cross-tabulate two sides and compute their agreement (exam-plus-plus, table 4).

    Args:
        left: the side whose values are the rows.
        right: the side whose values are the columns.
        queries: ids of the queries that count; None for all.

    Raises:
        InputError: a grader, version, source or person is unknown, or the sides cannot be compared.
    """
    matched = match_sides(project, left, right)

    def compute() -> Agreement:
        pairs = matched.select_queries(queries)
        left_only, right_only = (
            sum(count for query, count in counts.items() if queries is None or query in queries)
            for counts in (matched.left_only, matched.right_only)
        )
        table = cross_table(pairs["left"], pairs["right"], matched.left.scale, matched.right.scale)
        return _make_agreement(matched.left, matched.right, table, left_only, right_only)

    # The key has the whole sides, because labels depend on parts of a policy that a `Rater` does
    # not show.
    key = ("agreement of", left, right, None if queries is None else frozenset(queries))
    return project.cached(key, compute)


def _make_agreement(
    left: Rater, right: Rater, table: CrossTable, left_only: int, right_only: int
) -> Agreement:
    return Agreement(
        left=left,
        right=right,
        table=table,
        kappa=cohen_kappa(table),
        weighted_kappa=weighted_kappa(table),
        per_level=per_level(table),
        alpha=alpha_of(table),
        n=table.n,
        left_only=left_only,
        right_only=right_only,
    )


@dataclass(frozen=True)
class Pair:
    """A passage with the values of two sides; with a question if a side is a person.

    Missing texts are None. Without a question, its id and text are None.
    """

    query_id: str
    query_text: str
    passage_id: str
    passage_text: str | None
    question_id: str | None
    question_text: str | None
    left: int
    right: int


def table_csv(agreement: Agreement) -> str:
    """Return the cross table as CSV, with the lines of `Agreement.rows`."""
    return csv_text(
        [agreement.left.noun, *agreement.table.column_names, "total", "kappa"], agreement.rows
    )


def table_latex(agreement: Agreement) -> str:
    """Return the cross table as a LaTeX tabular that needs no package, with the lines of
    `Agreement.rows`.

    Cells that count as agreement are boxed, and the highest count of each column is bold.
    """
    table = agreement.table
    highest = table.counts.max(axis=0, initial=0)
    width = len(table.columns)
    heading = str(agreement.right)
    heading = _escape_latex(heading[0].upper() + heading[1:])
    lines = [
        f"\\begin{{tabular}}{{l{'r' * width}rr}}",
        "\\hline",
        f" & \\multicolumn{{{width}}}{{c}}{{{heading}}} & & \\\\",
        " & ".join(
            [
                agreement.left.noun.capitalize(),
                *map(_escape_latex, table.column_names),
                "Total",
                "Cohen's $\\kappa$ \\\\",
            ]
        ),
        "\\hline",
    ]
    for (name, *counts, total, kappa), boxes in zip(agreement.rows, table.agreeing, strict=True):
        cells = [
            f"\\textbf{{{count}}}" if count == most > 0 else str(count)
            for count, most in zip(counts, highest, strict=True)
        ]
        cells = [
            f"\\fbox{{{cell}}}" if box else cell for cell, box in zip(cells, boxes, strict=True)
        ]
        lines.append(
            " & ".join([_escape_latex(name), *cells, str(total), _two_digits(kappa)]) + " \\\\"
        )
    return "\n".join([*lines, "\\hline", "\\end{tabular}", ""])


def _escape_latex(text: str) -> str:
    return escape_latex(text).replace("–", "--").replace("≤", "$\\le$")


def _two_digits(value: float | None) -> str:
    if value is None:
        return "--"
    return "$0$" if abs(value) < 1e-4 else f"${value:.2g}$"


@dataclass(frozen=True, eq=False)
class Confirmation:
    """How far an agreement of labels with judgments confirms the question bank.

    Args:
        held_out: the agreement on the judgments that are held out; None if no judgments are.
        version: the newest bank version when they were held out; 0 if no judgments are.
        tuned: whether no judgments are held out, and the bank was changed while people could see
            them.
    """

    held_out: Agreement | None
    version: int
    tuned: bool

    def __str__(self) -> str:
        if self.held_out is None:
            return "Tuned on these judgments: no judgments are held out." if self.tuned else ""
        found = self.held_out.merged.kappa
        kappa = f"undefined ({found.undefined})" if found.value is None else f"{found.value:.2f}"
        held_out = how_many(self.held_out.n, "held-out judgments")
        words = f"Kappa (relevant or not) on {held_out}: {kappa}."
        if self.version > 1:
            words += f" Bank versions up to {self.version} may be tuned on them."
        return words


def find_confirmation(project: Project, left: Side, right: Side) -> Confirmation | None:
    """Return how far an agreement confirms the bank; None unless it is between labels and
    judgments.

    Raises:
        InputError: as for `side_agreement`.
    """
    if {type(left), type(right)} != {Labels, Judgments}:
        return None
    held_queries, hold = for_confirming(project), hold_out(project)
    if held_queries is None or hold is None:
        return Confirmation(None, 0, latest_version(project) > 1)
    return Confirmation(side_agreement(held_queries, left, right), hold.version, False)
