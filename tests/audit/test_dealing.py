"""Assignment of audit passages to assessors, in the app or on sheets: exclusive and logged."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from exam_workbench.audit import (
    AssignedQuery,
    Audit,
    Goal,
    Verdict,
    deal_ahead,
    design_audit,
    draw_batch,
    end_audit,
    end_batch,
    find_audit,
    give_back,
    import_sheet,
    judge_drawn,
    list_audit_assessors,
    list_batches,
    make_sheet,
    reveal_label,
    store_verdict,
)
from exam_workbench.audit._batch_assignment import _make_hands, _own_claims, read_state
from exam_workbench.errors import FileError, NotAllowed
from exam_workbench.formats import Source
from exam_workbench.records import (
    find_source,
    judgment_sources,
    list_actions,
    official_sources,
    set_member,
    source_judgments,
    write_board,
)
from exam_workbench.store import Project
from exam_workbench.types import Board, BoardRow
from tests.made.audits import deal, fill_audited, next_card, truth
from tests.made.projects import commit, filled_project, judge as whole_judgments
from tests.made.refusals import refusal

NOW = timedelta(0)


def hand(project: Project, audit: Audit, assessor: str) -> AssignedQuery | None:
    """Return the query that an assessor holds, or None."""
    state = project.read(lambda cursor: read_state(cursor, audit))
    held = _make_hands(project, audit, assessor, state, _own_claims(state, assessor))
    return held[0] if held else None


def plan_and_draw(project: Project) -> None:
    fill_audited(project)
    audit = design_audit(project, "a", "P@3", Goal("best"), batch_size=12, seed=3, author="org")
    draw_batch(project, audit, "org", doubled=0.5)


drawn = filled_project(plan_and_draw)


def dealt(project: Project) -> tuple[Audit, AssignedQuery]:
    """Return the audit, and the query with several passages that ann gets."""
    audit = find_audit(project)
    found = deal(project, audit, "ann")
    assert found is not None and len(found.cards) > 1
    return audit, found


def judge_all(project: Project, audit: Audit, *people: str) -> list[tuple[str, str, int, str]]:
    """Judge in turns until no passage is left; return the dealt passages in order."""
    done = []
    waiting = list(people)
    while waiting:
        name = waiting.pop(0)
        found = deal(project, audit, name)
        if found is None or next_card(found) is None:
            continue
        query, passage = found.query.query_id, next_card(found).passage_id
        judge_drawn(project, audit, query, passage, truth(query, passage), name)
        done.append((query, passage, found.turn, name))
        waiting.append(name)
    return done


def test_passages_go_to_two_assessors_only_for_second_judgments(drawn: Project) -> None:
    audit = find_audit(drawn)
    batch = list_batches(drawn, audit)[0]
    assert batch.drawn > 6 and batch.doubled > 1
    done = judge_all(drawn, audit, "ann", "bob")
    first = [one[:2] for one in done if one[2] == 1]
    second = {one[:2]: one[3] for one in done if one[2] == 2}
    assert len(first) == len(set(first)) == batch.drawn
    assert len(second) == batch.doubled == sum(one[2] == 2 for one in done)
    by = {one[:2]: one[3] for one in done if one[2] == 1}
    assert all(by[pair] != name for pair, name in second.items())
    after = list_batches(drawn, audit)[0]
    assert after.done and after.judged == batch.drawn and after.judged_twice == batch.doubled
    assert sum(len(of_query) for of_query in source_judgments(drawn, audit.source).values()) == batch.drawn


def test_concurrent_assessors_get_different_passages(drawn: Project) -> None:
    audit = find_audit(drawn)
    with ThreadPoolExecutor(3) as people:
        done = [one for found in people.map(lambda name: judge_all(drawn, audit, name), ("ann", "bob", "cid"))
                for one in found]  # fmt: skip
    judged = [one[:3] for one in done]
    batch = list_batches(drawn, audit)[0]
    assert len(judged) == len(set(judged)) == batch.judged + batch.judged_twice and batch.judged == batch.drawn


def test_assessors_judge_only_the_queries_that_they_hold(drawn: Project) -> None:
    audit = find_audit(drawn)
    one, other = deal(drawn, audit, "ann"), deal(drawn, audit, "bob")
    assert one is not None and other is not None and one.query.query_id != other.query.query_id
    assert one.questions and all(card.text for card in one.cards)
    card = next_card(one)
    assert card is not None
    with refusal("query-taken", "ann"):
        judge_drawn(drawn, audit, one.query.query_id, card.passage_id, 1, "bob")
    for value, passage, says in (
        (4, card.passage_id, "judgment-out-of-range"),
        (-1, card.passage_id, "judgment-out-of-range"),
        (1, "p99", "passage-not-drawn"),
    ):
        with refusal(says):
            judge_drawn(drawn, audit, one.query.query_id, passage, value, "ann")
    assert source_judgments(drawn, audit.source) == {}
    # Revealing a label is recorded.
    assert not one.cards[0].looked
    seen = reveal_label(drawn, audit, one.query.query_id, one.cards[0].passage_id, "ann")
    reveal_label(drawn, audit, one.query.query_id, one.cards[0].passage_id, "ann")
    assert seen.label is not None and seen.highest == 5
    again = hand(drawn, audit, "ann")
    assert again is not None and again.cards[0].looked
    assert [(person.name, person.looked) for person in list_audit_assessors(drawn, audit)] == [
        ("ann", 1),
        ("bob", 0),
    ]


def test_assessor_gets_only_their_own_queries(drawn: Project) -> None:
    set_member(drawn, "lea@x.org", "assessor", "shell", queries=["q2", "q5"])
    lea, audit = drawn.acting_as("lea@x.org"), find_audit(drawn)
    dealt = deal_ahead(lea, audit, "lea", 1000)
    assert {one.query.query_id for one in dealt} <= {"q2", "q5"} and dealt
    with refusal("author-is-another", "ann", kind=NotAllowed):
        deal(lea, audit, "ann")


def test_passages_dealt_ahead_stay_reserved_in_order(drawn: Project) -> None:
    audit = find_audit(drawn)
    seen: list[tuple[str, str]] = []
    hands = deal_ahead(drawn, audit, "ann", 4)
    held = {one.query.query_id for one in deal_ahead(drawn, audit, "ben", 4)}
    while hands:
        ahead = [(one.query.query_id, card.passage_id) for one in hands for card in one.cards if not card.is_settled]
        assert not held & {query for query, _ in ahead}
        query, passage = ahead[0]
        judge_drawn(drawn, audit, query, passage, truth(query, passage), "ann")
        seen.append(ahead[0])
        hands = deal_ahead(drawn, audit, "ann", 4)
        # Passages dealt ahead stay with her, in order.
        assert [(one.query.query_id, card.passage_id) for one in hands for card in one.cards if not card.is_settled][
            : len(ahead) - 1
        ] == ahead[1:]
    assert len(seen) == len(set(seen))
    assert {one.name: one.query_id for one in list_audit_assessors(drawn, audit)}["ben"] in held


def test_expired_lease_passes_unjudged_passages_to_other_assessors(drawn: Project) -> None:
    audit, left = dealt(drawn)
    judge_drawn(drawn, audit, left.query.query_id, left.cards[0].passage_id, 1, "ann", lease=NOW)
    assert hand(drawn, audit, "ann") is None
    found = deal(drawn, audit, "bob")
    assert found is not None and found.query == left.query
    assert [card.passage_id for card in found.cards] == [card.passage_id for card in left.cards[1:]]
    with refusal("query-taken", "bob"):
        judge_drawn(drawn, audit, left.query.query_id, left.cards[1].passage_id, 1, "ann")
    assert give_back(drawn, audit, "bob") == 1
    judge_drawn(drawn, audit, left.query.query_id, left.cards[1].passage_id, 1, "ann")


def test_skipped_passages_come_last_and_can_be_judged_by_others(drawn: Project) -> None:
    audit, found = dealt(drawn)
    query, first = found.query.query_id, found.cards[0].passage_id
    store_verdict(drawn, audit, Verdict(query, first, "skipped"), "ann")
    now = deal(drawn, audit, "ann")
    assert now is not None and now.query == found.query
    assert now.cards[-1].passage_id == first and next_card(now) != now.cards[-1]
    give_back(drawn, audit, "ann")
    judge_drawn(drawn, audit, query, first, 3, "bob")
    assert list_batches(drawn, audit)[0].skipped == 0


def test_changed_and_withdrawn_judgments_are_all_recorded(drawn: Project) -> None:
    audit, found = dealt(drawn)
    query, passage, other = found.query.query_id, found.cards[0].passage_id, found.cards[1].passage_id
    judge_drawn(drawn, audit, query, passage, 2, "ann")
    judge_drawn(drawn, audit, query, passage, 2, "ann")
    judge_drawn(drawn, audit, query, passage, 1, "ann", note="on second thoughts")
    assert source_judgments(drawn, audit.source)[query] == {passage: 1}
    store_verdict(drawn, audit, Verdict(query, other, "cannot say"), "ann")
    assert other not in source_judgments(drawn, audit.source)[query]
    store_verdict(drawn, audit, Verdict(query, passage, "taken back"), "ann")
    assert source_judgments(drawn, audit.source) == {}
    batch = list_batches(drawn, audit)[0]
    assert (batch.judged, batch.cannot_say) == (0, 1)
    acts = [act.act for act in list_actions(drawn).acts[:4]]
    assert acts == ["withdraw judgment", "cannot say", "judge", "judge"]
    assert drawn.value("SELECT count(*) FROM audit_verdicts") == 4


def test_withdrawn_judgment_stays_reserved_for_its_assessor(drawn: Project) -> None:
    audit, found = dealt(drawn)
    query, passages = found.query.query_id, [card.passage_id for card in found.cards]
    for passage in passages:
        judge_drawn(drawn, audit, query, passage, 1, "ann")
    following = deal(drawn, audit, "ann")
    assert following is not None and following.query.query_id != query
    store_verdict(drawn, audit, Verdict(query, passages[-1], "taken back"), "ann")
    # The withdrawn passage is not dealt to other assessors.
    ahead = deal_ahead(drawn, audit, "ben", 100)
    assert ahead and all(passages[-1] not in [card.passage_id for card in one.cards] for one in ahead if one.turn == 1)
    judge_drawn(drawn, audit, query, passages[-1], 2, "ann")


def test_reassigned_query_allows_changed_but_not_withdrawn_judgments(drawn: Project) -> None:
    audit, found = dealt(drawn)
    at = found.query.query_id, found.cards[0].passage_id
    judge_drawn(drawn, audit, *at, 1, "ann")
    give_back(drawn, audit, "ann")
    assert any(one.query.query_id == at[0] for one in deal_ahead(drawn, audit, "ben", 100))
    with refusal("query-taken", str(at[0]), "ben"):
        store_verdict(drawn, audit, Verdict(*at, "taken back"), "ann")
    judge_drawn(drawn, audit, *at, 2, "ann")


def test_batch_ended_early_accepts_no_more_judgments(drawn: Project) -> None:
    audit, found = dealt(drawn)
    with refusal("nothing-judged-in-batch"):
        end_batch(drawn, audit, "org")
    judge_drawn(drawn, audit, found.query.query_id, found.cards[0].passage_id, 1, "ann")
    with refusal("batch-still-open"):
        draw_batch(drawn, audit, "org")
    end_batch(drawn, audit, "org")
    assert list_batches(drawn, audit)[0].done
    with refusal("batch-ended", "--audit a"):
        deal(drawn, audit, "ann")
    assert draw_batch(drawn, audit, "org").known == 1
    end_audit(drawn, audit, "org")
    with refusal("batch-ended", "exam audit design"):
        deal(drawn, find_audit(drawn), "ann")


def test_audit_source_ranks_after_later_official_judgments(drawn: Project) -> None:
    audit = find_audit(drawn)
    judge_all(drawn, audit, "ann", "bob")
    assert judgment_sources(drawn) == official_sources(drawn) == [audit.source]
    commit(drawn, write_board, Board("official", "AP", [BoardRow("run", 0.5)]))
    assert official_sources(drawn) == ["official", audit.source]
    whole_judgments(drawn, {("q1", "p1"): 1}, "NIST")
    assert judgment_sources(drawn) == ["NIST", audit.source]
    assert official_sources(drawn) == ["NIST", "official", audit.source]
    assert find_source(drawn, "judgments") == "NIST"


# Judgment sheets


def draw_for_sheets(project: Project) -> None:
    fill_audited(project)
    draw_batch(project, design_audit(project, "a", "P@3", Goal("best"), batch_size=12, seed=3, author="org"), "org")


undealt = filled_project(draw_for_sheets)


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
def test_second_import_of_a_sheet_changes_nothing(undealt: Project, form: str) -> None:
    audit = find_audit(undealt)
    out = make_sheet(undealt, audit, form)  # type: ignore[arg-type]
    batch = list_batches(undealt, audit)[0]
    assert out.passages == batch.drawn and "What of q1?" in out.text and "text of " in out.text
    back = filled(out.text, form)
    first = import_sheet(undealt, audit, source(back), "ann")
    assert (first.verdicts, first.new, first.left) == (batch.drawn, batch.drawn, 0)
    kept = undealt.rows("FROM audit_verdicts ORDER BY verdict_key")
    again = import_sheet(undealt, audit, source(back), "ann")
    assert (again.verdicts, again.new) == (batch.drawn, 0)
    assert undealt.rows("FROM audit_verdicts ORDER BY verdict_key") == kept
    after = list_batches(undealt, audit)[0]
    assert (after.judged, after.cannot_say, after.done) == (batch.drawn - 1, 1, True)
    for query, values in source_judgments(undealt, audit.source).items():
        assert values == {passage: truth(query, passage) for passage in values}


def qrels_line(project: Project, audit: Audit, value: int = 1) -> str:
    found = deal(project, audit, "ann")
    assert found is not None
    give_back(project, audit, "ann")
    return f"{found.query.query_id} 0 {found.cards[0].passage_id} {value}\n"


def test_qrels_with_part_of_a_batch_are_imported_unless_a_line_is_invalid(undealt: Project) -> None:
    audit = find_audit(undealt)
    line = qrels_line(undealt, audit, 3)
    for text, says in (
        (line + "q1 0 nowhere 1\n", ("not-placed", "sheet:2", "q1")),
        (line + "q1 0 x five\n", ("invalid-judgment", "five", "sheet:2")),
        (qrels_line(undealt, audit, 7), ("not-placed", "sheet:1", "7", "0", "3")),
    ):
        with refusal(*says, kind=FileError):
            import_sheet(undealt, audit, source(text), "ann")
        assert source_judgments(undealt, audit.source) == {}
    done = import_sheet(undealt, audit, source(line), "ann")
    assert done.new == 1 and done.left == list_batches(undealt, audit)[0].drawn - 1


def test_queries_on_a_sheet_stay_reserved_for_its_assessor(undealt: Project) -> None:
    audit = find_audit(undealt)
    taken = make_sheet(undealt, audit, "jsonl", "cara", most=1)
    query = json.loads(taken.text.splitlines()[0])["query_id"]
    dealt = deal(undealt, audit, "ann")
    assert taken.queries == 1 and dealt is not None and dealt.query.query_id != query
    line = qrels_line(undealt, audit)
    assert not line.startswith(f"{query} ")
    with refusal("not-placed", "cara", kind=FileError):
        import_sheet(undealt, audit, source(filled(taken.text, "jsonl")), "ann")
    assert import_sheet(undealt, audit, source(filled(taken.text, "jsonl")), "cara").new == taken.passages
    assert give_back(undealt, audit, "cara") == 1
    with refusal("not-placed", "cara", kind=FileError):
        import_sheet(undealt, audit, source(filled(taken.text, "jsonl")), "ann")


def test_failed_sheet_export_reserves_and_records_nothing(undealt: Project) -> None:
    audit = find_audit(undealt)
    before = undealt.version()

    def fail(text: str) -> None:
        raise OSError(28, "full")

    with pytest.raises(OSError):
        make_sheet(undealt, audit, "tsv", "cara", deliver=fail)
    assert undealt.version() == before
    assert make_sheet(undealt, audit, "tsv", "dora").passages > 0, "no query is reserved"


def test_sheet_without_waiting_passages_is_refused(undealt: Project) -> None:
    audit = find_audit(undealt)
    import_sheet(undealt, audit, source(filled(make_sheet(undealt, audit).text, "tsv")), "ann")
    with refusal("no-waiting-passage"):
        make_sheet(undealt, audit)
