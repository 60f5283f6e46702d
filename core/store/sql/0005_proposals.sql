-- What models were asked to draft and what they wrote, word for word. Append-only. Where nothing usable came, the
-- reason says why. An answer key is drafted for a question, which may be no more than a draft, from a passage.
CREATE TABLE generations (
    generation_key INTEGER PRIMARY KEY,
    kind VARCHAR NOT NULL,
    query_key INTEGER NOT NULL,
    subtopic_id VARCHAR,
    question_id VARCHAR,
    passage_key INTEGER,
    model VARCHAR NOT NULL,
    prompt VARCHAR NOT NULL,
    prompt_hash VARCHAR NOT NULL,
    raw VARCHAR NOT NULL,
    reason VARCHAR,
    author VARCHAR NOT NULL,
    asked_at TIMESTAMP NOT NULL
);
-- What came of them, one row a question, key fact or answer key: text is the model's wording and stays, edited is a
-- person's. Deciding makes a draft and never a question of the bank: question_id is the question of that draft.
CREATE TABLE proposals (
    proposal_key INTEGER PRIMARY KEY,
    generation_key INTEGER NOT NULL,
    text VARCHAR NOT NULL,
    edited VARCHAR,
    edited_by VARCHAR,
    edited_at TIMESTAMP,
    state VARCHAR NOT NULL,
    decided_by VARCHAR,
    decided_at TIMESTAMP,
    question_id VARCHAR
);
