-- What a leaderboard from a file says of each query; queries are named as the file names them.
CREATE TABLE board_query_scores (
    board_key INTEGER NOT NULL,
    run VARCHAR NOT NULL,
    query_id VARCHAR NOT NULL,
    score DOUBLE NOT NULL
);
CREATE TABLE replaced_board_query_scores (
    replacement_key INTEGER NOT NULL,
    board_key INTEGER NOT NULL,
    run VARCHAR NOT NULL,
    query_id VARCHAR NOT NULL,
    score DOUBLE NOT NULL
);
