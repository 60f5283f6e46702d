-- Batches of calls that an endpoint answers within a day for less money. A row stands here before anything is sent, so
-- that a batch whose id could not be noted is found again: by its mark, which goes with it, and by the file that it is
-- made of. state: planned, uploaded (file_id is known), sent (batch_id is known), taken (what came of it is in),
-- failed (the endpoint made none of its calls), dropped (cancelled before it was sent).
-- wave: from 1; a method that asks twice sends its second calls in the second wave, once the first answers are in.
-- remote: what the endpoint called its state last; done: calls that it had made then. The counts and tokens below are
-- those of what was taken in; unanswered: calls that were not made, or whose fault passes. code: of what failed.
CREATE TABLE call_batches (
    batch_key INTEGER PRIMARY KEY,
    job_key INTEGER NOT NULL,
    wave INTEGER NOT NULL,
    mark VARCHAR NOT NULL UNIQUE,
    state VARCHAR NOT NULL,
    cancelling BOOLEAN NOT NULL,
    calls INTEGER NOT NULL,
    file_id VARCHAR,
    batch_id VARCHAR,
    remote VARCHAR NOT NULL,
    done INTEGER NOT NULL,
    answered INTEGER,
    unanswered INTEGER,
    input_tokens BIGINT,
    cached_tokens BIGINT,
    output_tokens BIGINT,
    thinking_tokens BIGINT,
    code VARCHAR NOT NULL,
    message VARCHAR NOT NULL,
    planned_at TIMESTAMP NOT NULL,
    ended_at TIMESTAMP
);
-- The pairs that a batch asks about, in the order of its file.
CREATE TABLE call_batch_pairs (
    batch_key INTEGER NOT NULL,
    place INTEGER NOT NULL,
    question_text_key INTEGER NOT NULL,
    passage_text_key INTEGER NOT NULL
);
-- Answers to first calls of pairs that need a second one, as the endpoint gave them, until the pair has its grade.
-- content is NULL where the call was refused: then error says why.
CREATE TABLE kept_replies (
    job_key INTEGER NOT NULL,
    question_text_key INTEGER NOT NULL,
    passage_text_key INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    content VARCHAR,
    error VARCHAR
);
-- The pairs on their way to an endpoint and back: asking them here as well would pay for them twice.
CREATE MACRO sent_pairs() AS TABLE
  SELECT grader_key, question_text_key, passage_text_key
  FROM call_batch_pairs JOIN call_batches USING (batch_key) JOIN jobs USING (job_key)
  WHERE call_batches.state IN ('planned', 'uploaded', 'sent')
  UNION
  SELECT grader_key, question_text_key, passage_text_key FROM kept_replies JOIN jobs USING (job_key)
  WHERE jobs.state = 'waiting';
-- Of the tokens read those that the endpoint had read before; of those written the ones that were thinking.
ALTER TABLE jobs ADD COLUMN cached_tokens BIGINT;
ALTER TABLE jobs ADD COLUMN thinking_tokens BIGINT;
ALTER TABLE sittings ADD COLUMN cached_tokens BIGINT;
ALTER TABLE sittings ADD COLUMN thinking_tokens BIGINT;
ALTER TABLE answer_jobs ADD COLUMN cached_tokens BIGINT;
ALTER TABLE answer_jobs ADD COLUMN thinking_tokens BIGINT;
