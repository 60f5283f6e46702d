"""Make project files, record the product's answers over them, and compare two recordings: see README.md."""

import argparse
import difflib
import json
import sys
import time
from itertools import islice
from pathlib import Path

LINES = 20
"""Maximum number of lines to show of a difference."""


def compare(before: Path, after: Path) -> int:
    """Print the differences between two recordings; return the number of different records."""
    old, new = _read(before), _read(after)
    different = [key for key in old | new if old.get(key) != new.get(key)]
    for key in different:
        if key not in new or key not in old:
            print(f"{'gone' if key in old else 'new'}: {key}")
            continue
        (old_code, old_text), (new_code, new_text) = old[key], new[key]
        print(f"different: {key}" + (f" (code {old_code}, now {new_code})" if old_code != new_code else ""))
        lines = difflib.unified_diff(old_text.splitlines(), new_text.splitlines(), "before", "after", "", "", 1, "")
        for line in islice(lines, LINES):
            print(f"    {line[:300]}")
    print(f"{len(different)} of {len(old | new)} records differ.")
    return len(different)


def _read(folder: Path) -> dict[str, tuple[int, str]]:
    records = {}
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                records[record["key"]] = record["code"], record["text"]
    return records


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.recording", description=__doc__)
    acts = parser.add_subparsers(dest="act", required=True)
    making = acts.add_parser("make", help="make the project files that a folder lacks")
    making.add_argument("folder", type=Path)
    recording = acts.add_parser("record", help="record all answers over the project files of a folder")
    recording.add_argument("folder", type=Path)
    recording.add_argument("out", type=Path)
    recording.add_argument("--project", action="append", default=[], help="only this project; may be repeated")
    recording.add_argument("--only", action="append", default=[], help="only commands that begin so, or GET")
    comparing = acts.add_parser("compare", help="show what differs between two recordings")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.act == "compare":
        return int(compare(given.before, given.after) > 0)
    # A comparison does not need the product.
    from tests.recording import product, projects, recorder, table

    if given.act == "make":
        projects.make(given.folder.resolve())
        return 0
    for words in sorted(product.reading() - set(table.table()["reading"])):
        print(f"commands.yaml has no line for the reading command '{words}'.", file=sys.stderr)
    began = time.perf_counter()
    number = recorder.record(given.folder.resolve(), given.out, tuple(given.project), tuple(given.only))
    print(f"{number} records in {time.perf_counter() - began:.0f} seconds.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
