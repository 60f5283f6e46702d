"""Loading of transformers models from a folder or the hub, once per process, and the identity of a
model.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib.util
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal
from weakref import WeakValueDictionary

from ...choices import DTYPES
from ...errors import GradingError, InputError
from .._access import check_revision, current_access, holds_model, place_of

Task = Literal["text", "span", "pair"]
"""Task of a model: write text, extract spans from a passage, or score a question with a passage."""


LONGEST = 8192
"""Default maximum of a prompt's tokens: passages are paragraphs, and memory grows with the prompt.
"""

CAUSAL = ("ForCausalLM", "LMHeadModel")
"""Endings of the library's names of causal models."""

_SANE = 1_000_000  # tokenizers without a limit of their own give a huge number
_IDENTIFYING = (".json", ".jinja", ".model", ".txt", ".safetensors")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Loaded:
    """A model with its tokenizer, ready to run.

    Args:
        name: the name that a person gave.
        model, tokenizer: objects of the library; the model is on `device` and in evaluation mode.
        seq2seq: whether it has an encoder and a decoder.
        limit: maximum number of tokens of a prompt, from its tokenizer and its configuration.
        hard_limit: number of its positions; None for relative positions.
        lock: one thread at a time may use the tokenizer, because tokenizers keep state between two
            calls.
    """

    name: str
    model: Any
    tokenizer: Any
    device: str
    seq2seq: bool
    limit: int
    hard_limit: int | None
    lock: threading.RLock = field(default_factory=threading.RLock)


@dataclass(frozen=True)
class Source:
    """Location of a model.

    Args:
        name: the name that a person gave.
        place: full path of its folder, or its name on the hub.
        revision: branch, tag or commit on the hub; None for a folder.
    """

    name: str
    place: str
    revision: str | None


_Key = tuple[str, str, str, Task]

_loaded: WeakValueDictionary[_Key, Loaded] = WeakValueDictionary()
_latest: list[Loaded] = []  # kept even if unused, so that the next job need not load it again
_loading_lock = threading.Lock()
_now_loading: tuple[str, float] | None = None


def current_loading() -> tuple[str, float] | None:
    """Return a description of the present loading and its seconds so far, for a screen; None if
    nothing is being loaded."""
    now = _now_loading
    return None if now is None else (now[0], time.monotonic() - now[1])


def check_settings(device: str, dtype: str) -> None:
    """Refuse an unknown device or number format.

    Raises:
        InputError: it is unknown.
    """
    kind, _, number = device.partition(":")
    if kind not in ("auto", "cpu", "cuda") or (
        number and not (kind == "cuda" and number.isdigit())
    ):
        raise InputError(
            "unknown-device",
            f"Unknown device {device!r}.",
            "Use auto, cpu, cuda, or a numbered GPU such as cuda:0.",
        )
    if dtype not in DTYPES:
        raise InputError(
            "unknown-number-format",
            f"Unknown number format {dtype!r}.",
            f"Use one of {', '.join(DTYPES)}.",
        )


CPU_INFO = Path("/proc/cpuinfo")
BFLOAT16_FLAGS = {"amx_bf16", "avx512_bf16", "bf16"}
"""Names of bfloat16 instructions in Linux: Intel and AMD processors, and ARM."""
GPU_DEVICES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""Device files that Linux has with a GPU driver: NVIDIA, AMD, Windows Subsystem for Linux."""


def require_torch() -> None:
    """Check that models can run on this computer.

    Raises:
        GradingError: PyTorch or transformers is not installed.
    """
    if not all(map(importlib.util.find_spec, ("torch", "transformers"))):
        raise GradingError(
            "torch-missing",
            "Models on this computer need the packages torch and transformers.",
            "Run: pip install torch transformers. Or use the model of an"
            " endpoint: --back-end openai",
        )


def resolved_dtype(device: str, dtype: str) -> str:
    """Return the number format in which a model would be loaded, which affects its answers.

    Args:
        device: auto, cpu, cuda or cuda:N.
        dtype: auto, float32 or bfloat16.

    Returns:
        float32 or bfloat16. For auto, bfloat16 on a GPU or processor that supports it, else
        float32.

    Raises:
        InputError: device or dtype is unknown.
    """
    check_settings(device, dtype)
    if dtype != "auto":
        return dtype
    if device != "cpu" and _may_have_gpu():
        require_torch()
        import torch

        if torch.cuda.is_available():
            return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    # If a named GPU is missing, loading the model fails anyway, so this result does not matter.
    return "float32" if device in ("auto", "cpu") and not has_bfloat16() else "bfloat16"


@lru_cache(maxsize=1)
def has_bfloat16() -> bool:
    """Return whether the processor supports bfloat16. Others emulate it, which is slower than
    float32.
    """
    try:
        words = CPU_INFO.read_text().split()
    except OSError:
        return False
    return not BFLOAT16_FLAGS.isdisjoint(words)


def _may_have_gpu() -> bool:
    """Return whether a GPU driver may exist. Asking torch instead takes seconds, too slow for a
    screen.
    """
    return sys.platform != "linux" or any(Path(device).exists() for device in GPU_DEVICES)


def load_model(
    name_or_folder: str,
    revision: str | None = None,
    device: str = "auto",
    dtype: str = "auto",
    task: Task = "text",
) -> Loaded:
    """Load a model, or return it if it is loaded already.

    Args:
        name_or_folder: a folder with configuration, weights and tokenizer, or a name on the model
            hub.
        revision: branch, tag or commit on the hub; ignored for a folder.
        device: auto (a GPU if available), cpu, cuda or cuda:N.
        dtype: auto (see `resolved_dtype`), float32 or bfloat16.
        task: task of the model.

    Raises:
        InputError: device or dtype is unknown.
        GradingError: the model is missing, cannot be downloaded, or has another kind.
    """
    identity = model_identity(name_or_folder, revision)
    folder = _model_folder(name_or_folder, revision)
    place = name_or_folder if folder is None else str(folder.resolve())
    source = Source(name_or_folder, place, revision if folder is None else None)
    dtype = resolved_dtype(device, dtype)
    with _loading_lock:
        device = _check_device(device)
        key: _Key = (identity, device, dtype, task)
        if (kept := _loaded.get(key)) is not None:
            return kept
        loaded = _load_or_download(source, device, dtype, task)
        _loaded[key] = loaded
        _latest[:] = [loaded]
        return loaded


def model_identity(name_or_folder: str, revision: str | None = None) -> str:
    """Return the identity of a model for a fingerprint.

    Returns:
        For a folder, its name and 12 hex digits of SHA-256 over configuration, weights and
        tokenizer. For a name on the hub, the name, with `@revision` if one is given.

    Raises:
        InputError: the present person may not use it, or the revision is invalid.
        GradingError: the folder has no model.
    """
    folder = _model_folder(name_or_folder, revision)
    if folder is None:
        return f"{name_or_folder}@{revision}" if revision else name_or_folder
    whole = hashlib.sha256()
    for path in _model_files(folder):
        about = path.stat()
        digest = _file_digest(path.resolve(), about.st_size, about.st_mtime_ns)
        whole.update(f"{path.name}\0{digest}\n".encode())
    return f"{folder.resolve().name}@sha256:{whole.hexdigest()[:12]}"


@lru_cache(maxsize=1024)
def _file_digest(file: Path, size: int, changed: int) -> str:
    """Return the SHA-256 of a file, computed again only if its size or time has changed."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _model_folder(name_or_folder: str, revision: str | None) -> Path | None:
    """Return the folder of a model; None for a name on the hub.

    Raises:
        InputError: the present person may not use it, or the revision is invalid.
        GradingError: the folder has no model.
    """
    check_revision(revision)
    folder = place_of(name_or_folder, current_access())
    if folder is not None and not holds_model(folder):
        # The message is the same whether the folder exists or not.
        raise GradingError(
            "model-unusable",
            f"The folder {name_or_folder} has no model: config.json is missing.",
            "Use the folder with config.json, the tokenizer and the weights.",
        )
    return folder


def has_chat_template(name_or_folder: str, revision: str | None = None) -> bool | None:
    """Return whether a model needs a chat template, from its small files alone.

    Returns:
        True for a causal model with a chat template, False for one without. None if the model has
        another kind, such as one with an encoder, or if this computer does not have its files yet.
    """
    config = _small_file(name_or_folder, revision, "config.json")
    tokenizer = _small_file(name_or_folder, revision, "tokenizer_config.json")
    if config is None or tokenizer is None or config.get("is_encoder_decoder"):
        return None
    if not any(str(name).endswith(CAUSAL) for name in config.get("architectures") or ()):
        return None
    return (
        bool(tokenizer.get("chat_template"))
        or _file_at_hand(name_or_folder, revision, "chat_template.jinja") is not None
    )


def _small_file(name_or_folder: str, revision: str | None, name: str) -> dict[str, Any] | None:
    file = _file_at_hand(name_or_folder, revision, name)
    if file is None:
        return None
    try:
        content = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        # Loading the model will report the problem.
        return None
    return content if isinstance(content, dict) else None


def _file_at_hand(name_or_folder: str, revision: str | None, name: str) -> Path | None:
    """Return a model's file on this computer: in its folder, or downloaded from the hub before."""
    if (folder := _model_folder(name_or_folder, revision)) is not None:
        return folder / name if (folder / name).is_file() else None
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        cached = try_to_load_from_cache(name_or_folder, name, revision=revision)
    except HFValidationError:
        return None
    return Path(cached) if isinstance(cached, str) else None


@lru_cache(maxsize=4)
def tokenizer_at_hand(name_or_folder: str, revision: str | None = None) -> Any | None:
    """Return a model's tokenizer from this computer, to count tokens before the weights are loaded.

    Returns:
        None if this computer does not have it.
    """
    try:
        import transformers

        return _load_pretrained(
            transformers.AutoTokenizer, name_or_folder, revision, local_files_only=True
        )
    except (OSError, ValueError, ImportError):
        # Not downloaded yet, or unreadable: loading the model will report that.
        return None


def _model_files(folder: Path) -> list[Path]:
    """Return the files of a model that affect its answers, sorted by name."""
    return sorted(
        path
        for path in folder.iterdir()
        if path.is_file() and (path.suffix in _IDENTIFYING or path.match("pytorch_model*.bin"))
    )


def _check_device(device: str) -> str:
    """Return the device, after a check that it exists."""
    require_torch()
    # Slow to load, and only needed for grading.
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise GradingError(
            "no-gpu", "This computer has no usable GPU.", "Set the device to auto or cpu."
        )
    return device


@contextlib.contextmanager
def announce_loading(name: str, what: str) -> Iterator[None]:
    """Set the description that `current_loading` returns within the context."""
    global _now_loading
    _now_loading = (f"Loading {name}: {what}", time.monotonic())
    _log.info(_now_loading[0])
    try:
        yield
    finally:
        _now_loading = None


def _load_pretrained(kind: Any, place: str, revision: str | None, **options: Any) -> Any:
    """Load with a class of the library. A model's own code is never run, and people are not asked
    to allow it.
    """
    at = {"revision": revision} if revision else {}
    return kind.from_pretrained(place, trust_remote_code=False, **at, **options)


def _refuse_pickles(source: Source, config: Any) -> None:
    """Refuse a model whose configuration or index names weight files in other formats than
    safetensors.

    The library reads those files regardless of its options, and Python's pickle format can run code
    when it is read.

    Raises:
        GradingError: such a file is named.
    """
    first = getattr(config, "transformers_weights", None) or "model.safetensors.index.json"
    index = (_small_file(source.place, source.revision, str(first)) or {}).get("weight_map")
    parts = index.values() if isinstance(index, dict) else ()
    if not all(
        str(name).endswith((".safetensors", ".safetensors.index.json")) for name in (first, *parts)
    ):
        raise GradingError(
            "unsafe-model-files", f"The model {source.name} {_PICKLED[0]}.", _PICKLED[1]
        )


def prompt_token_limit(requested: int | None, limit: int, positions: int | None) -> int:
    """Return the most tokens of a prompt with its answer: the requested number, or the model's own
    limit.
    """
    return min(requested or limit, positions or requested or limit)


def _load_or_download(source: Source, device: str, dtype: str, task: Task) -> Loaded:
    """Load a model, downloaded if necessary.

    Raises:
        GradingError: a file is missing, or cannot be downloaded or read.
    """
    import torch
    import transformers

    # Otherwise the library asks a service to convert the pickles of a model on the hub.
    os.environ.setdefault("DISABLE_SAFETENSORS_CONVERSION", "1")
    try:
        with announce_loading(source.name, "configuration and tokenizer"):
            config = _load_pretrained(transformers.AutoConfig, source.place, source.revision)
            tokenizer = _load_pretrained(transformers.AutoTokenizer, source.place, source.revision)
            if getattr(tokenizer, "chat_template", None):
                tokenizer.get_chat_template()
        _refuse_pickles(source, config)
        seq2seq = bool(getattr(config, "is_encoder_decoder", False))
        use = {
            "span": "QuestionAnswering",
            "pair": "SequenceClassification",
            "text": "Seq2SeqLM" if seq2seq else "CausalLM",
        }
        kind = getattr(transformers, f"AutoModelFor{use[task]}")
        with announce_loading(
            source.name, "weights, downloaded first if they are not on this computer"
        ):
            loaded = _load_pretrained(
                kind,
                source.place,
                source.revision,
                dtype=getattr(torch, dtype),
                use_safetensors=True,
            )
            model = loaded.to(device).eval()
    except GradingError:
        raise
    except Exception as error:
        # Files from strangers can cause any kind of error.
        raise explain_loading_error(source.name, error) from error
    # The default maximum of a prompt's tokens, and the number of the model's positions, if any.
    positions: int | None = getattr(
        config.get_text_config(decoder=True), "max_position_embeddings", None
    )
    stated = [tokenizer.model_max_length, getattr(config, "n_positions", None), positions, LONGEST]
    limit = min(int(limit) for limit in stated if limit and limit < _SANE)
    return Loaded(source.name, model, tokenizer, device, seq2seq, limit, positions)


_PICKLED = (
    "has no safetensors weights; other formats can run code",
    "Choose another model, or save this one with save_pretrained of the transformers library.",
)
_EXPLAINED = (
    (
        ("gatedrepoerror",),
        "requires approved access",
        "Request access on its page at huggingface.co, and set HF_TOKEN in the environment.",
    ),
    (
        ("repositorynotfounderror", "revisionnotfounderror", "hfvalidationerror"),
        "or its revision is not on the hub",
        "Check the spelling, or use the folder of a model.",
    ),
    (
        (
            "localentrynotfounderror",
            "offlinemodeisenabled",
            "connectionerror",
            "connecterror",
            "connecttimeout",
        ),
        "is not on this computer, and the hub cannot be reached",
        "Connect to the network once, or use the folder of a model.",
    ),
    (
        ("trust_remote_code",),
        "needs its own code, which is never run",
        "Choose a model whose architecture is in the transformers library.",
    ),
    (("model.safetensors",), *_PICKLED),
    (("out of memory",), "does not fit into memory", "Choose a smaller model."),
)
"""Signs in the names and texts of the library's errors, with the problem and the fix."""


def explain_loading_error(name: str, error: BaseException) -> GradingError:
    """Return an error of loading with a hint for the user.

    Args:
        name: the name of the model that the person gave.
        error: the library's error.
    """
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    if any(isinstance(each, OSError) and each.errno == errno.ENOSPC for each in chain):
        return GradingError(
            "disk-full",
            f"The disk is full: the model {name} could not be stored.",
            "Free some space and try again.",
        )
    texts = [f"{type(each).__name__}: {each}".lower() for each in chain]
    for signs, problem, hint in _EXPLAINED:
        if any(sign in text for sign in signs for text in texts):
            return GradingError("model-unusable", f"The model {name} {problem}.", hint)
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return GradingError(
        "model-unusable",
        f"The model {name} could not be loaded: {first}",
        "Check that its files are complete.",
    )
