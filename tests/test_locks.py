"""Lock files: every package at one version, with the hashes of its files."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.test_licences import needed, wanted

ROOT = Path(__file__).resolve().parents[1]
LINE = re.compile(
    r"(?P<name>[\w.-]+)==(?P<version>\S+)(?: ; (?P<marker>[^\\]+))?(?: \\\n +--hash=sha256:[0-9a-f]{64})+\n"
)


def lock(name: str, here: bool = False) -> dict[str, str]:
    """Return versions by package of a lock; with `here`, only packages that this system needs.

    A line that is not a locked package with hashes is a failure.
    """
    text = (ROOT / "locks" / f"{name}.txt").read_text(encoding="utf-8")
    lines = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
    assert LINE.sub("", lines) == ""
    return {
        canonicalize_name(one["name"]): one["version"]
        for one in LINE.finditer(lines)
        if not here or one["marker"] is None or Marker(one["marker"]).evaluate()
    }


def test_locks_match_the_requirements() -> None:
    locks = {name: lock(name) for name in ("build", "run", "dev", "models")}
    asked = {canonicalize_name(name): at for name, at in (line.split("==") for line in wanted())}
    assert asked.items() <= {key: at for one in locks.values() for key, at in one.items()}.items(), "make lock"
    assert sum(map(len, locks.values())) == len(set().union(*locks.values()))
    assert lock("cpu") == {"torch": f"{locks['run']['torch']}+cpu"}


def test_pinned_versions_are_within_project_ranges() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ranges = [Requirement(line) for line in project["dependencies"]]
    pins = dict(line.split("==") for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").split())
    assert {requirement.name for requirement in ranges} == pins.keys()
    assert [each for each in ranges if pins[each.name] not in each.specifier] == []


def test_locks_match_installed_dependencies() -> None:
    installed = {name: version(name).removesuffix("+cpu") for name in needed()}
    locked = {name: at for part in ("build", "run", "dev", "models") for name, at in lock(part, here=True).items()}
    # The default build of torch for Linux needs additional libraries.
    beside = {name: at for name, at in installed.items() if name in lock("cuda")}
    assert installed == {**locked, **beside}


def test_image_and_makefile_install_only_locked_packages() -> None:
    for file in ("Makefile", "deploy/Dockerfile"):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert set(re.findall(r"-r (\S+\.txt)", text)) >= {
            f"locks/{name}.txt" for name in ("build", "cpu", "run", "cuda")
        }
        assert "-r requirements.txt" not in text
        without = [line for line in text.splitlines() if "pip install" in line and "--require-hashes" not in line]
        assert all("--no-deps --no-build-isolation" in line for line in without)
