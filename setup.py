"""Build steps beyond pyproject.toml: the folder `core` is the package `exam_workbench`, and the app
is inside it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

APP = ("app.py", "pages", ".streamlit/config.toml", "data/demo", "docs/icon.png")
"""Files and folders of the app; their relative paths stay the same."""


class BuildWithApp(build_py):
    """Copy the app into the package, unless the package is used from the clone."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib, "exam_workbench", "app")
        shutil.rmtree(target, ignore_errors=True)
        for name in APP:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            if Path(name).is_dir():
                shutil.copytree(name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(name, target / name)


setup(
    packages=["exam_workbench", *(f"exam_workbench.{name}" for name in find_packages("core"))],
    cmdclass={"build_py": BuildWithApp},
)
