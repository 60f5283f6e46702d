"""The activity log, and restoring replaced imports from it."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from exam_workbench import bank, exchange, labels, records
from exam_workbench.errors import InputError
from exam_workbench.formats import Source
from exam_workbench.labels import Policy
from exam_workbench.records._activity_sentences import action_sentence
from exam_workbench.store import Project, log_action
from exam_workbench.types import Question
from tests.made.projects import fill, filled_project, grade, made_project, module_project, reimported
from tests.made.refusals import coded, mentions, refusal
from tests.made.shell import ShellOn, printed

BANK = [Question("q1/a", "q1", "What is A?"), Question("q1/b", "q1", "What is B?")]
GRADES = {("What is A?", "p1"): 5, ("What is A?", "p2"): 1, ("What is B?", "p1"): 2, ("What is B?", "p2"): 4}


def be_busy(project: Project) -> None:
    fill(project, BANK, GRADES, {"x": {"q1": ["p1", "p2"]}})
    key = labels.add_override(project, "q1/a", "p2", 4, "it names A", "ann")
    bank.save_version(project, [replace(BANK[0], text="Who is A?")], "A is a person", "bob")
    labels.withdraw_by_key(project, key, "ann")
    records.judging.judge_passage(project, "q1", "p1", 2, "cora", "clear")
    exchange.publish_qrels(project, Policy(), "bob", note="for the meeting")


busy = module_project(be_busy)
"""A project with actions of three people; tests must not change it."""


def said(project: Project, **sought: object) -> list[str]:
    return [f"{act.author} {act.said}" for act in records.list_actions(project, records.ActivityFilter(**sought)).acts]


def test_actions_are_sentences_with_links_and_pages(busy) -> None:
    expected = [
        ("bob", "publish qrels", "graded", "2 lines", "for the meeting"),
        ("cora", "judge", "“text of p1”", "“query q1”", "2: clear"),
        ("ann", "withdraw override", "“What is A?”", "“text of p2”"),
        ("bob", "save bank", "2: A is a person"),
        ("ann", "override", "“What is A?”", "“text of p2”", "4: it names A"),
        ("tester", "save bank", "1: made for a test"),
    ]
    for act, (author, kind, *values) in zip(records.list_actions(busy).acts, expected, strict=True):
        assert (act.author, act.act) == (author, kind)
        assert [value for value in values if value not in act.said] == [], act.said
    places = {act.act: act.place for act in reversed(records.list_actions(busy).acts)}
    at_passage = ("passages", {"question": "q1/a", "query": "q1", "passage": "p2"})
    assert places["override"] == places["withdraw override"] == at_passage
    assert places["judge"] == ("passages", {"query": "q1", "passage": "p1"})
    assert places["save bank"] == ("changes", {"from-version": "1", "to-version": "2"})
    assert places["publish qrels"] == ("export", {})
    day = records.list_actions(busy).acts[0].happened_at.date()
    assert records.list_actions(busy, records.ActivityFilter(since=day, until=day)).total > 0
    pages = [records.list_actions(busy, page_size=4, page=page) for page in (1, 2, 3)]
    assert [(found.total, len(found.acts)) for found in pages] == [(6, 4), (6, 2), (6, 0)]
    keys = [act.key for found in pages for act in found.acts]
    assert keys == sorted(set(keys), reverse=True)
    assert records.people(busy) == ["ann", "bob", "cora", "tester"]
    assert records.kinds_of_act(busy) == ["judge", "override", "publish qrels", "save bank", "withdraw override"]


@pytest.mark.parametrize(
    ("sought", "acts"),
    [
        ({"who": "ann"}, ["withdraw override", "override"]),
        ({"act": "save bank"}, ["save bank", "save bank"]),
        ({"who": "bob", "act": "save bank"}, ["save bank"]),
        ({"words": "A IS a PERSON"}, ["save bank"]),
        ({"words": "what is a"}, ["withdraw override", "override"]),
        ({"words": "query q1"}, ["judge", "withdraw override", "override"]),
        ({"words": "100%"}, []),
        ({"since": date.today() + timedelta(days=2)}, []),
        ({"until": date.today() - timedelta(days=2)}, []),
    ],
)
def test_actions_are_filtered_by_person_kind_day_and_words(busy, sought, acts):
    found = records.list_actions(busy, records.ActivityFilter(**sought))
    assert [act.act for act in found.acts] == acts
    assert found.total == len(acts)


def test_missing_object_keeps_its_action_and_new_log_is_empty(project) -> None:
    assert records.list_actions(project).total == 0
    assert records.people(project) == records.kinds_of_act(project) == []
    with project.transaction() as cursor:
        log_action(cursor, "ann", "override", question="gone", passage="lost", rating=3, reason="why")
        log_action(cursor, "ann", "withdraw override", override="no number")
    withdrawn, overridden = said(project)
    assert "None" not in withdrawn and "no number" not in withdrawn
    assert [value for value in ("“gone”", "“lost”", "3: why") if value not in overridden] == [], overridden
    assert [act.place for act in records.list_actions(project).acts] == [None, None]
    fill(project, [Question("q1/a", "q1", "A?")], {}, {})
    acts = {
        "confirm case": ({"query": "q1", "run": "bm25", "k": 5, "case": "A", "generator": "m"},
                         ("cases", {"at": "5|bm25|q1", "generator": "m"})),
        "freeze target": ({"name": "monday"}, ("changes", {"freeze-to": "monday"})),
        "answers done": ({"job": 3}, ("answers", {})),
        "answers as responses": ({"name": "m"}, ("leaderboard", {})),
        "import answer-verdicts": ({}, ("judges", {})),
        "draw audit batch": ({"batch": 1}, ("audit", {})),
    }  # fmt: skip
    with project.transaction() as cursor:
        for act, (detail, _) in acts.items():
            log_action(cursor, "ann", act, **detail)
    places = {act.act: act.place for act in records.list_actions(project).acts}
    assert {act: places[act] for act in acts} == {act: place for act, (_, place) in acts.items()}


def test_csv_neutralizes_formulas(tmp_path):
    project = made_project(tmp_path / "busy.duckdb", be_busy)
    labels.add_override(project, "q1/a", "p2", 4, "=HYPERLINK(1)", '=ann\r\n"x"')
    rows = list(csv.reader(io.StringIO(records.activity_csv(project), newline="")))
    project.close()
    assert rows[0] == ["happened_at", "who", "act", "what", "detail"]
    assert rows[1][1] == '\'=ann "x"'
    assert len(rows) == 8
    assert all(not cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)


@pytest.mark.parametrize(
    ("act", "detail", "values"),
    [
        (
            "import runs",
            {"files": ["/data/a.run", "b.run", "c.run", "d.run"], "counts": {"runs": 4, "new passages": 1}},
            ("a.run, b.run, c.run", "4 runs", "1 new passage"),
        ),
        ("import bank", {"files": ["b.csv"], "counts": {"bank version": 3}}, ("b.csv", "3")),
        ("start job", {"job": 7, "grader": "G", "pairs": 5980}, ("7", "G", "5,980 pairs")),
        ("job cancelled", {"job": 7, "graded": 10, "failed": 2}, ("7", "cancelled", "10 pairs", "2")),
        ("job done", {"job": 7, "graded": 1, "failed": 0}, ("7", "done", "1 pair", "0")),
        ("export graded", {"file": "x.gz"}, ("graded", "x.gz")),
        (
            "settle disagreement",
            {"by": "dispute", "passage": "p", "query": "q", "reason": "no"},
            ("“p”", "“q”", "disputing", "no"),
        ),
        ("something new", {"color": "red", "tags": ["a", "b"], "none": None}, ("color red", "tags a, b")),
        ("something new", {}, ("something new",)),
        ("save bank", {}, ("?",)),
    ],
)  # fmt: skip
def test_every_action_has_a_sentence_even_if_unknown(act, detail, values):
    found = action_sentence(act, detail)
    assert [value for value in values if not mentions(found, value)] == [], found


@pytest.mark.parametrize("words", ['said "no"', "a\\b", "one\ntwo"])
def test_words_with_quotes_backslashes_and_newlines_are_found(project: Project, words: str) -> None:
    fill(project, [Question("q1/a", "q1", "A?")], {}, {})
    bank.save_version(project, [Question("q1/a", "q1", "B?")], f"he {words} twice", "ann")
    assert records.list_actions(project, records.ActivityFilter(words=words)).total == 1
    assert records.list_actions(project, records.ActivityFilter(words=f"{words} thrice")).total == 0


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
ORDER = ("queries", "passages", "runs", "responses", "gold", "qrels", "leaderboard", "graded")


def take(project: Project, kind: str, content: str, preview: bool = False, **options: bool) -> exchange.Imported:
    """Import a file of a kind under a fixed name; `gold` means responses that are gold texts."""
    source = Source(f"{kind}.txt", data=content.encode())
    chosen = exchange.Options(gold=kind == "gold", **options)
    return exchange.import_files(project, "responses" if kind == "gold" else kind, [source], "ann", chosen, preview)


def facts(project: Project) -> dict[str, list[tuple[object, ...]]]:
    """Return all replaceable contents by name, as people see them."""
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


full = filled_project(take_all)
"""A project with imports of every kind."""


@pytest.mark.parametrize("kind", OTHER)
def test_only_replacing_needs_a_choice_and_is_reversible(full: Project, kind: str) -> None:
    content, values = OTHER[kind]

    def has_all(text: str) -> bool:
        return all(mentions(text, value) for value in values)

    before = facts(full)
    assert take(full, kind, GIVEN[kind], preview=True).replaced == take(full, kind, GIVEN[kind]).replaced == ()
    assert facts(full) == before and not any(act.replaced for act in records.list_actions(full).acts)
    acts = records.list_actions(full).total
    assert any(has_all(str(one)) for one in take(full, kind, content, preview=True).replaced)
    with pytest.raises(InputError) as refused:
        take(full, kind, content)
    assert has_all(str(refused.value)) and "--replace" in refused.value.hint
    assert facts(full) == before and records.list_actions(full).total == acts
    assert any(has_all(str(one)) for one in take(full, kind, content, replace=True).replaced)
    after = facts(full)
    assert after != before
    done = records.list_actions(full).acts[0]
    assert done.replaced and has_all(done.said)
    records.bring_back(full, done.key, "bob")
    # Reworded gold texts leave the citations of unreferenced passages behind.
    now = facts(full)
    assert now | {"citations": [row for row in now["citations"] if row in before["citations"]]} == before
    undone = records.list_actions(full).acts[0]
    with refusal("nothing-to-restore"):
        records.bring_back(full, done.key, "bob")
    assert records.list_actions(full).acts[0] == undone
    assert (undone.author, undone.act) == ("bob", "bring back")
    # Restoring keeps the contents it replaces, except for runs: the restored run includes them all.
    assert undone.replaced == (kind != "runs")
    if undone.replaced:
        records.bring_back(full, undone.key, "ann")
        assert facts(full) == after


def test_cli_asks_before_replacing_judgments_and_restores_them(shell_on: ShellOn) -> None:
    run = shell_on(take_all)
    Path("qrels.txt").write_text("q1 0 p1 1\n")
    run.fails("would-replace", "import", "qrels", "qrels.txt")
    told = run("import", "qrels", "qrels.txt", "--preview")[2]
    assert mentions(told, "3") and mentions(told, "qrels")
    assert run("import", "qrels", "qrels.txt", "--replace")[0] == 0
    (act,) = printed(run("activity", "--json", "--limit", "1"))["acts"]
    assert mentions(run("bring-back", str(act["number"]))[2], "3")
    assert printed(run("status", "--json"))["judgments"] == 4


def last_act(project: Project) -> int:
    return records.list_actions(project).acts[0].key


def test_only_replaced_contents_and_gold_texts_are_restored(full: Project) -> None:
    assert take(full, "qrels", GIVEN["qrels"] + "q2 0 p1 1\n").replaced == (), "further lines replace nothing"
    before = facts(full)
    with refusal("nothing-replaced"):
        records.bring_back(full, last_act(full), "ann")
    assert facts(full) == before
    texts = records.gold_texts(full)
    records.mark_gold(full, "sys", "ann")
    assert records.gold_name(full) == "sys"
    records.bring_back(full, last_act(full), "ann")
    assert (records.gold_name(full), records.gold_texts(full)) == ("gold", texts)


RESTING = {
    "1 override": lambda project: labels.add_override(project, "a", "p1", 3, "why", "ann"),
    "1 assessor judgment": lambda project: records.judging.judge_passage(project, "q1", "p1", 2, "ann"),
    "1 grade": lambda project: fill(project, [Question("a", "q1", "A?")], {("A?", "p1"): 3}, {}),
}


@pytest.mark.parametrize("what", RESTING)
def test_text_in_use_is_not_replaced(project: Project, what: str) -> None:
    fill(project, [Question("a", "q1", "A?")], {}, {"sys": {"q1": ["p1", "p2"]}})
    RESTING[what](project)
    before = facts(project)
    with refusal("passage-text-in-use", str(what), "p1"):
        take(project, "passages", "p1\tanother text\n", replace=True)
    assert facts(project) == before
    take(project, "passages", "p2\tanother text\n", replace=True)
    assert dict(facts(project)["texts"])["p2"] == "another text"
    act = last_act(project)
    records.judging.judge_passage(project, "q1", "p2", 2, "ann")
    before = facts(project)
    with refusal("passage-text-in-use", "p2", "1"):
        records.bring_back(project, act, "ann")
    assert facts(project) == before


def test_cut_line_is_noted_and_json_needs_no_line_end(project: Project) -> None:
    assert take(project, "queries", '{"q1": "first query",\n "q2": "second query"}').notes == ()
    for kind, content in (
        ("queries", "q1\tfirst query"), ("runs", "q1 Q0 p1 1 2.5 sys"), ("qrels", "q1 0 p1 1"),
        ("leaderboard", "run\tMAP\nsys\t0.5"), ("graded", GIVEN["graded"].rstrip()),
    ):  # fmt: skip
        assert "no-line-end" in [note.code for note in take(project, kind, content).notes]
        assert "no-line-end" not in [note.code for note in take(project, kind, content + "\n").notes]
    whole = "p1\ttext one\np2\ttext two\n"
    cut = take(project, "passages", whole[:-5])
    assert [coded(note) for note in cut.notes] == ["passages.txt:2 no-line-end"]
    with refusal("would-replace", "1", "p2"):
        take(project, "passages", whole)
    take(project, "passages", whole, replace=True)
    assert dict(facts(project)["texts"]) == {"p1": "text one", "p2": "text two"}


def test_replaced_contents_are_exported_and_publications_reproduce(full: Project) -> None:
    bank.save_version(full, [Question("a", "q1", "A?")], "", "ann")
    grade(full, {("A?", "p1"): 3, ("A?", "p2"): 1})
    before = facts(full)
    published = exchange.publish_qrels(full, Policy(), "ann")
    for kind in ("qrels", "runs", "queries"):
        take(full, kind, OTHER[kind][0], replace=True)
    assert exchange.reproduce_qrels(full, published.manifest, "ann") == published.qrels_bytes
    copy = reimported(full)
    for act in [act for act in records.list_actions(copy).acts if act.replaced]:
        records.bring_back(copy, act.key, "ann")
    assert facts(copy) == before
    assert (
        exchange.reproduce_qrels(copy, published.manifest, "ann")
        == published.qrels_bytes
        == exchange.qrels_text(copy, Policy()).encode()
    )
