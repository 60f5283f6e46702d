"""The Python interface of the workbench: `import exam_workbench as ew` gives these names.

Tables are DataFrames with the columns of ir_measures (`query_id`, `doc_id`, `relevance`, `score`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pandas as pd

from .bank import check_version, make_named, remember_settings
from .choices import CONCURRENCY, DEFAULT_MEASURE
from .errors import GradingError, InputError
from .exchange import Group, Options, import_groups, make_demo
from .formats import Source
from .grading import Request, Scope, run_job
from .labels import (
    Leaderboard,
    Policy,
    basis,
    compare,
    coverage_measure,
    grades_table,
    label_qrels,
    leaderboard,
    usual_min_judgment,
)
from .store import Project as StoredProject, create_project, current_author, open_project

if TYPE_CHECKING:
    from altair import LayerChart

FilePath = str | Path
Records = Iterable[Any]
"""A DataFrame, or named tuples or dictionaries such as those of ir_measures and ir_datasets."""
Scores = Mapping[str, Mapping[str, float]]
"""Values by query and passage."""
Ranked = FilePath | Records | Scores
_EXPECTED_NOTES = {"header", "unreadable"}
"""Codes of notes that are not shown as warnings: tables with a header, and runs without ranks."""
PYTERRIER = {"query_id": "qid", "doc_id": "docno", "relevance": "label", "run": "name"}
"""PyTerrier's column names by ours."""


class Frame(pd.DataFrame):
    """A DataFrame that can rename its columns to those of PyTerrier."""

    @property
    def _constructor(self) -> type[Frame]:
        return Frame

    def pt(self) -> pd.DataFrame:
        """Return the table with PyTerrier's column names: qid, docno, label, name."""
        return pd.DataFrame(self.rename(columns=PYTERRIER))


class Project:
    """An open project. Close it when done, or use it in a `with` statement.

    Keyword arguments named `settings` are scoring settings, as in `Policy`: grader, bank_version,
    min_rating, cutoff, label, weighted, skipped, min_judgment, overrides.
    """

    def __init__(self, stored: StoredProject) -> None:
        self._stored = stored

    def __enter__(self) -> Project:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<exam_workbench.Project {str(self.path)!r}>"

    @property
    def path(self) -> Path:
        """The project's file."""
        return self._stored.path

    def close(self) -> None:
        """Close the file, so that the app and commands can open it."""
        self._stored.close()

    def add(
        self,
        *,
        queries: FilePath | Records | None = None,
        passages: FilePath | Records | None = None,
        bank: FilePath | Records | None = None,
        runs: FilePath | Iterable[FilePath] | Mapping[str, Ranked] | Records | None = None,
        qrels: Ranked | None = None,
        source: str | None = None,
        skip_unknown: bool = False,
        replace: bool = False,
    ) -> dict[str, dict[str, int]]:
        """Import data in one transaction: if any of it is refused, nothing is imported.

        Args:
            queries, passages: a file in any format of `exam import`, or records with an id and a
                text.
            bank: the exam questions: a file, or records with query_id, question_id and text.
            runs: run files; records with run, query_id, doc_id and score; or a file, records or
                scores by run name.
            qrels: judgments: a file, records with query_id, doc_id and relevance, or values by
                query and passage.
            source: name of the source of the judgments. Default: the file's name, or "judgments".
            skip_unknown: skip runs and judgments of unknown queries.
            replace: replace data of the same names.

        Returns:
            Counts by kind of data. Each note about the data is issued as a warning.

        Raises:
            InputError: the data is invalid, or would replace other data.
        """
        sources_of_kind = {
            "queries": _text_sources("queries", queries),
            "passages": _text_sources("passages", passages),
            "bank": _text_sources("bank", bank),
            "runs": _run_sources(runs),
            "qrels": [] if qrels is None else [_ranked_source("judgments", qrels, "relevance")],
        }
        groups = [
            Group(
                kind,
                sources,
                Options(source if kind == "qrels" else None, skip_unknown, replace=replace),
            )
            for kind, sources in sources_of_kind.items()
            if sources
        ]
        outcome = import_groups(self._stored, groups, current_author())
        for note in (note for imported in outcome for note in imported.notes):
            if note.code not in _EXPECTED_NOTES:
                warnings.warn(str(note), stacklevel=2)
        return {imported.kind: imported.counts for imported in outcome}

    def grade(
        self,
        grader: str = "embedding",
        *,
        queries: Iterable[str] | None = None,
        runs: Iterable[str] | None = None,
        top: int | None = None,
        limit: int | None = None,
        bank_version: int | None = None,
        max_calls: int | None = None,
        max_cost: float | None = None,
        concurrency: int = CONCURRENCY,
        retry_failed: bool = False,
        **parameters: Any,
    ) -> dict[str, Any]:
        """Grade the ungraded pairs of a question and a passage.

        Args:
            grader: a method, or a name from `exam graders list`.
            queries, runs: grade only these.
            top: grade only the first passages of each run per query.
            limit: grade at most this many pairs.
            max_calls, max_cost: limits on calls and cost (in the currency of `exam prices`) of a
                remote model.
            concurrency: parallel calls.
            retry_failed: retry failed pairs too.
            parameters: parameters of the grader, such as model, prompt, base_url.

        Returns:
            grader (name), state (done or stopped), graded, failed, seconds.

        Raises:
            InputError: unknown grader, parameter, query, run or bank version.
            GradingError: the job failed; its finished grades are kept.
        """
        stored, author = self._stored, current_author()
        made_grader, kind, grader_parameters = make_named(stored, grader, parameters)
        scope = Scope(
            tuple(queries) if queries is not None else None,
            tuple(runs) if runs is not None else None,
            retry_failed,
            limit=limit,
            top=top,
        )
        request = Request(
            scope, bank_version, max_calls=max_calls, max_cost=max_cost, concurrency=concurrency
        )
        check_version(stored, bank_version)
        remember_settings(stored, made_grader, kind, grader_parameters, author)
        final = run_job(stored, made_grader, request, author)
        if final.state in ("failed", "cancelled"):
            raise GradingError(
                "job-failed",
                final.message,
                f"Saved grades: {final.graded:,}. Grade again to resume.",
            )
        return {
            "grader": made_grader.spec.name,
            "state": final.state,
            "graded": final.graded,
            "failed": final.failed,
            "seconds": final.seconds,
        }

    def labels(self, **settings: Any) -> Frame:
        """Return the label of each labelled passage of the pool: query_id, doc_id, relevance.

        A passage without a label is not in the table.

        Raises:
            InputError: invalid settings, or no grades.
        """
        found = label_qrels(self._stored, basis(self._stored, self._policy(settings)))
        rows = [
            (query, passage, value)
            for query, values in found.items()
            for passage, value in values.items()
        ]
        return Frame(rows, columns=["query_id", "doc_id", "relevance"])

    def grades(self, **settings: Any) -> Frame:
        """Return every pair of a question and a pooled passage: query_id, question_id, doc_id,
        rating, state.

        `state` is graded, failed or ungraded; `rating` is missing unless the pair is graded.

        Raises:
            InputError: invalid settings, or no grader yet.
        """
        return Frame(grades_table(self._stored, basis(self._stored, self._policy(settings))))

    def leaderboard(
        self, measure: str = DEFAULT_MEASURE, *, source: str = "exam", **settings: Any
    ) -> Frame:
        """Return the systems, best first: rank, run, score, std_error, queries.

        Queries with ungraded pairs are left out of the mean, and a warning names them.

        Args:
            measure: such as nDCG@10, AP, EXAM-Cover@20, n-EXAM@20.
            source: exam (the grades), judgments, or the name of imported judgments or of an
                imported leaderboard.

        Raises:
            InputError: unknown measure, source or setting, or nothing to score.
        """
        columns = ["rank", "run", "score", "std_error", "queries"]
        board = self._board(measure, source, settings)
        return Frame(
            [[getattr(system, name) for name in columns] for system in board.systems],
            columns=columns,
        )

    def per_query(
        self, measure: str = DEFAULT_MEASURE, *, source: str = "exam", **settings: Any
    ) -> Frame:
        """Return each run's score per query: run, query_id, measure, value. See `leaderboard`."""
        board = self._board(measure, source, settings)
        rows = [
            (system.run, query, board.measure, value)
            for system in board.systems
            for query, value in board.per_query.get(system.run, {}).items()
        ]
        return Frame(rows, columns=["run", "query_id", "measure", "value"])

    def correlate(
        self, against: str, measure: str = DEFAULT_MEASURE, *, source: str = "exam", **settings: Any
    ) -> dict[str, Any]:
        """Correlate a leaderboard with an official one.

        Args:
            against: judgments, or the name of imported judgments or of an imported leaderboard.

        Returns:
            spearman, kendall, tau_ap, pearson, systems, ties, and undefined (a reason if the
            coefficients are None).

        Raises:
            InputError: a leaderboard cannot be made.
        """
        found = compare(self._stored, measure, against, source, policy=self._policy(settings))
        return dict(vars(found.correlation))

    def figure(
        self,
        name: str,
        measure: str | Iterable[str] = DEFAULT_MEASURE,
        *,
        source: str = "exam",
        against: str = "judgments",
        runs: Iterable[str] = (),
        exam: str | None = None,
        by: str | None = None,
        audit: str | None = None,
        **settings: Any,
    ) -> LayerChart:
        """Return a figure as an Altair chart. Save it with `chart.save("figure.pdf")`.

        Args:
            name: as in `exam export figure`: leaderboard, leaderboards, scatter, slope,
                significance, queries, coverage, examinees, topics, characteristic-curves,
                item-information, information, shortening, audit.
            measure: one or, for leaderboards, several.
            source, against: of the leaderboard, and of the official one; see `leaderboard` and
                `correlate`.
            runs: the systems of queries or coverage; empty for the best.
            exam: only items of this query.
            by: bloom, question type or topic: curves of information for each category.
            audit: the name of the audit. Default: the newest that has not ended.

        Raises:
            InputError: an unknown figure, or the project lacks its data.
        """
        # Imported here, because most scripts draw nothing and Altair loads slowly.
        from .charts import for_print
        from .operations.project_report import FigureRequest, draw_figure

        measures = (measure,) if isinstance(measure, str) else tuple(measure)
        wanted = FigureRequest(
            measures, source, self._policy(settings), against, tuple(runs), exam, by, audit
        )
        return for_print(draw_figure(self._stored, name, wanted))

    def _policy(self, settings: Mapping[str, Any]) -> Policy:
        return Policy(**{"min_judgment": usual_min_judgment(self._stored), **settings})

    def _board(self, measure: str, source: str, settings: dict[str, Any]) -> Leaderboard:
        board = leaderboard(self._stored, measure, source, self._policy(settings))
        if board.ungraded_note:
            warnings.warn(board.ungraded_note, stacklevel=3)
        return board


def create(path: FilePath) -> Project:
    """Create an empty project and open it.

    Raises:
        InputError: the file exists, or cannot be written.
    """
    return Project(create_project(Path(path)))


def open(path: FilePath) -> Project:
    """Open a project.

    Raises:
        ProjectError: the file is not a project, or another program has it open.
    """
    return Project(open_project(Path(path)))


def demo(path: FilePath, *, grade: bool = True) -> Project:
    """Create the demo project and open it: 9 queries, 18 runs, judgments and a question bank.

    Args:
        grade: grade it with the embedding grader, which takes about half a minute.

    Raises:
        InputError: the file exists, or cannot be written.
    """
    make_demo(Path(path), current_author(), grade, lambda step: None)
    return Project(open_project(Path(path)))


def measure(name: str, project: Project, **settings: Any) -> Any:
    """Return EXAM-Cover as a measure for `pt.Experiment` and ir_measures. It scores any run by the
    project's grades.

    Only the query ids of the qrels are used. The settings are part of the measure's name. Measures
    of two projects have the same name, so evaluate them one after the other.

    Args:
        name: EXAM-Cover with a cutoff, such as EXAM-Cover@20.

    Raises:
        InputError: another measure, or invalid settings.
    """
    return coverage_measure(project._stored, name, settings)


def _text_sources(name: str, records: FilePath | Records | None) -> list[Source]:
    """Return the source of records with ids and texts; an empty list for None."""
    if records is None:
        return []
    if isinstance(records, FilePath):
        return [Source.from_path(records)]
    rows = orjson.loads(_make_frame(records).to_json(orient="records", double_precision=15))
    filled = ({key: value for key, value in row.items() if value is not None} for row in rows)
    return [Source(f"{name}.jsonl", data=b"".join(orjson.dumps(row) + b"\n" for row in filled))]


def _run_sources(
    runs: FilePath | Iterable[FilePath] | Mapping[str, Ranked] | Records | None,
) -> list[Source]:
    if runs is None:
        return []
    if isinstance(runs, Mapping):
        return [_ranked_source(name, value) for name, value in runs.items()]
    if isinstance(runs, FilePath):
        return [Source.from_path(runs)]
    runs = runs if isinstance(runs, pd.DataFrame) else list(runs)
    if isinstance(runs, list) and all(isinstance(value, FilePath) for value in runs):
        return [Source.from_path(path) for path in runs]
    return [_ranked_source("runs", runs)]


def _ranked_source(name: str, ranked: Ranked, value: str = "score") -> Source:
    """Return the source of a run or of judgments. `name` names a run whose data has no name."""
    if isinstance(ranked, FilePath):
        return Source.from_path(ranked)
    if isinstance(ranked, Mapping):
        rows = [
            (query, passage, each)
            for query, values in ranked.items()
            for passage, each in values.items()
        ]
        ranked = pd.DataFrame(rows, columns=["query_id", "doc_id", value])
    frame = _make_frame(ranked)
    if value == "score" and not {"run", "name", "system", "tag"}.intersection(frame.columns):
        frame = frame.assign(run=name)
    return Source(name, data=frame.to_csv(index=False).encode())


def _make_frame(records: Records) -> pd.DataFrame:
    if isinstance(records, pd.DataFrame):
        return records
    frame = pd.DataFrame(list(records))
    if frame.empty:
        raise InputError("empty-table", "The table has no rows.", "Give at least one row.")
    return frame
