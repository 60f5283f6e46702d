"""Licences of installed packages: the program may use and distribute them."""

import re
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
MAY = re.compile(
    r"MIT|BSD|ISC|Apache|Python Software Foundation|PSF|MPL|Mozilla Public License|BSL-1\.0|0BSD|Zlib|CC0|CNRI-Python"
    r"|Unlicense|Vega-Altair|Enthought",
    re.IGNORECASE,
)
"""Licences that only require attribution or, for MPL, publication of changes to their own files."""
MAY_NOT = re.compile(r"\bA?GPL|General Public|SSPL|Commons Clause|Business Source|BUSL|non-?commercial", re.IGNORECASE)
"""Licences that would restrict the program itself, or the people who use it."""
UNSAID = {"axe-playwright-python": "MIT, says its repository; a tool of the tests, which is not passed on"}
"""Packages without a licence in their metadata, with the licence known from other sources."""

OF_TESTS = {"krippendorff": "GPL; autojudge-evaluate loads it in one test, and it is never passed on"}
"""Packages of tests that are not distributed, so that their licence does not restrict the program."""


def wanted() -> list[str]:
    """Return the requirements of the program and of the development tools, one per line."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return [*lines, *settings["project"]["optional-dependencies"]["dev"], *settings["dependency-groups"]["models"]]


def needed() -> dict[str, Distribution]:
    """Return every installed package that the program and its development need, by name."""
    found: dict[str, Distribution] = {}
    rest = [Requirement(line) for line in wanted()]
    while rest:
        one = rest.pop()
        name = canonicalize_name(one.name)
        try:
            has = distribution(name)
        except PackageNotFoundError:
            # Only other systems need it, as with some parts of torch.
            continue
        asked = one.extras or {""}
        if name in found and not one.extras:
            continue
        found[name] = has
        for text in has.requires or []:
            inner = Requirement(text)
            if inner.marker is None or any(inner.marker.evaluate(default_environment() | {"extra": e}) for e in asked):
                rest.append(inner)
    return found


def licence(has: Distribution) -> str:
    """Return the licence texts in the metadata of a package."""
    said = [has.metadata.get("License-Expression") or "", (has.metadata.get("License") or "").split("\n")[0]]
    return " ".join([*said, *(c for c in has.metadata.get_all("Classifier") or [] if c.startswith("License"))]).strip()


def test_dependencies_have_permissive_licences() -> None:
    found = needed()
    assert {"duckdb", "streamlit", "torch", "starlette", "pytest"} <= set(found)
    said = {name: licence(has) for name, has in found.items() if name not in UNSAID | OF_TESTS}
    assert {name: text for name, text in said.items() if MAY_NOT.search(text) or not MAY.search(text)} == {}
    assert not {name for name in UNSAID if name in found and licence(found[name])}, "the metadata names a licence now"
