"""Commands that export files, figures and reports, and list publications."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from .. import audit, bank, exams, exchange, formats, labels, records
from ..board_summary import board_readiness
from ..choices import BANK_FORMS, DEFAULT_MEASURE, LEADERBOARD_FORMS
from ..errors import GradingError, InputError, check_rules
from ..store import log_readonly_action
from ..text import how_many
from .console import (
    deliver_files,
    print_message,
    refuse_in_server,
    sibling_path,
    warn_of_terms,
    write_bytes,
)
from .policy import PolicyOptions
from .registry import Argument, Option, Output, Project, current_author, operation


@dataclass(frozen=True)
class ExportRequest:
    """The request of the export command.

    Args:
        output: file or folder to write; - for standard output.
        manifest: of the publication to reproduce.
        save_manifest: where to write the manifest of the new publication.
        note: of the new publication.
        form: form of another tool, one of `FORMS_OF`; None means our own.
    """

    output: str
    source: str
    binary: bool
    measure: str
    policy: labels.Policy
    manifest: exchange.Manifest | None
    save_manifest: Path | None
    note: str
    require_complete: bool
    form: str | None = None

    @property
    def chosen(self) -> str | None:
        """The named source, grader or query; None if none was named."""
        return None if self.source == "exam" else self.source

    def deliver(self, content: bytes) -> None:
        deliver_files({self.output: content})

    def deliver_both(self, publication: exchange.Publication) -> None:
        """Write the qrels and their manifest, both or neither."""
        deliver_files(
            {
                str(self.save_manifest): exchange.manifest_json(publication.manifest).encode(),
                self.output: publication.qrels_bytes,
            }
        )


def _record_export(project: Project, what: str, output: str, **details: str) -> None:
    log_readonly_action(
        project, current_author(), f"export {what}", file=Path(output).name, **details
    )


def _export_folder(project: Project, what: str, asked: ExportRequest) -> None:
    """Write the whole project, or its grades with rankings and questions, as Parquet."""
    if asked.output == "-":
        raise InputError(
            "folder-to-standard-output",
            "A folder cannot be written to standard output.",
            "Name a folder, or for a project a .zip file.",
        )
    if what == "grades":
        refuse_in_server()
        rows = exchange.export_grades(project, Path(asked.output), current_author(), asked.policy)
    else:
        rows = exchange.export_project(
            project, Path(asked.output), current_author(), lambda: deliver_files({})
        )
    print_message(f"{len(rows)} tables, {sum(rows.values()):,} rows.")


def _export_qrels(project: Project, asked: ExportRequest) -> bytes:
    author = current_author()
    if asked.manifest is not None:
        return exchange.reproduce_qrels(project, asked.manifest, author, asked.deliver)
    if asked.source == "exam":
        _check_labels(project, asked)
    elif asked.save_manifest or asked.require_complete:
        raise InputError(
            "no-manifest-of-kind",
            "--save-manifest and --require-complete apply to labels, not to judgments.",
            "Remove --source.",
        )
    if asked.save_manifest is not None:
        publication = exchange.publish_qrels(
            project,
            asked.policy,
            author,
            asked.binary,
            asked.note,
            asked.deliver_both,
            vars(board_readiness(project, asked.policy, asked.measure)),
        )
        print_message(f"Wrote {asked.save_manifest}.")
        return publication.qrels_bytes
    content = exchange.qrels_text(project, asked.policy, asked.source, asked.binary).encode()
    asked.deliver(content)
    _record_export(project, "qrels", asked.output, source=asked.source)
    return content


def _check_labels(project: Project, asked: ExportRequest) -> None:
    """Warn if the labels are incomplete, or refuse if they have to be complete."""
    base = labels.basis(project, asked.policy)
    state = labels.label_readiness(project, base)
    if passages := state.speaking_passages:
        print_message(
            f"note: {how_many(passages, 'pooled passages')} with text that addresses the grader:"
            " exam passages --speaking"
        )
    if state.complete:
        return
    ungraded = labels.grading_progress(project, base).ungraded_of
    missing = state.ungraded + state.failed
    lacks = (
        (
            missing,
            f"{state.ungraded:,} of {state.needed:,} pairs are ungraded, {state.failed:,} failed",
        ),
        (state.ungraded, labels.queries_with_ungraded(ungraded)),
        (state.without_text, f"{how_many(state.without_text, 'pairs')} without passage text"),
        (state.stale_overrides, how_many(state.stale_overrides, "stale overrides")),
        (state.partial_labels, how_many(state.partial_labels, "partial labels")),
        (
            state.unlabelled_passages,
            f"{how_many(state.unlabelled_passages, 'passages')} without a label",
        ),
    )
    counts = "; ".join(lack for number, lack in lacks if number)
    retry = ["--retry-failed"] if state.failed else []
    fixes = (
        (missing, bank.how_to_grade(project, base.grader.spec, *retry)),
        (state.stale_overrides, "Confirm or withdraw stale overrides: exam overrides list --stale"),
        (state.without_text, "Import passage texts: exam import passages FILE"),
    )
    steps = [fix for number, fix in fixes if number]
    if asked.require_complete:
        raise GradingError("incomplete-labels", f"Incomplete labels: {counts}.", "; ".join(steps))
    for text in (f"warning: incomplete labels: {counts}.", *steps):
        print_message(text)


def _export_bundle(project: Project, asked: ExportRequest) -> bytes:
    if asked.manifest is not None:
        return exchange.reproduce_bundle(
            project, asked.manifest, current_author(), audit.audit_files, asked.deliver
        )
    _check_labels(project, asked)
    return exchange.bundle_publication(
        project,
        asked.policy,
        current_author(),
        asked.binary,
        asked.note,
        audit.audit_files,
        asked.deliver,
        vars(board_readiness(project, asked.policy, asked.measure)),
    )


def _export_bank(project: Project, asked: ExportRequest) -> bytes:
    if asked.form is not None:
        return exchange.bank_in_form(project, asked.form, asked.policy.bank_version).encode()
    make = exchange.bank_csv if asked.output.endswith(".csv") else exchange.bank_jsonl
    return make(project, asked.policy.bank_version).encode()


def _export_leaderboard(project: Project, asked: ExportRequest) -> bytes:
    by_ending = {".tex": exchange.board_latex, ".json": exchange.board_json}
    make = by_ending.get(Path(asked.output).suffix, exchange.board_tsv)
    board = labels.leaderboard(project, asked.measure, asked.source, asked.policy)
    if board.ungraded_note:
        print_message(board.ungraded_note)
    if asked.form is None:
        return make(board).encode()
    content, measures = exchange.board_in_form(board, asked.form)
    if asked.output != "-":
        deliver_files(
            {sibling_path(asked.output, ".measures.yml"): measures, asked.output: content}
        )
    return content


_CONTENTS: dict[str, Callable[[Project, ExportRequest], bytes]] = {
    "qrels": _export_qrels,
    "bank": _export_bank,
    "graded": lambda project, asked: exchange.graded_file(project, asked.chosen),
    "leaderboard": _export_leaderboard,
    "exam": lambda project, asked: exams.exam_json(project, asked.chosen).encode(),
    "responses-matrix": lambda project, asked: exams.answers_csv(project, asked.chosen).encode(),
    "runs": lambda project, asked: exchange.runs_zip(project),
    "queries": lambda project, asked: exchange.queries_jsonl(
        project, asked.form is not None
    ).encode(),
    "nugget-grades": lambda project, asked: exchange.nugget_grades_jsonl(
        project, asked.policy, False
    ).encode(),
    "nugget-doc-grades": lambda project, asked: exchange.nugget_grades_jsonl(
        project, asked.policy, True
    ).encode(),
    "nugget-docs": lambda project, asked: exchange.nugget_docs_zip(project, asked.policy),
    "reports": lambda project, asked: exchange.reports_jsonl(project, asked.policy).encode(),
    "bundle": _export_bundle,
}

_DELIVERED = _CONTENTS.keys() - {"qrels", "bundle"}
"""Exports of a file that `export` writes; the others write and record theirs themselves."""
FORMS_OF = {"bank": BANK_FORMS, "queries": ("autojudge",), "leaderboard": tuple(LEADERBOARD_FORMS)}
"""Forms of other tools, by exported content."""
FOLDERS = ("project", "grades")
"""Exports of several files."""
EXPORTS = (*_CONTENTS, *FOLDERS)
"""All exports."""


@operation("export", act="download")
def export(
    project: Project,
    given: frozenset[str],
    *,
    what: Annotated[str, Argument(choices=EXPORTS)],
    output: Annotated[
        str,
        Option("-o --output", help="Output file or folder; - for standard output.", file="write"),
    ],
    source: Annotated[
        str,
        Option(
            help=(
                "Source of qrels: 'exam' (labels) or a judgment source. For an"
                " exam file: its query."
            )
        ),
    ] = "exam",
    binary: Annotated[bool, Option(help="Write binary qrels, split at the min rating.")] = False,
    measure: Annotated[str, Option(help="Measure of the leaderboard.")] = "nDCG@10",
    save_manifest: Annotated[
        Path | None,
        Option(
            help="Publish the qrels, and write a manifest that reproduces them.",
            file="write",
            metavar="FILE",
        ),
    ] = None,
    manifest: Annotated[
        Path | None,
        Option(
            help="Reproduce the qrels or bundle of this manifest, byte for byte.",
            file="read",
            metavar="FILE",
        ),
    ] = None,
    note: Annotated[str, Option(help="Reason of the publication, stored in the manifest.")] = "",
    require_complete: Annotated[
        bool, Option(help="Fail if pairs are ungraded or failed, or overrides are stale.")
    ] = False,
    form: Annotated[
        str | None,
        Option(
            help="Form of another tool. bank: v3, ragtime26, nuggetizer; queries: autojudge;"
            " leaderboard by query, with its measures in a .measures.yml file: the other forms.",
            choices=[form for forms in FORMS_OF.values() for form in forms],
        ),
    ] = None,
    policy: PolicyOptions,
) -> str | None:
    """Export qrels, leaderboards, figures, other files or the whole project.

    \b
    qrels             labels, or the judgments of --source
    bank              question bank: .jsonl or .csv; --form for AutoJudge and Nuggetizer
    queries           .jsonl; --form autojudge: topics
    nugget-grades     grades of responses as nugget-grades.jsonl of AutoJudge
    nugget-doc-grades grades of pooled passages as nugget-doc-grades.jsonl of AutoJudge
    nugget-docs       zip of nuggets_QUERY.json of AutoJudge: questions with answering passages
    reports           generated responses as reports of AutoJudge, with questions by sentence
    graded            graded file: .jsonl.gz
    leaderboard       TSV, .json or .tex; --form for AutoJudge (trec_eval: zip of a file per run)
    exam              .json of the items; --source QUERY selects one exam
    responses-matrix  answers of examinees: CSV; --source QUERY selects one exam
    runs              zip of TREC runs
    bundle            zip of qrels, manifest, bank, leaderboards and overrides
    project           everything, for exam import project: folder or .zip of Parquet files
    grades            grades, for exam file-leaderboard: folder of Parquet files
    figure NAME       charts for papers: see the help of exam export figure
    """
    available = "; ".join(f"{kind}: {', '.join(forms)}" for kind, forms in FORMS_OF.items())
    others = [
        f"--{name.replace('_', '-')}" for name in sorted(given - {"what", "output", "manifest"})
    ]
    check_rules(
        (
            manifest is not None and what not in ("qrels", "bundle"),
            InputError(
                "no-manifest-of-kind",
                f"--manifest cannot reproduce {what}.",
                "Export qrels or bundle.",
            ),
        ),
        (
            save_manifest is not None and what != "qrels",
            InputError(
                "no-manifest-of-kind",
                f"--save-manifest does not apply to {what}.",
                "Export qrels, or a bundle with its manifest.",
            ),
        ),
        (
            form is not None and form not in FORMS_OF.get(what, ()),
            InputError(
                "options-exclude-each-other",
                f"--form {form} cannot be combined with {what}.",
                f"Available: {available}.",
            ),
        ),
        (
            manifest is not None and bool(others),
            InputError(
                "options-exclude-each-other",
                f"--manifest cannot be combined with {', '.join(others)}.",
                "Remove these options.",
            ),
        ),
    )
    published = (
        None
        if manifest is None
        else exchange.read_manifest(formats.read_small(manifest), str(manifest))
    )
    request = ExportRequest(
        output,
        source,
        binary,
        measure,
        policy,
        published,
        save_manifest,
        note,
        require_complete,
        form,
    )
    if what in ("graded", "project"):
        warn_of_terms(project)
    if what in FOLDERS:
        _export_folder(project, what, request)
        return f"Wrote {output}."
    content = _CONTENTS[what](project, request)
    if what in _DELIVERED:
        if what != "leaderboard" or form is None:
            request.deliver(content)
        _record_export(project, what, output)
    if output == "-":
        write_bytes(content)
        return None
    return f"Wrote {output}."


FIGURES = (
    "leaderboard",
    "leaderboards",
    "scatter",
    "slope",
    "significance",
    "queries",
    "coverage",
    "examinees",
    "topics",
    "characteristic-curves",
    "item-information",
    "information",
    "shortening",
    "audit",
)
"""The keys of `project_report.FIGURES`, because the help must not load Altair."""
ENDINGS = (".pdf", ".svg", ".png", ".json")


@operation("export figure", act="download")
def figure(
    project: Project,
    *,
    name: Annotated[str, Argument(choices=FIGURES, metavar="FIGURE")],
    output: Annotated[
        str,
        Option(
            "-o --output", help=f"Output file; its ending is {', '.join(ENDINGS)}.", file="write"
        ),
    ],
    measures: Annotated[
        tuple[str, ...],
        Option("--measure", help="leaderboards: may be repeated. Default: nDCG@10."),
    ] = (),
    source: Annotated[str, Option(help="Basis: exam, judgments, or a source's name.")] = "exam",
    against: Annotated[
        str, Option(help="Official leaderboard: judgments, or a source's name.")
    ] = "judgments",
    runs: Annotated[
        tuple[str, ...],
        Option("--run", help="System of queries or coverage; may be repeated. Default: the best."),
    ] = (),
    exam: Annotated[str | None, Option(help="Only items of this query.", metavar="QUERY")] = None,
    by: Annotated[
        str | None,
        Option(help="Categories of information.", choices=("bloom", "question type", "topic")),
    ] = None,
    audit: Annotated[
        str | None, Option(help="Name of the audit. Default: the newest that has not ended.")
    ] = None,
    width: Annotated[
        int, Option(help="Width of the plot in pixels; 96 are an inch.", least=100, most=2000)
    ] = 480,
    policy: PolicyOptions,
) -> str:
    """Export a figure for a paper or a slide.

    \b
    leaderboard            scores with one standard error; lines join systems that are not separated
    leaderboards           leaderboards of several measures and the official one, on one scale
    scatter                systems on the leaderboard and on the official one
    slope                  order of the systems on both
    significance           every two systems: separated or not
    queries                scores of two systems by query
    coverage               coverage by number of passages read
    examinees              accuracy of the examinees of an exam
    topics                 accuracy by topic
    characteristic-curves  probability of a right answer by ability, for each item
    item-information       information by ability, for each item
    information            mean information by ability, for all items and by category
    shortening             mean information of shortened exams
    audit                  precision by number of judgments

    PNG files have 300 dots per inch. JSON files are Vega-Lite.
    """
    ending = Path(output).suffix.lower()
    if ending not in ENDINGS:
        raise InputError(
            "unknown-ending", f"Unknown kind of file '{output}'.", f"Endings: {', '.join(ENDINGS)}"
        )
    # Imported here, because Altair loads slowly.
    from ..charts import for_print, render_chart
    from .project_report import FigureRequest, draw_figure

    request = FigureRequest(
        measures or FigureRequest.measures, source, policy, against, runs, exam, by, audit
    )
    deliver_files(
        {output: render_chart(for_print(draw_figure(project, name, request), width), ending)}
    )
    _record_export(project, f"figure {name}", output)
    return f"Wrote {output}."


@operation("export report", act="download")
def report(
    project: Project,
    *,
    output: Annotated[str, Option("-o --output", help="Output file (.html).", file="write")],
    measure: Annotated[str, Option(help="Measure of the leaderboard.")] = DEFAULT_MEASURE,
    against: Annotated[
        str | None,
        Option(
            help=(
                "Official leaderboard: judgments, a source's name, or none. Default: the first one."
            )
        ),
    ] = None,
    questions: Annotated[bool, Option(help="Also list the questions of every query.")] = False,
    policy: PolicyOptions,
) -> str:
    """Export a report as one HTML file, which opens without a network.

    It has the leaderboard, its agreement with the official leaderboard and with judgments, the
    audit, the methods and figures. It contains no script.
    """
    # Imported here, because Altair loads slowly.
    from .project_report import ReportRequest, make_report

    official = against or next(iter(records.official_sources(project)), None)
    wanted = ReportRequest(measure, policy, None if official == "none" else official, questions)
    deliver_files({output: make_report(project, wanted).encode()})
    _record_export(project, "report", output)
    return f"Wrote {output}."


@operation("publications", act="read the bank", reads=True)
def publications(
    project: Project,
) -> Output:
    """List the publications, newest first.

    With --json, print their manifests, from which you can reproduce them.
    """
    manifests = exchange.list_publications(project)
    return Output({"publications": manifests}).table(
        ("publication", "published at", "by", "grader", "bank", "lines", "note"),
        [
            (
                str(m["publication"]),
                m["published_at"],
                m["published_by"],
                m["grader"]["name"],
                m["bank"]["version"],
                m["qrels"]["lines"],
                m["note"],
            )
            for m in manifests
        ],
    )
