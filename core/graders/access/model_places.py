"""Where models of this computer may come from: folders and names on the hub that the owner of a server allows."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path

from ...errors import InputError
from .access import Access

FOLDERS_VARIABLE = "EXAM_MODEL_FOLDERS"
"""Folders whose models everybody on the screens may use, also in folders below them; parted as in PATH."""
HUB_VARIABLE = "EXAM_HUB_MODELS"
"""Names on the model hub that everybody on the screens may use, parted by commas or blanks."""
DEPTH = 2
"""Folders below an allowed one in which models are looked for, to be offered; others can still be named."""
MOST_OFFERED = 2000
"""Models of one depth that are offered at most."""

REVISION = re.compile(r"(?!.*\.\.)[A-Za-z0-9][\w./-]{0,199}")


def place_of(name_or_folder: str, access: Access) -> Path | None:
    """The folder that a person may mean by the name of a model; None for a name on the hub.

    Whether it is there is not looked at, nor said: what may not be used is refused in the same words, there or not.

    Raises:
        InputError: this person may not use it.
    """
    if access.any_model:
        looks_like_one = name_or_folder.startswith((".", "/", "~")) or name_or_folder.count("/") > 1
        try:
            folder = Path(name_or_folder).expanduser()
            return folder if looks_like_one or "\\" in name_or_folder or folder.is_dir() else None
        except (OSError, RuntimeError) as error:
            raise InputError(
                "invalid-model-name",
                "This is neither a model folder nor a name on the model hub.",
                "Use a name such as google/flan-t5-large, or the full path of a folder.",
            ) from error
    if name_or_folder in hub_models():
        return None
    if (allowed := _within(name_or_folder)) is not None:
        return allowed
    raise InputError(
        "model-not-offered",
        "This server does not offer this model.",
        "Choose an available model, or ask the server's operator to allow this one (docs/how-to/use-an-endpoint.md).",
    )


def check_revision(revision: str | None) -> None:
    """Refuse what is no revision on the hub: it becomes part of a path on this computer.

    Raises:
        InputError: it is none.
    """
    if revision and not REVISION.fullmatch(revision):
        raise InputError(
            "invalid-revision",
            "Invalid revision: not a branch, tag or commit.",
            "Use a branch, a tag or a commit hash, such as main or v1.0.",
        )


def hub_models() -> list[str]:
    """The names on the hub that the owner allows."""
    return os.environ.get(HUB_VARIABLE, "").replace(",", " ").split()


def model_folders() -> list[Path]:
    """The folders that the owner allows."""
    named = [part.strip() for part in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep)]
    return [found for part in named if part and (found := _resolved(Path(part))) is not None]


def offered_models() -> list[str]:
    """What a person can choose among: the allowed names on the hub, and the models in the allowed folders."""
    return hub_models() + [str(folder) for root in model_folders() for folder in _models_below(root)]


def _within(name: str) -> Path | None:
    """A whole path as far as it leads into an allowed folder, also through links; None where it leads elsewhere."""
    # By its words alone first: a path that leads elsewhere is not even looked at.
    plain = Path(os.path.normpath(name))
    if not plain.is_absolute() or "\0" in name:
        return None
    for root in model_folders():
        if plain.is_relative_to(root) and (found := _resolved(plain)) is not None and found.is_relative_to(root):
            return found
    return None


def _resolved(path: Path) -> Path | None:
    """Where a path leads; None where it leads round in circles, is too long, or begins in the home of nobody."""
    try:
        found = path.expanduser().resolve()
        # A name that is too long is only noticed when it is looked at.
        found.exists()
        return found
    except (OSError, RuntimeError):
        return None


def holds_model(folder: Path) -> bool:
    """Whether a folder has a model's configuration in it; not where it is closed, or cannot be there at all."""
    try:
        return (folder / "config.json").is_file()
    except OSError:
        return False


def _models_below(root: Path) -> list[Path]:
    """The folders of models in a folder and below it, no links, and none within another model's folder."""
    models: list[Path] = []
    for depth in range(DEPTH + 1):
        folders = islice(root.glob("*/" * depth + "config.json"), MOST_OFFERED)
        for folder in sorted(config.parent for config in folders):
            if folder == folder.resolve() and not any(folder.is_relative_to(model) for model in models):
                models.append(folder)
    return models
