-- Search in the texts of the inbox, by the beginnings of words.

-- The newest first, of one account: a frequent word is found among them without the index of words.
CREATE INDEX inbox_message_newest ON inbox_message (account_id, id);

-- The words of a text, with a word for its account, so that the index of words intersects with the messages of one account.
-- Punctuation separates words, also within mail addresses and links.
CREATE FUNCTION inbox_words(account bigint, written text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
AS $$
  SELECT to_tsvector('simple'::regconfig, 'ofaccount' || account || ' ' ||
    translate(left(written, 4096), '.,:;@/\-_+*#''"&=?!()[]{}<>|~^%€', repeat(' ', 40)))
$$;

CREATE INDEX inbox_message_words ON inbox_message USING gin (inbox_words(account_id, text));

-- Up to `most` messages of the account that have all the words, the newest first; `words` is a tsquery. Among the newest
-- 3,000 a frequent word is found within milliseconds. Only what is rare there is asked of the index of words, which then
-- returns few rows. It runs as the owner for the reason that 0017 gives, and the wall stands inside.
CREATE FUNCTION search_inbox_messages(words text, most integer) RETURNS TABLE (chat_id uuid, id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = public, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  own    bigint := NULLIF(current_setting('app.account_id', true), '')::bigint;
  asked  tsquery := to_tsquery('simple'::regconfig, words);
  looked integer;
  hits   uuid[];
BEGIN
  SELECT count(*), array_agg(n.id ORDER BY n.id DESC) FILTER (WHERE inbox_words(own, n.text) @@ asked) INTO looked, hits
  FROM (SELECT m.id, m.text FROM inbox_message m WHERE m.account_id = own ORDER BY m.id DESC LIMIT 3000) AS n;
  IF looked < 3000 OR cardinality(hits) >= most THEN
    RETURN QUERY
      SELECT m.chat_id, m.id FROM inbox_message m
      WHERE m.account_id = own AND m.id = ANY(hits[1:most]) ORDER BY m.id DESC;
  ELSE
    -- The sum keeps the planner from walking all messages of the account in their order.
    RETURN QUERY
      SELECT m.chat_id, m.id FROM inbox_message m
      WHERE inbox_words(m.account_id, m.text) @@ (to_tsquery('simple'::regconfig, 'ofaccount' || own) && asked)
        AND m.account_id + 0 = own
      ORDER BY m.id DESC LIMIT most;
  END IF;
END $$;
REVOKE EXECUTE ON FUNCTION search_inbox_messages FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search_inbox_messages TO heliograph_tenant;
