"""Files of ours that the package autojudge-base reads and writes; skipped if it is not installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exam_workbench import bank
from exam_workbench.exchange import bank_in_form
from tests.exchange.test_nuggets import MATE, OWN, TEA, fill_own, take
from tests.made.projects import new_project


@pytest.fixture(autouse=True)
def stop_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package downloads a list of stop words as it is imported, unless there is one."""
    words = tmp_path / "nltk" / "corpora" / "stopwords" / "english"
    words.parent.mkdir(parents=True)
    words.write_text("the\n")
    (tmp_path / "nltk" / "tokenizers" / "punkt").mkdir(parents=True)
    monkeypatch.setenv("NLTK_DATA", str(tmp_path / "nltk"))
    pytest.importorskip("nltk").data.path.insert(0, str(tmp_path / "nltk"))
    pytest.importorskip("autojudge_base")


def dumped(objects: Any) -> Any:
    """Return the content of their objects as JSON, without the dates of creation."""
    if isinstance(objects, dict):
        return {key: dumped(value) for key, value in objects.items() if "date" not in key}
    return [dumped(one) for one in objects] if isinstance(objects, list) else objects


def test_banks_pass_through_both_programs(tmp_path: Path) -> None:
    from autojudge_base.nugget_data import load_nugget_banks_from_file, write_nugget_banks
    from autojudge_base.nugget_data.ragtime26.ragtime26_nugget_data import Ragtime26NuggetBank

    def theirs(text: str) -> Any:
        (tmp_path / "bank.jsonl").write_text(text)
        return load_nugget_banks_from_file(tmp_path / "bank.jsonl")

    def written(banks: Any) -> str:
        write_nugget_banks(banks, tmp_path / "out.jsonl")
        return (tmp_path / "out.jsonl").read_text()

    # Ours, theirs, ours.
    own = new_project(tmp_path / "own.duckdb")
    fill_own(own)
    version = bank.latest_version(own)
    take(own, "bank", written(theirs(bank_in_form(own, "v3"))))
    assert bank.latest_version(own) == version
    assert len(bank.questions(own)) == len(OWN)
    own.close()
    # Theirs, ours, theirs.
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
    project.close()
