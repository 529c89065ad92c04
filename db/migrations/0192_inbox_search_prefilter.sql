-- Making the words of 3,000 texts took 0.2 s, in an inbox of any size. A text without the letters of the words does not have
-- the words, and to compare the letters of all of them takes a few milliseconds. The search ends when enough is found. What is
-- not found among the newest is asked of the index of words, so no result depends on how letters are compared here.
CREATE OR REPLACE FUNCTION search_inbox_messages(words text, most integer) RETURNS TABLE (chat_id uuid, id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = public, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
  own     bigint := NULLIF(current_setting('app.account_id', true), '')::bigint;
  asked   tsquery := to_tsquery('simple'::regconfig, words);
  letters text[] := ARRAY(SELECT '%' || w[1] || '%' FROM regexp_matches(words, '''([^'']+)''', 'g') AS w);
  hits    uuid[];
BEGIN
  SELECT array_agg(f.id ORDER BY f.id DESC) INTO hits
  FROM (SELECT n.id
        FROM (SELECT m.id, m.text FROM inbox_message m WHERE m.account_id = own ORDER BY m.id DESC LIMIT 3000) AS n
        WHERE n.text ILIKE ALL (letters) AND inbox_words(own, n.text) @@ asked
        ORDER BY n.id DESC LIMIT most) AS f;
  IF cardinality(hits) >= most THEN
    RETURN QUERY
      SELECT m.chat_id, m.id FROM inbox_message m
      WHERE m.account_id = own AND m.id = ANY(hits) ORDER BY m.id DESC;
  ELSE
    -- The sum keeps the planner from walking all messages of the account in their order.
    RETURN QUERY
      SELECT m.chat_id, m.id FROM inbox_message m
      WHERE inbox_words(m.account_id, m.text) @@ (to_tsquery('simple'::regconfig, 'ofaccount' || own) && asked)
        AND m.account_id + 0 = own
      ORDER BY m.id DESC LIMIT most;
  END IF;
END $$;
