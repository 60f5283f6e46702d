"""Judgment sheets: export of a batch, all-or-nothing import, and repeated import."""

from __future__ import annotations

import json

import pytest

from exam_workbench.audit import (
    Audit,
    Goal,
    design_audit,
    draw_batch,
    find_audit,
    give_back,
    import_sheet,
    list_batches,
    make_sheet,
)
from exam_workbench.errors import FileError
from exam_workbench.formats import Source
from exam_workbench.records import source_judgments
from exam_workbench.store import Project
from tests.made.audits import deal, fill_audited, truth
from tests.made.projects import filled_project
from tests.made.refusals import refusal


def plan_and_draw(project: Project) -> None:
    fill_audited(project)
    draw_batch(project, design_audit(project, "a", "P@3", Goal("best"), batch_size=12, seed=3, author="org"), "org")


drawn = filled_project(plan_and_draw)


def filled(text: str, form: str) -> str:
    """Fill in every judgment of a sheet, the first as `cannot say`."""
    if form == "jsonl":
        rows = [json.loads(line) for line in text.splitlines()]
        for number, row in enumerate(rows):
            row["judgment"] = truth(row["query_id"], row["passage_id"]) if number else "cannot say"
        return "".join(json.dumps(row) + "\n" for row in rows)
    header, *lines = text.splitlines()
    out = [header]
    for number, line in enumerate(lines):
        cells = line.split("\t")
        cells[5] = str(truth(cells[0], cells[3])) if number else "cannot say"
        out.append("\t".join(cells))
    return "\n".join(out) + "\n"


def source(text: str) -> Source:
    return Source("sheet", data=text.encode())


@pytest.mark.parametrize("form", ["tsv", "jsonl"])
def test_second_import_of_a_sheet_changes_nothing(drawn: Project, form: str) -> None:
    audit = find_audit(drawn)
    out = make_sheet(drawn, audit, form)  # type: ignore[arg-type]
    batch = list_batches(drawn, audit)[0]
    assert out.passages == batch.drawn and "What of q1?" in out.text and "text of " in out.text
    back = filled(out.text, form)
    first = import_sheet(drawn, audit, source(back), "ann")
    assert (first.verdicts, first.new, first.left) == (batch.drawn, batch.drawn, 0)
    kept = drawn.rows("FROM audit_verdicts ORDER BY verdict_key")
    again = import_sheet(drawn, audit, source(back), "ann")
    assert (again.verdicts, again.new) == (batch.drawn, 0)
    assert drawn.rows("FROM audit_verdicts ORDER BY verdict_key") == kept
    after = list_batches(drawn, audit)[0]
    assert (after.judged, after.cannot_say, after.done) == (batch.drawn - 1, 1, True)
    for query, values in source_judgments(drawn, audit.source).items():
        assert values == {passage: truth(query, passage) for passage in values}


def qrels_line(project: Project, audit: Audit, value: int = 1) -> str:
    found = deal(project, audit, "ann")
    assert found is not None
    give_back(project, audit, "ann")
    return f"{found.query.query_id} 0 {found.cards[0].passage_id} {value}\n"


def test_qrels_with_part_of_a_batch_are_imported(drawn: Project) -> None:
    audit = find_audit(drawn)
    done = import_sheet(drawn, audit, source(qrels_line(drawn, audit, 3)), "ann")
    assert done.new == 1 and done.left == list_batches(drawn, audit)[0].drawn - 1


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("q1 0 nowhere 1\n", ("not-placed", "sheet:2", "q1")),
        ("q1 0 x five\n", ("invalid-judgment", "five", "sheet:2")),
    ],
)
def test_invalid_line_refuses_the_whole_sheet(drawn: Project, more: str, says: tuple[str, ...]) -> None:
    audit = find_audit(drawn)
    with refusal(*says, kind=FileError):
        import_sheet(drawn, audit, source(qrels_line(drawn, audit) + more), "ann")
    assert source_judgments(drawn, audit.source) == {}


def test_out_of_range_value_is_refused_with_its_line(drawn: Project) -> None:
    audit = find_audit(drawn)
    with refusal("not-placed", "sheet:1", "7", "0", "3", kind=FileError):
        import_sheet(drawn, audit, source(qrels_line(drawn, audit, 7)), "ann")


def test_queries_on_a_sheet_stay_reserved_for_its_assessor(drawn: Project) -> None:
    audit = find_audit(drawn)
    taken = make_sheet(drawn, audit, "jsonl", "cara", most=1)
    query = json.loads(taken.text.splitlines()[0])["query_id"]
    dealt = deal(drawn, audit, "ann")
    assert taken.queries == 1 and dealt is not None and dealt.query.query_id != query
    line = qrels_line(drawn, audit)
    assert not line.startswith(f"{query} ")
    with refusal("not-placed", "cara", kind=FileError):
        import_sheet(drawn, audit, source(filled(taken.text, "jsonl")), "ann")
    assert import_sheet(drawn, audit, source(filled(taken.text, "jsonl")), "cara").new == taken.passages
    assert give_back(drawn, audit, "cara") == 1
    with refusal("not-placed", "cara", kind=FileError):
        import_sheet(drawn, audit, source(filled(taken.text, "jsonl")), "ann")


def test_failed_sheet_export_reserves_and_records_nothing(drawn: Project) -> None:
    audit = find_audit(drawn)
    before = drawn.version()

    def fail(text: str) -> None:
        raise OSError(28, "full")

    with pytest.raises(OSError):
        make_sheet(drawn, audit, "tsv", "cara", deliver=fail)
    assert drawn.version() == before
    assert make_sheet(drawn, audit, "tsv", "dora").passages > 0, "no query is reserved"


def test_sheet_without_waiting_passages_is_refused(drawn: Project) -> None:
    audit = find_audit(drawn)
    import_sheet(drawn, audit, source(filled(make_sheet(drawn, audit).text, "tsv")), "ann")
    with refusal("no-waiting-passage"):
        make_sheet(drawn, audit)
