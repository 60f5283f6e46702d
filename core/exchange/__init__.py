"""Import, export, publication, Parquet and demo: exchange of files with a project."""

from __future__ import annotations

from . import exporting
from .checking import CHECKS, check
from .datasets import SPLIT, DataSet, find_data_set, import_beir, import_data_set
from .demo import is_demo, make_demo
from .exporting import (
    bank_csv,
    bank_in_form,
    bank_jsonl,
    board_in_form,
    board_json,
    board_latex,
    board_tsv,
    graded_file,
    qrels,
    qrels_counts,
    qrels_head,
    queries_jsonl,
    recorded,
    runs_zip,
    zipped,
)
from .importing import IMPORTERS, Group, Imported, Options, import_files, import_groups
from .nugget_grades import nugget_grades_jsonl
from .parquet import export_grades, export_project, import_project, project_zip
from .publication import (
    Manifest,
    Publication,
    bundle,
    bundle_again,
    bundled,
    manifest_json,
    overrides_csv,
    publications,
    publish,
    read_manifest,
    reproduce,
)

__all__ = [
    "CHECKS",
    "IMPORTERS",
    "SPLIT",
    "DataSet",
    "Group",
    "Imported",
    "Manifest",
    "Options",
    "Publication",
    "bank_csv",
    "bank_in_form",
    "bank_jsonl",
    "board_in_form",
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
    "find_data_set",
    "graded_file",
    "import_beir",
    "import_data_set",
    "import_files",
    "import_groups",
    "import_project",
    "is_demo",
    "make_demo",
    "manifest_json",
    "nugget_grades_jsonl",
    "overrides_csv",
    "project_zip",
    "publications",
    "publish",
    "qrels",
    "qrels_counts",
    "qrels_head",
    "queries_jsonl",
    "read_manifest",
    "recorded",
    "reproduce",
    "runs_zip",
    "zipped",
]
