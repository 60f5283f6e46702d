"""Acts with files: importing right and wrong ones, downloading, publishing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.soak.person import PATIENCE, Broken, NotNow, Person
from tests.soak.screens import policy

MOST_RUNS = 28
"""With more of them a board no longer shows all its rows at once."""


def import_bank(person: Person) -> str:
    """A bank with one question reworded and a new one."""
    old = person.random.choice(person.facts("questions"))
    texts = person.sign("What else is there to know?"), person.sign("Who says so?")
    lines = [
        {"question_id": old["question_id"], "query_id": old["query_id"], "text": texts[0]},
        {"question_id": f"{person.name}-{person.number}", "query_id": old["query_id"], "text": texts[1]},
    ]
    _import(person, {f"bank-{person.name}-{person.number}.jsonl": _lines(lines)})
    person.expected = ["import bank"]
    kept = {question["text"] for question in person.facts("questions")}
    if texts[1] not in kept:
        raise Broken(f"The question '{texts[1]}' was imported, and is not in the bank")
    return old["question_id"]


def import_query(person: Person) -> str:
    """A query with passages, judgments and a question, in one go."""
    query = f"{person.name}-{person.number}"
    texts = [text for _, _, text in person.random.sample(person.facts("ranked"), 3)]
    passages = {f"{query}-p{at}": person.sign(text[:200]) for at, text in enumerate(texts)}
    _import(
        person,
        {
            f"queries-{query}.jsonl": _lines([{"query_id": query, "text": person.sign("something new")}]),
            f"passages-{query}.jsonl": _lines([{"passage_id": p, "text": text} for p, text in passages.items()]),
            f"judged-{query}.qrels": "".join(f"{query} 0 {p} {at}\n" for at, p in enumerate(passages)),
            f"bank-{query}.jsonl": _lines(
                [{"question_id": f"{query}/1", "query_id": query, "text": person.sign("What is new?")}]
            ),
        },
    )
    person.expected = ["import queries", "import passages", "import qrels", "import bank"]
    return query


def import_run(person: Person) -> str:
    """A run that ranks the passages of every query at random."""
    if person.facts("counts")["runs"] >= MOST_RUNS:
        raise NotNow
    name = f"random-{person.name}-{person.number}"
    pool = person.facts("ranked")
    person.random.shuffle(pool)
    lines = [f"{query} Q0 {passage} 1 {at} {name}\n" for at, (query, passage, _) in enumerate(pool)]
    _import(person, {f"{name}.run": "".join(lines)})
    person.expected = ["import runs"]
    return name


def import_wrong(person: Person) -> str:
    """A broken file, which is refused by its line; nothing is imported."""
    name = f"wrong-{person.name}-{person.number}.run"
    query, passage, _ = person.random.choice(person.facts("ranked"))
    before = person.facts("counts")["runs"]
    person.warned.append(f"{name}:2")
    _upload(person, {name: f"{query} Q0 {passage} 1 2.0 new\n{query} Q0 {passage} two 1.0\n"})
    person.sees(re.compile(re.escape(f"{name}:2")))
    person.sees("Nothing has been imported.")
    expect(person.button("Import")).to_have_count(0)
    # Whoever sees that takes the file away.
    files = person.page.get_by_test_id("stFileUploader")
    with person.drawn():
        files.get_by_role("button", name=re.compile("^Remove|^Delete")).first.click()
    if person.facts("counts")["runs"] < before:
        raise Broken("A refused file took runs away")
    return name


def _upload(person: Person, files: Mapping[str, str]) -> None:
    box = person.page.get_by_test_id("stFileUploader").locator("input[type=file]")
    if not box.count():
        raise NotNow
    with person.drawn():
        box.set_input_files(
            [{"name": name, "mimeType": "text/plain", "buffer": content.encode()} for name, content in files.items()]
        )


def _import(person: Person, files: Mapping[str, str]) -> None:
    _upload(person, files)
    button = person.button("Import")
    expect(button.first).to_be_visible(timeout=PATIENCE)
    with person.drawn():
        button.first.click()
    expect(button).to_have_count(0, timeout=PATIENCE)
    person.quiet()


def _lines(rows: list[dict[str, str]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def download_qrels(person: Person) -> str:
    """The qrels in one click: the labels that the screen says."""
    chosen = policy(person)
    binary = person.page.get_by_role("checkbox", name=re.compile("^Binary"))
    if binary.is_checked():
        raise NotNow
    before, meant = person.facts("stamp"), person.facts("labels", policy=chosen)["qrels"]
    lines = sorted(_download(person, "Download qrels").decode().splitlines())
    person.expected = ["export qrels"]
    # Where somebody else was at work at the same time, there is nothing to hold it against.
    if lines != meant and person.facts("stamp") == before:
        raise Broken(f"The qrels differ from the labels: {sorted(set(lines) ^ set(meant))[:6]}")
    return f"{len(lines)} lines"


def download(person: Person) -> str:
    """Any other file."""
    what, button, act = person.random.choice(
        [
            ("Question bank", "JSONL", "export bank"),
            ("Question bank", "CSV", "export bank"),
            ("Graded file", "JSONL.GZ", "export graded"),
            ("Leaderboard", "TSV", "export leaderboard"),
            ("Runs", "ZIP", "export runs"),
            ("Whole project", "ZIP", "export project"),
        ]
    )
    box = person.page.locator("[class*='st-key-file-']").filter(has=person.page.get_by_text(what, exact=True))
    content = _download(person, button, box.last)
    person.expected = [act]
    if not content:
        raise Broken(f"{what} as {button} is empty")
    return f"{what} as {button}: {len(content)} bytes"


def publish(person: Person) -> str:
    """Publish the qrels, and have them again."""
    note = person.sign("for the track")
    person.type(person.page.get_by_role("textbox", name="Note", exact=True).first, note)
    person.press("Publish")
    person.expected = ["publish qrels"]
    person.sees(note)
    return note


def publish_bundle(person: Person) -> str:
    """Publish the qrels as a bundle."""
    content = _download(person, "Publish as a bundle")
    person.expected = ["publish qrels", "export bundle"]
    return f"{len(content)} bytes"


def qrels_again(person: Person) -> str:
    """Have qrels that were published made again: the same bytes whenever somebody asks."""
    buttons = person.button("Qrels again")
    if not buttons.count():
        raise NotNow
    with person.page.expect_download(timeout=PATIENCE) as started:
        buttons.nth(person.random.randrange(buttons.count())).click()
    name, content = started.value.suggested_filename, Path(started.value.path()).read_bytes()
    person.expected = ["reproduce qrels"]
    if person.published.setdefault(name, content) != content:
        raise Broken(f"{name} has other bytes than the first time")
    return name


def _download(person: Person, name: str, within: Locator | None = None) -> bytes:
    button = person.button(name, within).first
    if not person.there(button):
        raise NotNow
    with person.page.expect_download(timeout=PATIENCE) as started:
        button.click()
    content = Path(started.value.path()).read_bytes()
    person.quiet()
    return content
