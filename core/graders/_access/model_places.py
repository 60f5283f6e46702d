"""Locations of local models: folders, and names on the model hub, that the server's owner allows."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path

from ...errors import InputError
from .permissions import Access

FOLDERS_VARIABLE = "EXAM_MODEL_FOLDERS"
"""Variable with the model folders that all people on the screens may use, with their subfolders; separated as in
PATH."""
HUB_VARIABLE = "EXAM_HUB_MODELS"
"""Variable with the names on the model hub that all people on the screens may use, separated by commas or blanks."""
DEPTH = 2
"""Depth of the search for models to offer below an allowed folder; deeper ones can still be named."""
MOST_OFFERED = 2000
"""Maximum number of models of one depth that are offered."""

REVISION = re.compile(r"(?!.*\.\.)[A-Za-z0-9][\w./-]{0,199}")


def place_of(name_or_folder: str, access: Access) -> Path | None:
    """Return the folder that a model's name means; None for a name on the hub.

    The existence of the folder is neither checked nor revealed: the message of a refusal is the same either way.

    Raises:
        InputError: this person may not use the model.
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
    """Refuse an invalid revision on the hub, because it becomes part of a local path.

    Raises:
        InputError: the revision is invalid.
    """
    if revision and not REVISION.fullmatch(revision):
        raise InputError(
            "invalid-revision",
            "Invalid revision: not a branch, tag or commit.",
            "Use a branch, a tag or a commit hash, such as main or v1.0.",
        )


def hub_models() -> list[str]:
    """Return the names on the hub that the owner allows."""
    return os.environ.get(HUB_VARIABLE, "").replace(",", " ").split()


def model_folders() -> list[Path]:
    """Return the folders that the owner allows."""
    named = [part.strip() for part in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep)]
    return [found for part in named if part and (found := _resolved(Path(part))) is not None]


def offered_models() -> list[str]:
    """Return the models that a person can choose: the allowed names on the hub, and the models in the allowed
    folders."""
    return hub_models() + [str(folder) for root in model_folders() for folder in _models_below(root)]


def _within(name: str) -> Path | None:
    """Return the resolved path if it is absolute and inside an allowed folder, also after following links; else
    None."""
    # Check the text of the path first, so that no other path is even accessed.
    plain = Path(os.path.normpath(name))
    if not plain.is_absolute() or "\0" in name:
        return None
    for root in model_folders():
        if plain.is_relative_to(root) and (found := _resolved(plain)) is not None and found.is_relative_to(root):
            return found
    return None


def _resolved(path: Path) -> Path | None:
    """Return the resolved path; None if it has circular links, is too long, or names an unknown user's home."""
    try:
        found = path.expanduser().resolve()
        # The system reports a name that is too long only on access.
        found.exists()
        return found
    except (OSError, RuntimeError):
        return None


def holds_model(folder: Path) -> bool:
    """Return whether a folder has a model's configuration; False if it is unreadable or cannot exist."""
    try:
        return (folder / "config.json").is_file()
    except OSError:
        return False


def _models_below(root: Path) -> list[Path]:
    """Return the folders of models in and below a folder, without links and without folders inside another model."""
    models: list[Path] = []
    for depth in range(DEPTH + 1):
        folders = islice(root.glob("*/" * depth + "config.json"), MOST_OFFERED)
        for folder in sorted(config.parent for config in folders):
            if folder == folder.resolve() and not any(folder.is_relative_to(model) for model in models):
                models.append(folder)
    return models
