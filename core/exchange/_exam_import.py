"""Import of exams, of examinees' answers and components, and of generated answers with people's
checks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from .. import graders
from ..bank import (
    NEWEST,
    ItemFacts,
    latest_questions,
    put_items,
    question_text_key,
    save_questions,
    take_queries,
    take_words,
)
from ..choices import EXAM_QUERY
from ..errors import InputError, Report
from ..formats import (
    AnswerVerdict,
    ExamineeVerdicts,
    ExamItem,
    Factors,
    WrittenAnswer,
    factors_in_name,
    item_id,
)
from ..grouping import nest_triples
from ..records import (
    ELSEWHERE,
    GOLD_RUN,
    Answer,
    AnswerModel,
    Generated,
    ReplacedDataKeeper,
    ReplacedObject,
    add_answers,
    add_generated,
    add_passages,
    answer_models_of,
    answers_of,
    check_new,
    external_examinee,
    fingerprint_of,
    put_answer_model,
    put_answer_verdicts,
    put_retrieval,
    put_student,
    read_retrieval,
    state_factors,
    students_of,
)
from ..store import Cursor, stage_columns
from ..text import clean_text, first_few, how_many, quote_name
from ..types import GraderInput, Passage, Query, Question

Words = tuple[str, str | None, tuple[str, ...]]
"""The identity of an item: its question, the text of its key if known, and its choices, sorted."""


def words_of(text: str | None, answer_key: str | None, choices: Sequence[str]) -> Words | None:
    """Return the words that identify an item, without the letters of choices; None without a
    question.
    """
    if not text or not text.strip():
        return None
    at = graders.key_position(GraderInput(text, answer_key or "", tuple(choices)))
    bare = [" ".join(choice.split()) for choice in graders.bare_choices(choices)]
    return " ".join(text.split()), None if isinstance(at, str) else bare[at], tuple(sorted(bare))


def items_by_words(cursor: Cursor, query_ids: Sequence[str] | None = None) -> dict[Words, str]:
    """Return the ids of the items of the bank by their words, with and without keys; the first
    active id of equal items.

    Args:
        query_ids: only items of these queries; None for all.
    """
    items = [item for item in latest_questions(cursor) if item.kind == "choice"]
    ids = {
        words: item.question_id
        for item in sorted(reversed(items), key=lambda item: item.active)
        if (query_ids is None or item.query_id in query_ids)
        and (words := words_of(item.text, item.answer_key, item.choices)) is not None
    }
    return {(text, None, choices): item for (text, _, choices), item in ids.items()} | ids


GET_WORDS = "questions get their words"
"""Key of the count of questions that so far were known only by id and now get their text."""


def write_exam_items(
    cursor: Cursor,
    items: Sequence[ExamItem],
    file: str,
    query_id: str | None,
    report: Report,
    keeper: ReplacedDataKeeper,
    author: str,
) -> dict[str, int]:
    """Write the items of exams into a project.

    Args:
        file: the files' names, for messages.
        query_id: the query that they belong to; None for `exam`. The names of retrievals of another
            query start with it.
        report: takes notes.

    Returns:
        Numbers of things written.

    Raises:
        InputError: the name of the query is invalid, an item has another key in the bank, or a
            retrieval with other content has the same name.
    """
    query = query_id or EXAM_QUERY
    check_new(cursor, "query", [query])
    stem = Path(file).stem
    new_count = take_queries(
        cursor, [Query(query, "Exam" if stem == EXAM_QUERY else f"Exam {stem}")], False, keeper
    )
    by_id = _name_items(cursor, items, query, file, report)
    texts = [
        *(item.documentation for item in items if item.documentation is not None),
        *(text for item in items for contexts in item.retrieved.values() for text in contexts),
    ]
    names = _name_texts(cursor, dict.fromkeys(texts))
    passages = add_passages(cursor, [Passage(name, text) for text, name in names.items()], keeper)
    latest = {question.question_id: question for question in latest_questions(cursor)}
    # Answers without their exam leave items that have no words or no key yet.
    new = {
        key: item
        for key, item in by_id.items()
        if key not in latest or latest[key].text is None or not latest[key].answer_key
    }
    if len(new) < len(by_id):
        report.remark(
            file,
            None,
            "item-known",
            "an item is already in the question bank and stays unchanged",
            len(by_id) - len(new),
        )
    if retired := [key for key in by_id if key in latest and not latest[key].active]:
        report.remark(
            file,
            None,
            "item-retired",
            f"{how_many(len(retired), 'items')} retired in the question bank stay retired:"
            f" {first_few(retired)}; to restore an item: exam bank edit ITEM --active",
        )
    questions = [
        replace(
            latest.get(key, Question(key, query, None, "choice")),
            text=item.question,
            answer_key=item.key,
            choices=item.choices,
        )
        for key, item in new.items()
    ]
    worded = take_words(cursor, questions).given
    version = save_questions(cursor, questions, f"Imported {file}", author) if questions else None
    described = {
        key
        for (key,) in cursor.execute(
            "SELECT question_id FROM items JOIN questions USING (question_key)"
        ).fetchall()
    }
    facts = {
        key: ItemFacts(
            None if item.documentation is None else names[item.documentation], item.topic
        )
        for key, item in by_id.items()
        if key not in described
    }
    put_items(cursor, facts)
    contexts = _store_retrievals(
        cursor, by_id, names, None if query == EXAM_QUERY else query, file, author
    )
    return {
        "items": len(by_id),
        "new items": len(new.keys() - latest.keys()),
        "new queries": new_count,
        "new passages": passages,
        **({GET_WORDS: worded} if worded else {}),
        **({"retrievals": contexts} if contexts else {}),
        **({"bank version": version} if version else {}),
    }


def _name_items(
    cursor: Cursor, items: Sequence[ExamItem], query: str, file: str, report: Report
) -> dict[str, ExamItem]:
    """Return items by the id of the item of the bank with the same words, else of the item that
    lacks only the key, else by an id derived from their words.

    Raises:
        InputError: the bank or the files have the same item with another key.
    """
    named: dict[str, ExamItem] = {}
    ids = items_by_words(cursor, [query, EXAM_QUERY])
    with_key = {name for (_, key, _), name in ids.items() if key is not None}
    keyless = {words: name for words, name in ids.items() if name not in with_key}
    keyed: dict[tuple[str, tuple[str, ...]], tuple[str, str | None]] = {
        (text, choices): (name, key)
        for (text, key, choices), name in items_by_words(cursor, [query]).items()
        if key is not None
    }
    for item in items:
        words = words_of(item.question, item.key, item.choices) or ("", None, ())
        text, key, choices = words
        name = ids.get(words)
        if name is None:
            name = keyless.get((text, None, choices)) or item_id(query, item.question, item.choices)
            same, other = keyed.setdefault((text, choices), (name, key))
            if other != key:
                raise InputError(
                    "item-words-differ",
                    f"Item {same} of {file} has two keys: {key!r}, {other!r}.",
                    "Correct the file, or the key in the question bank: exam bank edit ITEM"
                    " --answer-key KEY. Or import the exam under another name: exam import exam"
                    " FILE --name NAME.",
                )
        if named.setdefault(name, item) is not item:
            report.remark(file, None, "duplicate-item", "duplicate item; the first one counts")
    return named


def _name_texts(cursor: Cursor, texts: dict[str, None]) -> dict[str, str]:
    """Return a passage id for each text: of a passage with this text, else derived from the text's
    hash.
    """
    stage_columns(cursor, "exam_texts", {"text": list(texts)}, {"text": "VARCHAR"})
    known_ids = dict(
        cursor.execute(
            "SELECT text, arg_min(passage_id, passage_key) FROM exam_texts"
            " JOIN passage_texts USING (text) JOIN passages USING (text_key) GROUP BY text"
        ).fetchall()
    )
    return {
        text: known_ids.get(text)
        or f"text-{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"
        for text in texts
    }


def _store_retrievals(
    cursor: Cursor,
    items: dict[str, ExamItem],
    names: dict[str, str],
    exam: str | None,
    file: str,
    author: str,
) -> int:
    """Store retrieved contexts as retrievals and return how many are new. Existing ones with the
    same passages in the same order stay, since an exam has no scores.

    Raises:
        InputError: a retrieval exists with other rankings of these items.
    """
    rankings = nest_triples(
        (retriever, key, list(dict.fromkeys(names[text] for text in texts)))
        for key, item in items.items()
        for retriever, texts in item.retrieved.items()
        if texts
    )
    # Passages with the same text are one context, named as in `_name_texts`.
    same = dict(
        cursor.execute(
            "SELECT passage_id, arg_min(passage_id, passage_key) OVER (PARTITION BY text_key)"
            " FROM exam_texts JOIN passage_texts USING (text) JOIN passages USING (text_key)"
        ).fetchall()
    )
    written = 0
    for retriever, ranking in rankings.items():
        name = retriever if exam is None else f"{exam} {retriever}"
        existing = read_retrieval(cursor, name)
        if not existing:
            put_retrieval(cursor, name, file, _score_by_rank(ranking), author)
            written += 1
        elif any(
            list(dict.fromkeys(same.get(passage, passage) for passage, _ in existing.get(key, ())))
            != passages
            for key, passages in ranking.items()
        ):
            raise InputError(
                "retrieval-differs",
                f"Retrieval '{name}' already exists with other rankings.",
                "Import the exam under another name: exam import exam FILE --name NAME.",
            )
    return written


def _score_by_rank(ranking: Mapping[str, Sequence[str]]) -> dict[str, list[tuple[str, float]]]:
    return {
        key: [(passage, float(len(passages) - at)) for at, passage in enumerate(passages)]
        for key, passages in ranking.items()
    }


def write_answers(
    cursor: Cursor, read: Sequence[ExamineeVerdicts], names: str, author: str
) -> dict[str, int]:
    """Write examinees' answers from elsewhere, and add the items that the bank lacks, with their
    words if known.

    Args:
        read: by examinee; items by question id. An item with the words of an item of the bank is
            that item.
        names: of the files.

    Returns:
        Numbers of examinees, answers, new answers and new items.

    Raises:
        InputError: an examinee takes exams in this project, or has another answer to an item
            already; or an item is a question of another kind. The caller must then roll back.
    """
    places, version = _place_items(cursor, read, names, author)
    keys = _text_keys(cursor, {item for place in places for item in place.values()})
    before = {student.name: student for student in students_of(cursor)}
    counts = {"students": len(read), "answers": 0, "new answers": 0}
    for examinee, place in zip(read, places, strict=True):
        if (
            examinee_before := before.get(examinee.student)
        ) is not None and not examinee_before.sat_elsewhere:
            raise InputError(
                "answers-made-here",
                f"Examinee '{examinee.student}' takes exams in this project, so its answers"
                " cannot be imported.",
                "Give the examinee another name in the file, or rename the file.",
            )
        # Components stated in a file take precedence over those read from a name.
        levels = factors_in_name(examinee.student) | dict(
            examinee_before.factors if examinee_before else {}
        )
        key = put_student(
            cursor, replace(external_examinee(examinee.student), factors=levels), author
        )
        verdicts: dict[str, bool] = {}
        for item, correct in examinee.verdicts.items():
            verdicts.setdefault(place[item], correct)
        if repeated := len(examinee.verdicts) - len(verdicts):
            counts["repeated items"] = counts.get("repeated items", 0) + repeated
        answers = [Answer(keys[item], ELSEWHERE, correct) for item, correct in verdicts.items()]
        stored = answers_of(cursor, key)
        others = [
            answer
            for answer in answers
            if (stored_answer := stored.get((answer.item_text_key, ELSEWHERE)))
            and stored_answer.correct is not answer.correct
        ]
        if others:
            raise InputError(
                "answers-differ",
                f"{names} changes {how_many(len(others), 'answers')} that examinee"
                f" '{examinee.student}' already has.",
                "Stored answers cannot change. Give the examinee another name.",
            )
        counts["answers"] += len(answers)
        counts["new answers"] += add_answers(cursor, key, answers, None)
    return counts | version


def write_factors(
    cursor: Cursor, read: Sequence[Factors], keeper: ReplacedDataKeeper, author: str
) -> dict[str, int]:
    """Write the components of examinees, and add examinees that the project lacks.

    Args:
        keeper: gets a note of examinees with changed components. Components read from an
            examinee's name may change without a note.

    Returns:
        Numbers of examinees, of new examinees, and of new components.

    Raises:
        InputError: the files state different components of an examinee.
    """
    before = {student.name: student for student in students_of(cursor)}
    stated: dict[str, dict[str, str]] = {}
    for name, levels in (pair for file in read for pair in file.items()):
        stated_levels = stated.setdefault(name, {})
        for factor, level in levels.items():
            if stated_levels.setdefault(factor, level) != level:
                raise InputError(
                    "components-differ",
                    f"Examinee '{name}' has two levels of '{factor}': '{stated_levels[factor]}' and"
                    f" '{level}'.",
                    "Correct one of the files.",
                )
    lacking = {name: external_examinee(name) for name in stated if name not in before}
    keys = {name: put_student(cursor, student, author) for name, student in lacking.items()} | {
        name: student.key for name, student in before.items()
    }
    changed = [
        name
        for name, levels in stated.items()
        if name in before
        and any(
            before[name].factors.get(factor, level)
            not in (level, factors_in_name(name).get(factor))
            for factor, level in levels.items()
        )
    ]
    if changed:
        number = len(changed)
        keeper.not_kept.append(
            ReplacedObject("components", first_few(changed), number, number, number)
        )
    return {
        "students": len(stated),
        "new students": len(lacking),
        "new components": state_factors(
            cursor, {keys[name]: levels for name, levels in stated.items()}, author
        ),
    }


def _place_items(
    cursor: Cursor, read: Sequence[ExamineeVerdicts], names: str, author: str
) -> tuple[list[dict[str, str]], dict[str, int]]:
    """Find the items of files in the bank by their words, else by their ids; add the missing ones.

    Returns:
        For each examinee the id in the bank by the id in the file; and counts of new items, if any.

    Raises:
        InputError: an id belongs to a question without choices, or to an item with other words.
    """
    by_words = items_by_words(cursor)
    # Entries with keys come last, so they replace entries without keys.
    words_by_id = {item: words for words, item in by_words.items()}
    kinds = {question.question_id: question.kind for question in latest_questions(cursor)}
    new: dict[str, Question] = {}
    places: list[dict[str, str]] = []
    for examinee in read:
        worded = {question.question_id: question for question in examinee.questions}
        place: dict[str, str] = {}
        for item in examinee.verdicts:
            question = worded.get(item, Question(item, EXAM_QUERY, None, "choice"))
            words = words_of(question.text, question.answer_key, question.choices)
            if words is not None and words in by_words:
                place[item] = by_words[words]
                continue
            if kinds.get(item, "choice") != "choice":
                raise InputError(
                    "item-without-choices",
                    f"Item {item} of {names} is a question without choices in the question bank.",
                    "Give the items other ids.",
                )
            if words is not None and (words_before := words_by_id.get(item, words)) != words:
                raise InputError(
                    "item-words-differ",
                    f"Item {item} of {names} differs from the item with this id in the question"
                    f" bank: {_describe_words(words)}; {_describe_words(words_before)}.",
                    "Give one of them another id.",
                )
            place[item] = item
            if item not in kinds:
                kinds[item], new[item] = "choice", replace(question, query_id=EXAM_QUERY)
                if words is not None:
                    by_words[words], words_by_id[item] = item, words
        places.append(place)
    if not new:
        return places, {}
    take_queries(cursor, [Query(EXAM_QUERY, "Exam")], False)
    version = save_questions(cursor, list(new.values()), f"Items of {names}", author)
    return places, {"new items": len(new)} | ({"bank version": version} if version else {})


def _describe_words(words: Words) -> str:
    text, key, _ = words
    return f"{quote_name(text)} with the key {'unknown' if key is None else quote_name(key)}"


def _text_keys(cursor: Cursor, items: set[str]) -> dict[str, int]:
    """Return the keys of the texts that answers refer to: words with key and choices, else only
    words or id.
    """
    # Imported here, because only this import needs it.
    from ..exams import asked_text

    texts_by_id = {
        question.question_id: asked_text(question)
        for question in latest_questions(cursor)
        if question.question_id in items
    }
    text_keys = cursor.execute(
        "SELECT question_id, text_key FROM bank_at($version) JOIN questions USING (question_key)"
        " ORDER BY question_key",
        {"version": NEWEST},
    ).fetchall()
    return {
        item: text_key if (words := texts_by_id[item]) is None else question_text_key(cursor, words)
        for item, text_key in text_keys
        if item in texts_by_id
    }


def write_generated(
    cursor: Cursor, name: str, read: Sequence[WrittenAnswer], file: str, author: str
) -> dict[str, int]:
    """Write the generated answers of a file. The file states their contexts: a run at a depth, or
    gold passages.

    Args:
        name: of the generator.
        file: its name, for messages.

    Returns:
        Numbers of answers and of new ones.

    Raises:
        InputError: a query is missing, the generator answers in this project, or it already has
            another answer to the same query, context and draw.
    """
    known = next(
        (item for item in answer_models_of(cursor, "generator") if item.name == name), None
    )
    if known is not None and not known.from_elsewhere:
        raise InputError(
            "answers-made-here",
            f"Generator '{name}' answers queries in this project, so its answers"
            " cannot be imported.",
            "Give the model of this file another name (--name).",
        )
    keys = _query_text_keys(cursor, [item.query_id for item in read], file)
    key = put_answer_model(
        cursor,
        "generator",
        AnswerModel(name, fingerprint_of(["generator elsewhere", name])),
        author,
    )
    answers = [
        Generated(
            (
                keys[item.query_id],
                (GOLD_RUN, 0) if item.run == GOLD_RUN else (item.run, item.k or 0),
                None,
                item.draw,
            ),
            clean_text(item.answer),
        )
        for item in read
    ]
    stored = {
        (question, run, k or 0, draw): text
        for question, run, k, draw, text in cursor.execute(
            "SELECT question_text_key, run, k, draw, text FROM generated_answers"
            " JOIN answer_texts USING (text_key) WHERE generator_key = ?",
            [key],
        ).fetchall()
    }
    others = [
        item
        for item in answers
        if stored.get((item.place[0], *item.place[1], item.place[3]), item.text) != item.text
    ]
    if others:
        raise InputError(
            "answers-differ",
            f"{file} changes {how_many(len(others), 'answers')} that generator"
            f" '{name}' already has.",
            "Stored answers cannot change. Give the model of this file another name (--name).",
        )
    return {"answers": len(answers), "new answers": add_generated(cursor, key, answers, None)}


def write_answer_verdicts(
    cursor: Cursor, source: str, read: Sequence[AnswerVerdict], file: str, author: str
) -> dict[str, int]:
    """Write people's verdicts on answers.

    Args:
        source: the name under which they are kept.
        file: its name, for messages.

    Returns:
        Numbers of verdicts and of new ones.

    Raises:
        InputError: a query is missing.
    """
    keys = _query_text_keys(cursor, [one.query_id for one in read], file)
    queries = dict(cursor.execute("SELECT query_id, query_key FROM queries").fetchall())
    said = {(queries[one.query_id], one.answer): one.acceptable for one in read}
    return put_answer_verdicts(
        cursor, source, said, {queries[name]: key for name, key in keys.items()}, author
    )


def _query_text_keys(cursor: Cursor, query_ids: Sequence[str], file: str) -> dict[str, int]:
    """Return the text keys of queries, by query id.

    Raises:
        InputError: a query is missing.
    """
    texts = dict(cursor.execute("SELECT query_id, text FROM queries").fetchall())
    if lost := [query_id for query_id in dict.fromkeys(query_ids) if query_id not in texts]:
        raise InputError(
            "unknown-query",
            f"{file} has {how_many(len(lost), 'unknown queries')}: {first_few(lost)}.",
            "Import the queries first.",
        )
    return {
        query_id: question_text_key(cursor, texts[query_id])
        for query_id in dict.fromkeys(query_ids)
    }
