from . import exporting as exporting
from ._collections import (
    MADE_COLLECTION as MADE_COLLECTION,
    DataSet as DataSet,
    find_data_set as find_data_set,
    import_beir as import_beir,
    import_data_set as import_data_set,
    is_demo as is_demo,
    make_demo as make_demo,
)
from ._file_import import (
    IMPORTERS as IMPORTERS,
    Group as Group,
    Imported as Imported,
    Options as Options,
    import_files as import_files,
    import_groups as import_groups,
)
from ._integrity import CHECKS as CHECKS, check_project as check_project
from ._label_import import whole_responses as whole_responses
from ._parquet import (
    export_grades as export_grades,
    export_project as export_project,
    import_project as import_project,
    project_zip as project_zip,
)
from ._publication import (
    Manifest as Manifest,
    Publication as Publication,
    bundle_publication as bundle_publication,
    bundle_sizes as bundle_sizes,
    list_publications as list_publications,
    manifest_json as manifest_json,
    overrides_csv as overrides_csv,
    publish_qrels as publish_qrels,
    read_manifest as read_manifest,
    reproduce_bundle as reproduce_bundle,
    reproduce_qrels as reproduce_qrels,
)
from ._report import (
    Cell as Cell,
    Figure as Figure,
    Section as Section,
    Table as Table,
    report_html as report_html,
)
from .exporting import (
    bank_csv as bank_csv,
    bank_in_form as bank_in_form,
    bank_jsonl as bank_jsonl,
    board_in_form as board_in_form,
    board_json as board_json,
    board_latex as board_latex,
    board_tsv as board_tsv,
    graded_file as graded_file,
    nugget_docs_zip as nugget_docs_zip,
    nugget_grades_jsonl as nugget_grades_jsonl,
    qrels_counts as qrels_counts,
    qrels_text as qrels_text,
    queries_jsonl as queries_jsonl,
    record_export as record_export,
    reports_jsonl as reports_jsonl,
    response_ratings as response_ratings,
    runs_zip as runs_zip,
    zip_bytes as zip_bytes,
)
