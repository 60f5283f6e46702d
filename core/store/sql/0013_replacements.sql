-- What an act of the log replaced, whole and as it was, so that it can be brought back. Append-only: bringing something
-- back is an act that keeps, in its turn, what it replaces. Each replaced_... table has the columns of its table.
-- object_key: the source, run or leaderboard; NULL where the rows below name what they are of.
CREATE TABLE replacements (
    replacement_key INTEGER PRIMARY KEY,
    activity_key INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    object_key INTEGER,
    name VARCHAR NOT NULL,
    before INTEGER NOT NULL,
    gone INTEGER NOT NULL,
    after INTEGER NOT NULL
);
CREATE TABLE replaced_judgments (
    replacement_key INTEGER NOT NULL,
    source_key INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    value SMALLINT NOT NULL
);
CREATE TABLE replaced_runs (
    replacement_key INTEGER NOT NULL,
    run_key INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    tag VARCHAR NOT NULL,
    file VARCHAR NOT NULL
);
CREATE TABLE replaced_rankings (
    replacement_key INTEGER NOT NULL,
    run_key INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    score DOUBLE NOT NULL
);
CREATE TABLE replaced_ranked_runs (replacement_key INTEGER NOT NULL, run_key INTEGER NOT NULL);
CREATE TABLE replaced_responses (
    replacement_key INTEGER NOT NULL,
    run_key INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    words INTEGER NOT NULL
);
CREATE TABLE replaced_response_sentences (
    replacement_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    position INTEGER NOT NULL,
    begins INTEGER NOT NULL,
    ends INTEGER NOT NULL,
    citations VARCHAR[] NOT NULL
);
CREATE TABLE replaced_boards (
    replacement_key INTEGER NOT NULL,
    board_key INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    measure VARCHAR NOT NULL
);
CREATE TABLE replaced_board_scores (
    replacement_key INTEGER NOT NULL,
    board_key INTEGER NOT NULL,
    run VARCHAR NOT NULL,
    score DOUBLE NOT NULL,
    std_error DOUBLE,
    rank DOUBLE
);
CREATE TABLE replaced_gold_passages (
    replacement_key INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    position INTEGER NOT NULL
);
CREATE TABLE replaced_gold_runs (replacement_key INTEGER NOT NULL, run_key INTEGER NOT NULL);
-- follows: a topic that is named after its query and whose text goes with that one's.
CREATE TABLE replaced_queries (
    replacement_key INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    text VARCHAR NOT NULL,
    narrative VARCHAR,
    answer VARCHAR,
    follows BOOLEAN NOT NULL
);
CREATE TABLE replaced_subtopics (
    replacement_key INTEGER NOT NULL,
    query_key INTEGER NOT NULL,
    subtopic_id VARCHAR NOT NULL,
    text VARCHAR NOT NULL
);
CREATE TABLE replaced_passages (
    replacement_key INTEGER NOT NULL,
    passage_key INTEGER NOT NULL,
    text_key INTEGER NOT NULL
);
