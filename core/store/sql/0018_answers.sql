-- Correct answers of a query beside queries.answer, which is the first of them.
ALTER TABLE queries ADD COLUMN further_answers VARCHAR[];
ALTER TABLE replaced_queries ADD COLUMN further_answers VARCHAR[];
-- Who writes answers: a model with a prompt, or a rule without one. Of answers that came with a file only the name is
-- known; then parameters is {}.
CREATE TABLE generators (
    generator_key INTEGER PRIMARY KEY,
    fingerprint VARCHAR NOT NULL UNIQUE,
    name VARCHAR NOT NULL UNIQUE,
    model VARCHAR NOT NULL,
    prompt VARCHAR NOT NULL,
    prompt_hash VARCHAR NOT NULL,
    parameters VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    added_at TIMESTAMP NOT NULL
);
-- Who compares answers by reading them: a model with a prompt. Judges that compute are not kept, nor what they say.
CREATE TABLE answer_judges (
    judge_key INTEGER PRIMARY KEY,
    fingerprint VARCHAR NOT NULL UNIQUE,
    name VARCHAR NOT NULL UNIQUE,
    model VARCHAR NOT NULL,
    prompt VARCHAR NOT NULL,
    prompt_hash VARCHAR NOT NULL,
    parameters VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    added_at TIMESTAMP NOT NULL
);
-- Every answer that was written or compared, each text once.
CREATE TABLE answer_texts (text_key INTEGER PRIMARY KEY, text VARCHAR NOT NULL);
-- Jobs in which a generator writes answers (generator_key) or a judge compares them (judge_key).
CREATE TABLE answer_jobs (
    answer_job_key INTEGER PRIMARY KEY,
    generator_key INTEGER,
    judge_key INTEGER,
    asked VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    total INTEGER NOT NULL,
    written INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    message VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    started_at TIMESTAMP NOT NULL,
    ended_at TIMESTAMP,
    calls BIGINT,
    input_tokens BIGINT,
    output_tokens BIGINT,
    cost DOUBLE
);
-- What a generator answered, never edited, never deleted. context_keys: the texts that it read, the best first; NULL
-- where a file does not say them: then run and k name the ranking that it read, run being 'gold' for gold passages.
-- temperature: NULL where it is not known. draw: from 1, of the same prompt. text_key is NULL where nothing usable
-- came: then reason says why, and a later attempt is a row of its own. shortened: tokens of the context left out.
CREATE TABLE generated_answers (
    generator_key INTEGER NOT NULL,
    question_text_key INTEGER NOT NULL,
    context_keys INTEGER[],
    run VARCHAR,
    k INTEGER,
    temperature DOUBLE,
    draw INTEGER NOT NULL,
    seed INTEGER,
    text_key INTEGER,
    reason VARCHAR,
    shortened INTEGER NOT NULL,
    note VARCHAR,
    answer_job_key INTEGER
);
-- What a judge said of an answer beside the references (all of them, sorted by key), never edited, never deleted.
-- rating: 1 and 0 for yes and no, 0 to 5 of a graded judge; NULL where nothing usable came: then reason says why.
CREATE TABLE comparisons (
    judge_key INTEGER NOT NULL,
    question_text_key INTEGER NOT NULL,
    answer_text_key INTEGER NOT NULL,
    reference_keys INTEGER[] NOT NULL,
    rating TINYINT,
    reason VARCHAR,
    raw VARCHAR,
    confidence DOUBLE,
    note VARCHAR,
    answer_job_key INTEGER
);
-- What people say of an answer to a question. Append-only: what was said last in a source counts.
-- acceptable is NULL where it was withdrawn. source: the name of a file, or the assessor.
CREATE TABLE answer_verdicts (
    question_text_key INTEGER NOT NULL,
    answer_text_key INTEGER NOT NULL,
    source VARCHAR NOT NULL,
    acceptable BOOLEAN,
    author VARCHAR NOT NULL,
    stated_at TIMESTAMP NOT NULL
);
-- Why the answer of a run and its ranking part for a query, as a person confirmed it. Append-only but for withdrawal.
CREATE TABLE answer_cases (
    case_key INTEGER PRIMARY KEY,
    query_key INTEGER NOT NULL,
    run VARCHAR NOT NULL,
    k INTEGER NOT NULL,
    generator_key INTEGER NOT NULL,
    case_name VARCHAR NOT NULL,
    proposed VARCHAR NOT NULL,
    note VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    confirmed_at TIMESTAMP NOT NULL,
    withdrawn_by VARCHAR,
    withdrawn_at TIMESTAMP
);
