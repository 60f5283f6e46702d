-- Overrides of questions that were known by id only: when their words come and turn out to be there already, overrides
-- pass to the text that was there, as grades do. These are the ones that were still theirs.
ALTER TABLE published_awaited ADD COLUMN override_keys INTEGER[];
UPDATE published_awaited SET override_keys = given.keys FROM (
    SELECT question_text_key, list(override_key ORDER BY override_key) AS keys FROM overrides GROUP BY question_text_key
) given WHERE given.question_text_key = published_awaited.text_key;
