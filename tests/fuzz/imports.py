"""Files of every kind through the door that screens and commands share: `import_files`, into a small project."""

from __future__ import annotations

from random import Random

from core.errors import WorkbenchError
from core.exchange import Imported, Options, import_files
from core.formats import KINDS_OF_FILE, Source, detect
from core.project import Project
from tests.fuzz import mutations, oracles
from tests.fuzz.bench import AUTHOR, Bench
from tests.fuzz.files import FORMS, a_file
from tests.fuzz.inputs import Input
from tests.fuzz.round_trip import goes_round

DOOR = 8
"""Of so many files that can be read one is imported; the others are written and read again alone."""
DEEP = 16
"""Of so many imported files one is committed to a file of its own, and all of it is exported and taken in again."""


def files_of(kind: str, random: Random) -> Input:
    """One file, seldom several, with the options of an import."""
    forms = [form for form in FORMS if form.kind == kind]
    count = 1 if random.random() < 0.93 else random.randint(2, 3)
    files = tuple(a_file(random.choice(forms), random) for _ in range(count))
    options = {
        "source": mutations.a_text(random) if random.random() < 0.08 else None,
        "skip_unknown": random.random() < 0.4,
        "gold": kind == "responses" and random.random() < 0.2,
    }
    preview = random.random() < 0.04
    thorough = {"door": random.randrange(DOOR) == 0, "deep": random.randrange(DEEP) == 0}
    return Input(kind, files, {"options": options, "preview": preview, **thorough})


def take_files(bench: Bench, sent: Input) -> bool:
    """Import the files of an input, and look what must hold; whether they were accepted."""
    names = [name for name, _ in sent.files]
    readable = goes_round(sent.kind, [Source(name, data=data) for name, data in sent.files])
    if readable and not sent.given["door"]:
        return True
    try:
        done = _import(bench.rehearsal, sent)
        if not sent.given["preview"]:
            _tells(done)
            oracles.sound(bench.rehearsal)
    except WorkbenchError as error:
        oracles.refused_well(error, names)
        return False
    finally:
        bench.rehearsal.undo()
    if sent.given["preview"]:
        oracles.unchanged(bench, bench.rehearsal)
    elif sent.given["deep"]:
        with bench.copy() as project:
            _import(project, sent)
            oracles.sound(project)
            oracles.goes_out(project)
            oracles.comes_again(project)
    return True


def _import(project: Project, sent: Input) -> Imported:
    sources = [Source(name, data=data) for name, data in sent.files]
    given = sent.given
    return import_files(project, sent.kind, sources, AUTHOR, Options(**given["options"]), given["preview"])


def _tells(done: Imported) -> None:
    for note in done.notes:
        oracles.one_bounded_line(str(note))


def any_file(random: Random) -> Input:
    """A file of any form under any name, to be guessed."""
    name, data = a_file(random.choice(FORMS), random)
    if random.random() < 0.3:
        name = random.choice((random.choice(FORMS).name, mutations.a_text(random)[:300]))
    return Input("detect", ((name, data),))


def guess(bench: Bench, sent: Input) -> bool:
    """Guess what a file is; whether there is a guess."""
    ((name, data),) = sent.files
    found = detect(Source(name, data=data))
    if found is not None and found not in KINDS_OF_FILE:
        raise oracles.Broken("a file is guessed to be of a kind that there is not", found)
    return found is not None
