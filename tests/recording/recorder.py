"""A recorder of all answers of the product over project files."""

import gzip
import hashlib
import io
import json
import os
import shlex
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tests.recording import masks, product
from tests.recording.table import ROOT, filled, reading_lines, table

LONGEST = 200_000
"""Maximum length of a kept file or answer in characters; longer ones are kept as size and digest."""


@dataclass(frozen=True)
class Record:
    """An answer: the command line or request with its project, the exit code or status, and the masked text."""

    key: str
    code: int
    text: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


class Recorder:
    """Records the answers over copies of one project file.

    Args:
        project: the file.
        scratch: an empty folder.
        only: beginnings of command lines and requests to record; all if empty.
    """

    def __init__(self, project: Path, scratch: Path, only: tuple[str, ...] = ()) -> None:
        self._name, self._project, self._scratch, self._only = project.stem, project, scratch, only
        self._out = scratch / "out"
        self._out.mkdir()
        self._values = {
            **table()["values"].get(self._name, {}), "out": str(self._out), "data": str(ROOT / "data" / "demo")
        }  # fmt: skip
        self._known = product.commands()

    def records(self) -> Iterator[Record]:
        """Yield all answers, in the order of their requests."""
        copy = self._copy("read")
        with product.kept_open(copy):
            for words, options in reading_lines(self._name):
                yield from self._command(copy, words, f"{words} {options}")
            for line in table()["further"]:
                yield from self._command(copy, "", line)
        yield from self._asked(self._copy("served"))
        copy = self._copy("exported")
        with product.kept_open(copy):
            for line in table()["exports"]:
                yield from self._command(copy, "export", f"export {line}")

    def _copy(self, name: str) -> Path:
        folder = self._scratch / name
        folder.mkdir()
        return Path(shutil.copyfile(self._project, folder / f"{self._name}.duckdb"))

    def _command(self, project: Path, words: str, line: str) -> Iterator[Record]:
        line = " ".join(line.split())
        if self._only and not line.startswith(self._only):
            return
        key = f"{self._name}: exam {line}".rstrip()
        if words and words not in self._known:
            yield Record(key, -1, "no such command")
            return
        before = set(self._files())
        code, output, errors = product.run(shlex.split(filled(line, self._values)), project)
        parts = [self._kept(output)]
        if errors:
            parts.append(f"--- stderr\n{errors}")
        for path in sorted(set(self._files()) - before):
            parts += self._content(str(path.relative_to(self._out)), path.read_bytes())
        yield Record(key, code, self._masked("\n".join(parts)))

    def _files(self) -> list[Path]:
        return [path for path in self._out.rglob("*") if path.is_file()]

    def _content(self, name: str, content: bytes) -> Iterator[str]:
        """Yield the content of a file: of an archive by member, of a Parquet table by row."""
        if name.endswith(".duckdb"):
            yield f"--- file {name}"
        elif name.endswith(".zip"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                for member in archive.infolist():
                    dated = f"{name}/{member.filename} of {member.date_time}"
                    yield from self._content(dated if member.is_dir() else f"{name}/{member.filename}",
                                             archive.read(member))  # fmt: skip
        elif name.endswith(".gz"):
            yield from self._content(name.removesuffix(".gz"), gzip.decompress(content))
        elif name.endswith(".parquet"):
            table_file = self._scratch / "table.parquet"
            table_file.write_bytes(content)
            with duckdb.connect(config={"threads": 1}) as connection:
                relation = connection.read_parquet(str(table_file))
                described = [f"{column} {kind}" for column, kind in zip(relation.columns, relation.types, strict=True)]
                rows = self._masked("\n".join("\t".join(map(str, row)) for row in relation.fetchall()))
            yield f"--- table {name}: {', '.join(described)}"
            yield rows if len(rows) <= LONGEST // 20 else _summary(rows.encode())
        else:
            try:
                content = self._masked(content.decode()).encode()
            except UnicodeDecodeError:
                yield f"--- file {name}: {_summary(content)}"
                return
            yield f"--- file {name}: {_summary(content)}"
            if len(content) <= LONGEST:
                yield content.decode()

    def _asked(self, project: Path) -> Iterator[Record]:
        """Yield the server's answers to each role."""
        if self._only and not any(one.startswith("GET") for one in self._only):
            return
        paths = list(product.ROUTES)
        for words, lines in table()["reading"].items():
            if words not in self._known:
                paths.append(words.replace(" ", "/"))
            else:
                paths.append(product.route(words, filled(lines[0], {**self._values, "out": "out"})))
        with product.served(project) as (client, tokens):
            for path in paths:
                for role, token in tokens.items():
                    answer = client.get(f"/api/v1/{path}", headers=product.bearer(token))
                    kind = answer.headers.get("content-type", "")
                    key = self._masked(f"{self._name}: GET {path} by {role}")
                    yield Record(key, answer.status_code, f"{kind}\n{self._kept(answer.text)}")

    def _kept(self, text: str) -> str:
        text = self._masked(text)
        return text if len(text) <= LONGEST else _summary(text.encode())

    def _masked(self, text: str) -> str:
        fixed = [(str(self._scratch), "<folder>"), (str(self._project.parent), "<projects>"), (str(ROOT), "<checkout>")]
        return masks.mask(text, [*fixed, (product.VERSION, "<version>")])


def _summary(content: bytes) -> str:
    return f"{len(content)} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}"


def record(folder: Path, out: Path, names: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> int:
    """Record all answers over the projects of a folder into the folder `out`; return their number.

    Args:
        names: of projects; all if empty.
        only: beginnings of command lines and requests; all if empty.
    """
    for variable in [name for name in os.environ if name.startswith("EXAM_")]:
        del os.environ[variable]
    os.environ |= {"EXAM_AUTHOR": "recorder", "LOGNAME": "recorder", "COLUMNS": "100", "OMP_NUM_THREADS": "1"}
    masks.stop_clock(product.load())
    out.mkdir(parents=True, exist_ok=True)
    number = 0
    for project in sorted(folder.glob("*.duckdb")):
        if names and project.stem not in names:
            continue
        with (
            (out / f"{project.stem}.tsv").open("w", encoding="utf-8") as digests,
            (out / f"{project.stem}.jsonl").open("w", encoding="utf-8") as texts,
            tempfile.TemporaryDirectory() as scratch,
        ):
            os.environ["EXAM_PROJECTS_DIR"] = scratch
            for one in Recorder(project, Path(os.path.realpath(scratch)), only).records():
                digests.write(f"{one.key}\t{one.code}\t{one.digest}\n")
                texts.write(json.dumps({"key": one.key, "code": one.code, "text": one.text}) + "\n")
                number += 1
    return number
