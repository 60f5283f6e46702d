"""Where a project meets files: import, export, publication, bundle, Parquet, demo."""

from __future__ import annotations

from core.exchange import exporting
from core.exchange.bundle import bundle, bundle_again, bundled, overrides_csv
from core.exchange.checking import CHECKS, check
from core.exchange.demo import is_demo, make_demo
from core.exchange.downloads import project_zip, qrels_counts, qrels_head, recorded, runs_zip
from core.exchange.exporting import bank_csv, bank_jsonl, board_json, board_latex, board_tsv, graded_file, qrels
from core.exchange.grade_files import export_grades
from core.exchange.importing import IMPORTERS, Group, Imported, Options, import_files, import_groups
from core.exchange.parquet.project import export_project, import_project
from core.exchange.publication import (
    Manifest,
    Publication,
    manifest_json,
    publications,
    publish,
    read_manifest,
    reproduce,
)
from core.exchange.zipping import zipped

__all__ = [
    "CHECKS",
    "IMPORTERS",
    "Group",
    "Imported",
    "Manifest",
    "Options",
    "Publication",
    "bank_csv",
    "bank_jsonl",
    "board_json",
    "board_latex",
    "board_tsv",
    "bundle",
    "bundle_again",
    "bundled",
    "check",
    "export_grades",
    "export_project",
    "exporting",
    "graded_file",
    "import_files",
    "import_groups",
    "import_project",
    "is_demo",
    "make_demo",
    "manifest_json",
    "overrides_csv",
    "project_zip",
    "publications",
    "publish",
    "qrels",
    "qrels_counts",
    "qrels_head",
    "read_manifest",
    "recorded",
    "reproduce",
    "runs_zip",
    "zipped",
]
