"""Citation support: grading, recall, precision, supported coverage and agreement, worked by hand."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from exam_workbench import bank
from exam_workbench.exchange._integrity import check_project
from exam_workbench.graders import find_remaking_parameters, make_grader
from exam_workbench.grading import Request, Scope, doubtful_pairs, make_plan, run_job
from exam_workbench.grading._grade_storage import add_outcomes
from exam_workbench.grading._needed_pairs import pairs_to_grade
from exam_workbench.labels import (
    Policy,
    basis,
    citation_grader,
    coverage_scores,
    leaderboard,
    list_citations,
    response_support,
    set_support,
    support_agreement,
)
from exam_workbench.measures import weighted_kappa
from exam_workbench.operations.grade import failures
from exam_workbench.operations.leaderboard import show_support as show
from exam_workbench.store import Project
from exam_workbench.types import Grade, Question
from tests.made.cited import QUERIES, RATED, SALTS, WRONG, melts, put_cited, read
from tests.made.endpoint_server import EndpointServer, Seen, chat, rate
from tests.made.projects import commit, filled_project, grade
from tests.made.refusals import refusal
from tests.made.shell import ShellOn, printed


def fill_cited(project: Project) -> None:
    """Fill in the made responses, with every citation graded by the `read` endpoint."""
    put_cited(project)
    with EndpointServer(read) as server:
        run_job(project, make_grader("support", {"model": "m", "base_url": server.url}), Request(), "tester")


cited = filled_project(fill_cited)


def board(project: Project, policy: Policy | None = None, partial: bool = False) -> dict[str, SimpleNamespace]:
    """Return the rows of `exam support show`, by run."""
    runs = show(project, partial=partial, policy=policy or Policy()).value["runs"]
    return {row["run"]: SimpleNamespace(**row) for row in runs}


def test_recall_and_precision_match_hand_calculation(cited: Project) -> None:
    by = {(one.run, one.query_id): one for one in response_support(cited, citation_grader(cited))}
    # Recalls 1 and 1, and 0 for a sentence without citations; two of three citations support.
    assert (by["good", "salts"].recall, by["good", "salts"].precision) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    # Recalls 0.5 and 0; a sentence with only an unresolved citation is left out.
    poor = by["poor", "salts"]
    assert (poor.recall, poor.precision, poor.sentences, poor.citations) == (0.25, 0.25, 3, 3)
    assert (poor.unresolved, poor.ungraded, poor.failed) == (1, 0, 0)
    assert (by["poor", "ores"].recall, by["poor", "ores"].precision) == (0.5, pytest.approx(1 / 3))
    rows = board(cited)
    assert list(rows) == ["good", "poor"]
    assert (rows["good"].recall, rows["good"].precision) == (pytest.approx(5 / 6), pytest.approx(5 / 6))
    assert rows["poor"].recall == 0.375 and rows["poor"].recall_error == pytest.approx(0.125)
    assert rows["poor"].coverage is None
    for measure, name in (("Support-Recall", "recall"), ("support-precision", "precision")):
        ordered = leaderboard(cited, measure)
        assert ordered.source == "citations" and (ordered.needed, ordered.usable) == (9, 9)
        for system in ordered.systems:
            row = vars(rows[system.run])
            assert (system.score, system.std_error) == (row[name], row[f"{name}_error"])
    assert leaderboard(cited, "Support-Precision@1").scores == {"good": 1, "poor": 0.125}
    # With the first citation only: the one for the fourth salt supports nothing, and the second of "good" is ignored.
    first = {(one.run, one.query_id): one for one in response_support(cited, citation_grader(cited), most=1)}
    assert (first["poor", "ores"].recall, first["poor", "ores"].precision) == (0, 0)
    assert (first["good", "salts"].recall, first["good", "salts"].precision) == (pytest.approx(2 / 3), 1)


def test_missing_support_is_not_zero(project: Project) -> None:
    put_cited(project)
    assert citation_grader(project) is None
    rows = board(project)
    assert (rows["poor"].recall, rows["poor"].precision, rows["poor"].ungraded) == (None, None, 5)
    # A sentence without citations counts 0 even without grades.
    assert (rows["good"].recall, rows["good"].unresolved) == (0, 0)
    set_support(project, "poor/salts/1", 1, "d0", 2, "asta")
    assert board(project)["poor"].recall == 1


def answers(seen: Seen) -> bool:
    """Return whether the passage is about the salt; salt 3 is the pink one."""
    (body,) = re.findall(r"<passage-\w+>\n(.*?)\n</passage-", seen.prompt, re.DOTALL)
    (number,) = re.findall(r"When does salt (\d) melt", seen.prompt)
    return ("pink" if number == "3" else SALTS[int(number)]) in body


def test_question_counts_only_if_its_answering_sentence_is_supported(
    cited: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = [
        Question(f"salts/{i}", "salts", f"When does salt {i} melt?", weight=weight)
        for i, weight in ((0, 1), (1, 1), (2, 2), (3, -0.5))
    ]
    bank.save_version(cited, questions, "made", "tester")
    with EndpointServer(lambda seen: rate(seen, 5 if answers(seen) else 0)) as server:
        settings = {"model": "m", "base_url": server.url}
        grader = make_grader("self-rating", settings)
        bank.remember_settings(cited, grader, "self-rating", settings, "tester")
        run_job(cited, grader, Request(), "tester")
        base = basis(cited, Policy())
        assert coverage_scores(cited, base)["poor"]["salts"] == 0.875
        # Ratings of whole passages do not tell which sentence answers a question.
        assert (board(cited)["good"].coverage, board(cited)["poor"].coverage) == (None, None)
        assert leaderboard(cited, "Supported-Cover").ungraded == {"salts": 3}
        of_sentences = Scope(sentences=True)
        plan = make_plan(cited, base.grader.spec, base.version, of_sentences)
        # Two sentences with two questions, three with three; one sentence is in both responses.
        assert (plan.needed, plan.to_grade) == (11, 11)
        failed = pairs_to_grade(cited, base.grader.spec, base.version, of_sentences)[0][0]
        commit(cited, add_outcomes, base.grader.key, [(*failed, Grade(None, "failed"))], job_key=0)
        failures(cited, grader_name=base.grader.spec.name).print(False)
        assert re.findall(r"--only-failed( --sentences)?", capsys.readouterr().err) == [" --sentences"]
        retry = Request(Scope(only_failed=True, sentences=None))
        assert make_plan(cited, base.grader.spec, base.version, retry.scope).to_grade == 1
        assert run_job(cited, grader, retry, "tester").graded == 1
        run_job(cited, grader, Request(of_sentences), "tester")
        assert make_plan(cited, base.grader.spec, base.version, of_sentences).to_grade == 0
    with refusal("not-a-grader-of-citations", base.grader.spec.name):
        citation_grader(cited, base.grader.spec.name)
    # In "poor", salt 0 has partial support and salt 1 has none. The citation for salt 2 is unresolved,
    # so its question of weight 2 is left out.
    assert board(cited)["good"].coverage == 0.5
    assert board(cited)["poor"].coverage == 0
    assert board(cited, partial=True)["poor"].coverage == (1 - 0.5) / 2
    assert leaderboard(cited, "Supported-Cover").scores == {"good": 0.5, "poor": 0}
    assert not any(check_project(cited).values())
    set_support(cited, "poor/salts/1", 1, "d0", 2, "asta")
    assert board(cited)["poor"].coverage == (1 - 0.5) / 2


def test_extracted_answer_identifies_answering_sentence(cited: Project) -> None:
    bank.save_version(cited, [Question("salts/0", "salts", "When does salt 0 melt?")], "made", "tester")
    grade(cited, {("When does salt 0 melt?", f"{run}/salts/1"): 5 for run in ("good", "poor")})
    commit(cited, f"UPDATE grades SET answer = '{melts(0)} degrees' WHERE rating = 5")
    assert (board(cited)["good"].coverage, board(cited)["poor"].coverage) == (1, 0)
    assert board(cited, partial=True)["poor"].coverage == 1


def test_assessor_values_replace_ratings_and_give_agreement(cited: Project) -> None:
    grader = citation_grader(cited)
    assert grader is not None
    for position, value in ((1, 2), (2, 0)):
        set_support(cited, "poor/salts/1", position, ("d0", "d3")[position - 1], value, "asta", "checked")
    set_support(cited, "poor/salts/1", 1, "d0", 1, "bo")
    set_support(cited, "poor/salts/1", 1, "d0", 2, "bo")
    (seen, *_) = list_citations(cited, grader, "poor", "salts", "asta")
    assert (seen.rating, seen.value, seen.author, seen.own, seen.state) == (1, 2, "bo", 2, "known")
    assert board(cited)["poor"].recall == 0.5
    assert board(cited, Policy(overrides=False))["poor"].recall == 0.375
    tables = support_agreement(cited, grader)
    assert {person: table.n for person, table in tables.items()} == {"asta": 2, "bo": 1}
    assert tables["asta"].counts.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert weighted_kappa(tables["asta"]).value == pytest.approx(2 / 3)
    for person in ("bo", "asta"):
        set_support(cited, "poor/salts/1", 1, "d0", None, person)
    assert board(cited)["poor"].recall == 0.375
    with refusal("no-value-to-remove", "d0"):
        set_support(cited, "poor/salts/1", 1, "d0", None, "bo")
    with refusal("value-out-of-range", "3"):
        set_support(cited, "poor/salts/1", 1, "d0", 3, "bo")
    with refusal("unknown-citation", "d7"):
        set_support(cited, "poor/salts/1", 1, "d7", 1, "bo")
    with refusal("no-text", "d9"):
        set_support(cited, "poor/salts/1", 3, "d9", 1, "bo")


def test_commands_show_list_set_and_remove(shell_on: ShellOn) -> None:
    run = shell_on(fill_cited)
    listed = printed(run("support", "list", "--run", "poor", "--limit", "2", "--json"))["citations"]
    assert [(one["passage_id"], one["position"], one["cited_id"]) for one in listed] == [
        ("poor/salts/1", 1, "d0"), ("poor/salts/1", 2, "d3"),
    ]  # fmt: skip
    assert run("support", "set", "poor/salts/1", "2", "d3", "1", "--reason", "half of it")[0] == 0
    shown = printed(run("support", "show", "--json"))
    assert [(one["run"], one["recall"]) for one in shown["runs"]] == [("good", pytest.approx(5 / 6)), ("poor", 0.5)]
    assert [(one["assessor"], one["pairs"]) for one in shown["agreement"]] == [("ann", 1)]
    assert run("support", "show", "--first", "--partial")[0] == 0
    assert run("support", "remove", "poor/salts/1", "2", "d3")[0] == 0
    assert printed(run("support", "show", "--no-overrides", "--json"))["runs"][1]["recall"] == 0.375
    run.fails("no-value-to-remove", "support", "remove", "poor/salts/1", "2", "d3")
    run.fails("unknown-grader", "support", "show", "--support-grader", "Other")
    assert run("check")[0] == 0


# Grading of citations


def rated(project: Project) -> dict[tuple[str, str], int]:
    return {
        (sentence, cited): rating
        for sentence, cited, rating in project.rows(
            "SELECT sentence, cited_id, rating FROM cited JOIN grades ON question_text_key = sentence_key"
            " AND passage_text_key = cited_key"
        )
    }


def test_exactly_the_planted_wrong_citations_are_found(project: Project) -> None:
    put_cited(project)
    with EndpointServer(read) as server:
        grader = make_grader("support", {"model": "m", "base_url": server.url})
        assert grader.spec.max_rating == 2 and grader.spec.rates_citations
        plan = make_plan(project, grader.spec, 0)
        assert (plan.needed, plan.known, plan.to_grade, plan.without_text) == (len(RATED), 0, len(RATED), 1)
        assert make_plan(project, grader.spec, 0, Scope(queries=(QUERIES[1],))).to_grade == 3
        assert make_plan(project, grader.spec, 0, Scope(runs=("good",))).to_grade == 4
        final = run_job(project, grader, Request(), "tester")
    assert (final.state, final.graded, final.failed) == ("done", len(RATED), 0)
    found = rated(project)
    assert found == RATED
    assert {pair for pair, rating in found.items() if rating == 0} == WRONG
    # Each pair is graded once, so nothing is left.
    assert make_plan(project, grader.spec, 0).to_grade == 0
    # Citation graders never give labels or leaderboards.
    assert bank.label_graders(project) == []
    assert [(one.grades, one.shown) for one in bank.list_of_graders(project)] == [(len(RATED), False)]
    with refusal("grader-of-citations", grader.spec.name):
        basis(project, Policy(grader=grader.spec.name))


def test_failed_citations_are_listed_and_embeddings_need_no_model(project: Project) -> None:
    put_cited(project)
    with EndpointServer(lambda seen: chat("hm, 7")) as server:
        run_job(project, make_grader("support", {"model": "m", "base_url": server.url}), Request(), "tester")
    failed = doubtful_pairs(project, bank.find_grader(project, "support"), "failed", 0)
    assert {(one.asked.text, one.passage_id) for one in failed} == set(RATED)
    similar = make_grader("support-embedding", {})
    assert find_remaking_parameters(similar.spec) == {"cuts": [0.5, 0.7]}
    run_job(project, similar, Request(), "tester")
    assert {rating for rating in rated(project).values()} <= {0, 1, 2} and len(rated(project)) == len(RATED)
    with refusal("invalid-cut-points"):
        make_grader("support-embedding", {"cuts": [0.1, 0.2, 0.3, 0.4, 0.5]})
