-- What a grader that reads says beside its rating: what should be known of a grade (a shortened passage), and
-- the probability of each rating from 0 upwards where the model's logits could be seen.
ALTER TABLE grades ADD COLUMN note VARCHAR;
ALTER TABLE grades ADD COLUMN distribution FLOAT[];
-- The answer to a query as a whole, for judges that compare a passage with it.
ALTER TABLE queries ADD COLUMN answer VARCHAR;
-- Prompts that people wrote or changed; the built-in ones come with the program. Append-only: the last one of a
-- name counts, the others stay because grades name them by hash.
CREATE TABLE prompts (
    prompt_key INTEGER PRIMARY KEY,
    name VARCHAR NOT NULL,
    hash VARCHAR NOT NULL,
    content VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL
);
-- Graders as people set them up, ready to be asked again. Parameters name the variable that holds a key, never
-- the key.
CREATE TABLE named_graders (
    name VARCHAR PRIMARY KEY,
    kind VARCHAR NOT NULL,
    parameters VARCHAR NOT NULL,
    author VARCHAR NOT NULL,
    made_at TIMESTAMP NOT NULL
);
-- Jobs may cost: calls, tokens and money, and what capped them.
ALTER TABLE jobs ADD COLUMN calls INTEGER;
ALTER TABLE jobs ADD COLUMN input_tokens BIGINT;
ALTER TABLE jobs ADD COLUMN output_tokens BIGINT;
ALTER TABLE jobs ADD COLUMN cost DOUBLE;
