-- Jobs of every kind are in one table. subject_key: the grader, examinee, generator or model of an answer check that is asked.
-- request: a JSON object. done: the results that can be used.
ALTER TABLE jobs RENAME TO grading_jobs;
CREATE TABLE jobs (
    job_key INTEGER PRIMARY KEY,
    kind VARCHAR NOT NULL,
    subject_key INTEGER NOT NULL,
    request VARCHAR NOT NULL,
    state VARCHAR NOT NULL,
    total INTEGER NOT NULL,
    done INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    message VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    started_at TIMESTAMP NOT NULL,
    ended_at TIMESTAMP,
    calls BIGINT,
    input_tokens BIGINT,
    output_tokens BIGINT,
    cost DOUBLE,
    cached_tokens BIGINT,
    thinking_tokens BIGINT
);
INSERT INTO jobs BY NAME SELECT 'grading' AS kind, grader_key AS subject_key, asked AS request, graded AS done,
  * EXCLUDE (grader_key, asked, graded) FROM grading_jobs;
INSERT INTO jobs BY NAME SELECT 'sitting' AS kind, sitting_key AS job_key, student_key AS subject_key, asked AS request,
  answered AS done, * EXCLUDE (sitting_key, student_key, asked, answered) FROM sittings;
INSERT INTO jobs BY NAME SELECT if(judge_key IS NULL, 'generating', 'comparing') AS kind, answer_job_key AS job_key,
  coalesce(generator_key, judge_key) AS subject_key, asked AS request, written AS done,
  * EXCLUDE (answer_job_key, generator_key, judge_key, asked, written) FROM answer_jobs;
DROP TABLE grading_jobs;
DROP TABLE sittings;
DROP TABLE answer_jobs;
CREATE OR REPLACE MACRO sent_pairs() AS TABLE
  SELECT subject_key AS grader_key, question_text_key, passage_text_key
  FROM call_batch_pairs JOIN call_batches USING (batch_key) JOIN jobs USING (job_key)
  WHERE call_batches.state IN ('planned', 'uploaded', 'sent')
  UNION
  SELECT subject_key, question_text_key, passage_text_key FROM kept_replies JOIN jobs USING (job_key)
  WHERE jobs.state = 'waiting';
