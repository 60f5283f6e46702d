"""Build the demo collection from its hand-written topics: queries, passages, bank, exam, qrels and
runs.

Run it from the root of the repository, with the project's packages, bm25s and scikit-learn
installed:

    PYTHONPATH=. python data/demo/build_demo.py

It reads `topics/*.json`, `exam_items.json` and `generated_judgments.json` in its own folder and
writes all other data files there.

The same inputs and SEED give the same bytes; on another processor the last digit of a score may
differ.

Two systems write their own text. An assessor read and judged those texts. The script stops if a
generated text differs from the judged one.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

from exam_workbench.formats import ExamItem, exam_files
from exam_workbench.graders import load_encoder, model_folder
from exam_workbench.sentences import split_sentences

SEED = 20
DEPTH = 20
HERE = Path(__file__).resolve().parent

Scores = NDArray[np.float64]
Ranking = list[tuple[str, float]]
"""Passage ids with their scores, best first."""


@dataclass(frozen=True)
class Topic:
    """A hand-written topic file; its passages have their public ids."""

    query_id: str
    text: str
    narrative: str
    answer: str
    subtopics: list[dict[str, str]]
    questions: list[dict[str, Any]]
    passages: dict[str, str]
    judgments: dict[str, int]


@dataclass(frozen=True)
class Collection:
    """The searched collection: n passages with their ids, unit vectors (n, 384) and BM25 tokens."""

    ids: list[str]
    texts: list[str]
    vectors: NDArray[np.float32]
    tokens: list[list[str]]


def read_topics(folder: Path) -> list[Topic]:
    """Return the topics in order of query id; passage numbers are shuffled so that an id does not
    reveal the judgment.
    """
    topics = []
    for path in sorted(folder.glob("*.json")):
        source = json.loads(path.read_text(encoding="utf-8"))
        query_id = source["query_id"]
        passages = sorted(source["passages"], key=lambda passage: str(passage["key"]))
        random.Random(f"{SEED}/{query_id}").shuffle(passages)
        ids = [f"{query_id}-{number:02d}" for number in range(1, len(passages) + 1)]
        topics.append(
            Topic(
                query_id,
                source["text"],
                source["narrative"],
                source["answer"],
                source["subtopics"],
                source["questions"],
                {i: passage["text"] for i, passage in zip(ids, passages, strict=True)},
                {i: passage["judgment"] for i, passage in zip(ids, passages, strict=True)},
            )
        )
    return topics


def words(text: str) -> list[str]:
    """Return lower-case words without stop words; plural and verb endings are cut roughly."""
    found = "".join(c.lower() if c.isalnum() else " " for c in text).split()
    return [stem(word) for word in found if word not in ENGLISH_STOP_WORDS]


def stem(word: str) -> str:
    """Return the word without a common English ending, if at least three letters remain."""
    for ending in ("ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def collect(topics: Sequence[Topic]) -> Collection:
    """Return all hand-written passages as one collection."""
    ids = [i for topic in topics for i in topic.passages]
    texts = [text for topic in topics for text in topic.passages.values()]
    return Collection(ids, texts, encode(texts), [words(text) for text in texts])


def encode(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return unit vectors (n, 384) by MiniLM."""
    return load_encoder(model_folder()).encode(texts)


# Retrieval systems: each gives every passage of the collection a score for a topic.


def bm25(collection: Collection, query: Iterable[str], k1: float = 1.2, b: float = 0.75) -> Scores:
    """Return BM25 scores (Lucene's form) by bm25s; each occurrence of a query word counts."""
    index = bm25s.BM25(k1=k1, b=b)
    index.index(collection.tokens, show_progress=False)
    known = [word for word in query if word in index.vocab_dict]
    return np.asarray(index.get_scores(known), dtype=np.float64)


def tfidf(collection: Collection, topic: Topic) -> Scores:
    """Return cosines of TF-IDF vectors with sublinear term frequencies."""
    vectorizer = TfidfVectorizer(
        tokenizer=words, token_pattern=None, lowercase=False, sublinear_tf=True
    )
    matrix = vectorizer.fit_transform(collection.texts)
    return np.asarray(
        (matrix @ vectorizer.transform([topic.text]).T).toarray()[:, 0], dtype=np.float64
    )


def dense(collection: Collection, text: str) -> Scores:
    """Return cosines of MiniLM vectors."""
    return np.asarray(collection.vectors @ encode([text])[0], dtype=np.float64)


def fuse(*systems: Scores) -> Scores:
    """Return reciprocal rank fusion with k = 60 (Cormack, Clarke and Buettcher, SIGIR 2009)."""
    total = np.zeros(len(systems[0]))
    for scores in systems:
        ranks = np.empty(len(scores))
        ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
        total += 1 / (60 + ranks)
    return total


def feedback(collection: Collection, topic: Topic, first: int, last: int) -> Scores:
    """Return BM25 scores after pseudo-relevance feedback.

    The 15 most frequent words of the passages at BM25 ranks first to last are added to the query.
    """
    query = words(topic.text)
    order = np.argsort(-bm25(collection, query), kind="stable")[first - 1 : last]
    frequent = Counter(word for i in order for word in collection.tokens[i])
    ranked = sorted(frequent.items(), key=lambda item: (-item[1], item[0]))
    return bm25(collection, [*query, *(word for word, _ in ranked[:15])])


def plainness(text: str) -> float:
    """Return a value between 0 and 1, low for text that shouts, asks, lists or repeats words more
    than it informs.
    """
    sentences = [text[begin:end] for begin, end in split_sentences(text)]
    stated = sum(sentence.endswith(".") and len(sentence) > 40 for sentence in sentences) / len(
        sentences
    )
    found = words(text)
    return stated * min(1.0, 1.3 * len(set(found)) / max(1, len(found)))


def retrieve(collection: Collection, topic: Topic) -> dict[str, Scores]:
    """Return the scores of all passages by name of the retrieval system."""
    title = words(topic.text)
    both = f"{topic.text}. {topic.narrative}"
    lexical, semantic = bm25(collection, title), dense(collection, topic.text)
    counts = [Counter(tokens) for tokens in collection.tokens]
    overlap = np.array([sum(count[word] for word in title) for count in counts], dtype=np.float64)
    lengths = np.array([len(text) for text in collection.texts], dtype=np.float64)
    plain = np.array([plainness(text) for text in collection.texts])
    chance = random.Random(f"{SEED}/random/{topic.query_id}")
    informed = dense(collection, both)
    return {
        "bm25": lexical,
        "bm25-repeats": bm25(collection, title, k1=8.0, b=0.0),
        "bm25-narrative": bm25(collection, [*title, *title, *words(topic.narrative)]),
        "bm25-feedback": feedback(collection, topic, 1, 5),
        "bm25-drift": feedback(collection, topic, 21, 30),
        "tfidf": tfidf(collection, topic),
        "dense": semantic,
        "dense-narrative": informed,
        "dense-plain": semantic * plain,
        "dense-plain-long": semantic * np.sqrt(plain * np.minimum(lengths, 600)),
        "hybrid": fuse(lexical, semantic),
        "hybrid-plain": fuse(bm25(collection, [*title, *words(topic.narrative)]), informed) * plain,
        "word-count": overlap + lengths / 1e4,
        "longest": lengths * (overlap > 0),
        "shortest": (overlap > 0) * 1000 / lengths,
        "random": np.array([chance.random() for _ in collection.ids]),
    }


def ranking(ids: Sequence[str], scores: Scores) -> Ranking:
    """Return the top of a ranking in trec_eval's order: by score, equal scores by descending id."""
    rounded = [
        (passage_id, round(float(score), 5)) for passage_id, score in zip(ids, scores, strict=True)
    ]
    return sorted(rounded, key=lambda item: (item[1], item[0]), reverse=True)[:DEPTH]


# The two systems that write text.


def compose(collection: Collection, topic: Topic) -> list[str]:
    """Retrieve, then compose: passages of up to four sentences from the ten best plain passages by
    MiniLM.

    It writes one passage per subtopic, or three if a topic has no subtopics. Each takes the unused
    sentences nearest to the query (or subtopic) and to its own sentences. A sentence that nearly
    repeats a used one is left out.
    """
    plain = np.array([plainness(text) for text in collection.texts])
    best = np.argsort(
        -dense(collection, f"{topic.text}. {topic.narrative}") * plain, kind="stable"
    )[:10]
    sentences = list(
        dict.fromkeys(
            collection.texts[i][begin:end].replace("\n", " ")
            for i in best
            for begin, end in split_sentences(collection.texts[i])
            if 50 <= end - begin <= 260 and collection.texts[i][end - 1] == "."
        )
    )
    vectors = encode(sentences)
    free = set(range(len(sentences)))
    answers = []
    for facet in [subtopic["text"] for subtopic in topic.subtopics] or [topic.text] * 3:
        wanted = vectors @ encode([facet])[0]
        chosen: list[int] = []
        while len(chosen) < 4 and free:
            near = (vectors @ vectors[chosen].T).mean(1) if chosen else np.zeros(len(sentences))
            chosen.append(max(sorted(free), key=lambda i: round(float(wanted[i] + near[i]), 4)))
            free -= {i for i in free if vectors[i] @ vectors[chosen[-1]] > 0.85}
        answers.append(" ".join(sentences[i] for i in chosen))
    return answers


def babble(collection: Collection, topic: Topic) -> list[str]:
    """Return three passages of about 70 words from a word-trigram chain over the 20 best passages
    by BM25.

    Each next word follows one of the last two words (usually both) somewhere in those passages. The
    text reads smoothly, stays on the subject and means nothing.
    """
    best = np.argsort(-bm25(collection, words(topic.text)), kind="stable")[:20]
    after_two: dict[tuple[str, str], list[str]] = defaultdict(list)
    after_one: dict[str, list[str]] = defaultdict(list)
    starts = []
    for i in best:
        chain = collection.texts[i].split()
        starts.append((chain[0], chain[1]))
        for one, two, three in zip(chain, chain[1:], chain[2:], strict=False):
            after_two[one, two].append(three)
            after_one[two].append(three)
    answers = []
    for number in range(3):
        chance = random.Random(f"{SEED}/babble/{topic.query_id}/{number}")
        text = list(chance.choice(starts))
        while len(text) < 65 or (text[-1][-1] not in ".?!" and len(text) < 100):
            options = after_two[text[-2], text[-1]]
            if len(set(options)) < 2:
                options = after_one[text[-1]] or [chance.choice(starts)[0]]
            text.append(chance.choice(options))
        answers.append(" ".join(text))
    return answers


# Files.


def generate(
    collection: Collection, topics: Sequence[Topic]
) -> dict[str, dict[str, dict[str, str]]]:
    """Return texts: name of the generating system -> query id -> passage id -> text."""
    systems: list[tuple[str, Callable[[Collection, Topic], list[str]]]] = [
        ("compose-dense", compose),
        ("babble", babble),
    ]
    return {
        name: {
            topic.query_id: {
                f"{name}:{topic.query_id}:{number}": text
                for number, text in enumerate(write(collection, topic), start=1)
            }
            for topic in topics
        }
        for name, write in systems
    }


def read_generated_judgments(path: Path, texts: dict[str, str]) -> dict[str, int]:
    """Return judgments of the generated passages, after a check that each text is the judged one.

    Raises:
        SystemExit: a text has no judgment or has changed; it is printed with its hash, to be
            judged.
    """
    judged = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    unread = {
        i: text for i, text in texts.items() if judged.get(i, {}).get("sha256") != text_hash(text)
    }
    for passage_id, text in unread.items():
        print(
            json.dumps(
                {"id": passage_id, "sha256": text_hash(text), "text": text}, ensure_ascii=False
            )
        )
    if unread or set(judged) - set(texts):
        sys.exit(
            f"{len(unread)} generated passages need a judgment in {path.name}; nothing was written."
        )
    return {i: judged[i]["judgment"] for i in texts}


def text_hash(text: str) -> str:
    """Return the first 16 hex digits of the text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def pool_judgments(
    topics: Sequence[Topic], runs: dict[str, dict[str, Ranking]], generated: dict[str, int]
) -> list[tuple[str, str, int]]:
    """Return judgments (query id, passage id, value) of every written and every pooled passage.

    Passages that a run retrieved from another topic are judged 0, because the topics are disjoint.
    """
    rows = []
    for topic in topics:
        pooled = {i for rankings in runs.values() for i, _ in rankings[topic.query_id]}
        values = {i: generated.get(i, 0) for i in pooled} | topic.judgments
        rows += [(topic.query_id, i, values[i]) for i in sorted(values)]
    return rows


def bank_rows(topic: Topic) -> list[dict[str, Any]]:
    """Return the questions of a topic as rows of the bank file."""
    return [
        {
            "query_id": topic.query_id,
            "question_id": f"{topic.query_id}/q{number:02d}",
            "text": question["text"],
            "kind": question["kind"],
            "weight": question["weight"],
            "active": True,
            "subtopic_id": question["subtopic"],
            "answer_key": question["answer_key"],
            "choices": [],
            "note": None,
        }
        for number, question in enumerate(topic.questions, start=1)
    ]


def exam_items(path: Path, passages: dict[str, str]) -> list[ExamItem]:
    """Return the hand-written exam items with the texts of their sources; the choices of each are
    shuffled.
    """
    items = []
    for written in json.loads(path.read_text(encoding="utf-8")):
        choices = [written["key"], *written["wrong"]]
        random.Random(f"{SEED}/{written['question']}").shuffle(choices)
        source = passages[written["source"]]
        items.append(
            ExamItem(written["question"], tuple(choices), written["key"], source, written["topic"])
        )
    return items


def query_row(topic: Topic) -> dict[str, Any]:
    """Return a topic as a row of the queries file."""
    return {
        "query_id": topic.query_id,
        "text": topic.text,
        "narrative": topic.narrative,
        "answer": topic.answer,
        "subtopics": topic.subtopics,
    }


def write_jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write one JSON object per line, in UTF-8."""
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )


def run_lines(name: str, rankings: dict[str, Ranking]) -> str:
    """Return a run in TREC format."""
    return "".join(
        f"{query_id} Q0 {passage_id} {rank} {score:.5f} {name}\n"
        for query_id, ranked in rankings.items()
        for rank, (passage_id, score) in enumerate(ranked, start=1)
    )


def main() -> None:
    """Build everything in memory, check the judgments of generated text, then write."""
    topics = read_topics(HERE / "topics")
    collection = collect(topics)
    runs: dict[str, dict[str, Ranking]] = defaultdict(dict)
    for topic in topics:
        for name, scores in retrieve(collection, topic).items():
            runs[name][topic.query_id] = ranking(collection.ids, scores)
    texts: dict[str, str] = {}
    for name, by_query in generate(collection, topics).items():
        for query_id, written in by_query.items():
            runs[name][query_id] = [(i, 1 / rank) for rank, i in enumerate(written, start=1)]
            texts |= written
    judgments = pool_judgments(
        topics, runs, read_generated_judgments(HERE / "generated_judgments.json", texts)
    )
    write_jsonl(HERE / "queries.jsonl", map(query_row, topics))
    written_passages = dict(zip(collection.ids, collection.texts, strict=True))
    write_jsonl(
        HERE / "passages.jsonl",
        ({"passage_id": i, "text": text} for i, text in (written_passages | texts).items()),
    )
    write_jsonl(HERE / "bank.jsonl", (row for topic in topics for row in bank_rows(topic)))
    with (HERE / "exam.json").open("w", encoding="utf-8") as file:
        exam_files.write_exam(exam_items(HERE / "exam_items.json", written_passages), file)
    qrels = "".join(
        f"{query_id} 0 {passage_id} {value}\n" for query_id, passage_id, value in judgments
    )
    (HERE / "qrels.txt").write_text(qrels, encoding="utf-8")
    (HERE / "runs").mkdir(exist_ok=True)
    for name, rankings in runs.items():
        (HERE / "runs" / f"{name}.run").write_text(run_lines(name, rankings), encoding="utf-8")


if __name__ == "__main__":
    main()
