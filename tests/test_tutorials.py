"""The tutorials run as they are written: each block of shell or Python code, in order."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

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
"""Write small files in the place of collections that a tutorial needs and that are not in the repository."""


@pytest.mark.long
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_code_of_a_tutorial_runs(page: Path, tmp_path: Path, warm_exam: Path) -> None:
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
