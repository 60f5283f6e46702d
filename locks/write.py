"""Write the locks: every installed package, including indirect requirements, with the hashes of its
files.

`make lock` runs this. A locked package keeps its version as long as requirements.txt and
pyproject.toml allow it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
HEADS = {
    "build": (
        "Packages that build this program, and packages that come only as source. Installed first."
    ),
    "cpu": "The build of torch for CPUs alone. It is tried first and replaces the usual build.",
    "run": "Requirements of the program on Linux, macOS and Windows, for Python 3.11.",
    "cuda": (
        "Further requirements of the usual build of torch on Linux, which is for NVIDIA's GPUs."
    ),
    "dev": "Further requirements of development.",
    "models": "Small real models for tests, without the packages that they require.",
}
CUDA = re.compile(r"(nvidia|cuda|triton)\b")
CPU_TORCH = """torch==2.13.0+cpu ; sys_platform == 'linux' and platform_machine == 'x86_64' \\
    --hash=sha256:6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b
"""
"""The CPU build of torch is on its own index, which the resolver does not use. Edit this line for
another version.
"""

Blocks = dict[str, str]


def blocks(text: str) -> Blocks:
    """Return the lines of each package in a lock, by its name as written in the lock."""
    found: Blocks = {}
    for part in re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE):
        if name := re.match(r"[\w.-]+", part):
            found[name[0]] = part.rstrip("\n") + "\n"
    return found


def read() -> dict[str, Blocks]:
    """Return the present locks by name; a missing lock is empty."""
    paths = {name: HERE / f"{name}.txt" for name in HEADS}
    return {
        name: blocks(path.read_text(encoding="utf-8")) if path.exists() else {}
        for name, path in paths.items()
    }


def resolve(uv: str, wanted: str, known: Mapping[str, Blocks], *more: str) -> Blocks:
    """Return every package that the requirements lead to, at its locked version if that still fits.

    Args:
        uv: the program that resolves.
        wanted: requirements, one per line.
        known: the present locks.
        more: further options of uv.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "wanted.in"), Path(folder, "locked.txt")
        source.write_text(wanted, encoding="utf-8")
        target.write_text(
            "".join(
                block for name, lock in known.items() if name != "cpu" for block in lock.values()
            ),
            encoding="utf-8",
        )
        options = (
            "--universal",
            "--python-version=3.11",
            "--generate-hashes",
            "--no-header",
            "--no-annotate",
            "-q",
            *more,
        )
        subprocess.run([uv, "pip", "compile", *options, str(source), "-o", str(target)], check=True)
        return blocks(target.read_text(encoding="utf-8"))


def main(uv: str) -> None:
    """Write all locks."""
    known = read()
    wanted = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    locked = resolve(uv, wanted, known)
    if not CPU_TORCH.startswith(locked["torch"].split()[0] + "+"):
        sys.exit(
            "locks/write.py: CPU_TORCH is of another version than the torch of requirements.txt"
        )
    build = {"setuptools": locked.pop("setuptools")}
    cuda = {name: block for name, block in locked.items() if CUDA.match(name)}
    run = {name: block for name, block in locked.items() if name not in cuda}
    locks = {"build": build, "cpu": {"torch": CPU_TORCH}, "run": run, "cuda": cuda}
    more = resolve(
        uv,
        wanted + "\n".join(settings["project"]["optional-dependencies"]["dev"]),
        {**locks, "dev": known["dev"]},
    )
    locks["dev"] = {
        name: block
        for name, block in more.items()
        if not any(name in lock for lock in locks.values())
    }
    locks["models"] = resolve(
        uv, "\n".join(settings["dependency-groups"]["models"]), known, "--no-deps"
    )
    for name, lock in locks.items():
        text = f"# {HEADS[name]}\n# Written by `make lock`. Do not edit.\n" + "".join(lock.values())
        (HERE / f"{name}.txt").write_text(text, encoding="utf-8")
        print(f"{name}: {len(lock)} packages")


if __name__ == "__main__":
    main(sys.argv[1])
