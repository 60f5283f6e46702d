"""Citation graders: planned pairs, and detection of planted wrong citations."""

from __future__ import annotations

from pathlib import Path

from exam_workbench.bank import find_grader, label_graders, list_of_graders
from exam_workbench.graders import find_remaking_parameters, make_grader
from exam_workbench.grading import Request, Scope, doubtful_pairs, make_plan, run_job
from exam_workbench.labels import Policy, basis
from exam_workbench.store import Project
from tests.made.cited import QUERIES, RATED, WRONG, put_cited, read
from tests.made.endpoint_server import EndpointServer, chat
from tests.made.refusals import refusal


def rated(project: Project) -> dict[tuple[str, str], int]:
    return {
        (sentence, cited): rating
        for sentence, cited, rating in project.rows(
            "SELECT sentence, cited_id, rating FROM cited JOIN grades ON question_text_key = sentence_key"
            " AND passage_text_key = cited_key"
        )
    }


def test_exactly_the_planted_wrong_citations_are_found(project: Project, tmp_path: Path) -> None:
    put_cited(project, tmp_path)
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
    assert label_graders(project) == []
    assert [(one.grades, one.shown) for one in list_of_graders(project)] == [(len(RATED), False)]
    with refusal("grader-of-citations", grader.spec.name):
        basis(project, Policy(grader=grader.spec.name))


def test_failed_citations_are_listed_and_embeddings_need_no_model(project: Project, tmp_path: Path) -> None:
    put_cited(project, tmp_path)
    with EndpointServer(lambda seen: chat("hm, 7")) as server:
        run_job(project, make_grader("support", {"model": "m", "base_url": server.url}), Request(), "tester")
    failed = doubtful_pairs(project, find_grader(project, "support"), "failed", 0)
    assert {(one.asked.text, one.passage_id) for one in failed} == set(RATED)
    similar = make_grader("support-embedding", {})
    assert find_remaking_parameters(similar.spec) == {"cuts": [0.5, 0.7]}
    run_job(project, similar, Request(), "tester")
    assert {rating for rating in rated(project).values()} <= {0, 1, 2} and len(rated(project)) == len(RATED)
    with refusal("invalid-cut-points"):
        make_grader("support-embedding", {"cuts": [0.1, 0.2, 0.3, 0.4, 0.5]})
