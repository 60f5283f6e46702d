"""A judge for the tools of AutoJudge; it needs the extra `autojudge`.

In workflow.yml: `judge_class: "exam_workbench.autojudge.ExamJudge"`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from autojudge_base import (
    Leaderboard,
    LeaderboardBuilder,
    LeaderboardSpec,
    LlmConfigProtocol,
    MeasureSpec,
    NuggetBanks,
    QrelRow,
    Qrels,
    Report,
    Request,
    doc_id_md5,
)
from autojudge_base.nugget_data import load_nugget_banks_from_file
from pydantic import BaseModel

from . import bank
from .errors import GradingError, Report as Problems
from .exchange import Group, Options, bank_in_form, import_groups, response_ratings, whole_responses
from .face import Project
from .formats import Source, read_bank
from .graders import extend_access, use_access
from .grading import draft_proposals, make_drafter
from .grouping import group_pairs
from .labels import Policy, basis, label_qrels, leaderboard
from .store import Project as StoredProject, create_project, open_project

AUTHOR = "autojudge"
SPEC = LeaderboardSpec(
    (
        MeasureSpec(
            "EXAM_COVER", float, "Weighted share of the questions that the response answers"
        ),
        MeasureSpec("MEAN_RATING", float, "Mean of the best rating (0-5) of each question"),
        MeasureSpec("QUESTIONS_UNGRADED", int, "Questions with a passage that could not be graded"),
    )
)


class ExamJudge:
    """Grades responses with exam questions.

    The project `exam.duckdb` in the cache folder of the model's settings keeps all grades. So a
    second run asks no model again. Settings of each method: `grader` and `parameters` as in
    `Project.grade`; `min_rating`, `label` and `cutoff` as in `Policy`; `bank`, a file of curated
    nugget banks.

    Raises:
        GradingError: the grading job failed.
        ValueError: pairs without a grade leave a score of a response open. A second run tries them
            again.
    """

    nugget_banks_type = NuggetBanks

    def judge(
        self,
        rag_responses: Iterable[Report],
        rag_topics: Sequence[Request],
        llm_config: LlmConfigProtocol,
        nugget_banks: NuggetBanks | None = None,
        qrels: Qrels | None = None,
        corpus: str | None = None,
        **settings: Any,
    ) -> Leaderboard:
        """Return EXAM_COVER, MEAN_RATING and QUESTIONS_UNGRADED of each response."""
        reports, topics = list(rag_responses), [topic.request_id for topic in rag_topics]
        builder = LeaderboardBuilder(SPEC)
        with _open_graded(reports, rag_topics, llm_config, nugget_banks, settings) as (
            project,
            policy,
        ):
            board = leaderboard(project, f"EXAM-Cover@{policy.cutoff}", "exam", policy)
            ratings = group_pairs(
                ((run, query_id), (rating, ungraded))
                for run, query_id, rating, ungraded in response_ratings(project, policy)
            )
            least = basis(project, policy).min_rating
            for report in reports:
                run, topic = report.metadata.run_id, report.metadata.topic_id
                passage_ratings = ratings.get((run, topic), [])
                # A missing grade is not 0: the score stays open unless another passage answers the
                # question.
                if all(
                    rating is not None and (rating >= least or not ungraded)
                    for rating, ungraded in passage_ratings
                ):
                    values = {
                        "EXAM_COVER": board.per_query[run].get(topic, 0.0),
                        "MEAN_RATING": sum(rating or 0 for rating, _ in passage_ratings)
                        / len(passage_ratings)
                        if passage_ratings
                        else 0.0,
                        "QUESTIONS_UNGRADED": sum(ungraded > 0 for _, ungraded in passage_ratings),
                    }
                    builder.add(run_id=run, topic_id=topic, values=values)
        return builder.build(expected_topic_ids=topics, on_missing="error")

    def create_qrels(
        self,
        rag_responses: Iterable[Report],
        rag_topics: Sequence[Request],
        llm_config: LlmConfigProtocol,
        nugget_banks: NuggetBanks | None = None,
        corpus: str | None = None,
        **settings: Any,
    ) -> Qrels:
        """Return the highest label of each response's passages, under the MD5 of the response's
        text.
        """
        reports = list(rag_responses)
        rows: dict[tuple[str, str], int] = {}
        with _open_graded(reports, rag_topics, llm_config, nugget_banks, settings) as (
            project,
            policy,
        ):
            labels, responses = (
                label_qrels(project, basis(project, policy)),
                project.read(whole_responses),
            )
            for report in reports:
                run, topic = report.metadata.run_id, report.metadata.topic_id
                passages, _ = responses.get((run, topic), ([], ""))
                own = [
                    labels[topic][passage]
                    for passage in passages
                    if passage in labels.get(topic, {})
                ]
                if own:
                    rows[topic, doc_id_md5(report.get_report_text())] = max(own)
        return Qrels(rows=[QrelRow(topic, text, label) for (topic, text), label in rows.items()])

    def create_nuggets(
        self,
        rag_responses: Iterable[Report] | None,
        rag_topics: Sequence[Request],
        llm_config: LlmConfigProtocol,
        nugget_banks: NuggetBanks | None = None,
        corpus: str | None = None,
        **settings: Any,
    ) -> NuggetBanks:
        """Return the banks of the setting `bank`, else the given banks, else questions that the
        model drafts.
        """
        if settings.get("bank"):
            return load_nugget_banks_from_file(settings["bank"])
        if nugget_banks is not None:
            return nugget_banks
        with _open_cache_project(llm_config) as project:
            import_groups(project, [_object_group("queries", rag_topics)], AUTHOR)
            known = {
                question.query_id for question in bank.list_questions(project) if question.active
            }
            missing = [topic.request_id for topic in rag_topics if topic.request_id not in known]
            if missing:
                endpoint = _endpoint_parameters(llm_config)
                with use_access(
                    extend_access(endpoint.get("base_url"), endpoint.get("key_variable"))
                ):
                    found = draft_proposals(project, make_drafter(endpoint), missing, AUTHOR)
                bank.accept_proposals(project, found.keys, AUTHOR)
                bank.save_drafts(project, AUTHOR)
            with TemporaryDirectory() as folder:
                file = Path(folder) / "banks.jsonl"
                file.write_text(bank_in_form(project, "v3"), encoding="utf-8")
                return load_nugget_banks_from_file(file)


@contextmanager
def _open_cache_project(llm_config: LlmConfigProtocol) -> Iterator[StoredProject]:
    """Open the project of the cache folder; without a folder a temporary one."""
    with TemporaryDirectory() as folder:
        path = Path(llm_config.cache_dir or folder) / "exam.duckdb"
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(open_project(path) if path.exists() else create_project(path)) as project:
            yield project


@contextmanager
def _open_graded(
    reports: Sequence[Report],
    topics: Sequence[Request],
    llm_config: LlmConfigProtocol,
    banks: NuggetBanks | None,
    settings: dict[str, Any],
) -> Iterator[tuple[StoredProject, Policy]]:
    """Open the project after it has the data and all grades, with the scoring settings."""
    nugget_banks = (
        load_nugget_banks_from_file(settings["bank"])
        if settings.get("bank") and banks is None
        else banks
    )
    groups = [_object_group("queries", topics), _object_group("responses", reports)]
    groups += [] if nugget_banks is None else [_object_group("bank", nugget_banks.banks.values())]
    with _open_cache_project(llm_config) as project:
        import_groups(project, groups, AUTHOR)
        if nugget_banks is not None:
            question_ids = {
                item.question_id for item in read_bank(groups[-1].sources[0], Problems()).questions
            }
            others = [
                item
                for item in bank.list_questions(project)
                if item.active and item.question_id not in question_ids
            ]
            bank.save_version(
                project,
                [replace(item, active=False) for item in others],
                "Not in the given banks",
                AUTHOR,
            )
        parameters = _endpoint_parameters(llm_config) | dict(settings.get("parameters") or {})
        grader = settings.get("grader", "self-rating")
        runs, queries = (
            {item.metadata.run_id for item in reports},
            [item.request_id for item in topics],
        )
        outcome = Project(project).grade(
            grader, runs=runs, queries=queries, retry_failed=True, **parameters
        )
        if outcome["state"] != "done":
            raise GradingError(
                "job-failed", "The grading job stopped early.", "Run again to resume."
            )
        chosen = {
            name: settings[name] for name in ("min_rating", "label", "cutoff") if name in settings
        }
        yield project, Policy(grader=outcome["grader"], **chosen)


def _object_group(kind: str, objects: Iterable[BaseModel]) -> Group:
    lines = "".join(item.model_dump_json(exclude_none=True) + "\n" for item in objects)
    return Group(kind, [Source(f"{kind}.jsonl", data=lines.encode())], Options(replace=True))


def _endpoint_parameters(llm_config: LlmConfigProtocol) -> dict[str, Any]:
    """Return the parameters of the endpoint; its key stays in the environment."""
    named = {
        "model": llm_config.model,
        "base_url": getattr(llm_config, "base_url", None),
        "key_variable": "OPENAI_API_KEY" if os.environ.get("OPENAI_API_KEY") else None,
    }
    return {"back_end": "openai"} | {name: value for name, value in named.items() if value}
