"""Judgments of assessors: their sources, their history and the held-out share."""

from __future__ import annotations

import pytest

from exam_workbench import records
from exam_workbench.bank import save_version
from exam_workbench.exchange._integrity import find_faults
from exam_workbench.labels import Policy, compare, leaderboard, official_board
from exam_workbench.records.judging import judge_passage, last_judged_passage, undo_judgment
from exam_workbench.review import (
    Judgments,
    LabelChange,
    Labels,
    RelevanceScale,
    count_directions,
    find_confirmation,
    side_agreement,
)
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import fill, filled_project, judge, judge as import_judgments
from tests.made.refusals import refusal
from tests.made.shell import ShellOn, printed

RUNS = {"x": {"q1": ["p1", "p2", "p3"]}, "y": {"q1": ["p2", "p1", "p3"]}, "z": {"q1": ["p3", "p2", "p1"]}}


def grade_and_judge(project: Project) -> None:
    fill(project, [Question("q1/a", "q1", "A?")], {("A?", "p1"): 5, ("A?", "p2"): 3, ("A?", "p3"): 0}, RUNS)
    import_judgments(project, {("q1", "p1"): 1})


graded = filled_project(grade_and_judge)


def pooled(project: Project) -> list[str]:
    return [
        passage
        for (passage,) in project.rows(
            "SELECT passage_id FROM pool JOIN passages USING (passage_key) ORDER BY position"
        )
    ]


def test_judgments_of_assessors_are_kept_apart_and_on_record(graded: Project) -> None:
    judge_passage(graded, "q1", "p1", 2, "ann", "names the place")
    judge_passage(graded, "q1", "p1", 1, "ann")
    judge_passage(graded, "q1", "p1", 3, "bob")
    assert records.source_judgments(graded, "assessor: ann") == {"q1": {"p1": 1}}
    records.withdraw_judgment(graded, "q1", "p1", "ann")
    assert records.own_judgment(graded, "q1", "p1", "ann") is None
    assert records.own_judgment(graded, "q1", "p1", "bob") == 3
    assert [(act.author, act.value, act.note) for act in records.judgment_history(graded, "q1", "p1")] == [
        ("ann", None, ""),
        ("bob", 3, ""),
        ("ann", 1, ""),
        ("ann", 2, "names the place"),
    ]
    assert records.judgment_sources(graded) == ["assessors", "assessor: bob"]
    with refusal("no-own-judgment", "ann"):
        records.withdraw_judgment(graded, "q1", "p1", "ann")


def test_assessor_judgments_form_a_source_and_leaderboard(graded: Project) -> None:
    with refusal("name-too-long", "257"):
        judge_passage(graded, "q1", "p2", 2, "a" * 257)
    judge_passage(graded, "q1", "p2", 2, "a" * 256)
    assert records.judgment_sources(graded) == ["assessors", records.source_of("a" * 256)]
    for passage, value in (("p1", 3), ("p2", 2), ("p3", 0)):
        judge_passage(graded, "q1", passage, value, "ann")
    assert records.judged_pairs(graded, "a" * 256) == {("q1", "p2")}
    board = leaderboard(graded, "nDCG@10", "assessor: ann")
    assert [system.run for system in board.systems] == ["x", "y", "z"]
    assert compare(graded, "nDCG@10", "assessor: ann").correlation.spearman == pytest.approx(1.0)


def test_undo_restores_replaced_judgment_or_withdraws_the_first(graded: Project) -> None:
    judge_passage(graded, "q1", "p1", 2, "ann", "names the key", blind=True)
    judge_passage(graded, "q1", "p1", 3, "ann", blind=True)
    judge_passage(graded, "q1", "p1", 0, "ben", blind=True)
    undo_judgment(graded, "q1", "p1", "ann")
    newest = records.judgment_history(graded, "q1", "p1")[0]
    assert (records.own_judgment(graded, "q1", "p1", "ann"), newest.note, newest.blind) == (2, "names the key", True)
    assert last_judged_passage(graded, "q1", "ann") is None
    assert last_judged_passage(graded, "q1", "ben") == "p1"
    undo_judgment(graded, "q1", "p1", "ben")
    assert records.own_judgment(graded, "q1", "p1", "ben") is None
    assert last_judged_passage(graded, "q1", "ben") is None


def test_first_blind_judgment_is_kept_unless_withdrawn_blind(graded: Project) -> None:
    judge_passage(graded, "q1", "p1", 3, "ann", blind=True)
    records.withdraw_judgment(graded, "q1", "p1", "ann", blind=True)
    judge_passage(graded, "q1", "p1", 1, "ann", blind=True)
    judge_passage(graded, "q1", "p1", 2, "ann", blind=True)
    judge_passage(graded, "q1", "p1", 0, "ann", blind=False)
    records.withdraw_judgment(graded, "q1", "p1", "ann", blind=False)
    judge_passage(graded, "q1", "p2", 2, "ann", blind=False)
    judge_passage(graded, "q1", "p2", 1, "ben", blind=True)
    judge_passage(graded, "q1", "p3", 2, "ann")
    assert records.blind_judgments(graded, "ann") == {("q1", "p1"): 1}
    assert records.blind_judgments(graded, "ben") == {("q1", "p2"): 1}
    assert records.judgment_history(graded, "q1", "p3")[0].blind is None


def test_judged_passage_is_pooled_until_judgment_is_withdrawn(graded: Project) -> None:
    with graded.transaction() as cursor:
        cursor.execute("DELETE FROM rankings WHERE rank = 3")
        cursor.execute(
            "DELETE FROM pool WHERE passage_key = (SELECT passage_key FROM passages WHERE passage_id = 'p3')"
        )
        cursor.execute("DELETE FROM rankings WHERE passage_key NOT IN (SELECT passage_key FROM pool)")
    before = pooled(graded)
    assert "p3" not in before
    judge_passage(graded, "q1", "p3", 1, "ann")
    assert sorted(pooled(graded)) == sorted([*before, "p3"])
    records.withdraw_judgment(graded, "q1", "p3", "ann")
    assert pooled(graded) == before


def test_invalid_judgment_changes_nothing(graded: Project) -> None:
    for judgment, said in (
        (("q1", "p1", 4, "ann"), ("judgment-out-of-range",)),
        (("q1", "p1", -1, "ann"), ("judgment-out-of-range",)),
        (("q9", "p1", 1, "ann"), ("unknown-query", "q9")),
        (("q1", "p9", 1, "ann"), ("unknown-passage", "p9")),
        (("q1", "p1", 1, "  "), ("empty-name",)),
    ):
        with refusal(*said):
            judge_passage(graded, *judgment)
        assert records.judgment_sources(graded) == ["assessors"]
        assert records.judgment_history(graded, "q1", "p1") == []


def test_whitespace_is_ignored_in_names_and_changes_are_counted() -> None:
    assert records.source_of(" ann ") == records.source_of("ann") == "assessor: ann"

    def change(passage: str, before: int | None, after: int | None) -> LabelChange:
        return LabelChange("q", passage, before, after, (), 0)

    found = [change("a", 1, 4), change("b", 4, 0), change("c", None, 2), change("d", 3, None), change("e", 2, 3)]
    found += [change("f", 5, 4), change("g", 3, 4)]
    judged = {"q": {"a": 2, "b": 3, "c": 0, "d": 0, "f": 1, "g": 2}}
    counted = count_directions(found, judged, RelevanceScale(5, 4), RelevanceScale(3, 1))
    # Changing a label from 5 to 4 is closer to a judgment of 1 of 3. Added and removed labels do not count.
    # A label that becomes relevant like the judgment is closer, even if 4 of 5 is farther from 2 of 3 than 3 of 5.
    assert (counted.up, counted.down, counted.towards, counted.away) == (4, 3, 3, 1)


NAMES = [f"p{number}" for number in range(60)]
QUERIES = ("q1", "q2")
JUDGED = {(query, name): at % 3 for query in QUERIES for at, name in enumerate(NAMES)}
ASKED = [Question(f"{query}/a", query, f"What is {query}?") for query in QUERIES]


def fill_judged(project: Project) -> None:
    ratings = {(f"What is {query}?", name): at % 6 for query in QUERIES for at, name in enumerate(NAMES)}
    fill(project, ASKED, ratings, {run: dict.fromkeys(QUERIES, NAMES) for run in ("x", "y")})
    judge(project, JUDGED)


judged = filled_project(fill_judged)


def pairs(project: Project) -> set[tuple[str, str]]:
    return {(query, passage) for query, of in records.source_judgments(project, "assessors").items() for passage in of}


def held(project: Project) -> Project:
    found = records.for_confirming(project)
    assert found is not None
    return found


def test_held_out_share_depends_on_seed_and_is_excluded(judged: Project) -> None:
    for share in (-0.1, 1, 2):
        with refusal("share-out-of-range"):
            records.set_hold_out(judged, share, "olga")
    assert records.for_tuning(judged) is judged and records.for_confirming(judged) is None
    records.set_hold_out(judged, 0.3, "olga", 7)
    out, rest = pairs(held(judged)), pairs(records.for_tuning(judged))
    assert out | rest == pairs(judged) == set(JUDGED) and not out & rest
    for query in QUERIES:
        assert 8 <= sum(one[0] == query for one in out) <= 28
    found = records.hold_out(judged)
    assert found is not None and (found.share, found.seed) == (0.3, 7)
    assert judged.read(lambda cursor: [*find_faults(cursor)]) == []
    assert records.list_actions(judged).acts[0].act == "hold out judgments"
    records.set_hold_out(judged, 0.5, "olga", 1)
    board = official_board(records.for_tuning(judged), "assessors", "P@60", Policy())
    relevant = {pair for pair, value in JUDGED.items() if value}
    rest = pairs(records.for_tuning(judged)) & relevant
    assert board.scores["x"] == pytest.approx(len(rest) / 120)
    assert official_board(judged, "assessors", "P@60", Policy()).scores["x"] == pytest.approx(len(relevant) / 120)


def test_seed_fixes_hold_out_despite_later_judgments(judged: Project) -> None:
    records.set_hold_out(judged, 0.3, "olga", 7)
    out = pairs(held(judged))
    records.set_hold_out(judged, 0.3, "olga", 8)
    assert pairs(held(judged)) != out
    records.set_hold_out(judged, 0.3, "olga", 7)
    assert pairs(held(judged)) == out
    judge(judged, dict(list(JUDGED.items())[::2]))
    assert pairs(held(judged)) == {pair for pair in out if pair in dict(list(JUDGED.items())[::2])}
    records.set_hold_out(judged, 0, "olga")
    assert records.hold_out(judged) is None and pairs(records.for_tuning(judged)) == pairs(judged)


def test_agreement_uses_held_out_share_or_reports_tuning(judged: Project) -> None:
    sides = Labels(Policy()), Judgments("assessors")
    found = find_confirmation(judged, *sides)
    assert found is not None and found.held_out is None and not found.tuned
    save_version(judged, [Question("q1/a", "q1", "What is q1, exactly?")], "reworded", "ann")
    found = find_confirmation(judged, *sides)
    assert found is not None and found.tuned
    records.set_hold_out(judged, 0.4, "olga", 5)
    found = find_confirmation(judged, Labels(Policy(bank_version=1)), Judgments("assessors"))
    assert found is not None and found.held_out is not None and not found.tuned
    assert (found.held_out.n, found.version) == (len(pairs(held(judged))), 2)
    assert (
        side_agreement(records.for_tuning(judged), Labels(Policy(bank_version=1)), sides[1]).n == 120 - found.held_out.n
    )
    assert find_confirmation(judged, Labels(Policy()), Labels(Policy())) is None


def test_cli_holds_out_a_share(shell_on: ShellOn) -> None:
    exam = shell_on(fill_judged)
    assert printed(exam("judgments", "hold-out", "--json")) == {"hold_out": None}
    exam.fails("nothing-held-out", "agreement", "--held-out")
    told = printed(exam("judgments", "hold-out", "--share", "0.25", "--seed", "4", "--json"))
    assert told["hold_out"] == {"share": 0.25, "seed": 4, "version": 1}
    whole, part = (printed(exam("agreement", "--json", *more)) for more in ((), ("--held-out",)))
    assert (whole["n"], part["n"]) == (120, told["held_out"]["assessors"])
    assert (whole["held_out"], part["held_out"], part["tuned"]) == (False, True, False)
    exam.fails("nothing-held-out", "agreement", "--held-out", "--against-grader", "x")
