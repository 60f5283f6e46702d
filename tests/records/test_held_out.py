"""Judgments that are held out: the impact of edits leaves them out, and agreement is reported on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_workbench.bank import save_version
from exam_workbench.errors import InputError
from exam_workbench.exchange._integrity import find_faults
from exam_workbench.labels import Policy, official_board
from exam_workbench.records import for_confirming, for_tuning, hold_out, list_actions, set_hold_out, source_judgments
from exam_workbench.review import Judgments, LabelChange, Labels, count_directions, find_confirmation, side_agreement
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import fill, judge
from tests.made.shell import printed, shell_on

NAMES = [f"p{number}" for number in range(60)]
QUERIES = ("q1", "q2")
JUDGED = {(query, name): at % 3 for query in QUERIES for at, name in enumerate(NAMES)}
ASKED = [Question(f"{query}/a", query, f"What is {query}?") for query in QUERIES]


def fill_judged(project: Project) -> None:
    ratings = {(f"What is {query}?", name): at % 6 for query in QUERIES for at, name in enumerate(NAMES)}
    fill(project, ASKED, ratings, {run: dict.fromkeys(QUERIES, NAMES) for run in ("x", "y")})
    judge(project, JUDGED)


@pytest.fixture
def judged(project: Project) -> Project:
    fill_judged(project)
    return project


def pairs(project: Project) -> set[tuple[str, str]]:
    return {(query, passage) for query, of in source_judgments(project, "assessors").items() for passage in of}


def held(project: Project) -> Project:
    found = for_confirming(project)
    assert found is not None
    return found


def test_a_share_of_each_query_is_held_out_and_the_rest_is_read_while_editing(judged: Project) -> None:
    assert for_tuning(judged) is judged and for_confirming(judged) is None
    set_hold_out(judged, 0.3, "olga", 7)
    out, rest = pairs(held(judged)), pairs(for_tuning(judged))
    assert out | rest == pairs(judged) == set(JUDGED) and not out & rest
    for query in QUERIES:
        assert 8 <= sum(one[0] == query for one in out) <= 28
    found = hold_out(judged)
    assert found is not None and (found.share, found.seed) == (0.3, 7)
    assert judged.read(lambda cursor: [*find_faults(cursor)]) == []
    assert list_actions(judged).acts[0].act == "hold out judgments"


def test_the_seed_decides_and_later_judgments_move_nothing(judged: Project) -> None:
    set_hold_out(judged, 0.3, "olga", 7)
    out = pairs(held(judged))
    set_hold_out(judged, 0.3, "olga", 8)
    assert pairs(held(judged)) != out
    set_hold_out(judged, 0.3, "olga", 7)
    assert pairs(held(judged)) == out
    judge(judged, dict(list(JUDGED.items())[::2]))
    assert pairs(held(judged)) == {pair for pair in out if pair in dict(list(JUDGED.items())[::2])}
    set_hold_out(judged, 0, "olga")
    assert hold_out(judged) is None and pairs(for_tuning(judged)) == pairs(judged)


def test_the_official_leaderboard_while_editing_rests_on_the_others(judged: Project) -> None:
    set_hold_out(judged, 0.5, "olga", 1)
    board = official_board(for_tuning(judged), "assessors", "P@60", Policy())
    relevant = {pair for pair, value in JUDGED.items() if value}
    rest = pairs(for_tuning(judged)) & relevant
    assert board.scores["x"] == pytest.approx(len(rest) / 120)
    assert official_board(judged, "assessors", "P@60", Policy()).scores["x"] == pytest.approx(len(relevant) / 120)


def test_agreement_is_reported_on_what_was_held_out_or_says_that_the_bank_was_tuned(judged: Project) -> None:
    sides = Labels(Policy()), Judgments("assessors")
    found = find_confirmation(judged, *sides)
    assert found is not None and found.held_out is None and not found.tuned
    save_version(judged, [Question("q1/a", "q1", "What is q1, exactly?")], "reworded", "ann")
    found = find_confirmation(judged, *sides)
    assert found is not None and found.tuned
    set_hold_out(judged, 0.4, "olga", 5)
    found = find_confirmation(judged, Labels(Policy(bank_version=1)), Judgments("assessors"))
    assert found is not None and found.held_out is not None and not found.tuned
    assert (found.held_out.n, found.version) == (len(pairs(held(judged))), 2)
    assert side_agreement(for_tuning(judged), Labels(Policy(bank_version=1)), sides[1]).n == 120 - found.held_out.n
    assert find_confirmation(judged, Labels(Policy()), Labels(Policy())) is None


@pytest.mark.parametrize("share", [-0.1, 1, 2])
def test_a_share_out_of_range_is_refused(judged: Project, share: float) -> None:
    with pytest.raises(InputError) as refused:
        set_hold_out(judged, share, "olga")
    assert refused.value.code == "share-out-of-range"
    assert hold_out(judged) is None


def test_commands_hold_out_a_share_and_report_the_agreement_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    exam = shell_on(fill_judged, tmp_path, monkeypatch, capsys)
    assert printed(exam("judgments", "hold-out", "--json")) == {"hold_out": None}
    exam.fails("nothing-held-out", "agreement", "--held-out")
    told = printed(exam("judgments", "hold-out", "--share", "0.25", "--seed", "4", "--json"))
    assert told["hold_out"] == {"share": 0.25, "seed": 4, "version": 1}
    whole, part = (printed(exam("agreement", "--json", *more)) for more in ((), ("--held-out",)))
    assert (whole["n"], part["n"]) == (120, told["held_out"]["assessors"])
    assert (whole["held_out"], part["held_out"], part["tuned"]) == (False, True, False)
    exam.fails("nothing-held-out", "agreement", "--held-out", "--against-grader", "x")


def test_directions_count_towards_judgments() -> None:
    def change(passage: str, before: int | None, after: int | None) -> LabelChange:
        return LabelChange("q", passage, before, after, (), 0)

    found = [change("a", 1, 4), change("b", 4, 0), change("c", None, 2), change("d", 3, None), change("e", 2, 3)]
    found.append(change("f", 5, 4))
    counted = count_directions(found, {"q": {"a": 2, "b": 3, "c": 0, "d": 0, "f": 1}}, 5, 3)
    # Lowering the label of a passage judged 1 of 3 from 5 to 4 brings it closer. Labels that come or go are neither.
    assert (counted.up, counted.down, counted.towards, counted.away) == (3, 3, 2, 1)
