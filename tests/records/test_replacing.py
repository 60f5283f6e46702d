"""What an import would replace is said, needs an explicit choice, and can be brought back from the activity."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from exam_workbench import bank, labels
from exam_workbench.cli import cli
from exam_workbench.errors import InputError
from exam_workbench.exchange import (
    Imported,
    Options,
    export_project,
    import_files,
    import_project,
    publish_qrels,
    qrels_text,
    reproduce_qrels,
)
from exam_workbench.formats import Source
from exam_workbench.labels import Policy
from exam_workbench.records import bring_back, gold_name, gold_texts, judging, list_actions, mark_gold
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import fill, grade, made_project
from tests.made.refusals import check_error, coded, failed, mentions, refusal

GIVEN = {
    "qrels": "q1 0 p1 2\nq2 0 p3 0\nq1 0 p2 1\n",
    "runs": "q1 Q0 p1 1 2.5 sys\nq1 Q0 p2 2 1.5 sys\nq2 Q0 p3 1 7 sys\n",
    "leaderboard": "run\tMAP\nsys\t0.5\nother\t0.25\n",
    "queries": "q1\tfirst query\nq2\tsecond query\n",
    "passages": "p1\ttext one\np2\ttext two\np3\ttext three\n",
    "responses": '{"query_id": "q1", "run": "gen", "answer": [{"text": "One thing.", "citations": ["d1"]}]}\n',
    "gold": '{"query_id": "q1", "run": "people", "text": "A good answer."}\n',
    "graded": json.dumps(
        ["q1", [{"paragraph_id": "p1", "text": "text one", "paragraph_data": {"judgments": [
            {"paragraphId": "p1", "query": "q1", "relevance": 1}], "rankings": [
            {"method": "part", "paragraphId": "p1", "queryId": "q1", "rank": 1, "score": 3.0}]}}]]
    ) + "\n",
}  # fmt: skip
OTHER = {
    "qrels": ("q1 0 p1 1\n", ("3", "qrels", "1")),
    "runs": ("q1 Q0 p1 1 2.5 sys\n", ("2", "3", "sys", "1")),
    "leaderboard": ("run\tMAP\nsys\t0.6\n", ("2", "leaderboard", "1")),
    "queries": ("q1\tfirst query, reworded\n", ("1 query", "q1")),
    "passages": ("p2\ttext two, whole\n", ("1 passage", "p2")),
    "responses": (GIVEN["responses"].replace("d1", "d2"), ("1",)),
    "gold": (GIVEN["gold"].replace("good", "better"), ("gold",)),
    "graded": (GIVEN["graded"].replace('"relevance": 1', '"relevance": 2'), ("1 judgment", "judgments")),
}
KINDS = [*OTHER]
ORDER = ("queries", "passages", "runs", "responses", "gold", "qrels", "leaderboard", "graded")


def take(project: Project, kind: str, content: str, preview: bool = False, **options: bool) -> Imported:
    """Import a file of a kind under one name; `gold` stands for responses that are gold texts."""
    source = Source(f"{kind}.txt", data=content.encode())
    chosen = Options(gold=kind == "gold", **options)
    return import_files(project, "responses" if kind == "gold" else kind, [source], "ann", chosen, preview)


def facts(project: Project) -> dict[str, list[tuple[object, ...]]]:
    """What people see of all that can be replaced, by what it is called."""
    return {
        name: project.rows(sql)
        for name, sql in {
            "judgments": "SELECT name, query_key, passage_key, value FROM judgments JOIN sources USING (source_key)",
            "rankings": "SELECT name, tag, file, query_key, passage_key, rank, score FROM rankings"
            " JOIN runs USING (run_key)",
            "boards": "SELECT name, measure, run, score FROM board_scores JOIN boards USING (board_key)",
            "queries": "SELECT query_id, text, narrative FROM queries",
            "texts": "SELECT passage_id, text FROM passages LEFT JOIN passage_texts USING (text_key)"
            " WHERE NOT contains(passage_id, '/')",
            "citations": "SELECT passage_key, position, citations FROM response_sentences",
            "gold": "SELECT * FROM gold_passages",
            "ranked": "SELECT * FROM ranked_runs",
            "lengths": "SELECT * FROM responses",
        }.items()
        for sql in [f"FROM ({sql}) ORDER BY ALL"]
    }


def take_all(project: Project) -> None:
    for kind in ORDER:
        take(project, kind, GIVEN[kind])


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Project]:
    """A project into which every kind was imported."""
    project = made_project(tmp_path / "full.duckdb", take_all)
    yield project
    project.close()


def last_act(project: Project) -> int:
    return list_actions(project).acts[0].key


@pytest.mark.parametrize("kind", KINDS)
def test_replacing_is_said_needs_a_choice_and_comes_back(full: Project, kind: str) -> None:
    content, values = OTHER[kind]

    def has_all(text: str) -> bool:
        return all(mentions(text, value) for value in values)

    before = facts(full)
    acts = list_actions(full).total
    assert any(has_all(str(one)) for one in take(full, kind, content, preview=True).replaced)
    with pytest.raises(InputError) as refused:
        take(full, kind, content)
    assert has_all(str(refused.value)) and "--replace" in refused.value.hint
    assert facts(full) == before and list_actions(full).total == acts

    assert any(has_all(str(one)) for one in take(full, kind, content, replace=True).replaced)
    after = facts(full)
    assert after != before
    done = list_actions(full).acts[0]
    assert done.replaced and has_all(done.said)

    bring_back(full, done.key, "bob")
    assert without_new(facts(full), before) == before
    undone = list_actions(full).acts[0]
    with refusal("nothing-to-restore"):
        bring_back(full, done.key, "bob")
    assert list_actions(full).acts[0] == undone
    assert (undone.author, undone.act) == ("bob", "bring back")

    # What stood there is kept in its turn; where it was no more than a part of what came back, nothing of it is gone.
    assert undone.replaced == (kind != "runs")
    if undone.replaced:
        bring_back(full, undone.key, "ann")
        assert facts(full) == after


def without_new(now: dict[str, list[tuple[object, ...]]], before: dict[str, list[tuple[object, ...]]]):
    """Gold texts that were reworded left the sentences of new passages, which nothing names any more."""
    return now | {"citations": [row for row in now["citations"] if row in before["citations"]]}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_again_or_more_of_it_is_no_replacement(full: Project, kind: str) -> None:
    before = facts(full)
    assert take(full, kind, GIVEN[kind], preview=True).replaced == ()
    assert take(full, kind, GIVEN[kind]).replaced == ()
    assert facts(full) == before
    assert not any(act.replaced for act in list_actions(full).acts)
    assert full.value("SELECT count(*) FROM replaced_rankings") == full.value("SELECT count(*) FROM replaced_judgments")
    if kind == "qrels":
        assert take(full, "qrels", GIVEN["qrels"] + "q2 0 p1 1\n").replaced == ()


def test_one_judgment_does_not_replace_many_in_the_shell(full: Project, tmp_path: Path) -> None:
    path = full.path
    full.close()
    file = tmp_path / "qrels.txt"
    file.write_text("q1 0 p1 1\n")

    def run(*words: str):
        return CliRunner().invoke(cli, [*words, "--project", str(path)])

    refused = run("import", "qrels", str(file))
    check_error(refused.exception, "would-replace", "3", "qrels", "1")
    preview = run("import", "qrels", str(file), "--preview")
    assert mentions(preview.output, "3") and mentions(preview.output, "qrels")
    assert run("import", "qrels", str(file), "--replace").exit_code == 0
    acts = json.loads(run("activity", "--json", "--limit", "1").stdout)["acts"]
    back = run("bring-back", str(acts[0]["number"]))
    assert back.exit_code == 0 and mentions(back.output, "3")
    assert json.loads(run("status", "--json").stdout)["judgments"] == 4
    nothing = run("bring-back", "999999")
    assert failed(nothing) == "nothing-replaced"


def test_only_what_an_act_replaced_can_be_brought_back(full: Project) -> None:
    before = facts(full)
    with refusal("nothing-replaced"):
        bring_back(full, last_act(full), "ann")
    assert facts(full) == before


def test_gold_texts_that_a_run_takes_the_place_of_come_back(full: Project) -> None:
    texts = gold_texts(full)
    mark_gold(full, "sys", "ann")
    assert gold_name(full) == "sys"
    bring_back(full, last_act(full), "ann")
    assert (gold_name(full), gold_texts(full)) == ("gold", texts)


RESTING = {
    "1 override": lambda project: labels.add_override(project, "a", "p1", 3, "why", "ann"),
    "1 assessor judgment": lambda project: judging.judge_passage(project, "q1", "p1", 2, "ann"),
    "1 grade": lambda project: fill(project, [Question("a", "q1", "A?")], {("A?", "p1"): 3}, {}),
}


@pytest.mark.parametrize("what", RESTING)
def test_a_text_gives_way_only_where_nothing_rests_on_it(project: Project, what: str) -> None:
    fill(project, [Question("a", "q1", "A?")], {}, {"sys": {"q1": ["p1", "p2"]}})
    RESTING[what](project)
    before = facts(project)
    with refusal("passage-text-in-use", str(what), "p1"):
        take(project, "passages", "p1\tanother text\n", replace=True)
    assert facts(project) == before
    take(project, "passages", "p2\tanother text\n", replace=True)
    assert dict(facts(project)["texts"])["p2"] == "another text"


def test_a_text_that_was_read_since_does_not_go_to_bring_the_old_one_back(project: Project) -> None:
    fill(project, [Question("a", "q1", "A?")], {}, {"sys": {"q1": ["p1"]}})
    take(project, "passages", "p1\tanother text\n", replace=True)
    act = last_act(project)
    judging.judge_passage(project, "q1", "p1", 2, "ann")
    before = facts(project)
    with refusal("passage-text-in-use", "p1", "1"):
        bring_back(project, act, "ann")
    assert facts(project) == before


def test_a_file_cut_in_mid_line_is_noted_and_the_whole_file_takes_its_place(project: Project) -> None:
    whole = "p1\ttext one\np2\ttext two\n"
    cut = take(project, "passages", whole[:-5])
    assert [coded(note) for note in cut.notes] == ["passages.txt:2 no-line-end"]
    with refusal("would-replace", "1", "p2"):
        take(project, "passages", whole)
    take(project, "passages", whole, replace=True)
    assert dict(facts(project)["texts"]) == {"p1": "text one", "p2": "text two"}


@pytest.mark.parametrize(("kind", "content"), [
    ("queries", "q1\tfirst query"), ("runs", "q1 Q0 p1 1 2.5 sys"), ("qrels", "q1 0 p1 1"),
    ("leaderboard", "run\tMAP\nsys\t0.5"), ("graded", GIVEN["graded"].rstrip()),
])  # fmt: skip
def test_a_last_line_without_its_end_is_a_note(project: Project, kind: str, content: str) -> None:
    take(project, "queries", GIVEN["queries"])
    assert "no-line-end" in [note.code for note in take(project, kind, content).notes]
    assert "no-line-end" not in [note.code for note in take(project, kind, content + "\n").notes]


def test_a_json_document_needs_no_line_end(project: Project) -> None:
    assert take(project, "queries", '{"q1": "first query",\n "q2": "second query"}').notes == ()


def test_what_was_replaced_goes_with_the_project_and_publications_reproduce(full: Project, tmp_path: Path) -> None:
    bank.save_version(full, [Question("a", "q1", "A?")], "", "ann")
    grade(full, {("A?", "p1"): 3, ("A?", "p2"): 1})
    before = facts(full)
    published = publish_qrels(full, Policy(), "ann")
    for kind in ("qrels", "runs", "queries"):
        take(full, kind, OTHER[kind][0], replace=True)
    assert reproduce_qrels(full, published.manifest, "ann") == published.qrels_bytes
    export_project(full, tmp_path / "out", "ann")
    copy = import_project(tmp_path / "out", tmp_path / "copy.duckdb")
    for act in [act for act in list_actions(copy).acts if act.replaced]:
        bring_back(copy, act.key, "ann")
    assert facts(copy) == before
    assert (
        reproduce_qrels(copy, published.manifest, "ann") == published.qrels_bytes == qrels_text(copy, Policy()).encode()
    )
    copy.close()
