"""The embedding grader, which is the default: similarity of question and passage by a small
sentence encoder.

It needs no prompt, key, network or GPU. Each text is encoded once, so p passages and q questions
cost p + q encodings and not p x q model calls. A vector store keeps encodings between sessions, and
without new texts the model is not even loaded. The grader measures similarity; it does not read.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...grouping import group_pairs
from ...sentences import SPLITTER, Span, split_sentences
from ...types import Grade, GraderInput, GraderSpec
from .._grader_interface import Control, Outcome, Pair, StoredVectors, VectorStore
from . import minilm
from .minilm import DIMENSIONS, MAX_TOKENS, MODEL, SHA256, Vectors

DEFAULT_CUTS = (0.30, 0.40, 0.50, 0.60, 0.70)
CITATION_CUTS = (0.50, 0.70)

QUESTION, PASSAGE = "question", "passage"
"""Roles of encoded texts; a passage is encoded with its sentences."""

BLOCK = 64
"""Passages between two batches of grades: about two seconds on two cores, so that a job stops
quickly.
"""
BATCH = 4096
"""Maximum number of grades in one batch."""
CACHE_BYTES = 512 * 1024 * 1024
ENCODER = f"{MODEL}@sha256:{SHA256[:12]}, {MAX_TOKENS} tokens, sentences {SPLITTER}"
"""Identity of the encoder for stored vectors."""


@dataclass(frozen=True)
class EncodedPassage:
    """A passage's unit vector (384), its sentence spans, and their unit vectors (n, 384).

    A passage with one sentence needs no sentence vectors. Sentence vectors only select the
    nearest sentence and never affect a rating, so half precision is enough.
    """

    vector: Vectors
    spans: list[Span]
    sentences: NDArray[np.float16]

    def kept(self) -> StoredVectors:
        """Return the vectors as bytes. Spans are left out, because finding them again is faster
        than reading them.
        """
        return StoredVectors(self.vector.tobytes(), self.sentences.tobytes())


def _from_kept(stored: StoredVectors, text: str, role: str) -> EncodedPassage:
    sentences = np.frombuffer(stored.sentences, np.float16).reshape(-1, DIMENSIONS)
    spans = split_sentences(text) if role == PASSAGE else []
    return EncodedPassage(np.frombuffer(stored.vector, np.float32), spans, sentences)


@dataclass(eq=False)
class EncodingCache:
    """Encodings by text, up to a number of bytes; the least recently used are dropped first. Thread
    safe.
    """

    max_bytes: int
    _bytes: int = field(default=0, init=False)
    _kept: OrderedDict[tuple[str, bytes], tuple[EncodedPassage, int]] = field(
        default_factory=OrderedDict, init=False
    )
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def get(
        self, texts: Sequence[str], role: str, store: VectorStore | None = None
    ) -> list[EncodedPassage]:
        """Return the encodings of texts, in order, from the cache, else from the store, else
        computed now.

        Args:
            texts: n texts.
            role: QUESTION or PASSAGE.
            store: lasting store of encodings; gets those that it does not have.
        """
        digests = [_text_digest(text) for text in texts]
        text_of = dict(zip(digests, texts, strict=True))
        with self._lock:
            encodings = {
                digest: self._kept[role, digest][0]
                for digest in text_of
                if (role, digest) in self._kept
            }
        missing = [digest for digest in text_of if digest not in encodings]
        kept = {} if store is None else store.get(ENCODER, role, missing)
        stored = {
            digest: _from_kept(vectors, text_of[digest], role) for digest, vectors in kept.items()
        }
        new = [digest for digest in missing if digest not in stored]
        if new:
            encodings |= zip(
                new, _encode_texts([text_of[digest] for digest in new], role), strict=True
            )
        if store is not None:
            store.put(
                ENCODER, role, {digest: encoded.kept() for digest, encoded in encodings.items()}
            )
        encodings |= stored
        self._store(role, encodings)
        return [encodings[digest] for digest in digests]

    def _store(self, role: str, encodings: Mapping[bytes, EncodedPassage]) -> None:
        with self._lock:
            for key, encoded in (
                ((role, digest), encoded) for digest, encoded in encodings.items()
            ):
                # 600 bytes for the key, the span objects and the array headers.
                size = (
                    encoded.vector.nbytes + encoded.sentences.nbytes + 72 * len(encoded.spans) + 600
                )
                self._bytes += size - self._kept.pop(key, (encoded, 0))[1]
                self._kept[key] = (encoded, size)
            while self._bytes > self.max_bytes:
                self._bytes -= self._kept.popitem(last=False)[1][1]


# Shared by all graders, because other cut points need no new encodings.
_CACHE = EncodingCache(CACHE_BYTES)


def _encode_texts(texts: list[str], role: str) -> list[EncodedPassage]:
    """Load the model if necessary, and encode; for passages also the sentences of those with
    several.

    Raises:
        GradingError: the model is not installed or its weights are not the expected ones.
    """
    encoder = minilm.load_encoder(minilm.model_folder())
    spans = [split_sentences(text) if role == PASSAGE else [] for text in texts]
    sentences = [
        [text[begin:end] for begin, end in some] if len(some) > 1 else []
        for text, some in zip(texts, spans, strict=True)
    ]
    # Copied passages share sentences, so each distinct sentence is encoded once.
    distinct = list(dict.fromkeys(sentence for some in sentences for sentence in some))
    vectors = encoder.encode([*texts, *distinct])
    row = {sentence: number for number, sentence in enumerate(distinct, len(texts))}
    return [
        EncodedPassage(
            vectors[i].copy(),
            spans[i],
            vectors[[row[sentence] for sentence in some]].astype(np.float16),
        )
        for i, some in enumerate(sentences)
    ]


def unit_vectors(
    texts: Sequence[str], store: VectorStore | None = None, keep: bool = True
) -> Vectors:
    """Return the unit vectors of texts (n, 384), each encoded once; texts are cut after 256 tokens.

    Args:
        store: lasting store of vectors, which has those of graded passages.
        keep: whether to store new vectors; not for whole collections.

    Raises:
        GradingError: the model cannot be loaded.
    """
    if not texts:
        return np.zeros((0, DIMENSIONS), dtype=np.float32)
    digests = [_text_digest(text) for text in texts]
    known = {} if store is None else store.get(ENCODER, PASSAGE, list(dict.fromkeys(digests)))
    vectors = {digest: np.frombuffer(kept.vector, np.float32) for digest, kept in known.items()}
    rest = list(
        dict.fromkeys(
            text for text, digest in zip(texts, digests, strict=True) if digest not in vectors
        )
    )
    if rest:
        encodings = _CACHE.get(rest, QUESTION, store) if keep else _encode_texts(rest, QUESTION)
        vectors |= zip(map(_text_digest, rest), (one.vector for one in encodings), strict=True)
    return np.stack([vectors[digest] for digest in digests])


def sentence_vectors(passages: Sequence[str], store: VectorStore | None = None) -> list[Vectors]:
    """Return the unit vectors of each passage's sentences (n, 384), in half precision; no rows for
    a blank passage.

    Args:
        store: lasting store of vectors, which has those of graded passages.

    Raises:
        GradingError: the model cannot be loaded.
    """
    texts = [text for text in dict.fromkeys(passages) if text.strip()]
    encodings = dict(zip(texts, _CACHE.get(texts, PASSAGE, store), strict=True))
    none: Vectors = np.zeros((0, DIMENSIONS), dtype=np.float32)
    whole = {
        text: encoded.sentences if len(encoded.sentences) else encoded.vector[None]
        for text, encoded in encodings.items()
    }
    return [np.asarray(whole[text], np.float32) if text in whole else none for text in passages]


def _text_digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def text_similarities(texts: Sequence[str]) -> Vectors:
    """Return the cosines of texts with each other, n x n.

    Raises:
        GradingError: the model cannot be loaded.
    """
    vectors = unit_vectors(texts)
    return vectors @ vectors.T


class EmbeddingGrader:
    """Rates a passage by its similarity to a question, and answers with its nearest sentence.

    The rating is the number of cut points that the cosine of question and passage reaches. The
    cosine is rounded to four decimals, as in the grade's `raw`, so new cut points can be tried on
    stored grades. Rounding hides the differences below 1e-6 that depend on batches and their order.

    The confidence says how firmly the cut points determine the rating, not how likely the rating is
    right. It is the distance of the cosine to the nearest cut point, divided by half of the
    narrowest band, at most 1.

    Args:
        cuts: ascending cosines between -1 and 1 from which the rating is 1, 2, 3, 4, 5.

    Raises:
        InputError: the cuts are not as many ascending numbers between -1 and 1 as the scale has
            steps.
    """

    name, method = "Embedding (MiniLM)", "embedding"
    usual_cuts: Sequence[float] = DEFAULT_CUTS

    def __init__(self, cuts: Sequence[float] = DEFAULT_CUTS) -> None:
        self._cuts = _check_cuts(cuts, self.usual_cuts)

    @property
    def spec(self) -> GraderSpec:
        """Identity of this grader; it includes the cut points and the sentence rules."""
        return GraderSpec(
            name=self.name,
            method=self.method,
            model=f"{MODEL}@sha256:{SHA256[:12]}",
            parameters={"cuts": self._cuts.tolist(), "sentence_splitter": SPLITTER},
            max_rating=len(self._cuts),
        )

    def grade(
        self,
        questions: Mapping[int, GraderInput],
        passages: Mapping[int, str],
        pairs: Sequence[Pair],
        control: Control,
    ) -> Iterator[list[Outcome]]:
        """Grade pairs in blocks of passages, in the order in which the pairs first name these.

        Args:
            questions: question texts by text key.
            passages: passage texts by text key.
            pairs: (question key, passage key), each once; best ordered by query.
            control: pauses and stops between two blocks; no block makes a paid call. Its vector
                store is read first, and gets new vectors.

        Yields:
            Outcomes of at most 64 passages and 4096 pairs. A pair with an empty text fails.

        Raises:
            GradingError: the model is not installed or its weights are not the expected ones.
        """
        questions_of = group_pairs((passage, question) for question, passage in pairs)
        order = list(questions_of)
        texts = {key: question.text for key, question in questions.items()}
        for start in range(0, len(order), BLOCK):
            if not control.may_continue():
                return
            block = {passage: questions_of.pop(passage) for passage in order[start : start + BLOCK]}
            outcomes = self._grade_block(texts, passages, block, control.vectors)
            for first in range(0, len(outcomes), BATCH):
                yield outcomes[first : first + BATCH]

    def _grade_block(
        self,
        questions: Mapping[int, str],
        passages: Mapping[int, str],
        block: Mapping[int, list[int]],
        store: VectorStore | None,
    ) -> list[Outcome]:
        """Grade the questions of a few passages (question keys by passage key)."""
        wanted = dict.fromkeys(q for some in block.values() for q in some)
        askable = [q for q in wanted if questions[q].strip()]
        column = {question: i for i, question in enumerate(askable)}
        usable = [p for p in block if passages[p].strip()]
        outcomes: list[Outcome] = [
            (
                q,
                p,
                Grade(
                    None,
                    "failed",
                    reason=f"the {'passage' if q in column else 'question'} is empty",
                ),
            )
            for p, some in block.items()
            for q in some
            if q not in column or not passages[p].strip()
        ]
        if not (askable and usable):
            return outcomes
        encoded_questions = _CACHE.get([questions[q] for q in askable], QUESTION, store)
        encoded = _CACHE.get([passages[p] for p in usable], PASSAGE, store)
        matrix = np.stack([q.vector for q in encoded_questions])
        cosines = np.stack([p.vector for p in encoded]) @ matrix.T
        nearness = np.concatenate([p.sentences for p in encoded]).astype(np.float32) @ matrix.T
        first = 0
        for row, (passage, vectors) in enumerate(zip(usable, encoded, strict=True)):
            some = [question for question in block[passage] if question in column]
            columns = [column[question] for question in some]
            own = nearness[first : first + len(vectors.sentences), columns]
            nearest = own.argmax(0) if len(own) else np.zeros(len(some), dtype=np.int64)
            first += len(vectors.sentences)
            grades = self._grades(passages[passage], vectors.spans, cosines[row, columns], nearest)
            outcomes.extend(zip(some, [passage] * len(some), grades, strict=True))
        return outcomes

    def _grades(
        self, text: str, spans: list[Span], cosines: Vectors, nearest: NDArray[np.int64]
    ) -> list[Grade]:
        """Return the grades of one passage from its cosines (m) and the indexes of the nearest
        sentences (m).
        """
        # Adding zero turns a rounded -0.0 into 0.0.
        rounded = np.round(cosines.astype(np.float64), 4) + 0.0
        ratings = np.searchsorted(self._cuts, rounded, side="right")
        distances = np.abs(rounded[:, None] - self._cuts).min(1)
        confidences = np.minimum(1.0, distances / (np.diff(self._cuts).min() / 2))
        answers = [text[begin:end] for begin, end in spans]
        return [
            Grade(
                rating, "graded", answers[index] if answers else None, confidence, f"{cosine:.4f}"
            )
            for rating, index, confidence, cosine in zip(
                ratings.tolist(),
                nearest.tolist(),
                confidences.tolist(),
                rounded.tolist(),
                strict=True,
            )
        ]


class CitationSimilarity(EmbeddingGrader):
    """Rates from 0 to 2 how similar a sentence and a passage that it cites are."""

    name, method = "Citation similarity (MiniLM)", "support-embedding"
    usual_cuts = CITATION_CUTS

    def __init__(self, cuts: Sequence[float] = CITATION_CUTS) -> None:
        super().__init__(cuts)


def _check_cuts(cuts: Sequence[float], usual: Sequence[float]) -> NDArray[np.float64]:
    """Return the cut points as an array, after a check."""
    numbers = isinstance(cuts, Sequence) and all(type(cut) in (int, float) for cut in cuts)
    bounds = [-1.0, *cuts, 1.0] if numbers else []
    ascending = all(low < high for low, high in itertools.pairwise(bounds))
    if len(bounds) != len(usual) + 2 or not ascending:
        raise InputError(
            "invalid-cut-points",
            f"Invalid cut points {cuts!r}.",
            f"Use {len(usual)} ascending numbers between -1 and 1. The default is "
            f"{', '.join(f'{cut:.2f}' for cut in usual)}.",
        )
    return np.array(cuts, dtype=np.float64)
