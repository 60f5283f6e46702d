-- What scripts and other computers show to be let in. A token is kept as the SHA-256 of its text alone, which is shown
-- once, when it is made. No export holds this table: a token is a secret of one project on one server, and no data.
CREATE TABLE tokens (
    token_key INTEGER PRIMARY KEY,
    name VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    hash VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL,
    used_at TIMESTAMP,
    withdrawn_at TIMESTAMP
);
