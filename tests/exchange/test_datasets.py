"""Import of BEIR folders and ir_datasets data sets: all or nothing, and only the needed passages."""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import exam_workbench as ew
from exam_workbench import exchange
from exam_workbench.errors import FileError
from exam_workbench.formats import Source
from exam_workbench.labels import leaderboard, usual_min_judgment
from exam_workbench.operations import find_operation
from exam_workbench.operations.console import ServedRequest, host_guest
from exam_workbench.operations.opening import Opening
from exam_workbench.records import DataSetTerms, judgment_sources, source_judgments, terms_of
from exam_workbench.store import Project
from tests.exchange.test_importing import unchanged
from tests.made.refusals import refusal
from tests.made.shell import Run, ShellOn, printed

CORPUS = [
    {"_id": "d1", "title": "Cats", "text": "A cat is an animal.", "metadata": {}},
    {"_id": "d2", "title": "Dogs", "text": "", "metadata": {}},
    {"_id": "d3", "title": "", "text": "The sea is salty.", "metadata": {}},
    # Empty, but no split needs it.
    {"_id": "d4", "title": "", "text": "", "metadata": {}},
]
QUERIES = [
    {"_id": "1", "text": "What is a cat?", "metadata": {}},
    {"_id": "2", "text": "What is a dog?", "metadata": {}},
    {"_id": "9", "text": "of another split", "metadata": {}},
]
QRELS = "query-id\tcorpus-id\tscore\n1\td1\t1\n2\td2\t2\n2\td1\t0\n"


def lines(rows: list[dict]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    """Return a folder in the layout of BEIR collections."""
    folder = tmp_path / "pets"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text(lines(CORPUS))
    (folder / "queries.jsonl").write_text(lines(QUERIES))
    (folder / "qrels" / "test.tsv").write_text(QRELS)
    (folder / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\n9\td3\t1\n")
    return folder


def texts(project: Project) -> dict[str, str | None]:
    return dict(project.rows("SELECT passage_id, text FROM passages LEFT JOIN passage_texts USING (text_key)"))


def test_beir_import_adds_only_data_of_split(project: Project, beir: Path) -> None:
    with unchanged(project):
        counts = {"queries": 2, "new queries": 2, "new passages": 2, "sources": 1, "judgments": 3}
        assert exchange.import_beir(project, beir, "ann", exchange.Options(), preview=True).counts == counts
    assert exchange.import_beir(project, beir, "ann", exchange.Options()).counts == counts
    assert texts(project) == {"d1": "Cats A cat is an animal.", "d2": "Dogs"}
    assert source_judgments(project, "pets/test") == {"1": {"d1": 1}, "2": {"d1": 0, "d2": 2}}
    # A later run names a passage whose text the next import adds.
    run = b"1 Q0 d1 1 2.5 sys\n2 Q0 d3 1 7 sys\n2 Q0 gone 2 6 sys\n"
    exchange.import_files(project, "runs", [Source("sys.run", data=run)], "ann")
    done = exchange.import_beir(project, beir, "ann", exchange.Options())
    assert done.counts["new passages"] == 1 and [one.code for one in done.notes][-1] == "no-passage-text"
    assert texts(project)["d3"] == "The sea is salty." and texts(project)["gone"] is None
    assert leaderboard(project, "P@1", "judgments").scores == {"sys": 0.5}
    # Import another split under its own source name.
    exchange.import_beir(project, beir, "ann", exchange.Options(source="mine"), split="train")
    assert judgment_sources(project) == ["pets/test", "mine"]
    assert not any(exchange.check_project(project).values())


def test_all_passages_are_imported_on_request(project: Project, beir: Path) -> None:
    (beir / "corpus.jsonl").write_text(lines(CORPUS[:3]))
    assert exchange.import_beir(project, beir, "ann", exchange.Options(), all_passages=True).counts["new passages"] == 3


def test_corpus_over_line_limit_is_refused(project: Project, beir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAM_LIMIT_LINES", "2")
    with refusal("limit-exceeded", "2"):
        exchange.import_beir(project, beir, "ann", exchange.Options())
    assert not texts(project)


def _link_outside(beir: Path) -> None:
    secret = beir.parent / "secret.jsonl"
    (beir / "corpus.jsonl").rename(secret)
    (beir / "corpus.jsonl").symlink_to(secret)


def _qrels(content: str) -> Callable[[Path], object]:
    return lambda beir: (beir / "qrels" / "test.tsv").write_text(content)


@pytest.mark.parametrize(
    ("spoil", "split", "code"),
    [
        (_link_outside, "test", "link-outside-folder"),
        (lambda beir: (beir / "corpus.jsonl").unlink(), "test", "not-a-beir-folder"),
        (lambda beir: (beir / "queries.jsonl").unlink(), "test", "not-a-beir-folder"),
        (lambda beir: [file.unlink() for file in (beir / "qrels").iterdir()], "test", "not-a-beir-folder"),
        (lambda beir: None, "dev", "unknown-split"),
        (lambda beir: None, "../../pets/qrels/test", "unknown-split"),
        (_qrels("query-id\tcorpus-id\n1\td1\n"), "test", "column-missing"),
        (_qrels("query-id\tcorpus-id\tscore\n1\td1\thigh\n"), "test", "file-of-another-kind"),
        (_qrels(QRELS + "1\n" + "1\td1\t1\n"), "test", "wrong-number-of-columns"),
        (_qrels(QRELS + "7\td1\t1\n"), "test", "unknown-query"),
        (_qrels(QRELS + "1\td4\t1\n"), "test", "empty-value"),
        (lambda beir: (beir / "corpus.jsonl").write_text('{"_id": "d1"}\n'), "test", "value-missing"),
        (lambda beir: (beir / "corpus.jsonl").write_text("{" * 1_000_000), "test", "limit-exceeded"),
        (lambda beir: (beir / "queries.jsonl").write_text('{"_id": "1", "text": 5}\n'), "test", "not-a-text"),
    ],
)
def test_invalid_beir_folder_changes_nothing(
    project: Project, beir: Path, spoil: Callable[[Path], object], split: str, code: str
) -> None:
    spoil(beir)
    with unchanged(project), refusal(code):
        exchange.import_beir(project, beir, "ann", exchange.Options(), split)


def test_commands_turn_beir_folder_into_leaderboard(beir: Path, tmp_path: Path, shell_on: ShellOn) -> None:
    run = shell_on(lambda project: None)
    done = printed(run("import", "beir", str(beir), "--source", "BEIR", "--json"))
    assert done["counts"]["judgments"] == 3 and len(done["files"]) == 3
    Path("sys.run").write_text("1 Q0 d1 1 2.5 sys\n2 Q0 d3 1 7 sys\n")
    assert run("import", "runs", "sys.run")[0] == 0
    assert printed(run("import", "beir", str(beir), "--source", "BEIR", "--json"))["counts"]["new passages"] == 1
    board = printed(run("leaderboard", "--measure", "P@1", "--source", "BEIR", "--json"))
    assert [(one["run"], one["score"]) for one in board["systems"]] == [("sys", 0.5)]
    run.fails("several-collections", "import", "beir", str(beir), str(beir))
    run.fails("options-exclude-each-other", "import", "queries", str(beir / "queries.jsonl"), "--split", "test")
    run.fails("not-a-beir-folder", "import", "beir", str(tmp_path / "nothing"))


@pytest.fixture
def made(beir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    """Yield ir_datasets with small data sets read from local files."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    ir_datasets = pytest.importorskip("ir_datasets", reason="needs the extra datasets")
    files = {
        "docs": "d1\tA cat is an animal.\nd2\tA dog is a mammal.\nd3\tThe sea is salty.\n",
        "queries": "1\tWhat is a cat?\n2\tWhat is a dog?\n9\tof no judgment\n",
        "qrels": "1 0 d1 1\n2 0 d2 2\n2 0 d1 0\n2 0 nowhere 1\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    whole = ir_datasets.create_dataset(*(str(tmp_path / name) for name in files))
    download = ir_datasets.util.Download(
        [ir_datasets.util.LocalDownload(tmp_path / "docs")],
        cache_path=str(tmp_path / "home" / "docs.tsv"),
        dua="Agree to <http://example.org/terms>",
        size_hint=2 * 10**9,
    )
    large = ir_datasets.Dataset(ir_datasets.formats.TsvDocs(download, namespace="large"), *whole._constituents[1:])
    names = {
        "made/pets": whole,
        "msmarco-passage/trec-dl-made": large,
        "made/queries": ir_datasets.create_dataset(queries_tsv=str(tmp_path / "queries")),
    }
    for name, one in names.items():
        ir_datasets.registry.register(name, one)
    yield ir_datasets
    for name in names:
        del ir_datasets.registry._registered[name]


def test_data_set_import_adds_only_needed_passages(project: Project, made: types.ModuleType) -> None:
    found = exchange.find_data_set("made/pets")
    assert (found.size, found.min_judgment, found.terms.terms) == (0, None, "")
    large = exchange.find_data_set("msmarco-passage/trec-dl-made")
    with unchanged(project):
        preview = exchange.import_data_set(project, large, "ann", exchange.Options(), preview=True)
    assert preview.counts["judgments"] == 4
    done = exchange.import_data_set(project, found, "ann", exchange.Options())
    assert done.kind == "dataset" and done.counts["new passages"] == 2 and done.counts["judgments"] == 4
    assert texts(project) == {"d1": "A cat is an animal.", "d2": "A dog is a mammal.", "nowhere": None}
    assert judgment_sources(project) == ["made/pets"] and [one.data_set for one in terms_of(project)] == ["made/pets"]
    assert (
        exchange.import_data_set(project, found, "ann", exchange.Options(), all_passages=True).counts["new passages"]
        == 1
    )
    assert usual_min_judgment(project) == 1
    assert len(terms_of(project)) == 1


def test_size_and_terms_are_shown_first_and_terms_are_kept(
    made: types.ModuleType, tmp_path: Path, shell_on: ShellOn
) -> None:
    run: Run = shell_on(lambda project: None)
    name = "msmarco-passage/trec-dl-made"
    told = run.fails("large-download", "import", "dataset", name)
    assert "2,000" in told and "http://example.org/terms" in told
    assert not (tmp_path / "home" / "docs.tsv").exists()
    code, out, told = run("import", "dataset", name, "--yes", "--json")
    assert code == 0, told
    assert sum("--min-judgment" in note for note in json.loads(out)["notes"]) == 1
    # The level of the data set applies if no level is given.
    scored = Path("sys.run")
    scored.write_text("1 Q0 d1 1 2.5 sys\n2 Q0 d2 1 7 sys\n")
    assert run("import", "runs", str(scored))[0] == 0
    words = ("leaderboard", "--measure", "P@1", "--source", "judgments", "--json")
    assert printed(run(*words))["systems"][0]["score"] == 0.5
    assert printed(run(*words, "--min-judgment", "1"))["systems"][0]["score"] == 1
    with ew.open("some.duckdb") as project:
        assert list(project.leaderboard("P@1", source="judgments").score) == [0.5]
    run("export", "qrels", "--source", "judgments", "--binary", "-o", "binary.qrels")
    assert Path("binary.qrels").read_text().splitlines()[0] == "1 0 d1 0"
    # Manifests list the terms, and exports with passage texts warn about them.
    Path("u.qrels").write_text("1 0 d1 3\n2 0 d2 1\n")
    assert run("import", "labels", "u.qrels", "--name", "u")[0] == 0
    told = run("export", "qrels", "-o", "q.qrels", "--save-manifest", "m.json")[2]
    assert "example.org" not in told
    assert json.loads(Path("m.json").read_text())["data_sets"] == [
        {
            "data_set": name,
            "terms": "Agree to <http://example.org/terms>",
            "address": f"https://ir-datasets.com/msmarco-passage.html#{name}",
        }
    ]
    assert run("export", "qrels", "-o", "again.qrels", "--manifest", "m.json")[0] == 0
    assert Path("again.qrels").read_bytes() == Path("q.qrels").read_bytes()
    Path("other.run").write_text("1 Q0 d2 1 2.5 other\n2 Q0 d1 1 7 other\n")
    assert run("import", "runs", "other.run")[0] == 0
    assert run("audit", "design", "check", "--grader", "u", "--measure", "P@1")[0] == 0
    assert run("audit", "draw")[0] == 0
    direct = ("--grader", "direct", "--back-end", "openai", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    for words in (("export", "graded"), ("export", "project"), ("audit", "export"), ("plan", *direct)):
        file = "whole" if words[1] == "project" else f"{words[0]}.jsonl"
        code, _, told = run(*words, "-o", file)
        assert code == 0 and "example.org/terms" in told, (words, told)
    with closing(exchange.import_project(Path("whole"), Path("again.duckdb"))) as again:
        assert terms_of(again)[0].data_set == name and usual_min_judgment(again) == 2


def test_server_refuses_folders_and_data_sets(project: Project, beir: Path, tmp_path: Path) -> None:
    with unchanged(project):
        for kind, named in (("beir", str(beir)), ("dataset", "beir/scifact/test")):
            (tmp_path / kind).mkdir()
            with host_guest(ServedRequest(project, "ann", tmp_path / kind)), refusal("needs-a-shell"):
                find_operation("import").call({"kind": kind, "files": [Path(named)]}, Opening())


def test_unknown_and_unreadable_data_sets_change_nothing(
    project: Project, made: types.ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with unchanged(project):
        with refusal("unknown-data-set", "made/dogs", "made/pets"):
            exchange.find_data_set("made/dogs")
        with refusal("incomplete-data-set", "made/queries", "docs", "qrels"):
            exchange.find_data_set("made/queries")
        (tmp_path / "docs").unlink()
        assert exchange.find_data_set("made/pets").size is None
        with refusal("data-set-unreadable", "made/pets"):
            exchange.import_data_set(project, exchange.find_data_set("made/pets"), "ann", exchange.Options())


def test_missing_extra_is_named_in_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ir_datasets", None)
    with refusal("extra-missing", "exam-workbench[datasets]"):
        exchange.find_data_set("beir/scifact/test")


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("msmarco-passage/trec-dl-2019/judged", 2), ("msmarco-passage-v2/trec-dl-2022", 2),
        ("msmarco-document/trec-dl-2020", 1), ("msmarco-document-v2/trec-dl-2021", 1),
        ("msmarco-passage/dev/small", None), ("beir/scifact/test", None),
    ],
)  # fmt: skip
def test_known_collections_have_relevance_levels(name: str, level: int | None) -> None:
    assert exchange.DataSet(None, 0, DataSetTerms(name, "", "")).min_judgment == level


def test_invalid_terms_and_levels_are_refused_on_import(project: Project, tmp_path: Path) -> None:
    with project.transaction() as cursor:
        cursor.execute("INSERT INTO settings VALUES ('data sets', '[{\"data_set\": 1}]'), ('min_judgment', 'x')")
    exchange.export_project(project, tmp_path / "whole", "ann")
    with refusal("inconsistent-rows", "1 more", kind=FileError):
        exchange.import_project(tmp_path / "whole", tmp_path / "again.duckdb")
