"""Import of runs of any size: lines go to a file in batches, and SQL orders and checks them, part
by part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from ..bank import add_topics
from ..errors import Report
from ..formats import Source, name_runs, read_run_lines
from ..limits import describe_exceeded, read_limit
from ..records import ReplacedDataKeeper, clear_runs, name_passages_of, unknown_queries
from ..store import Cursor, ParquetBuffer, quoted_path, stage_rows, table_of
from ..text import first_few, free_name, quote_name

LINES_A_BATCH = 50_000
"""Lines that are held as Python objects at a time."""

LINES_A_PART = 200_000
"""Lines that SQL processes together, and at most one query more. They determine the memory needed.
"""

_COLUMNS = {
    "run": "INTEGER",
    "query": "INTEGER",
    "line": "INTEGER",
    "passage_id": "VARCHAR",
    "rank": "DOUBLE",
    "score": "DOUBLE",
}

_REMARKS = {
    "repeated": (
        "the query already has this passage; the better score is kept (trec_eval rejects it)"
    ),
    "tied": "run {}: tied score; ties are ordered by passage id, as in trec_eval",
    "contradicts": "run {}: the rank contradicts the scores; the scores count",
    "unreadable": "run {}: the rank is not a number; the scores count",
}
"""Texts of notes by kind of irregularity, in their order, with the name of the run."""


@dataclass
class RunFiles(ParquetBuffer):
    """Run files after reading, with their lines in a file of their own, so that memory does not
    grow with them.

    Args:
        folder: for that file.
        report: takes refused lines.
    """

    folder: Path
    report: Report
    found: list[tuple[Source, str]] = field(default_factory=list)
    queries: dict[str, int] = field(default_factory=dict)
    first_lines: list[tuple[Source, dict[str, int]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        schema = table_of({name: [] for name in _COLUMNS}, _COLUMNS).schema
        super().__init__(self.folder / "lines.parquet", schema)

    def read_file(self, source: Source) -> None:
        """Read a file to its end."""
        numbers: dict[str, int] = {}
        first_lines: dict[str, int] = {}
        most = read_limit("IDS")
        lines = read_run_lines(source, self.report)
        while batch := list(islice(lines, LINES_A_BATCH)):
            for line in batch:
                if line.tag not in numbers:
                    numbers[line.tag] = len(self.found)
                    self.found.append((source, line.tag))
                if line.query_id not in first_lines:
                    first_lines[line.query_id] = line.line
                    self.queries.setdefault(line.query_id, len(self.queries))
            if len(first_lines) > most:
                reason = describe_exceeded("the file names more queries than", "IDS", most)
                self.report.refuse(source.name, batch[-1].line, "limit-exceeded", reason)
                return
            columns: dict[str, Sequence[object]] = {
                "run": [numbers[line.tag] for line in batch],
                "query": [self.queries[line.query_id] for line in batch],
                "line": [line.line for line in batch],
                "passage_id": [line.passage_id for line in batch],
                "rank": [line.rank for line in batch],
                "score": [line.score for line in batch],
            }
            self._writer.write_table(table_of(columns, _COLUMNS))
        self.first_lines.append((source, first_lines))


@dataclass
class RunImport:
    """Writes the runs of files after reading; unknown topics of known queries are added.

    Args:
        cursor: in the transaction of the import.
        files: the closed files.
        report: takes notes on irregularities, one per run or file with the number of lines.
        skip_unknown: whether lines about unknown queries are left out, instead of refused.
        keeper: keeps replaced data.
    """

    cursor: Cursor
    files: RunFiles
    report: Report
    skip_unknown: bool
    keeper: ReplacedDataKeeper

    def __post_init__(self) -> None:
        # In a file because temporary tables stay in memory until the transaction ends.
        self._part = quoted_path(self.files.folder / "part.parquet")
        add_topics(self.cursor, unknown_queries(self.cursor, self.files.queries))
        queries = list(self.files.queries.items())
        stage_rows(self.cursor, "run_queries", queries, {"query_id": "VARCHAR", "query": "INTEGER"})

    def check_queries(self) -> None:
        """Refuse, or remark on, the unknown queries of each file."""
        unknown = set(unknown_queries(self.cursor, self.files.queries))
        for source, first_lines in self.files.first_lines:
            missing = [query_id for query_id in first_lines if query_id in unknown]
            report_unknown(self.report, source.file, missing, first_lines, self.skip_unknown)
        if self.skip_unknown and not self.report.count:
            remaining_runs = {
                run
                for (run,) in self.cursor.execute(
                    f"SELECT DISTINCT run FROM {self._lines}"
                ).fetchall()
            }
            for run, (source, tag) in enumerate(self.files.found):
                if run not in remaining_runs:
                    self.report.refuse(
                        source.file, None, "nothing-left", f"run {quote_name(tag)}: {NOTHING_LEFT}"
                    )

    def write(self) -> dict[str, int]:
        """Write the runs. A run of the same name and file is replaced.

        Returns:
            Numbers of runs and of ranked passages.
        """
        names = self._free_names(name_runs(self.files.found, self.report))
        if self.report.count:
            return {}
        runs = [
            (name, tag, source.file)
            for name, (source, tag) in zip(names, self.files.found, strict=True)
        ]
        keys = clear_runs(self.cursor, runs, self.keeper)
        stage_rows(
            self.cursor,
            "new_runs",
            list(enumerate(keys)),
            {"run": "INTEGER", "run_key": "INTEGER"},
        )
        self.cursor.execute(
            "CREATE OR REPLACE TEMP TABLE odd_lines"
            " (run INTEGER, what VARCHAR, line INTEGER, times BIGINT)"
        )
        written = sum(self._write_part(first, last) for first, last in self._parts())
        self._remark_on_odd_lines(names)
        return {"runs": len(names), "ranked passages": written}

    def _free_names(self, names: Sequence[str]) -> list[str]:
        """Return the project's name for each run: its own name, or its file's if a run of another
        file has the name.

        A run of the same file and tag keeps its earlier name, even if that import had other tags
        too. A full run replaces a run that came partially from a graded file.
        """
        rows = self.cursor.execute(
            "SELECT name, file, run_key IN (FROM ranked_runs), tag FROM runs"
        ).fetchall()
        holders = {name: (file, partly) for name, file, partly, _ in rows}
        before = {(file, tag): name for name, file, _, tag in rows}
        runs_of = Counter(source for source, _ in self.files.found)
        free: list[str] = []
        replaced: list[str] = []
        renamed: list[str] = []
        for name, (source, tag) in zip(names, self.files.found, strict=True):
            name = before.get((source.file, tag), name)
            file, partly = holders.get(name, (source.file, False))
            is_taken = file != source.file and not partly
            of_file = source.stem if runs_of[source] == 1 else f"{source.stem}-{tag}"
            called = of_file if is_taken else name
            if partly or (is_taken and called == name):
                replaced.append(name)
            elif is_taken:
                # Another run of this import or of another file may already have this name. Neither
                # run may be lost.
                others = {
                    *names,
                    *free,
                    *(other for other, (held, _) in holders.items() if held != source.file),
                }
                called = free_name(called, others)
                renamed.append(f"{name} to {called}")
            free.append(called)
        for code, runs, description in (
            ("runs-replaced", replaced, "earlier versions of these runs are replaced:"),
            ("runs-renamed", renamed, "runs of other files already have these names; renamed"),
        ):
            if runs:
                self.report.remark(
                    self.files.found[0][0].file, None, code, f"{description} {first_few(runs)}"
                )
        return free

    def _parts(self) -> list[tuple[int, int]]:
        """Return ranges of query keys. All queries of a range but the last have at most
        `LINES_A_PART` lines.
        """
        return self.cursor.execute(
            "SELECT min(query_key), max(query_key) FROM (SELECT query_key, lines,"
            f" (sum(lines) OVER (ORDER BY query_key) - lines) // {LINES_A_PART} AS part"
            f" FROM (SELECT query_key, count(*) AS lines FROM {self._lines} GROUP BY query_key))"
            " GROUP BY part ORDER BY part"
        ).fetchall()

    @property
    def _lines(self) -> str:
        return (
            "(SELECT l.* EXCLUDE (query), query_key"
            f" FROM {self.files.relation} l"
            " JOIN run_queries USING (query) JOIN queries USING (query_id))"
        )

    def _write_part(self, first: int, last: int) -> int:
        """Rank the lines of some queries as trec_eval does, and gather irregular ones.

        The order is by score as a 32-bit float, the greater passage id first among equals.
        """
        # A score beyond the 32-bit range becomes infinite, as in trec_eval.
        single = "coalesce(try_cast(score AS FLOAT), sign(score) * 'infinity'::FLOAT)"
        self.cursor.execute(
            "COPY (SELECT run, query_key, passage_id, score, line, copies, next_copy,"
            " row_number() OVER best AS rank, rank IS NULL AS unreadable,"
            " coalesce(lag(single) OVER best = single, false) AS tied,"
            # Ranks are compared only with those of the next better score, so that one misplaced
            # rank gives one note.
            " coalesce(rank <= max(rank) OVER (PARTITION BY run, query_key ORDER BY single DESC"
            "  GROUPS BETWEEN 1 PRECEDING AND 1 PRECEDING), false) AS contradicts FROM (SELECT *,"
            " count(*) OVER pair AS copies, nth_value(line, 2) OVER in_file AS next_copy,"
            "   row_number() OVER (PARTITION BY run, query_key, passage_id"
            " ORDER BY score DESC, line) AS place,"
            f"  {single} AS single FROM {self._lines} WHERE query_key BETWEEN $first AND $last"
            "  WINDOW pair AS (PARTITION BY run, query_key, passage_id), in_file AS (pair"
            " ORDER BY line"
            "   ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)) WHERE place = 1"
            " WINDOW best AS (PARTITION BY run, query_key ORDER BY single DESC, passage_id DESC)"
            f" ORDER BY query_key, run, rank) TO {self._part} (FORMAT parquet)",
            {"first": first, "last": last},
        )
        part = f"read_parquet({self._part})"
        self.cursor.execute(
            "INSERT INTO odd_lines SELECT run, what, min(line), sum(times) FROM (SELECT run,"
            " unnest([{'what': 'repeated', 'line': next_copy, 'times': copies - 1},"
            " {'what': 'tied', 'line': line, 'times': tied::BIGINT},"
            " {'what': 'contradicts', 'line': line, 'times': contradicts::BIGINT},"
            " {'what': 'unreadable', 'line': line, 'times': unreadable::BIGINT}],"
            f" recursive := true) FROM {part}) WHERE times > 0 GROUP BY run, what"
        )
        name_passages_of(self.cursor, part, place="(query_key, run, rank)")
        return int(
            self.cursor.execute(
                "INSERT INTO rankings SELECT run_key, query_key, passage_key, rank, score"
                f" FROM {part} JOIN new_runs USING (run) JOIN passages USING (passage_id)"
                " ORDER BY query_key, run_key, rank"
            ).fetchall()[0][0]
        )

    def _remark_on_odd_lines(self, names: Sequence[str]) -> None:
        """Write a remark for each run's irregularities of a kind: the first line and the number."""
        for code, run, line, times in self.cursor.execute(
            "SELECT what, run, min(line), sum(times) FROM odd_lines GROUP BY what, run"
            " ORDER BY list_position($kinds, what), run",
            {"kinds": [*_REMARKS]},
        ).fetchall():
            reason = _REMARKS[code].replace("{}", names[run])
            self.report.remark(self.files.found[run][0].name, line, code, reason, int(times))


NOTHING_LEFT = "all queries are unknown, so there is nothing to import"


def report_unknown(
    report: Report, file: str, unknown: Sequence[str], first_lines: Mapping[str, int], skipped: bool
) -> None:
    """Refuse the unknown queries of a file, or remark on them if they are skipped."""
    if unknown:
        reason = f"unknown query {first_few(unknown, most=1)}{': skipped' if skipped else ''}"
        refuse_or_remark = report.remark if skipped else report.refuse
        refuse_or_remark(file, first_lines[unknown[0]], "unknown-query", reason)
