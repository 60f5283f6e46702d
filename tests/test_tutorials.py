"""Tutorials and guides, whose code blocks run in order as written."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from exam_workbench import bank
from exam_workbench.exchange._collections import FILES
from exam_workbench.records import imported_leaderboards
from exam_workbench.store import open_project

ROOT = Path(__file__).resolve().parents[1]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.S | re.M)


def script_of(page: str) -> str:
    """Return the code of a page as one script, so that variables live from block to block."""
    return "".join(
        code if language == "sh" else f"python - <<'END_OF_BLOCK'\n{code}END_OF_BLOCK\n"
        for language, code in BLOCK.findall(page)
    )


def write_cranfield(home: Path) -> None:
    """Write a collection in the form of Cranfield: the queries with questions, and three abstracts about each."""
    bank = (ROOT / "docs" / "cranfield" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions: dict[int, list[str]] = {}
    for line in map(json.loads, bank):
        questions.setdefault(int(line["query_id"]), []).append(line["text"])
    folder = home / "cranfield"
    folder.mkdir()
    texts = [" ".join(asked[at : at + 2]) for asked in questions.values() for at in (0, 3, 6)]
    (folder / "cran.all.1400.xml").write_text(
        "".join(
            f"<doc><docno>{number}</docno><title>{text[:40]}</title><text>{text}</text></doc>"
            for number, text in enumerate(texts, 1)
        )
    )
    titles = (questions.get(number, ["flow past a wing"])[0] for number in range(1, max(questions) + 1))
    (folder / "cran.qry.xml").write_text("".join(f"<top><title>{title}</title></top>" for title in titles))
    (folder / "cranqrel.trec.txt").write_text(
        "".join(
            f"{query} 0 {3 * at + offset} {int(offset < 3)}\n"
            for at, query in enumerate(questions)
            for offset in (1, 2, 3)
        )
    )


def write_responses(home: Path) -> None:
    """Write responses in the forms of TREC RAG 2024 and iKAT 2024, and nuggets for the latter."""
    bank = (ROOT / "docs" / "rag" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    topics = dict.fromkeys(json.loads(line)["query_id"] for line in bank)
    folder = home / "rag"
    folder.mkdir()
    sentences = ["Adults can become lactose intolerant.", "The body makes less lactase with age."]
    responses = (
        {
            "run_id": "baseline",
            "topic_id": topic,
            "topic": f"topic {topic}",
            "references": ["d1", "d2"],
            "response_length": 12,
            "answer": [{"text": text, "citations": [at]} for at, text in enumerate(sentences)],
        }
        for topic in topics
    )
    (folder / "rag24-answers-gpt-4o.jsonl").write_text("".join(json.dumps(line) + "\n" for line in responses))
    nuggets = {
        "0_2": {"[1]": {"text": sentences[0], "relevance": "2"}, "[2]": {"text": sentences[1], "relevance": "1"}}
    }
    (folder / "gold_nuggets_human_deduplicated.json").write_text(json.dumps(nuggets))
    written = {"0_2": {"a": sentences[0], "b": sentences[1], "c": " ".join(sentences), "d": "A camera takes pictures."}}
    (folder / "automatic_responses.json").write_text(json.dumps(written))


STAND_INS: dict[str, Callable[[Path], None]] = {"cranfield": write_cranfield, "rag-responses": write_responses}
"""Functions that write small files in place of a tutorial's collections, which the repository lacks."""


@pytest.mark.long
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorial_code_runs(page: Path, tmp_path: Path, warm_exam: Path) -> None:
    for folder in ("docs", "data"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    STAND_INS.get(page.stem, lambda home: None)(tmp_path)
    script = script_of(page.read_text(encoding="utf-8"))
    path = os.pathsep.join([str(warm_exam), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EXAM_")}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env=environment | {"PATH": path, "HOME": str(tmp_path), "EXAM_AUTHOR": "ann"},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert script and done.returncode == 0, done.stdout + done.stderr


GUIDES = ROOT / "docs" / "how-to"
SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FILES / name).read_text(encoding="utf-8").splitlines()]


def lines_of(name: str, topics: tuple[str, ...]) -> list[str]:
    """Return the lines of a demo file about some queries."""
    return [line for line in (FILES / name).read_text().splitlines() if line.startswith(topics)]


def write_lines(file: Path, objects: list[dict[str, Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(one) + "\n" for one in objects), encoding="utf-8")


def run_guide(name: str, folder: Path, warm_exam: Path, demo: Path | None = None) -> str:
    """Run the blocks of a guide in a folder, with a copy of a ready-made demo; return their output."""
    text = (GUIDES / name).read_text(encoding="utf-8")
    assert len(text.split()) <= 450
    script = "set -eu\n" + "".join(SHELL_BLOCK.findall(text))
    if demo is not None:
        assert "\nexam demo\n" in script
        script = script.replace("\nexam demo\n", f"\ncp {shlex.quote(str(demo))} demo.duckdb\n")
    path = f"{warm_exam}{os.pathsep}{os.environ['PATH']}"
    environment: Mapping[str, str] = {**os.environ, "PATH": path, "EXAM_HOME": str(folder)}
    done = subprocess.run(["sh", "-c", script], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="The guides' blocks are for a POSIX shell")
def test_autojudge_guide_round_trips_the_demo(tmp_path: Path, warm_exam: Path, graded_demo: Path) -> None:
    topics = [row["query_id"] for row in rows("queries.jsonl")]
    passages = {row["passage_id"]: row["text"] for row in rows("passages.jsonl")}
    reports = [
        {
            "metadata": {"team_id": "t", "run_id": "first", "topic_id": topic},
            "responses": [{"text": "It depends.", "citations": [f"{topic}-01"]}],
            "documents": {f"{topic}-01": {"id": f"{topic}-01", "text": passages[f"{topic}-01"]}},
        }
        for topic in topics
    ]
    write_lines(tmp_path / "reports.jsonl", reports)
    run_guide("exchange-with-autojudge.md", tmp_path, warm_exam, graded_demo)
    with closing(open_project(tmp_path / "demo.duckdb")) as project:
        assert ("autojudge", "EXAM-Cover@20") in imported_leaderboards(project)
        # The bank is unchanged after the round trip: only the demo made versions.
        assert not project.rows("SELECT * FROM bank_versions WHERE note LIKE '%banks.jsonl%'")
        assert bank.latest_version(project)
    graded = [json.loads(line) for line in (tmp_path / "graded-reports.jsonl").read_text().splitlines()]
    assert [one["metadata"] for one in graded] == [one["metadata"] for one in reports]
    assert all("exam_workbench" in one["responses"][0]["evaldata"] for one in graded)


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="The guides' blocks are for a POSIX shell")
def test_beir_guide_leads_to_a_leaderboard(tmp_path: Path, warm_exam: Path) -> None:
    folder = tmp_path / "scifact"
    queries = rows("queries.jsonl")[:4]
    topics = tuple(row["query_id"] for row in queries)
    passages = [row for row in rows("passages.jsonl") if row["passage_id"].startswith(topics)]
    write_lines(
        folder / "corpus.jsonl", [{"_id": row["passage_id"], "title": "", "text": row["text"]} for row in passages]
    )
    write_lines(folder / "queries.jsonl", [{"_id": row["query_id"], "text": row["text"]} for row in queries])
    judged = [line.split() for line in lines_of("qrels.txt", topics)]
    (folder / "qrels").mkdir()
    lines = ["query-id\tcorpus-id\tscore", *(f"{query}\t{passage}\t{value}" for query, _, passage, value in judged)]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n")
    for name in ("bm25", "dense"):
        (tmp_path / f"{name}.run").write_text("".join(f"{line}\n" for line in lines_of(f"runs/{name}.run", topics)))
    asked = [f"{row['query_id']}\t{row['text']}?" for row in queries]
    (tmp_path / "questions.tsv").write_text("\n".join(asked) + "\n")
    out = run_guide("use-a-beir-folder.md", tmp_path, warm_exam)
    assert "bm25" in out and "dense" in out and (tmp_path / "boards.zip").stat().st_size
