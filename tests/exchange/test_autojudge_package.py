"""File exchange with the package autojudge-base; skipped if it is not installed."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from exam_workbench import bank
from exam_workbench.choices import LEADERBOARD_FORMS
from exam_workbench.exchange import bank_in_form, board_in_form, queries_jsonl, reports_jsonl
from exam_workbench.labels import Policy, leaderboard
from exam_workbench.measures import correlate_by
from exam_workbench.types import Question
from tests.exchange.test_nuggets import MATE, MEASURE, OWN, TEA, a_grade, fill_all, fill_own, report, take
from tests.made.endpoint_server import EndpointServer, Reply, Seen, chat, rate, refuse
from tests.made.projects import made_project, new_project


@pytest.fixture(autouse=True)
def stop_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Provide a list of stop words, because the package downloads one on import if it finds none."""
    words = tmp_path / "nltk" / "corpora" / "stopwords" / "english"
    words.parent.mkdir(parents=True)
    words.write_text("the\n")
    (tmp_path / "nltk" / "tokenizers" / "punkt").mkdir(parents=True)
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "nltk"))
    pytest.importorskip("nltk").data.path.insert(0, str(tmp_path / "nltk"))
    pytest.importorskip("autojudge_base")


def dumped(objects: Any) -> Any:
    """Return JSON data of the package's objects without creation dates."""
    if isinstance(objects, dict):
        return {key: dumped(value) for key, value in objects.items() if "date" not in key}
    return [dumped(one) for one in objects] if isinstance(objects, list) else objects


def test_banks_round_trip_through_autojudge_base(tmp_path: Path) -> None:
    from autojudge_base.nugget_data import load_nugget_banks_from_file, write_nugget_banks
    from autojudge_base.nugget_data.ragtime26.ragtime26_nugget_data import Ragtime26NuggetBank

    def theirs(text: str) -> Any:
        (tmp_path / "bank.jsonl").write_text(text)
        return load_nugget_banks_from_file(tmp_path / "bank.jsonl")

    def written(banks: Any) -> str:
        write_nugget_banks(banks, tmp_path / "out.jsonl")
        return (tmp_path / "out.jsonl").read_text()

    # Start with our project: export, load with the package, import again.
    own = new_project(tmp_path / "own.duckdb")
    fill_own(own)
    version = bank.latest_version(own)
    take(own, "bank", written(theirs(bank_in_form(own, "v3"))))
    assert bank.latest_version(own) == version
    assert len(bank.list_questions(own)) == len(OWN)
    own.close()
    # Start with their bank: import, export, load with the package again.
    project = new_project(tmp_path / "project.duckdb")
    claims = {text: {**claim, "query_id": "tea"} for text, claim in TEA["claim_bank"].items()}
    questions = {text: {**question, "query_id": "tea"} for text, question in TEA["nugget_bank"].items()}
    tea = theirs(json.dumps({**TEA, "nugget_bank": questions, "claim_bank": claims}))
    take(project, "bank", written(tea))
    after = theirs(bank_in_form(project, "v3"))
    assert dumped(after.model_dump(mode="json")) == dumped(tea.model_dump(mode="json"))
    project.close()
    project = new_project(tmp_path / "mate.duckdb")
    mate = Ragtime26NuggetBank.model_validate(MATE)
    take(project, "bank", mate.model_dump_json())
    again = Ragtime26NuggetBank.model_validate_json(bank_in_form(project, "ragtime26"))
    assert again.model_dump() == mate.model_dump()


def test_leaderboards_and_correlations_match_autojudge(tmp_path: Path) -> None:
    pytest.importorskip("autojudge_evaluate")
    from autojudge_base import Leaderboard
    from autojudge_evaluate.evaluation import LeaderboardEvaluator

    project = made_project(tmp_path / "p.duckdb", fill_all)
    board = leaderboard(project, MEASURE, policy=Policy(min_rating=3))
    expected = {(run, topic): score for run, scores in board.per_query.items() for topic, score in scores.items()}
    # A skipped query counts as 0 in the mean.
    expected |= {("three", "q2"): 0.0, **{(run, "all"): score for run, score in board.scores.items()}}
    for form in LEADERBOARD_FORMS:
        content, path = board_in_form(board, form)[0], tmp_path / f"{form}.txt"
        if form == "trec_eval":
            zipfile.ZipFile(io.BytesIO(content)).extractall(path)
        else:
            path.write_bytes(content)
        loaded = Leaderboard.load(path, form)
        assert {(one.run_id, one.topic_id): float(one.values[MEASURE]) for one in loaded.entries} == expected
    other = leaderboard(project, MEASURE, policy=Policy(min_rating=5))
    (tmp_path / "truth.txt").write_bytes(board_in_form(other, "ir_measures")[0])
    names = ["kendall", "pearson", "spearman", "tauap_b", "tau_gap", "kendall@3"]
    evaluator = LeaderboardEvaluator(tmp_path / "truth.txt", correlation_methods=names)
    ((_, theirs),) = evaluator.evaluate(tmp_path / "ir_measures.txt").items()
    assert correlate_by(names, board.scores, other.scores) == pytest.approx(theirs, abs=1e-12)


def test_topics_and_reports_round_trip_through_autojudge(tmp_path: Path) -> None:
    from autojudge_base import Report, Request

    project = new_project(tmp_path / "p.duckdb")
    topic = Request(request_id="q1", title="Tea", problem_statement="Why bitter?", background="A beginner.", limit=900)
    take(project, "queries", topic.model_dump_json(exclude_none=True))
    assert Request.model_validate_json(queries_jsonl(project, as_topics=True)) == topic
    bank.save_version(project, [Question("q1/a", "q1", "Why?")], "made", "ann")
    given = Report.model_validate(report("one", "It is so.", "Because."))
    take(project, "responses", given.model_dump_json(exclude_none=True))
    take(project, "graded", [a_grade(run_id="one", nugget_id="q1/a", question=None, grade=5)], "panel.jsonl")
    ours = Report.model_validate_json(reports_jsonl(project, Policy(grader="imported: panel")))
    for sentence in [*ours.responses, *ours.answer]:
        assert sentence.evaldata.pop("exam_workbench")["rating"] == 5
        sentence.evaldata = sentence.evaldata or None
    assert ours.model_dump() == given.model_dump()


def reports_of(folder: Path) -> tuple[Any, Any, Any]:
    """Return reports of two runs on two topics, the topics and their question banks."""
    from autojudge_base import Request, load_report
    from autojudge_base.nugget_data import load_nugget_banks_from_file

    rows = [
        {
            "metadata": {"team_id": "t", "run_id": run, "topic_id": topic},
            "responses": [{"text": f"{run} says of {topic}.", "citations": ["d1"]}],
        }
        for run in ("one", "two")
        for topic in ("q1", "q2")
    ]
    banks = [
        {"query_id": topic, "title_query": f"about {topic}", "nugget_bank": {
            text: {"question": text, "query_id": topic} for text in (f"What is {topic}?", f"Who made {topic}?")}}
        for topic in ("q1", "q2")
    ]  # fmt: skip
    for name, objects in (("reports", rows), ("banks", banks)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in objects))
    topics = [Request(request_id=topic, title=f"about {topic}") for topic in ("q1", "q2")]
    return load_report(folder / "reports.jsonl"), topics, load_nugget_banks_from_file(folder / "banks.jsonl")


def judged(seen: Seen) -> Reply:
    """Rate run one 5 on "What is" questions and everything else 2."""
    return rate(seen, 5 if "one says" in seen.prompt and "What is" in seen.prompt else 2)


def test_exam_judge_reproduces_results_from_cache(tmp_path: Path) -> None:
    from autojudge_base import LlmConfigBase, doc_id_md5

    from exam_workbench.autojudge import ExamJudge

    reports, topics, banks = reports_of(tmp_path)
    judge = ExamJudge()

    def outcome() -> tuple[Any, ...]:
        board = judge.judge(reports, topics, config, banks)
        qrels = judge.create_qrels(reports, topics, config, banks)
        board.write(tmp_path / "board.txt")
        return board, qrels.rows, (tmp_path / "board.txt").read_bytes()

    with EndpointServer(judged) as server:
        config = LlmConfigBase(model="m", cache_dir=tmp_path / "cache", base_url=server.url)
        board, qrels, content = outcome()
        calls = len(server.seen)
    assert calls == 8
    values = {(one.run_id, one.topic_id): one.values for one in board.entries}
    assert values["one", "q1"] == {"EXAM_COVER": 0.5, "MEAN_RATING": 3.5, "QUESTIONS_UNGRADED": 0}
    assert (values["one", "all"]["EXAM_COVER"], values["two", "all"]["EXAM_COVER"]) == (0.5, 0.0)
    assert {(one.topic_id, one.doc_id): one.grade for one in qrels}["q1", doc_id_md5("one says of q1.")] == 5
    assert outcome()[1:] == (qrels, content)


def test_failed_grade_raises_error(tmp_path: Path) -> None:
    from autojudge_base import LlmConfigBase

    from exam_workbench.autojudge import ExamJudge

    reports, topics, banks = reports_of(tmp_path)
    with EndpointServer(lambda seen: refuse() if "one says of q2" in seen.prompt else judged(seen)) as server:
        config = LlmConfigBase(model="m", cache_dir=tmp_path / "cache", base_url=server.url)
        with pytest.raises(ValueError, match=r"\(one, q2\)"):
            ExamJudge().judge(reports, topics, config, banks)


def test_cached_autojudge_run_writes_identical_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from autojudge_base.cli import main
    from click.testing import CliRunner

    _, topics, _ = reports_of(tmp_path)
    (tmp_path / "topics.jsonl").write_text("".join(one.model_dump_json(exclude_none=True) + "\n" for one in topics))
    (tmp_path / "responses").mkdir()
    (tmp_path / "reports.jsonl").rename(tmp_path / "responses" / "reports.jsonl")
    workflow = {
        "judge_class": "exam_workbench.autojudge.ExamJudge", "create_nuggets": True, "create_qrels": True,
        "judge_uses_nuggets": True, "settings": {"bank": str(tmp_path / "banks.jsonl"), "min_rating": 4},
    }  # fmt: skip
    (tmp_path / "workflow.yml").write_text(yaml.safe_dump(workflow))
    monkeypatch.chdir(tmp_path)

    def files(folder: str) -> dict[str, bytes]:
        words = ["--workflow", "workflow.yml", "--rag-responses", "responses", "--rag-topics", "topics.jsonl"]
        done = CliRunner().invoke(main, ["run", *words, "--out-dir", folder])
        assert done.exit_code == 0, done.output
        # This file contains the time of the run.
        return {file.name: file.read_bytes() for file in Path(folder).iterdir() if file.name != "default.config.yml"}

    with EndpointServer(judged) as server:
        for name, value in {"OPENAI_BASE_URL": server.url, "OPENAI_MODEL": "m", "CACHE_DIR": "cache"}.items():
            monkeypatch.setenv(name, value)
        first = files("first")
        assert len(server.seen) == 8
    assert b"one\tall\tEXAM_COVER\t0.5\n" in first["default.eval.txt"]
    assert first.keys() > {"default.nuggets.jsonl", "default.qrels.txt"}
    assert files("second") == first


def test_exam_judge_drafts_questions_or_uses_bank(tmp_path: Path) -> None:
    from autojudge_base import LlmConfigBase

    from exam_workbench.autojudge import ExamJudge

    reports, topics, banks = reports_of(tmp_path)
    with EndpointServer(lambda seen: chat(json.dumps({"questions": ["What is it?", "Who made it?"]}))) as server:
        config = LlmConfigBase(model="m", base_url=server.url)
        drafted = ExamJudge().create_nuggets(reports, topics, config)
        assert {key: len(one.nuggets_as_list()) for key, one in drafted.banks.items()} == {"q1": 2, "q2": 2}
        curated = ExamJudge().create_nuggets(None, topics, config, bank=str(tmp_path / "banks.jsonl"))
    assert curated == banks == ExamJudge().create_nuggets(None, topics, config, banks)
